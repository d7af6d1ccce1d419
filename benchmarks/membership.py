"""VCube-PS while a quarter of the subscribers changes at once (VCube-PS 2017, table II, "membership-burst").

75 % of the nodes subscribe; one of them publishes 256 events, each when the one before is
acknowledged; when he starts, a share of the others leaves and as many join. A false
positive is a PUB at a node that is not subscribed. ACKs free.
"""

from dataclasses import dataclass

import readings  # noqa: F401  enters them in the registry
from comparison import TOPIC, over_seeds, section_4, spread, table
from rich.console import Console
from rich.table import Table

from treecast.sim import simulate
from treecast.sim.scenario import Burst, Exchange

EVENTS = 256


@dataclass(frozen=True, slots=True)
class Published:
    """Table II: mean and standard deviation."""

    false_positives: tuple[float, float]
    deliveries: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Case:
    nodes: int
    share: float
    protocol: str = "vcube-ps"

    def __str__(self) -> str:
        return f"{self.protocol}, {self.nodes} nodes, {100 * self.share:g} % leave"


TABLE_2 = {
    Case(512, 0.125): Published((2433.1, 764.4), (97445.5, 655.7)),
    Case(512, 0.25): Published((3475.9, 899.9), (96193.9, 1001.7)),
    Case(1024, 0.125): Published((10525.7, 1207.1), (194506.8, 943.6)),
    Case(1024, 0.25): Published((14590.4, 1717.8), (191706.3, 1549.8)),
}
RUNS = {512: 40, 1024: 10}
READINGS = ("as-printed", "without-waiting", "whole-views")
READING_RUNS = 3


def run(case: Case, seed: int) -> tuple[int, int]:
    """False positives and deliveries."""
    scenario = section_4(
        case.protocol,
        case.nodes,
        seed,
        0.75,
        Burst(topic=TOPIC, count=EVENTS),
        churns=(Exchange(topic=TOPIC, leavers=case.share, publishers_stay=True),),
    )
    result = simulate(scenario, journal="counters")
    return result.false_positives, result.events_delivered


def measure(console: Console) -> None:
    shown = _table("VCube-PS 2017, table II: mean (sd) over runs")
    for case, published in TABLE_2.items():
        _row(console, shown, case, RUNS[case.nodes], published)
    console.print(shown)
    shown = _table("The pseudo-code as printed, and other readings of it (benchmarks/readings.py)")
    for case, published in TABLE_2.items():
        if case.nodes == min(RUNS):
            for reading in READINGS:
                _row(console, shown, Case(case.nodes, case.share, reading), READING_RUNS, published)
    console.print(shown)


def _table(title: str) -> Table:
    return table(
        title,
        ["protocol"],
        ["nodes", "leave", "runs", "false positives", "published", "deliveries", "published", "of all due"],
    )


def _row(console: Console, shown: Table, case: Case, runs: int, published: Published) -> None:
    ((_, found),) = over_seeds(console, run, [case], runs)
    delivered = [float(deliveries) for _, deliveries in found]
    due = 0.75 * case.nodes * EVENTS
    shown.add_row(
        case.protocol,
        str(case.nodes),
        f"{100 * case.share:g} %",
        str(runs),
        spread([float(false_positives) for false_positives, _ in found]),
        "{:,.1f} ({:,.1f})".format(*published.false_positives),
        spread(delivered),
        "{:,.1f} ({:,.1f})".format(*published.deliveries),
        f"{100 * sum(delivered) / len(delivered) / due:.2f} %",
    )
