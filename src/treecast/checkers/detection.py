"""Bounded detection: who crashes is suspected in time, and who comes back is trusted in time.

Judged from the `suspect` and `trust` rows, each of which a node writes about another, and
only where a bound is given: what a detector promises (VCube: log2(N)^2 rounds) depends on
the length of its rounds and on the messages that faults take from it. The judges are the
nodes that stay in one life from the crash or recovery to the end of the bound:

- of a crash, if the node stays down that long: the last word of each about it, when the
  bound is over, is `suspect`, whenever it was said;
- of a recovery, if the node stays up that long: who suspected it just before has said
  `trust` since.

What is less than the bound before the journal's last row is not judged.
"""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from treecast.checkers.lives import Cut, Lives
from treecast.checkers.report import Tally, Verdict
from treecast.checkers.rows import select, walk
from treecast.core import NodeId
from treecast.journal import Kind

_SUSPECT = str(Kind.SUSPECT)


class _Word(NamedTuple):
    """What one node says about another."""

    time_us: int
    row: int
    is_suspicion: bool


def check_detection(
    journal: pa.Table, lives: Lives, bound_us: int | None
) -> tuple[Verdict, dict[str, int | float]]:
    """Judge crashes and recoveries by `bound_us`; measure detection and false suspicion."""
    tally = Tally(
        "bounded detection",
        "all who run suspect a node within the bound after its crash, and trust it within the bound "
        "after its recovery",
    )
    detection = _Detection(journal, lives)
    figures = detection.figures()
    if bound_us is None:
        return tally.skip("no bound was given (--detection-bound-ms)"), figures
    if not detection.judge(tally, bound_us):
        return tally.skip(
            f"after no crash or recovery the node stays down or up for {bound_us} us, as the bound asks"
        ), figures
    return tally.verdict(), figures


class _Detection:
    def __init__(self, journal: pa.Table, lives: Lives) -> None:
        self._lives = lives
        self._words: dict[tuple[NodeId, NodeId], list[_Word]] = {}
        kinds = (Kind.SUSPECT, Kind.TRUST)
        for row, time_us, node, kind, peer in walk(
            select(journal, kinds, ("time_us", "node", "kind", "peer"))
        ):
            word = _Word(time_us, row, kind == _SUSPECT)
            self._words.setdefault((node, peer), []).append(word)
        self._nodes: list[NodeId] = sorted(pc.unique(journal["node"]).to_pylist())
        self._end_us: int = journal["time_us"][-1].as_py() if journal.num_rows else 0

    def figures(self) -> dict[str, int | float]:
        """Of each crash, by who ran since it: from there to the first suspicion said after it."""
        if not self._words:
            return {}
        delays_us: list[int] = []
        false_suspicions = 0
        for (node, peer), words in self._words.items():
            noticed = -1  # the last crash that counted
            for word in words:
                if not word.is_suspicion:
                    continue
                cut = self._last_cut(peer, word.time_us)
                if cut is None or not cut.is_crash:
                    false_suspicions += 1
                elif cut.row != noticed and self._life_through(node, cut.time_us, word.time_us) is not None:
                    noticed = cut.row
                    delays_us.append(word.time_us - cut.time_us)
        figures: dict[str, int | float] = {"false suspicions": false_suspicions, "detections": len(delays_us)}
        if delays_us:
            figures["average detection time us"] = sum(delays_us) / len(delays_us)
            figures["worst detection time us"] = max(delays_us)
        return figures

    def judge(self, tally: Tally, bound_us: int) -> int:
        """How many crashes and recoveries could be judged."""
        judged = 0
        for node, cuts in self._lives.cuts.items():
            for cut, after in zip(cuts, [*cuts[1:], None], strict=True):
                until_us = cut.time_us + bound_us
                if until_us > self._end_us or (after is not None and after.time_us <= until_us):
                    continue
                judged += 1
                for judge in self._nodes:
                    begin = self._life_through(judge, cut.time_us, until_us)
                    if judge != node and begin is not None:
                        self._ask(tally, judge, begin, node, cut, until_us)
        return judged

    def _ask(self, tally: Tally, judge: NodeId, begin: int, node: NodeId, cut: Cut, until_us: int) -> None:
        """What `judge`, in the life that begins after row `begin`, has said of the node by then."""
        words = self._words.get((judge, node), [])
        if cut.is_crash:
            last = bisect_right(words, until_us, key=_time_us) - 1
            tally.checked += 1
            kept = last >= 0 and words[last].row > begin and words[last].is_suspicion
            what, missing = "crashed", "does not suspect it"
        else:
            first = bisect_left(words, cut.time_us, key=_time_us)
            if not first or words[first - 1].row < begin or not words[first - 1].is_suspicion:
                return
            tally.checked += 1
            said = words[first : bisect_right(words, until_us, key=_time_us)]
            kept = not all(word.is_suspicion for word in said)
            what, missing = "recovered", "has not trusted it again"
        if not kept:
            tally.violate(
                f"node {node} {what} at {cut.time_us} us (row {cut.row}), and node {judge}, "
                f"which ran all the while, {missing} at {until_us} us",
                rows=(cut.row,),
                times_us=(cut.time_us, until_us),
                nodes=(judge, node),
            )

    def _last_cut(self, node: NodeId, time_us: int) -> Cut | None:
        """The last at that time or before."""
        cuts = self._lives.cuts.get(node, [])
        place = bisect_right(cuts, time_us, key=_cut_us)
        return cuts[place - 1] if place else None

    def _life_through(self, node: NodeId, from_us: int, until_us: int) -> int | None:
        """The row after which the life begins that lasts from then to then; None if none does."""
        cuts = self._lives.cuts.get(node)
        if cuts is None:
            return -1
        place = bisect_left(cuts, from_us, key=_cut_us)
        if place < len(cuts) and cuts[place].time_us <= until_us:
            return None
        if not place:
            return -1
        return None if cuts[place - 1].is_crash else cuts[place - 1].row


def _time_us(word: _Word) -> int:
    return word.time_us


def _cut_us(cut: Cut) -> int:
    return cut.time_us
