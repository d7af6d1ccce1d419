"""One iterative lookup: whom to ask next, and whether it is done (Kademlia, section 2.3).

Invariants:
- nobody is asked twice, and never more than alpha at a time, but for those to be asked first;
- it ends when the k nearest of those who have not failed have answered, or nobody is left;
- `hops` is the length of the chain of nodes, each named by the one before, that led there.
"""

from bisect import insort
from collections.abc import Callable, Iterable
from typing import TypeAlias

from treecast.core import NodeId
from treecast.protocols.pulsarcast.dht_messages import Value
from treecast.protocols.pulsarcast.identity import key_of

Done: TypeAlias = Callable[["Lookup"], None]


class Lookup:
    """A search for the nodes nearest to `target`, or for what lies there."""

    __slots__ = (
        "_alpha",
        "_answered",
        "_asked",
        "_candidates",
        "_depth",
        "_first",
        "_own",
        "_waiting",
        "_width",
        "done",
        "ended",
        "hops",
        "providers",
        "records_wanted",
        "target",
        "values",
    )

    def __init__(
        self, target: int, own: NodeId, width: int, alpha: int, done: Done, records_wanted: int | None
    ) -> None:
        """`width`: the paper's k. `records_wanted`: how many values end it; None: nodes are sought."""
        self.target = target
        self.done = done
        self.values: dict[Value, None] = {}
        self.hops = 0
        self.providers = False  # of values, members' records are sought
        self.ended = False
        self.records_wanted = records_wanted
        self._own = own
        self._width = width
        self._alpha = alpha
        self._candidates: list[tuple[int, NodeId]] = []  # by distance, without those that failed
        self._depth: dict[NodeId, int] = {own: 0}
        self._asked: set[NodeId] = set()
        self._answered: set[NodeId] = set()
        self._waiting = 0
        self._first: list[NodeId] = []

    @property
    def nearest(self) -> list[NodeId]:
        """The nearest who have answered, the nearest first, at most k."""
        return [node for _, node in self._candidates if node in self._answered][: self._width]

    def add(self, nodes: Iterable[NodeId], depth: int) -> None:
        """Take in whom somebody at `depth` - 1 has named."""
        known, target = self._depth, self.target
        for node in nodes:
            if node not in known:
                known[node] = depth
                insort(self._candidates, (key_of(node) ^ target, node))

    def ask_first(self, nodes: Iterable[NodeId]) -> None:
        """These are asked though they may not be among the nearest."""
        self._first = [node for node in nodes if node not in self._depth]
        self.add(self._first, 1)

    def answered(self, node: NodeId, nodes: Iterable[NodeId]) -> None:
        self._waiting -= 1
        self._answered.add(node)
        depth = self._depth[node]
        if self.records_wanted is None or self.values:
            self.hops = max(self.hops, depth)
        self.add(nodes, depth + 1)

    def failed(self, node: NodeId) -> None:
        self._waiting -= 1
        self._candidates.remove((key_of(node) ^ self.target, node))

    def next(self) -> list[NodeId]:
        """Whom to ask now; nobody when it is done, or must wait."""
        found, self._first = self._first, []
        room = self._alpha - self._waiting
        for _, node in self._candidates[: self._width]:
            if len(found) >= room:
                break
            if node not in self._asked and node not in found:
                found.append(node)
        self._asked.update(found)
        self._waiting += len(found)
        return found

    @property
    def is_over(self) -> bool:
        """Whether enough has come, or all of the k nearest have answered."""
        if self.records_wanted is not None and len(self.values) >= self.records_wanted:
            return True
        return not self._first and all(node in self._answered for _, node in self._candidates[: self._width])
