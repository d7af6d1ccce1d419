"""Who is in a tree, as one node sees it (VCube-PS 2018, UPDATE and CHILDREN).

Invariants: `members` is sorted and never changed in place, so that nodes can share it; of
a topic's view, the operation with the highest counter wins, in whatever order they arrive.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from treecast.core import NodeId
from treecast.protocols.vcube.messages import Membership
from treecast.structures import hypercube

_INITIAL = 0
"""The counter of a subscription that stood before the run began; counters start at 1."""


def is_member(node: NodeId, members: Sequence[NodeId]) -> bool:
    """Whether `node` stands in the sorted `members`."""
    position = bisect_left(members, node)
    return position < len(members) and members[position] == node


class Members:
    """The members of a tree as one node sees them, and that node's children among them."""

    __slots__ = ("_children", "_node", "members")

    def __init__(self, node: NodeId, members: tuple[NodeId, ...] = ()) -> None:
        self._node = node
        self.members = members
        self._children: dict[int, tuple[NodeId, ...]] = {}

    def __contains__(self, node: NodeId) -> bool:
        return is_member(node, self.members)

    def children(self, h: int) -> tuple[NodeId, ...]:
        """CHILDREN(i, t, h). Kept until the view changes: a node forwards with few different h."""
        found = self._children.get(h)
        if found is None:
            found = self._children[h] = hypercube.children(self._node, self.members, h)
        return found

    def children_behind(self, sender: NodeId) -> tuple[NodeId, ...]:
        """CHILDREN(i, t, CLUSTER(i, sender) - 1): those to whom node i passes on what `sender` sent."""
        h = (self._node ^ sender).bit_length() - 1
        found = self._children.get(h)
        return self.children(h) if found is None else found

    def set(self, node: NodeId, present: bool) -> None:
        """Take `node` in, or out; the same again changes nothing."""
        if present == is_member(node, self.members):
            return
        position = bisect_left(self.members, node)
        after = position if present else position + 1
        self.members = self.members[:position] + ((node,) if present else ()) + self.members[after:]
        self._children.clear()


class TopicView(Members):
    """Who is subscribed, and who has left, as far as this node knows."""

    __slots__ = ("_counters",)

    def __init__(self, node: NodeId, members: tuple[NodeId, ...] = ()) -> None:
        super().__init__(node, members)
        # The counter of each node's latest operation; initial members are at _INITIAL.
        self._counters: dict[NodeId, int] = {}

    def update(self, operations: Iterable[Membership]) -> None:
        """Merge operations; of two on one node the later one stays."""
        counters = self._counters
        for operation in operations:
            known = counters.get(operation.node)
            if known is None:
                known = _INITIAL if is_member(operation.node, self.members) else _INITIAL - 1
            if operation.counter > known:
                counters[operation.node] = operation.counter
                self.set(operation.node, operation.subscribed)
