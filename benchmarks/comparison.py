"""Our figures beside the papers', and how scenarios are run for them: many seeds, two at a time."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import mean, stdev
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from treecast.core import Topic
from treecast.sim import Scenario
from treecast.sim.scenario import Churn, PacketNetwork, Selection, TopicSetup, Workload

Setting = TypeVar("Setting")
Outcome = TypeVar("Outcome")

WORKERS = 2
TOPIC = Topic("t")


def section_4(
    protocol: str,
    nodes: int,
    seed: int,
    subscribers: Selection,
    workload: Workload,
    *,
    churns: tuple[Churn, ...] = (),
    settings: object = None,
    propagation_ms: int = 100,
) -> Scenario:
    """A run as in section 4 of VCube-PS 2018: one topic, t_pc = t_t = 1 ms, ACKs free."""
    return Scenario(
        name="section 4",
        protocol=protocol,
        nodes=nodes,
        seed=seed,
        network=PacketNetwork(acks="free", propagation_us=propagation_ms * 1000),
        settings=settings,
        topics=(TopicSetup(name=TOPIC, subscribers=subscribers),),
        workloads=(workload,),
        churns=churns,
    )


def off_by(ours: float, published: float | None) -> str:
    """By how much ours is above or below."""
    return f"{100 * (ours / published - 1):+.1f} %" if published else ""


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over runs."""
    return f"{mean(values):,.1f} ({stdev(values):,.1f})" if len(values) > 1 else f"{mean(values):,.1f}"


def table(title: str, left: Iterable[str], right: Iterable[str]) -> Table:
    """An empty one: words to the left, figures to the right."""
    found = Table(title=title)
    for heading in left:
        found.add_column(heading)
    for heading in right:
        found.add_column(heading, justify="right")
    return found


def over_seeds(
    console: Console, run: Callable[[Setting, int], Outcome], settings: Iterable[Setting], runs: int
) -> list[tuple[Setting, list[Outcome]]]:
    """Each setting with what its runs gave, seeds 0 to runs - 1."""
    found = []
    with ProcessPoolExecutor(max_workers=WORKERS) as pool:
        for setting in settings:
            console.print(f"{setting}, {runs} runs ...", style="dim", highlight=False)
            found.append((setting, list(pool.map(run, [setting] * runs, range(runs)))))
    return found
