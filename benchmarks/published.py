"""Figures that the VCube-PS paper states, beside ours: section 4.1 and 4.2, ACKs free."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from statistics import mean, stdev

from rich.console import Console
from rich.table import Table

from treecast.core import Topic
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Once, PacketNetwork, TopicSetup

TOPIC = Topic("t")
CASES = (
    # what, nodes, subscribers, publishers, window, published, runs
    ("1 publisher, 25 % subscribe", 1024, 0.25, 1, 0.0, "420", 40),
    ("1 publisher, 25 % subscribe", 4096, 0.25, 1, 0.0, "533", 40),
    ("25 % publish, all subscribe", 1024, 1.0, 0.25, 1000.0, "", 40),
    ("all publish and subscribe", 1024, 1.0, 1.0, 1000.0, "563", 40),
)
Case = tuple[str, int, float, float | int, float, str, int]


def run(case: Case, seed: int) -> tuple[float, bool]:
    """The mean reception latency, and whether every receiver was sent exactly one PUB."""
    _, nodes, subscribers, publishers, window_ms, _, _ = case
    result = simulate(
        Scenario(
            name="published",
            protocol="vcube-ps",
            nodes=nodes,
            seed=seed,
            network=PacketNetwork(acks="free"),
            topics=(TopicSetup(name=TOPIC, subscribers=subscribers),),
            workloads=(Once(topic=TOPIC, publishers=publishers, window_ms=(0.0, window_ms)),),
        ),
        journal="counters",
    )
    receivers = result.events_delivered - result.events_published
    return result.reception_latency_ms.mean or 0.0, result.messages["PUB"].sent == receivers


def measure(console: Console) -> None:
    table = Table(title="VCube-PS: mean reception latency, ms; packet model 1 / 1 / 100, ACKs free")
    for heading in ("setting", "nodes", "runs", "ours", "sd", "paper", "off by", "PUBs = receivers"):
        table.add_column(heading, justify="left" if heading == "setting" else "right")
    means: list[float] = []
    with ProcessPoolExecutor(max_workers=2) as pool:
        for case in CASES:
            what, nodes, *_, published, runs = case
            console.print(f"{what}, {nodes} nodes, {runs} runs ...", style="dim")
            found = list(pool.map(run, [case] * runs, range(runs)))
            latencies = [latency for latency, _ in found]
            means.append(mean(latencies))
            off: Callable[[float], str] = lambda paper: f"{100 * (means[-1] / paper - 1):+.1f} %"  # noqa: E731
            table.add_row(
                what,
                str(nodes),
                str(runs),
                f"{means[-1]:.1f}",
                f"{stdev(latencies):.1f}",
                published,
                off(float(published)) if published else "",
                "yes" if all(exact for _, exact in found) else "NO",
            )
    console.print(table)
    console.print(
        f"all publishing over 25 % publishing: {100 * (means[3] / means[2] - 1):+.1f} % (paper +5.7 %)"
    )
