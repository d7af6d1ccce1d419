"""A scenario: everything that decides a run, as frozen values.

Whoever builds a scenario, from TOML or in Python, has its values checked as it is built;
bad ones raise `ScenarioError`. What shows only in the run (an application that publishes
without being subscribed) raises it there.
Field names are the keys of the TOML form, but for the four that stand for its tables
(their metadata names the table, and the key that picks a class where there are
several); times carry their unit in the name.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from treecast.core import NodeId, ScenarioError, Topic
from treecast.core.keys import (
    COUNT_MAX,
    TIME_MS_MAX,
    Count,
    Duration,
    Microseconds,
    Milliseconds,
    Within,
    conform,
    nearest,
    shown,
)
from treecast.protocols.registry import protocol_named

NODES_MAX = 65_536
PUBLICATIONS_MAX = 10**7
"""Each is planned before the run begins, at some 300 bytes."""
SEED_MAX = 2**63 - 1
"""A seed fits the signed 64-bit numbers of journals and tables."""

Selection: TypeAlias = (
    Literal["all"]
    | Annotated[float, Within("a share", 0, 1, above=True)]
    | Annotated[int, Within("a count", 0, COUNT_MAX)]
    | tuple[NodeId, ...]
)
"""Which nodes: "all", a share of them (float), a count (int), or these very ones.

