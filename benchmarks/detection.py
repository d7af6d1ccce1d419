"""How many rounds VCube takes to let all fault-free nodes know of a crash (VCube-PB 2017, section 5.1).

Every N from 2 to 256 and every single crash. Up to DRIVEN_MAX nodes the detectors themselves
are driven through every crash. Above, the rounds of every crash are counted by the distance
along tests (tests/protocols/synchronous_rounds.py says why that is the same), and the
detectors are driven through the crash that takes longest; both counts must agree wherever
both are made. In rounds that all begin at once, which is the slowest case.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path

from comparison import WORKERS, table
from rich.console import Console

from treecast.protocols.vcube.settings import rounds_bound

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "protocols"))
from synchronous_rounds import rounds_by_distance, rounds_until_known

NODES_MAX = 256
DRIVEN_MAX = 48


@dataclass(frozen=True, slots=True)
class Detection:
    """Of each single crash among so many nodes."""

    nodes: int
    driven: int
    """How many of the crashes the detectors themselves went through."""
    average_of_nodes: Fraction
    """The round in which a node learns of a crash, over nodes and crashes."""
    average_of_last: Fraction
    """The round in which the last one does, over crashes."""
    worst: int


def detection(count: int) -> Detection:
    nodes = range(count)
    counted = [rounds_by_distance(nodes, crashed) for crashed in nodes]
    last = [max(rounds.values()) for rounds in counted]
    driven = nodes if count <= DRIVEN_MAX else [last.index(max(last))]
    for crashed in driven:
        if rounds_until_known(nodes, crashed) != counted[crashed]:
            raise AssertionError(f"N = {count}, crash of {crashed}: the detectors differ from the distance")
    pairs = sum(sum(rounds.values()) for rounds in counted)
    return Detection(
        nodes=count,
        driven=len(driven),
        average_of_nodes=Fraction(pairs, count * (count - 1)),
        average_of_last=Fraction(sum(last), count),
        worst=max(last),
    )


def measure(console: Console, nodes_max: int = NODES_MAX) -> None:
    console.print(f"every N up to {nodes_max}, every crash ...", style="dim")
    with ProcessPoolExecutor(max_workers=WORKERS) as pool:
        found = list(pool.map(detection, range(nodes_max, 1, -1)))[::-1]
    shown = table(
        "VCube: rounds until fault-free nodes know of a crash",
        [],
        [
            "nodes",
            "crashes",
            "driven",
            "average, a node",
            "average, the last",
            "worst",
            "log2(N)^2",
            "within",
        ],
    )
    for bound, group in groupby(found, lambda each: rounds_bound(each.nodes)):
        shown.add_row(*_row(bound, list(group)))
    console.print(shown)


def _row(bound: int, group: list[Detection]) -> list[str]:
    """The Ns between two powers of two share one bound."""
    crashes = sum(each.nodes for each in group)
    pairs = sum(each.nodes * (each.nodes - 1) for each in group)
    average = sum(each.average_of_nodes * each.nodes * (each.nodes - 1) for each in group) / pairs
    last = sum(each.average_of_last * each.nodes for each in group) / crashes
    worst = max(each.worst for each in group)
    return [
        " .. ".join(dict.fromkeys(str(each.nodes) for each in (group[0], group[-1]))),
        f"{crashes:,}",
        f"{sum(each.driven for each in group):,}",
        f"{float(average):.2f}",
        f"{float(last):.2f}",
        str(worst),
        str(bound),
        "yes" if worst <= bound else "NO",
    ]
