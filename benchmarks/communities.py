"""One run of CAMCAST's simulations (section 6.1): a chain of communities, one event of the bottom topic."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import mean, stdev
from typing import Literal

from machines import run_with_machines

from treecast.core import Message, NodeId, Topic
from treecast.protocols.baselines.gossip import HierarchicalSettings
from treecast.protocols.camcast.settings import CamcastSettings, MembershipSettings
from treecast.sim import Scenario
from treecast.sim.scenario import Crashed, Fault, Once, RoundsNetwork, TopicSetup, Unseen

ROUND_US = 1_000
UPKEEP_ROUNDS = 40
"""How long repair goes on after the event in a run that would never fall silent."""

THREE = (1000, 100, 10)
TRIPLE = (100, 100, 100)
QUINTUPLE = (100, 100, 100, 100, 100)

Protocol = Literal["camcast", "gossip-broadcast", "gossip-multicast", "gossip-hierarchical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A setting; sizes from the bottom community up to the root's."""

    sizes: tuple[int, ...]
    protocol: Protocol = "camcast"
    crashed: float = 0.0
    seen: Literal["by all", "by each"] = "by all"
    event_of: int = 0
    """The event's topic: 0 is the bottom one, -1 the root."""
    repair: bool = False
    success: float = 0.85


@dataclass(slots=True)
class Outcome:
    """What a run showed; lists by community, from the bottom up."""

    rounds_last: float | None
    """Rounds to the last first reception; None when nobody but the publisher received it."""
    rounds_silent: float
    """Rounds until nothing was on its way."""
    alive: list[int]
    received: list[int]
    """Of those alive, how many received the event."""
    within: list[int] = field(default_factory=list)
    """Events sent inside each community ..."""
    upward: list[int] = field(default_factory=list)
    """... and arrived from each at the next one."""
    parasites: int = 0
    entries: list[float] = field(default_factory=list)
    """Mean entries of the tables of a process."""
    messages: dict[str, int] = field(default_factory=dict)


def topics(levels: int) -> list[Topic]:
    """From the bottom up: the root is `t0`, the one below it `t0.t1`."""
    names = [Topic(".".join(f"t{level}" for level in range(depth + 1))) for depth in range(levels)]
    return names[::-1]


def scenario(case: Case, seed: int) -> Scenario:
    names = topics(len(case.sizes))
    setups = tuple(
        TopicSetup(name=name, subscribers=size, apart=True)
        for name, size in zip(names, case.sizes, strict=True)
    )
    faults: tuple[Fault, ...] = ()
    if case.crashed and case.seen == "by all":
        faults = (Crashed(nodes=case.crashed, publishers_stay=True),)
    elif case.crashed:
        faults = (Unseen(share=case.crashed, window_ms=(0.0, 1e6)),)
    return Scenario(
        name="communities",
        protocol=case.protocol,
        nodes=sum(case.sizes),
        seed=seed,
        until_ms=float(UPKEEP_ROUNDS) if case.repair else None,
        network=RoundsNetwork(round_us=ROUND_US, success=case.success),
        settings=_settings(case),
        topics=setups,
        workloads=(Once(topic=names[case.event_of], publishers=1),),
        faults=faults,
    )


def _settings(case: Case) -> MembershipSettings:
    if case.protocol == "camcast":
        return CamcastSettings(membership="static", repair=case.repair, repair_ms=1.0)
    if case.protocol == "gossip-hierarchical":
        return HierarchicalSettings(membership="static")
    return MembershipSettings(membership="static")


def run(case: Case, seed: int) -> Outcome:
    """One run; the same case and seed give the same outcome."""
    sent: Counter[tuple[NodeId, NodeId]] = Counter()
    arrived: Counter[tuple[NodeId, NodeId]] = Counter()

    def note_sent(sender: NodeId, to: NodeId, message: Message) -> None:
        if message.event is not None:
            sent[sender, to] += 1

    def note_arrived(sender: NodeId, to: NodeId, message: Message) -> None:
        if message.event is not None:
            arrived[sender, to] += 1

    result, machines = run_with_machines(
        scenario(case, seed), sent=note_sent, received=note_arrived, journal="deliveries"
    )
    assert result.journal is not None
    rows = result.journal.select(["node", "kind", "topic"]).to_pylist()
    names = topics(len(case.sizes))
    level_of = {row["node"]: names.index(row["topic"]) for row in rows if row["kind"] == "subscribe"}
    dead = {row["node"] for row in rows if row["kind"] == "crash"}
    delivered = {row["node"] for row in rows if row["kind"] == "deliver"}
    levels = range(len(names))
    latency = result.reception_latency_ms.max
    return Outcome(
        rounds_last=None if latency is None else latency * 1000 / ROUND_US,
        rounds_silent=result.simulated_ms * 1000 / ROUND_US,
        alive=[sum(each == n and node not in dead for node, each in level_of.items()) for n in levels],
        received=[sum(each == n and node in delivered for node, each in level_of.items()) for n in levels],
        within=[_hops(sent, level_of, n, n) for n in levels],
        upward=[_hops(arrived, level_of, n, n + 1) for n in levels[:-1]],
        parasites=result.false_positives,
        entries=_entries(machines, level_of, len(names)),
        messages={kind: traffic.sent for kind, traffic in result.messages.items()},
    )


def _hops(hops: Counter[tuple[NodeId, NodeId]], level_of: dict[NodeId, int], begin: int, end: int) -> int:
    return sum(count for (a, b), count in hops.items() if level_of.get(a) == begin and level_of.get(b) == end)


def _entries(machines: dict[NodeId, object], level_of: dict[NodeId, int], levels: int) -> list[float]:
    held: list[list[int]] = [[] for _ in range(levels)]
    for node, level in level_of.items():
        machine = machines[node]
        communities = getattr(machine, "communities", None)
        entries = (
            machine.entries  # type: ignore[attr-defined]
            if communities is None
            else sum(each.entries for each in communities)
        )
        if entries:
            held[level].append(entries)
    return [mean(each) if each else 0.0 for each in held]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean and half the width of its 95 % interval."""
    if len(values) < 2:
        return (mean(values) if values else float("nan")), float("nan")
    return mean(values), 1.96 * stdev(values) / sqrt(len(values))
