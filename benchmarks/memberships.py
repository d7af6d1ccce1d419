"""SCAMP's views as groups grow, shrink and lose processes; how large a hierarchy the simulator carries."""

import resource
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import log
from random import Random
from statistics import mean
from typing import Any

from machines import run_with_machines
from rich.console import Console
from rich.table import Table

from treecast.core import NodeId, Topic
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Action, Once, RoundsNetwork, TopicSetup, UniformNetwork

GROUP = Topic("group")
EVERY_MS = 20.0
"""Between two who subscribe."""
LEAVE_EVERY_MS = 5.0
SEEDS = {100: 20, 1_000: 4, 10_000: 2}
"""For each size of a group, with how many seeds it is grown."""


@dataclass(frozen=True, slots=True)
class Group:
    """The views of those who are up and in the group."""

    views: Mapping[NodeId, tuple[NodeId, ...]]

    @property
    def mean(self) -> float:
        return sum(map(len, self.views.values())) / len(self.views)

    @property
    def isolated(self) -> int:
        """Processes that are in nobody's view."""
        known = {node for view in self.views.values() for node in view}
        return len(self.views.keys() - known)

    @property
    def parts(self) -> int:
        """Connected components, whichever way a view points."""
        near: dict[NodeId, set[NodeId]] = {node: set() for node in self.views}
        for node, view in self.views.items():
            for other in view:
                near[node].add(other)
                near[other].add(node)
        left, found = set(near), 0
        while left:
            found += 1
            reached = [left.pop()]
            while reached:
                fresh = near[reached.pop()] & left
                left -= fresh
                reached += fresh
        return found


def grown(
    size: int,
    seed: int,
    *,
    leave: float = 0.0,
    crash: float = 0.0,
    after_ms: float = 3_000.0,
    upkeep: bool = False,
) -> Group:
    """A group of `size`, subscribed one by one, some of whom then leave, or crash at once.

    `upkeep`: with heartbeats and leases; without, nothing happens but what is asked for.
    """
    begin_ms = EVERY_MS * size + 2_000
    lost = Random(f"lost/{seed}").sample(range(1, size), round((leave + crash) * size))
    actions = [
        Action(at_ms=EVERY_MS * node, node=node, do="subscribe", topic=GROUP) for node in range(1, size)
    ]
    for place, node in enumerate(lost):
        if crash:
            actions.append(Action(at_ms=begin_ms, node=node, do="crash"))
        else:
            at_ms = begin_ms + LEAVE_EVERY_MS * place
            actions.append(Action(at_ms=at_ms, node=node, do="unsubscribe", topic=GROUP))
    rest = {} if upkeep else {"heartbeat_ms": 1e8, "isolation_ms": 2e8, "lease_ms": 1e9}
    _, machines = run_with_machines(
        Scenario(
            name="group",
            protocol="camcast",
            nodes=size,
            seed=seed,
            until_ms=begin_ms + LEAVE_EVERY_MS * len(lost) * (leave > 0) + after_ms,
            network=UniformNetwork(processing_us=0),
            settings=CamcastSettings(repair=False, **rest),
            topics=(TopicSetup(name=GROUP, subscribers=(0,)),),
            actions=tuple(actions),
        ),
        journal="counters",
    )
    here = sorted(set(range(size)) - set(lost))
    members = set(here)
    return Group(
        {
            node: tuple(each for each in machines[node].communities[0].membership.view if each in members)
            for node in here
        }
    )


def measure(console: Console, sizes: Mapping[int, int] = SEEDS) -> None:
    table = Table(
        title="cam-scamp: a group grows; then half leave, or 30 % crash: mean (least to most) over seeds",
        title_justify="left",
    )
    headings = ("N", "seeds", "view / ln N", "half left: view / ln N/2", "parts", "with upkeep: parts")
    for heading in (*headings, "30 % crashed: isolated", "parts", "2.5 leases later: isolated", "parts"):
        table.add_column(heading, justify="right")
    for size, seeds in sizes.items():
        whole = _grown(size, seeds)
        half = _grown(size, seeds, leave=0.5)
        row = [str(size), str(seeds), _mean(each.mean / log(size) for each in whole)]
        row += [_mean(each.mean / log(size / 2) for each in half), _span(each.parts for each in half)]
        if size <= 1_000:
            kept = _grown(size, seeds, leave=0.5, after_ms=60_000.0, upkeep=True)
            crashed = _grown(size, seeds, crash=0.3)
            healed = _grown(size, seeds, crash=0.3, after_ms=300_000.0, upkeep=True)
            row.append(_span(each.parts for each in kept))
            for found in (crashed, healed):
                row += [_span(each.isolated for each in found), _span(each.parts for each in found)]
        table.add_row(*row)
    console.print(table)


def _grown(size: int, seeds: int, **what: Any) -> list[Group]:
    with ProcessPoolExecutor(max_workers=2) as pool:
        return list(pool.map(partial(grown, size, **what), range(1, seeds + 1)))


def _mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{mean(found):.2f} ({_span(found)})"


def _span(values: Iterable[float]) -> str:
    """The least and the most of them."""
    shown = [str(each) if isinstance(each, int) else f"{each:.2f}" for each in sorted(values)]
    return shown[0] if shown[0] == shown[-1] else f"{shown[0]} to {shown[-1]}"


def large(nodes: int = 10_000, levels: int = 5) -> tuple[float, float, int]:
    """CPU seconds, megabytes (the process's peak) and deliveries of one event through all levels."""
    names = [Topic(".".join(f"t{each}" for each in range(level + 1))) for level in range(levels)]
    begin_s = time.process_time()
    result = simulate(
        Scenario(
            name="large",
            protocol="camcast",
            nodes=nodes,
            seed=1,
            network=RoundsNetwork(success=0.85),
            settings=CamcastSettings(membership="static", g=10),
            topics=tuple(TopicSetup(name=name, subscribers=nodes // levels, apart=True) for name in names),
            workloads=(Once(topic=names[-1], publishers=1),),
        ),
        journal="counters",
    )
    seconds = time.process_time() - begin_s
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, result.events_delivered


def measure_large(console: Console) -> None:
    seconds, megabytes, delivered = large()
    console.print(
        f"cam-scale: 10000 processes in 5 communities, one event: {delivered} deliveries, "
        f"{seconds:.2f} s, {megabytes:.0f} MB (bounds: 5 s, 1024 MB)"
    )
