"""Hops a CPU second and peak memory of the engines, interleaved, each run in a process of its own.

All of N nodes subscribe, each publishes one event at U[0, 1000] ms; every PUB and ACK hop
is simulated: 2 N (N - 1) hops.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING

from treecast.core import Topic
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Once, PacketNetwork, TopicSetup

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NODES = 1024
ROUNDS = 3
ENGINES = ("windowed", "event-order", "plain-heapq")
TOPIC = Topic("t")


def scenario(nodes: int) -> Scenario:
    return Scenario(
        name="engines",
        protocol="vcube-ps",
        nodes=nodes,
        seed=1,
        network=PacketNetwork(acks="charged"),
        topics=(TopicSetup(name=TOPIC, subscribers="all"),),
        workloads=(Once(topic=TOPIC, publishers="all", window_ms=(0.0, 1000.0)),),
    )


def run_one(engine: str, nodes: int) -> dict[str, float]:
    """In this process: hops, CPU seconds, peak memory and the mean delivery latency."""
    begin_s = time.process_time()
    if engine == "plain-heapq":
        from plain_heapq import run_plain

        plain = run_plain(scenario(nodes))
        hops, latency_ms = plain.hops, sum(plain.latencies_us) / len(plain.latencies_us) / 1000
    else:
        result = simulate(scenario(nodes), journal="counters", engine=engine)  # type: ignore[arg-type]
        hops, latency_ms = result.hops, result.delivery_latency_ms.mean or 0.0
    cpu_s = time.process_time() - begin_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"hops": hops, "cpu_s": cpu_s, "peak_mb": peak_mb, "latency_ms": latency_ms}


def measure(console: "Console", nodes: int = NODES, rounds: int = ROUNDS) -> None:
    runs: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
    for turn in range(rounds):
        for engine in ENGINES:
            console.print(f"round {turn + 1} of {rounds}: {engine} ...", style="dim")
            output = subprocess.run(
                [sys.executable, __file__, engine, str(nodes)], capture_output=True, text=True, check=True
            ).stdout
            runs[engine].append(json.loads(output))
    console.print(_table(runs, nodes))


def _table(runs: dict[str, list[dict[str, float]]], nodes: int) -> "Table":
    from rich.table import Table  # not where memory is measured

    table = Table(title=f"{nodes} nodes, all subscribe and publish; medians of interleaved rounds")
    for heading in ("engine", "hops", "hops / CPU s", "peak MB", "windowed is faster by", "latency ms"):
        table.add_column(heading, justify="left" if heading == "engine" else "right")
    for engine, found in runs.items():

        def middle(
            value: Callable[[dict[str, float]], float], found: list[dict[str, float]] = found
        ) -> float:
            return median(map(value, found))

        ratios = [
            (other["cpu_s"] / other["hops"]) / (fast["cpu_s"] / fast["hops"])
            for other, fast in zip(found, runs["windowed"], strict=True)
        ]
        table.add_row(
            engine,
            f"{found[0]['hops']:,.0f}",
            f"{middle(lambda run: run['hops'] / run['cpu_s']):,.0f}",
            f"{middle(lambda run: run['peak_mb']):.0f}",
            f"{median(ratios):.2f} x ({min(ratios):.2f} .. {max(ratios):.2f})",
            f"{middle(lambda run: run['latency_ms']):.1f}",
        )
    return table


if __name__ == "__main__":
    print(json.dumps(run_one(sys.argv[1], int(sys.argv[2]))))
