"""The lives of nodes, and that nothing happens between them.

A node's rows are cut into lives by its `crash` and `recover` rows. To every rule a life
is a process of its own: it knows nothing of the one before, its subscriptions and
registrations have ended, and it may deliver what that one delivered. A `recover` row cuts
even where no `crash` row stands before it: who is struck dead writes nothing.
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from treecast.checkers.report import Tally, Verdict
from treecast.checkers.rows import select, walk
from treecast.core import NodeId
from treecast.journal import Kind

_CRASH, _RECOVER = str(Kind.CRASH), str(Kind.RECOVER)
CUTS = (Kind.CRASH, Kind.RECOVER)
"""The kinds of rows that end all that a node was; a walk that keeps state by node selects them."""


class Cut(NamedTuple):
    """A crash or a recovery."""

    row: int
    time_us: int
    is_crash: bool


class Lives:
    """When each node was started and stopped; nodes that never were are not in it.

    Invariant: the cuts of a node stand in the order of their rows.
    """

    def __init__(self, journal: pa.Table) -> None:
        self.cuts: dict[NodeId, list[Cut]] = {}
        for row, time_us, node, kind in walk(select(journal, CUTS, ("time_us", "node", "kind"))):
            self.cuts.setdefault(node, []).append(Cut(row, time_us, kind == _CRASH))
        self.ended: dict[NodeId, int] = {
            node: sys.maxsize if cuts[-1].is_crash else cuts[-1].row for node, cuts in self.cuts.items()
        }
        """By node, the last row of a life that has ended; beyond all rows for a node that is down."""

    def crashes(self) -> Iterator[tuple[NodeId, Cut, Cut | None]]:
        """Node by node, each crash and the cut after it."""
        for node, cuts in self.cuts.items():
            for place, cut in enumerate(cuts):
                if cut.is_crash:
                    yield node, cut, cuts[place + 1] if place + 1 < len(cuts) else None

    def lasts(self, node: NodeId, row: int) -> bool:
        """Whether the life in which `node` wrote `row` goes on to the journal's end."""
        return self.ended.get(node, -1) < row

    def begin_of(self, node: NodeId, row: int) -> int:
        """The row with which the life begins in which `node` wrote `row`."""
        return max((cut.row for cut in self.cuts.get(node, ()) if cut.row < row), default=0)


def check_silence(journal: pa.Table, lives: Lives) -> Verdict:
    """Judge every row of a node that is down."""
    tally = Tally("the dead are silent", "nothing happens at a node between its crash and its recovery")
    crashed = {node for node, _, _ in lives.crashes()}
    tally.checked = sum(1 for _ in lives.crashes())
    if not crashed:
        return tally.verdict()
    theirs = pc.indices_nonzero(pc.is_in(journal["node"], value_set=pa.array(sorted(crashed), pa.int64())))
    rows = journal.select(["time_us", "node", "kind"]).take(theirs)
    down: dict[NodeId, Cut] = {}
    for row, time_us, node, kind in walk(rows.add_column(0, "row", theirs.cast(pa.int64()))):
        if kind == _RECOVER:
            down.pop(node, None)
            continue
        crash = down.get(node)
        if crash is not None:
            tally.violate(
                f"node {node} has a {kind} row at {time_us} us (row {row}), though it had crashed "
                f"at {crash.time_us} us (row {crash.row}) and not recovered",
                rows=(row, crash.row),
                times_us=(time_us, crash.time_us),
                nodes=(node,),
            )
        if kind == _CRASH:
            down[node] = Cut(row, time_us, True)
    return tally.verdict()
