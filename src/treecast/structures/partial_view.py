"""A partial view: the few processes of a group that one process knows (CAMCAST, section 3.2; SCAMP).

Topic tables, super-topic tables and SCAMP's in-views are all of this form.

Invariants:
- it holds nobody twice and never its owner, and at most `capacity` processes where it has one;
- its order depends on what was done to it and on nothing else, and draws on that order and
  the stream given: the same history and stream give the same draws under any PYTHONHASHSEED.
"""

from collections.abc import Collection, Iterable, Iterator
from random import Random

from treecast.core import NodeId


class PartialView:
    """Processes in an order without meaning; adding, removing and asking take constant time."""

    __slots__ = ("_members", "_places", "capacity", "owner")

    def __init__(self, owner: NodeId, members: Iterable[NodeId] = (), *, capacity: int | None = None) -> None:
        self.owner = owner
        self.capacity = capacity
        self._members: list[NodeId] = []
        self._places: dict[NodeId, int] = {}
        for member in members:
            self.add(member)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, node: NodeId) -> bool:
        return node in self._places

    def __iter__(self) -> Iterator[NodeId]:
        return iter(self._members)

    def __repr__(self) -> str:
        return f"PartialView({self.owner}, {self._members})"

    @property
    def members(self) -> tuple[NodeId, ...]:
        return tuple(self._members)

    @property
    def is_full(self) -> bool:
        return self.capacity is not None and len(self._members) >= self.capacity

    def add(self, node: NodeId) -> bool:
        """Take `node` in; False when it is there, is the owner, or there is no room."""
        if node in self._places or node == self.owner or self.is_full:
            return False
        self._places[node] = len(self._members)
        self._members.append(node)
        return True

    def discard(self, node: NodeId) -> bool:
        """Take `node` out; whether it was there."""
        place = self._places.pop(node, None)
        if place is None:
            return False
        last = self._members.pop()
        if last != node:
            self._members[place] = last
            self._places[last] = place
        return True

    def replace(self, old: NodeId, new: NodeId) -> bool:
        """Put `new` in the place of `old`; whether `old` was there.

        Where `new` cannot stand, since it is there already or is the owner, `old` goes all the same.
        """
        place = self._places.get(old)
        if place is None or old == new:
            return place is not None
        if new in self._places or new == self.owner:
            return self.discard(old)
        del self._places[old]
        self._members[place] = new
        self._places[new] = place
        return True

    def merge(self, fresh: Iterable[NodeId], failed: Iterable[NodeId] = ()) -> None:
        """The paper's MERGE: the failed go, and fresh ones take their places and what room there is."""
        for node in failed:
            self.discard(node)
        for node in fresh:
            self.add(node)

    def clear(self) -> None:
        self._members.clear()
        self._places.clear()

    def sample(self, random: Random, count: int, without: Collection[NodeId] = ()) -> list[NodeId]:
        """`count` distinct members drawn at random, or all there are, none of them in `without`."""
        candidates = self._members
        if without:
            candidates = [node for node in candidates if node not in without]
        if count >= len(candidates):
            return list(candidates)
        return random.sample(candidates, count)

    def choice(self, random: Random, without: Collection[NodeId] = ()) -> NodeId | None:
        """A member drawn at random; None when there is none."""
        drawn = self.sample(random, 1, without)
        return drawn[0] if drawn else None
