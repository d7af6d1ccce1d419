"""A scenario: everything that decides a run, as frozen values.

Whoever builds a scenario, from TOML or in Python, has its values checked as it is built;
bad ones raise `ScenarioError`. What shows only in the run (an application that publishes
without being subscribed) raises it there.
Field names are the keys of the TOML form, but for those that stand for its tables
(their metadata names the table, and the key that picks a class where there are
several); times carry their unit in the name.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from treecast.core import Hierarchy, NodeId, ScenarioError, Topic, TopicError
from treecast.core.keys import (
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
from treecast.sim.scenario_faults import (
    Churn,
    Crashed,
    Duplication,
    Exchange,
    Fault,
    Loss,
    Partition,
    Sessions,
    Share,
    Slow,
    SomeMicroseconds,
    Turnover,
    Unseen,
)
from treecast.sim.scenario_keys import (
    Selection,
    Sends,
    check_node,
    check_selection,
    check_topic,
    selected_count,
)
from treecast.sim.scenario_workloads import Burst, Once, Periodic, Recorded, Steady, Workload, publications

__all__ = [
    "Action",
    "Burst",
    "Capacity",
    "Churn",
    "Crashed",
    "Duplication",
    "Exchange",
    "Fault",
    "LatencyNetwork",
    "Loss",
    "Network",
    "Once",
    "PacketNetwork",
    "Partition",
    "Periodic",
    "Recorded",
    "RoundsNetwork",
    "Scenario",
    "Sessions",
    "Slow",
    "Steady",
    "TopicSetup",
    "Turnover",
    "UniformNetwork",
    "Unseen",
    "Workload",
]

NODES_MAX = 65_536
PUBLICATIONS_MAX = 10**7
"""Each is planned before the run begins, at some 300 bytes."""
CHANGES_MAX = 10**7
"""Of who is subscribed, by one churn."""
SEED_MAX = 2**63 - 1
"""A seed fits the signed 64-bit numbers of journals and tables."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsNetwork:
    """Synchronous gossip rounds (CAMCAST, section 6.1): what is sent in one round arrives as the next begins.

    `success`: the probability that a message arrives, for each hop. Processing takes no time.
    """

    model: ClassVar[str] = "rounds"
    processing_us: ClassVar[int] = 0
    acks: ClassVar[Acks] = "charged"

    round_us: SomeMicroseconds = 1_000
    success: Share = 1.0

    def __post_init__(self) -> None:
        conform(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyNetwork:
    """A wide area: each message takes `delay_us`, up to `jitter_us` more or less (Pulsarcast, section 5).

    Later ones may overtake. Processing takes no time, but for what `[capacity]` says.
    """

    model: ClassVar[str] = "latency"
    acks: ClassVar[Acks] = "charged"
    processing_us: ClassVar[int] = 0

    delay_us: Microseconds = 500_000
    jitter_us: Microseconds = 300_000

    def __post_init__(self) -> None:
        conform(self)
        if self.jitter_us > self.delay_us:
            raise ScenarioError(
                f"jitter_us = {self.jitter_us} is above delay_us = {self.delay_us}: a message would arrive "
                "before it is sent; lower jitter_us"
            )


Network: TypeAlias = PacketNetwork | UniformNetwork | RoundsNetwork | LatencyNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a node can take: so many messages a second, and so many that wait; what comes beyond is dropped.

    It stands in for the network's own time of processing.
    """

    messages_per_s: Annotated[float, Within("messages a second", 0, 1_000_000, above=True)]
    queue_max: Count
    """Messages at a node that have arrived and not been processed; each dropped one is counted."""

    def __post_init__(self) -> None:
        conform(self)

    @property
    def processing_us(self) -> int:
        return max(1, round(1_000_000 / self.messages_per_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSetup:
    """A topic and who is subscribed, known to every node, when the run begins."""

    name: Topic
    subscribers: Selection = "all"
    apart: bool = False
    """Its subscribers are drawn from those nodes whom no topic before it has."""
    parents: tuple[Topic, ...] = ()
    """Its super-topics besides the one in its name, where topics form a hierarchy."""

    def __post_init__(self) -> None:
        conform(self)


Deed: TypeAlias = Literal["subscribe", "unsubscribe", "register", "unregister", "publish", "crash", "recover"]
"""What a node can be made to do; the last two are of the whole node, the others of a topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that one node, or its application, does at one time.

    `sends` = k makes a crash one in mid-send: from `at_ms` on the node sends k more
    messages and dies inside the call that sends the last of them; with 0, before its
    next one leaves. A `recover` disarms a crash that has not happened by then.
    """

    at_ms: Milliseconds
    node: NodeId
    do: Deed
    topic: Topic | None = None
    sends: Sends | None = None

    def __post_init__(self) -> None:
        conform(self)
        if not self.of_node and self.topic is None:
            raise ScenarioError(f'the key "topic" is missing; give the topic to {self.do}')
        if self.of_node and self.topic is not None:
            raise ScenarioError(
                f"topic = {shown(self.topic)}; a whole node is to {self.do}, so leave the topic out"
            )
        if self.sends is not None and self.do != "crash":
            raise ScenarioError(f'sends = {self.sends}; only a node that is to "crash" counts what it sends')

    @property
    def of_node(self) -> bool:
        """Whether it befalls the whole node, not its application's part in a topic."""
        return self.do in {"crash", "recover"}


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
    """The run is cut here."""
    settle_ms: Duration | None = None
    """The run ends so long after the last planned input and the last fault's end.

    For protocols that never fall silent, because they watch one another.
    """
    network: Network = field(default_factory=PacketNetwork, metadata={"tag": "model"})
    capacity: Capacity | None = None
    """Without it a node's queue is as long as need be."""
    settings: Any = field(default=None, metadata={"kind of": ("protocol", settings_class)})
    """The protocol's own, of the class that the registry names for it; None takes their defaults."""
    topics: tuple[TopicSetup, ...] = field(default=(), metadata={"table": "topic"})
    workloads: tuple[Workload, ...] = field(default=(), metadata={"table": "workload", "tag": "kind"})
    actions: tuple[Action, ...] = field(default=(), metadata={"table": "action"})
    churns: tuple[Churn, ...] = field(default=(), metadata={"table": "churn", "tag": "kind"})
    faults: tuple[Fault, ...] = field(default=(), metadata={"table": "fault", "tag": "kind"})

    def __post_init__(self) -> None:
        conform(self)
        _settle_settings(self)
        if not self.name or not self.name.isprintable():
            raise ScenarioError(f"name = {shown(self.name)}; give a name on one line")
        if self.until_ms is not None and self.settle_ms is not None:
            raise ScenarioError("until_ms and settle_ms both end the run; leave one out")
        endless = self.until_ms is None and self.settle_ms is None
        if endless and not protocol_named(self.protocol).falls_silent(self.settings):
            raise ScenarioError(
                f"{self.protocol} never falls silent, so the run would not end; give settle_ms, how long it "
                "goes on after the last input and fault, or until_ms"
            )
        _check_topics(self)
        _check_workloads(self)
        _check_actions(self)
        _check_churns(self)
        _check_faults(self)

    @property
    def processing_us(self) -> int:
        """How long a node processes one message."""
        return self.network.processing_us if self.capacity is None else self.capacity.processing_us

    @property
    def hierarchy(self) -> Hierarchy:
        """Which topics include which; of topics that come up in the run, by their names."""
        return Hierarchy({topic.name: topic.parents for topic in self.topics})

    @property
    def owners(self) -> dict[Topic, NodeId]:
        """The nodes that make topics, as far as the scenario says so."""
        recorded = (each.recording for each in self.workloads if isinstance(each, Recorded))
        return {topic: node for recording in recorded for topic, node in recording.owners.items()}

    @property
    def mortal(self) -> bool:
        """Whether a node may crash."""
        acted = any(action.of_node for action in self.actions)
        return acted or any(isinstance(fault, Crashed) for fault in self.faults)

    @property
    def faulty(self) -> bool:
        """Whether anything befalls nodes or messages; what does not is run the quicker way."""
        return self.mortal or bool(self.faults) or loss_share(self.network) > 0

    @property
    def unsettled(self) -> bool:
        """Whether a workload's publisher may be down or not subscribed when its time comes."""
        return self.mortal or bool(self.churns)


def loss_share(network: Network) -> float:
    """The share of messages that the network itself loses, without any fault."""
    return 1 - network.success if isinstance(network, RoundsNetwork) else 0.0


def _settle_settings(scenario: Scenario) -> None:
    kind = settings_class(scenario.protocol)
    if scenario.settings is None:
        object.__setattr__(scenario, "settings", kind())
    elif type(scenario.settings) is not kind:
        given = type(scenario.settings).__name__
        raise ScenarioError(
            f"settings is a {given}; the protocol {scenario.protocol!r} takes {kind.__name__}"
        )


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
        check_selection(key, topic.subscribers, scenario.nodes, "nodes", scenario.nodes)
        if topic.apart and isinstance(topic.subscribers, tuple):
            raise ScenarioError(f"{place}apart = true, but its subscribers are listed; leave one of them out")
    _check_parents(scenario)


def _check_parents(scenario: Scenario) -> None:
    declared = [topic.name for topic in scenario.topics]
    flat = protocol_named(scenario.protocol).topics == "flat"
    for number, topic in enumerate(scenario.topics, start=1):
        place = f"[[topic]] {number}: parents"
        if topic.parents and flat:
            raise ScenarioError(
                f"{place} = {shown(topic.parents)}; to {scenario.protocol} no topic includes another: "
                "leave it out, or take another protocol, such as camcast"
            )
        for name in topic.parents:
            if name not in declared:
                near = nearest(name, [each for each in declared if each != topic.name])
                raise ScenarioError(f"{place}: {shown(name)} is declared by no [[topic]]; {near}")
    try:
        _ = scenario.hierarchy
    except TopicError as error:
        raise ScenarioError(f"[[topic]]: parents: {error}") from None


def _check_workloads(scenario: Scenario) -> None:
    subscribed = {topic.name: selected_count(topic.subscribers, scenario.nodes) for topic in scenario.topics}
    planned = 0
    for number, workload in enumerate(scenario.workloads, start=1):
        place = f"[[workload]] {number}: "
        if isinstance(workload, Recorded):
            planned += _check_recorded(scenario, workload, place)
            continue
        name = workload.topic
        check_topic(place, name, list(subscribed))
        if not isinstance(workload, Steady):
            key, publishers = f"{place}publishers", workload.publishers
            whom = f"subscribers of {shown(name)}"
            check_selection(key, publishers, subscribed[name], whom, scenario.nodes)
            if selected_count(publishers, subscribed[name]) == 0:
                raise ScenarioError(f"{key} = {shown(publishers)} stands for nobody; give at least one node")
        planned += publications(workload, subscribed[name])
        if planned > PUBLICATIONS_MAX:
            raise ScenarioError(
                f"{place}{planned} publications are planned up to here; "
                f"at most {PUBLICATIONS_MAX} are allowed"
            )


def _check_recorded(scenario: Scenario, workload: Recorded, place: str) -> int:
    """How many events a recorded workload publishes."""
    recording = workload.recording
    if recording.nodes_min > scenario.nodes:
        raise ScenarioError(
            f"{place}path: {workload.path} has users up to node-{recording.nodes_min}; "
            f"nodes = {scenario.nodes} is too few"
        )
    others = [each for each in scenario.workloads if isinstance(each, Recorded) and each is not workload]
    taken = {topic.name for topic in scenario.topics}
    taken.update(topic for each in others for topic in each.recording.owners)
    for topic in recording.owners:
        if topic in taken:
            raise ScenarioError(
                f"{place}path: {workload.path} has the topic {shown(topic)}, which stands elsewhere too; "
                "leave one of them out"
            )
    return len(workload.events)


def _check_actions(scenario: Scenario) -> None:
    known = [topic.name for topic in scenario.topics]
    known += [
        topic for each in scenario.workloads if isinstance(each, Recorded) for topic in each.recording.owners
    ]
    known += [each.topic for each in scenario.actions if each.topic and each.do in {"subscribe", "register"}]
    names = dict.fromkeys(known)
    for number, action in enumerate(scenario.actions, start=1):
        place = f"[[action]] {number}: "
        check_node(f"{place}node", action.node, scenario.nodes)
        if action.topic is not None and action.topic not in names:
            raise ScenarioError(
                f"{place}topic = {shown(action.topic)} is declared by no [[topic]] "
                f"and no action subscribes to it; {nearest(action.topic, list(names))}"
            )


def _check_churns(scenario: Scenario) -> None:
    subscribed = {topic.name: selected_count(topic.subscribers, scenario.nodes) for topic in scenario.topics}
    for number, churn in enumerate(scenario.churns, start=1):
        place = f"[[churn]] {number}: "
        check_topic(place, churn.topic, list(subscribed))
        count = subscribed[churn.topic]
        if not 0 < count < scenario.nodes:
            who = "all nodes are" if count else "nobody is"
            raise ScenarioError(
                f"{place}{who} subscribed to {shown(churn.topic)}, so nobody could "
                f"{'join' if count else 'leave'}; let some, not all, of the nodes subscribe"
            )
        if isinstance(churn, Exchange):
            key, whom = f"{place}leavers", f"subscribers of {shown(churn.topic)}"
            check_selection(key, churn.leavers, count, whom, scenario.nodes)
            changes = float(selected_count(churn.leavers, count))
            if changes > scenario.nodes - count:
                raise ScenarioError(
                    f"{key} = {shown(churn.leavers)}; only {scenario.nodes - count} nodes are not subscribed "
                    "and could take their places; let fewer leave"
                )
        else:
            length_ms = churn.window_ms[1] - churn.window_ms[0]
            turns = churn.session_ms_mean if isinstance(churn, Sessions) else churn.every_ms
            changes = count * length_ms / turns
        if changes > CHANGES_MAX:
            raise ScenarioError(
                f"{place}about {changes:.0f} changes would be planned; at most {CHANGES_MAX} are allowed"
            )


def _check_faults(scenario: Scenario) -> None:
    for number, fault in enumerate(scenario.faults, start=1):
        place = f"[[fault]] {number}: "
        match fault:
            case Loss() | Duplication():
                chosen = {"senders": fault.senders, "receivers": fault.receivers}
            case Partition():
                chosen = {"side": fault.side}
            case Slow() | Crashed():
                chosen = {"nodes": fault.nodes}
            case Unseen():
                chosen = {}
        for key, selection in chosen.items():
            check_selection(f"{place}{key}", selection, scenario.nodes, "nodes", scenario.nodes)
            if selected_count(selection, scenario.nodes) == 0:
                raise ScenarioError(
                    f"{place}{key} = {shown(selection)} stands for nobody; give at least one node"
                )
