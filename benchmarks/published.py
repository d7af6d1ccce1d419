"""Figures that the VCube-PS paper states, beside ours: section 4.1 and 4.2, ACKs free."""

from dataclasses import dataclass
from statistics import mean
from typing import NamedTuple

from comparison import TOPIC, off_by, over_seeds, section_4, spread, table
from rich.console import Console

from treecast.sim import simulate
from treecast.sim.scenario import Once


@dataclass(frozen=True, slots=True)
class Case:
    """One setting of section 4, and the paper's figure where it states one."""

    what: str
    nodes: int
    subscribers: float
    publishers: float | int
    window_ms: float
    published_ms: float | None
    protocol: str = "vcube-ps"
    propagation_ms: int = 100

    def __str__(self) -> str:
        return f"{self.what}, {self.nodes} nodes, {self.protocol}"


class Figures(NamedTuple):
    """Of one run."""

    latency_ms: float
    """Mean reception latency."""
    pubs: int
    receivers: int
    """Deliveries but for the publishers' own: how many PUBs it takes if each goes straight to a receiver."""


RUNS = 40
ONE_1024 = Case("1 publisher, 25 % subscribe", 1024, 0.25, 1, 0.0, 420)
ONE_4096 = Case("1 publisher, 25 % subscribe", 4096, 0.25, 1, 0.0, 533)
QUARTER = Case("25 % publish, all subscribe", 1024, 1.0, 0.25, 1000.0, None)
ALL = Case("all publish and subscribe", 1024, 1.0, 1.0, 1000.0, 563)


def run(case: Case, seed: int) -> Figures:
    scenario = section_4(
        case.protocol,
        case.nodes,
        seed,
        case.subscribers,
        Once(topic=TOPIC, publishers=case.publishers, window_ms=(0.0, case.window_ms)),
        propagation_ms=case.propagation_ms,
    )
    result = simulate(scenario, journal="counters")
    assert result.reception_latency_ms.mean is not None
    receivers = result.events_delivered - result.events_published
    return Figures(result.reception_latency_ms.mean, result.messages["PUB"].sent, receivers)


def measure(console: Console) -> None:
    shown = table(
        "VCube-PS: mean reception latency, ms; packet model 1 / 1 / 100, ACKs free",
        ["setting"],
        ["nodes", "runs", "ours (sd)", "published", "off by", "PUBs = receivers"],
    )
    means: dict[Case, float] = {}
    for case, found in over_seeds(console, run, (ONE_1024, ONE_4096, QUARTER, ALL), RUNS):
        latencies = [each.latency_ms for each in found]
        means[case] = mean(latencies)
        shown.add_row(
            case.what,
            str(case.nodes),
            str(RUNS),
            spread(latencies),
            f"{case.published_ms:.0f}" if case.published_ms else "",
            off_by(means[case], case.published_ms),
            "yes" if all(each.pubs == each.receivers for each in found) else "NO",
        )
    console.print(shown)
    over = 100 * (means[ALL] / means[QUARTER] - 1)
    console.print(f"all publishing over 25 % publishing: {over:+.1f} % (published +5.7 %)")