`1.0` is the share that takes all, `1` the count that takes one.
"""

Window: TypeAlias = tuple[Milliseconds, Milliseconds]
Acks: TypeAlias = Literal["free", "charged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketNetwork:
    """The VCube papers' network (VCube-PS 2018, section 4).

    One message at a time is processed; one outgoing link a node, first in first out.
    `acks`: "charged" loads links and processors with ACKs like with anything else,
    "free" lets them pass by both, as in the papers' experiments.
    """

    model: ClassVar[str] = "packet"

    processing_us: Microseconds = 1_000
    transmission_us: Microseconds = 1_000
    propagation_us: Microseconds = 100_000
    acks: Acks = "charged"

    def __post_init__(self) -> None:
        conform(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformNetwork:
    """Each hop takes a time drawn from low_us..high_us; one message at a time is processed.

    The defaults are VCube-PB's: 10 to 20 units a hop, one message processed a unit.
    """

    model: ClassVar[str] = "uniform"

    low_us: Microseconds = 10_000
    high_us: Microseconds = 20_000
    processing_us: Microseconds = 1_000
    acks: Acks = "charged"

    def __post_init__(self) -> None:
        conform(self)
        if self.low_us > self.high_us:
            raise ScenarioError(
                f"low_us = {self.low_us} is above high_us = {self.high_us}; put the smaller first"
            )


Network: TypeAlias = PacketNetwork | UniformNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSetup:
    """A topic and who is subscribed, known to every node, when the run begins."""

    name: Topic
    subscribers: Selection = "all"

    def __post_init__(self) -> None:
        conform(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """Each publisher publishes one event, at a time drawn from the window."""

    kind: ClassVar[str] = "once"

    topic: Topic
    publishers: Selection = "all"
    window_ms: Window = (0.0, 0.0)

    def __post_init__(self) -> None:
        conform(self)
        _check_window(self.window_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Each publisher publishes `count` events, all at one time drawn from the window."""

    kind: ClassVar[str] = "burst"

    topic: Topic
    count: Count
    publishers: Selection = 1
    window_ms: Window = (0.0, 0.0)

    def __post_init__(self) -> None:
        conform(self)
        _check_window(self.window_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic:
    """Each publisher publishes `count` events, one every `every_ms`, the first drawn from the window."""

    kind: ClassVar[str] = "periodic"

    topic: Topic
    every_ms: Duration
    count: Count
    publishers: Selection = 1
    window_ms: Window = (0.0, 0.0)

    def __post_init__(self) -> None:
        conform(self)
        _check_window(self.window_ms)
        if self.every_ms * self.count > TIME_MS_MAX:
            raise ScenarioError(
                f"count = {self.count} every {self.every_ms} ms ends after {TIME_MS_MAX} ms; lower one"
            )


Workload: TypeAlias = Once | Burst | Periodic


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that one node's application does at one time."""

    at_ms: Milliseconds
    node: NodeId
    do: Literal["subscribe", "unsubscribe", "publish"]
    topic: Topic

    def __post_init__(self) -> None:
        conform(self)


def settings_class(protocol: str) -> type[Any]:
    """The dataclass of a protocol's settings."""
    return protocol_named(protocol).settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One run, but for the level of its journal."""

    name: str
    protocol: str
    nodes: Annotated[int, Within("a number of nodes", 2, NODES_MAX)]
    seed: Annotated[int, Within("a whole number", 0, SEED_MAX)] = 0
    until_ms: Duration | None = None
    network: Network = field(default_factory=PacketNetwork, metadata={"tag": "model"})
    settings: Any = field(default=None, metadata={"kind of": ("protocol", settings_class)})
    """The protocol's own, of the class that the registry names for it; None takes their defaults."""
    topics: tuple[TopicSetup, ...] = field(default=(), metadata={"table": "topic"})
    workloads: tuple[Workload, ...] = field(default=(), metadata={"table": "workload", "tag": "kind"})
    actions: tuple[Action, ...] = field(default=(), metadata={"table": "action"})

    def __post_init__(self) -> None:
        conform(self)
        _settle_settings(self)
        if not self.name or not self.name.isprintable():
            raise ScenarioError(f"name = {shown(self.name)}; give a name on one line")
        _check_topics(self)
        _check_workloads(self)
        _check_actions(self)


def _settle_settings(scenario: Scenario) -> None:
    kind = settings_class(scenario.protocol)
    if scenario.settings is None:
        object.__setattr__(scenario, "settings", kind())
    elif type(scenario.settings) is not kind:
        given = type(scenario.settings).__name__
        raise ScenarioError(
            f"settings is a {given}; the protocol {scenario.protocol!r} takes {kind.__name__}"
        )


def publications(workload: Workload, subscribers: int) -> int:
    """How many events a workload publishes in a topic of that many subscribers."""
    return selected_count(workload.publishers, subscribers) * (
        1 if isinstance(workload, Once) else workload.count
    )


def selected_count(selection: Selection, population: int) -> int:
    """How many nodes `selection` stands for when it is drawn from `population`.

    A share stands for the nearest number, and for one node at least.
    """
    if isinstance(selection, str):
        return population
    if isinstance(selection, float):
        return max(1, round(selection * population))
    return selection if isinstance(selection, int) else len(selection)


def _check_window(window_ms: tuple[float, float]) -> None:
    begin, end = window_ms
    if begin > end:
        raise ScenarioError(
            f"window_ms = {shown(window_ms)} ends before it begins; write {shown([end, begin])}"
        )


def _check_node(key: str, node: NodeId, nodes: int) -> None:
    if not 0 <= node < nodes:
        raise ScenarioError(f"{key}: node {node} is out of range; the nodes are 0 to {nodes - 1}")


def _check_selection(key: str, selection: Selection, population: int, whom: str, nodes: int) -> None:
    if isinstance(selection, tuple):
        listed: set[NodeId] = set()
        for node in selection:
            _check_node(key, node, nodes)
            if node in listed:
                raise ScenarioError(f"{key}: node {node} is listed twice; list each node once")
            listed.add(node)
    elif selected_count(selection, population) > population:
        raise ScenarioError(f"{key} = {shown(selection)}; there are only {population} {whom} to draw from")


def _check_topics(scenario: Scenario) -> None:
    seen: dict[Topic, int] = {}
    for number, topic in enumerate(scenario.topics, start=1):
        place = f"[[topic]] {number}: "
        if topic.name in seen:
            raise ScenarioError(
                f"{place}name = {shown(topic.name)} is taken by [[topic]] {seen[topic.name]}; declare it once"
            )
        seen[topic.name] = number
        key = f"{place}subscribers"
        _check_selection(key, topic.subscribers, scenario.nodes, "nodes", scenario.nodes)


def _check_workloads(scenario: Scenario) -> None:
    subscribed = {topic.name: selected_count(topic.subscribers, scenario.nodes) for topic in scenario.topics}
    planned = 0
    for number, workload in enumerate(scenario.workloads, start=1):
        place, name = f"[[workload]] {number}: ", workload.topic
        if name not in subscribed:
            raise ScenarioError(
                f"{place}topic = {shown(name)} is declared by no [[topic]]; {nearest(name, list(subscribed))}"
            )
        key, publishers = f"{place}publishers", workload.publishers
        whom = f"subscribers of {shown(name)}"
        _check_selection(key, publishers, subscribed[name], whom, scenario.nodes)
        if selected_count(publishers, subscribed[name]) == 0:
            raise ScenarioError(f"{key} = {shown(publishers)} stands for nobody; give at least one node")
        planned += publications(workload, subscribed[name])
        if planned > PUBLICATIONS_MAX:
            raise ScenarioError(
                f"{place}{planned} publications are planned up to here; "
                f"at most {PUBLICATIONS_MAX} are allowed"
            )


def _check_actions(scenario: Scenario) -> None:
    known = [topic.name for topic in scenario.topics]
    known += [action.topic for action in scenario.actions if action.do == "subscribe"]
    names = dict.fromkeys(known)
    for number, action in enumerate(scenario.actions, start=1):
        place = f"[[action]] {number}: "
        _check_node(f"{place}node", action.node, scenario.nodes)
        if action.topic not in names:
            raise ScenarioError(
                f"{place}topic = {shown(action.topic)} is declared by no [[topic]] "
                f"and no action subscribes to it; {nearest(action.topic, list(names))}"
            )
