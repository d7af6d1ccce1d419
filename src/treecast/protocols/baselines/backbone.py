"""The shape of a pruned tree: the whole hypercube, or a hypercube of brokers with the rest below it.

SRPT-S is the case in which every node is a broker, so that nothing hangs below.
Invariants: a node's place depends on nothing but the ids of the nodes and of the root; each
node but the root has one parent; all below one child of a node lie side by side in id, so
that a search in the sorted subscribers tells whether any of them is subscribed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

from treecast.core import NodeId
from treecast.protocols.vcube.view import is_member
from treecast.structures import hypercube


@lru_cache(maxsize=8)
def evenly_spaced(nodes: Sequence[NodeId], count: int) -> Sequence[NodeId]:
    """`count` of the sorted nodes, the first among them, with equally many after each, give or take one."""
    if count == len(nodes):
        return nodes
    return tuple(nodes[number * len(nodes) // count] for number in range(count))


class Backbone:
    """The hypercube tree over some sorted nodes, the brokers, from one of them.

    Every other node hangs below the last broker before it.
    """

    __slots__ = ("_brokers", "_root")

    def __init__(self, brokers: Sequence[NodeId], root: NodeId) -> None:
        self._brokers = brokers
        self._root = root

    def parent(self, i: NodeId) -> NodeId | None:
        """The parent of node i; None for the root."""
        if i == self._root:
            return None
        above = self._brokers[bisect_right(self._brokers, i) - 1]
        return hypercube.parent(self._root, i, self._brokers) if above == i else above

    def children(self, i: NodeId, subscribers: Sequence[NodeId]) -> tuple[NodeId, ...]:
        """The children of node i that are, or lead to, any of the sorted subscribers, in order."""
        brokers = self._brokers
        if not is_member(i, brokers):
            return ()
        parent = self.parent(i)
        reach = brokers[-1].bit_length() if parent is None else hypercube.cluster(parent, i) - 1
        inner = []
        for child in hypercube.children(i, brokers, reach):
            begin, end = self._below(child, hypercube.cluster(i, child) - 1, subscribers)
            if begin < end:
                inner.append(child)
        begin, end = self._below(i, 0, subscribers)
        return (*inner, *(each for each in subscribers[begin:end] if each != i))

    def in_order(self, i: NodeId, children: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """The order in which node i sends to its children: largest cluster first, then who hangs below."""
        return tuple(sorted(children, key=lambda child: self._rank(i, child)))

    def _rank(self, i: NodeId, child: NodeId) -> tuple[bool, int]:
        if is_member(child, self._brokers):
            return False, -hypercube.cluster(i, child)
        return True, child

    def _below(self, broker: NodeId, reach: int, subscribers: Sequence[NodeId]) -> tuple[int, int]:
        """The slice of the subscribers below a broker who answers for `reach` clusters, and himself."""
        brokers = self._brokers
        first, after = hypercube.within(broker, reach, brokers)
        begin = bisect_left(subscribers, brokers[first])
        if after == len(brokers):
            return begin, len(subscribers)
        return begin, bisect_left(subscribers, brokers[after], begin)
