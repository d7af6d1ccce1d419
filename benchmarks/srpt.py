"""SRPT-S and SRPT-B beside the paper's figures: VCube-PS 2018, sections 4.1, 4.2 and 4.6, ACKs free.

Brokers (4.6): 4096 nodes; the brokers are not subscribed, the others are, evenly among them;
128 events, one every 500 ms, each by a subscriber drawn anew.
"""

from dataclasses import dataclass, replace
from statistics import mean
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import readings  # noqa: F401  enters them in the registry
from comparison import TOPIC, off_by, over_seeds, section_4, spread, table
from published import ONE_1024, ONE_4096, Case, run
from rich.console import Console
from rich.table import Table

from treecast.core import NodeId
from treecast.protocols.baselines.backbone import evenly_spaced
from treecast.protocols.baselines.srpt import BrokerSettings
from treecast.sim import simulate
from treecast.sim.scenario import Steady

RUNS = 40
DUEL_RUNS = 10
BROKER_RUNS = 2
READING_RUNS = 1
NODES = 4096

SRPT_8 = Case("1 publisher, 25 % subscribe", 8, 0.25, 1, 0.0, None, "srpt-s")
SRPT_1024 = replace(ONE_1024, protocol="srpt-s", published_ms=620)
SRPT_4096 = replace(ONE_4096, protocol="srpt-s", published_ms=720)
FEWER = {SRPT_4096: 43}
"""In per cent: how many PUBs fewer VCube-PS needs, as published."""
MORE = {SRPT_8: 2.7}
"""How many times more SRPT-S sends, as published."""


@dataclass(frozen=True, slots=True)
class Duel:
    """All publish and subscribe: VCube-PS against SRPT-S."""

    nodes: int
    propagation_ms: int
    published: float | None
    """The ratio of their latencies."""

    def cases(self) -> tuple[Case, Case]:
        case = Case("all publish", self.nodes, 1.0, 1.0, 1000.0, None, propagation_ms=self.propagation_ms)
        return case, replace(case, protocol="srpt-s")


DUELS = (Duel(64, 100, None), Duel(128, 100, None), Duel(256, 100, 2.48), Duel(256, 1000, 1.37))


@dataclass(frozen=True, slots=True)
class Brokers:
    """One of the systems of figure 9."""

    protocol: str
    brokers: int = 0
    every_ms: float = 500.0
    spacing: Literal["even", "poisson"] = "even"
    nodes: int = NODES

    def __str__(self) -> str:
        name = f"{self.protocol}, {self.brokers} brokers" if self.brokers else self.protocol
        return name if self.spacing == "even" else f"{name}, {self.spacing}, one every {self.every_ms:g} ms"


VCUBE_PS = Brokers("vcube-ps")
SRPT_B_256 = Brokers("srpt-b", 256)
FIGURE_9 = (VCUBE_PS, Brokers("srpt-s"), Brokers("srpt-b", 32), SRPT_B_256, Brokers("srpt-b", 2048))
VCUBE_PS_UNDER = 22
"""By how many per cent VCube-PS's latency is below SRPT-B's with 256 brokers, as published."""
OTHER_READINGS = (
    *(Brokers("through-broker", count) for count in (32, 256, 2048)),
    *(
        Brokers(protocol, count, every_ms, "poisson")
        for every_ms in (62.5, 31.25, 25.0)  # 8, 16 and 20 publishers, each with one every 500 ms
        for protocol, count in (("vcube-ps", 0), ("srpt-b", 256))
    ),
    Brokers("srpt-s", 0, 31.25, "poisson"),
    *(Brokers("srpt-b", count, 31.25, "poisson") for count in (32, 2048)),
)


class Brokered(NamedTuple):
    """Of one run: the mean latency, and the part of it from broker to subscriber."""

    latency_ms: float
    from_broker_ms: float


def run_brokers(case: Brokers, seed: int) -> Brokered:
    everyone = range(case.nodes)
    brokers = set(evenly_spaced(everyone, case.brokers)) if case.brokers else set()
    subscribers = tuple(node for node in everyone if node not in brokers)
    scenario = section_4(
        case.protocol,
        case.nodes,
        seed,
        subscribers,
        Steady(topic=TOPIC, every_ms=case.every_ms, count=128, spacing=case.spacing),
        settings=BrokerSettings(brokers=case.brokers) if brokers else None,
    )
    result = simulate(scenario, journal="all" if brokers else "counters")
    assert result.reception_latency_ms.mean is not None
    last_hop_ms = 0.0
    if result.journal is not None:
        last_hop_ms = from_broker_ms(result.journal, brokers)
    return Brokered(result.reception_latency_ms.mean, last_hop_ms)


