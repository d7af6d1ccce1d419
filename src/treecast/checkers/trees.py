"""Dissemination trees: no cycle at any moment, and after churn one tree that holds everybody.

From the rows `hangs` (below the peer; without one: as a root) and `cut_off` each topic's
links are known at every row. Two rules:

- no cycles: following the links upwards from any node never comes back to it. Judged at
  every `hangs` row; between them no cycle can come about.
- no orphans: when the run ends, every node that is subscribed and alive hangs, over nodes
  that are alive, below one root, the same for the whole topic. Judged when the run ended
  quietly or had time to settle, as only then the last change of membership, crash or fault
  lies long enough back.

Measured: how long after the last of these changes the last link changed. A journal without
`hangs` rows is of a protocol that keeps no such trees, or does not tell: nothing is judged.
"""

import pyarrow as pa

from treecast.checkers.lives import CUTS
from treecast.checkers.report import Tally, Verdict
from treecast.checkers.rows import NOTHING, select, walk
from treecast.core import NodeId
from treecast.journal import QUIET_KEY, Kind, ended_quietly, healed_at

_HANGS, _CUT_OFF = str(Kind.HANGS), str(Kind.CUT_OFF)
_SUBSCRIBE, _UNSUBSCRIBE, _CRASH = str(Kind.SUBSCRIBE), str(Kind.UNSUBSCRIBE), str(Kind.CRASH)
_COLUMNS = ("time_us", "node", "kind", "topic", "peer")
_KINDS = (Kind.HANGS, Kind.CUT_OFF, Kind.SUBSCRIBE, Kind.UNSUBSCRIBE, *CUTS)


def check_trees(journal: pa.Table) -> tuple[tuple[Verdict, ...], dict[str, int | float]]:
    """Judge every topic's links."""
    return _Trees(journal).verdicts()


class _Trees:
    def __init__(self, journal: pa.Table) -> None:
        self._journal = journal
        self._cycles = Tally("no cycles", "following a topic's links upwards never comes back")
        self._orphans = Tally(
            "no orphans",
            "at the end all who are subscribed hang, over nodes that are alive, below their topic's one root",
        )
        self._parents: dict[str, dict[NodeId, NodeId]] = {}  # by topic and node; NOTHING for a root
        self._subscribed: dict[str, dict[NodeId, int]] = {}  # by topic and node: the row
        self._down: set[NodeId] = set()
        self._changed_us = 0  # the last change of who is there
        self._linked_us = 0  # the last change of a link

    def verdicts(self) -> tuple[tuple[Verdict, ...], dict[str, int | float]]:
        for row, time_us, node, kind, topic, peer in walk(select(self._journal, _KINDS, _COLUMNS)):
            self._read(row, time_us, node, kind, topic, peer)
        if not self._cycles.checked:
            reason = "the journal tells of no trees (no hangs rows)"
            return (self._cycles.skip(reason), self._orphans.skip(reason)), {}
        healed_us = max(self._changed_us, healed_at(self._journal) or 0)
        figures: dict[str, int | float] = {
            "links made": self._cycles.checked,
            "trees at rest after us": max(0, self._linked_us - healed_us),
        }
        if not ended_quietly(self._journal):
            reason = f"the run was cut before its end (metadata {QUIET_KEY.decode()})"
            return (self._cycles.verdict(), self._orphans.skip(reason)), figures
        for topic, subscribers in self._subscribed.items():
            self._judge(topic, subscribers)
        return (self._cycles.verdict(), self._orphans.verdict()), figures

    def _read(self, row: int, time_us: int, node: NodeId, kind: str, topic: str | None, peer: NodeId) -> None:
        if topic is None:  # a crash or a recovery
            self._changed_us = time_us
            (self._down.add if kind == _CRASH else self._down.discard)(node)
            for parents in self._parents.values():
                parents.pop(node, None)
            for subscribers in self._subscribed.values():
                subscribers.pop(node, None)
        elif kind == _SUBSCRIBE:
            self._changed_us = time_us
            self._subscribed.setdefault(topic, {})[node] = row
        elif kind == _UNSUBSCRIBE:
            self._changed_us = time_us
            self._subscribed.get(topic, {}).pop(node, None)
        else:
            self._linked_us = time_us
            parents = self._parents.setdefault(topic, {})
            if kind == _CUT_OFF:
                parents.pop(node, None)
            else:
                parents[node] = peer
                self._look_for_cycle(row, time_us, node, topic, parents)

    def _look_for_cycle(
        self, row: int, time_us: int, node: NodeId, topic: str, parents: dict[NodeId, NodeId]
    ) -> None:
        self._cycles.checked += 1
        way = [node]
        while (above := parents.get(way[-1], NOTHING)) != NOTHING:
            if above == node:
                self._cycles.violate(
                    f"topic {topic}: at {time_us} us (row {row}) node {node} hangs below itself, "
                    f"by {' -> '.join(map(str, way))} -> {node}",
                    rows=(row,),
                    times_us=(time_us,),
                    nodes=tuple(way),
                )
                return
            if above in way:  # an older cycle, reported where it came about
                return
            way.append(above)

    def _judge(self, topic: str, subscribers: dict[NodeId, int]) -> None:
        parents = self._parents.get(topic, {})
        roots: dict[NodeId, NodeId] = {}  # and who hangs below it
        for node, row in subscribers.items():
            self._orphans.checked += 1
            root, why = self._root_of(node, parents)
            if root is not None:
                roots.setdefault(root, node)
                continue
            self._orphans.violate(
                f"topic {topic}: at the end node {node}, subscribed in row {row}, {why}",
                rows=(row,),
                nodes=(node,),
            )
        if len(roots) > 1:
            trees = ", ".join(f"node {node} below {root}" for root, node in sorted(roots.items()))
            self._orphans.violate(
                f"topic {topic}: at the end there are {len(roots)} trees: {trees}", nodes=tuple(sorted(roots))
            )

    def _root_of(self, node: NodeId, parents: dict[NodeId, NodeId]) -> tuple[NodeId | None, str]:
        """The root above a node; or None, and why there is none."""
        way = [node]
        while True:
            if way[-1] in self._down:
                return None, f"hangs below node {way[-1]}, which has crashed"
            if way[-1] not in parents:
                place = (
                    "has no place" if way[-1] == node else f"hangs below node {way[-1]}, which has no place"
                )
                return None, f"{place} in the tree"
            above = parents[way[-1]]
            if above == NOTHING:
                return way[-1], ""
            if above in way:
                return None, "hangs in a cycle"
            way.append(above)
