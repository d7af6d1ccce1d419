"""Figures that the VCube-PS paper states, beside ours: section 4.1 and 4.2, ACKs free."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import mean, stdev

from rich.console import Console
from rich.table import Table

from treecast.core import Topic
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Once, PacketNetwork, TopicSetup

TOPIC = Topic("t")


@dataclass(frozen=True, slots=True)
class Case:
    """One setting of section 4, and the paper's figure where it states one."""

    what: str
    nodes: int
    subscribers: float
    publishers: float | int
    window_ms: float
    published_ms: float | None


RUNS = 40
ONE_1024 = Case("1 publisher, 25 % subscribe", 1024, 0.25, 1, 0.0, 420)
ONE_4096 = Case("1 publisher, 25 % subscribe", 4096, 0.25, 1, 0.0, 533)
QUARTER = Case("25 % publish, all subscribe", 1024, 1.0, 0.25, 1000.0, None)
ALL = Case("all publish and subscribe", 1024, 1.0, 1.0, 1000.0, 563)


def run(case: Case, seed: int) -> tuple[float, bool]:
    """The mean reception latency, and whether every receiver was sent exactly one PUB."""
    scenario = Scenario(
        name="published",
        protocol="vcube-ps",
        nodes=case.nodes,
        seed=seed,
        network=PacketNetwork(acks="free"),
        topics=(TopicSetup(name=TOPIC, subscribers=case.subscribers),),
        workloads=(Once(topic=TOPIC, publishers=case.publishers, window_ms=(0.0, case.window_ms)),),
    )
    result = simulate(scenario, journal="counters")
    receivers = result.events_delivered - result.events_published
    assert result.reception_latency_ms.mean is not None
    return result.reception_latency_ms.mean, result.messages["PUB"].sent == receivers


def measure(console: Console) -> None:
    table = Table(title="VCube-PS: mean reception latency, ms; packet model 1 / 1 / 100, ACKs free")
    for heading in ("setting", "nodes", "runs", "ours", "sd", "paper", "off by", "PUBs = receivers"):
        table.add_column(heading, justify="left" if heading == "setting" else "right")
    means: dict[Case, float] = {}
    with ProcessPoolExecutor(max_workers=2) as pool:
        for case in (ONE_1024, ONE_4096, QUARTER, ALL):
            console.print(f"{case.what}, {case.nodes} nodes, {RUNS} runs ...", style="dim")
            found = list(pool.map(run, [case] * RUNS, range(RUNS)))
            latencies = [latency for latency, _ in found]
            ours = means[case] = mean(latencies)
            paper = case.published_ms
            table.add_row(
                case.what,
                str(case.nodes),
                str(RUNS),
                f"{ours:.1f}",
                f"{stdev(latencies):.1f}",
                f"{paper:.0f}" if paper else "",
                f"{100 * (ours / paper - 1):+.1f} %" if paper else "",
                "yes" if all(exact for _, exact in found) else "NO",
            )
    console.print(table)
    over = 100 * (means[ALL] / means[QUARTER] - 1)
    console.print(f"all publishing over 25 % publishing: {over:+.1f} % (paper +5.7 %)")