def from_broker_ms(journal: pa.Table, brokers: set[NodeId]) -> float:
    """From an event's arrival at a broker, down the tree, to that at his subscribers; mean over all."""
    pubs = journal.filter(pc.and_(pc.equal(journal["kind"], "receive"), pc.equal(journal["message"], "PUB")))
    at_broker_us: dict[tuple[NodeId, NodeId, int], int] = {}
    total_us = count = 0
    columns = (pubs[name].to_pylist() for name in ("time_us", "node", "peer", "source", "sequence"))
    for time_us, node, peer, source, sequence in zip(*columns, strict=True):
        if node in brokers:
            at_broker_us[node, source, sequence] = time_us  # on the way up, if it is; then on the way down
        elif node != source:
            total_us += time_us - at_broker_us[peer, source, sequence]
            count += 1
    return total_us / count / 1000


def measure(console: Console) -> None:
    console.print(_single(console))
    console.print(_duels(console))
    shown, means = _brokers(console, FIGURE_9, BROKER_RUNS, "Section 4.6, figure 9")
    console.print(shown)
    under = 100 * (1 - means[VCUBE_PS] / means[SRPT_B_256])
    console.print(
        f"VCube-PS is {under:.1f} % below SRPT-B with 256 brokers (published {VCUBE_PS_UNDER} %); "
        f"SRPT-B is {100 * (means[SRPT_B_256] / means[VCUBE_PS] - 1):+.1f} % over VCube-PS"
    )
    shown, _ = _brokers(
        console, OTHER_READINGS, READING_RUNS, "Figure 9 read otherwise: through the broker; other loads"
    )
    console.print(shown)


def _single(console: Console) -> Table:
    shown = table(
        "SRPT-S, 1 publisher, 25 % subscribe (4.1): latency in ms; PUB messages, and those VCube-PS needs",
        ["nodes"],
        [
            "latency (sd)",
            "published",
            "off by",
            "PUBs",
            "VCube-PS",
            "fewer",
            "published",
            "more",
            "published",
        ],
    )
    for case, found in over_seeds(console, run, (SRPT_8, SRPT_1024, SRPT_4096), RUNS):
        latencies = [each.latency_ms for each in found]
        pubs, needed = mean(each.pubs for each in found), mean(each.receivers for each in found)
        shown.add_row(
            str(case.nodes),
            spread(latencies),
            f"{case.published_ms:.0f}" if case.published_ms else "",
            off_by(mean(latencies), case.published_ms),
            f"{pubs:.1f}",
            f"{needed:.0f}",
            f"{100 * (1 - needed / pubs):.1f} %",
            f"{FEWER[case]} %" if case in FEWER else "",
            f"{pubs / needed - 1:.2f} x",
            f"{MORE[case]} x" if case in MORE else "",
        )
    return shown


def _duels(console: Console) -> Table:
    shown = table(
        "All publish at U[0, 1000] and subscribe (4.2): latency in ms",
        ["nodes"],
        ["t_pp", "runs", "VCube-PS (sd)", "SRPT-S (sd)", "difference", "ratio", "published", "off by"],
    )
    for duel in DUELS:
        both = over_seeds(console, run, duel.cases(), DUEL_RUNS)
        vcube, srpt = ([each.latency_ms for each in found] for _, found in both)
        ratio = mean(srpt) / mean(vcube)
        shown.add_row(
            str(duel.nodes),
            str(duel.propagation_ms),
            str(DUEL_RUNS),
            spread(vcube),
            spread(srpt),
            f"{mean(srpt) - mean(vcube):+.1f}",
            f"{ratio:.2f} x",
            f"{duel.published} x" if duel.published else "",
            off_by(ratio, duel.published),
        )
    return shown


def _brokers(
    console: Console, cases: tuple[Brokers, ...], runs: int, title: str
) -> tuple[Table, dict[Brokers, float]]:
    shown = table(
        f"{title}: {NODES} nodes, 128 events; latency in ms",
        ["system"],
        ["runs", "latency (sd)", "to the broker", "from there"],
    )
    means: dict[Brokers, float] = {}
    for case, found in over_seeds(console, run_brokers, cases, runs):
        latencies = [each.latency_ms for each in found]
        means[case] = mean(latencies)
        last_hop = mean(each.from_broker_ms for each in found)
        shown.add_row(
            str(case),
            str(runs),
            spread(latencies),
            f"{means[case] - last_hop:.1f}" if last_hop else "",
            f"{last_hop:.1f}" if last_hop else "",
        )
    return shown, means
