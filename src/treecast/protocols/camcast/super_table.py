"""A super-topic table: some processes of the community above (sections 3.2 to 3.4).

Invariants:
- it holds at most z processes, all of one topic's community: the parent's, or, as long as
  nobody of the parent is known, that of the nearest topic above of which somebody is;
- who was found dead or gone comes back only after a while, however many still tell of him.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from treecast.core import NodeId, Topic
from treecast.protocols.camcast.messages import Links
from treecast.structures.partial_view import PartialView

Generations: TypeAlias = tuple[tuple[Topic, ...], ...]
"""Topics above another, level by level."""


class SuperTopicTable:
    """sTable of one process, for one parent of its topic."""

    __slots__ = ("_failed_us", "asked", "generations", "of", "parent", "view")

    def __init__(self, owner: NodeId, generations: Generations, parent: Topic, z: int) -> None:
        """`generations`: the parent alone, then the topics above it, level by level."""
        self.parent = parent
        self.generations = generations
        self.of: Topic | None = None
        self.view = PartialView(owner, capacity=z)
        self.asked: dict[NodeId, bool] = {}  # who is being checked, and whether he has answered
        self._failed_us: dict[NodeId, int] = {}  # who was found dead, and until when that counts

    @property
    def is_direct(self) -> bool:
        """Whether its entries are of the parent's own community."""
        return bool(self.view) and self.of == self.parent

    @property
    def closer(self) -> Generations:
        """The topics that would be better than what it has; all, if it has nothing."""
        return self.generations[: self._level(self.of)] if self.view else self.generations

    def merge(self, of: Topic, members: Iterable[NodeId], now_us: int) -> bool:
        """Take in members of `of`, unless those it has are of a closer topic; whether it then has any."""
        level, present = self._level(of), self._level(self.of)
        if level == len(self.generations):
            return bool(self.view)
        fresh = [node for node in members if self._failed_us.get(node, now_us) <= now_us]
        if fresh and (not self.view or level < present):
            self.view.clear()
            self.asked.clear()
            self.of = of
        if self.of == of:
            self.view.merge(fresh)
        return bool(self.view)

    def failed(self, nodes: Iterable[NodeId], now_us: int, for_us: int) -> None:
        """These have crashed or left."""
        self._failed_us = {node: until for node, until in self._failed_us.items() if until > now_us}
        for node in nodes:
            if self.view.discard(node):
                self._failed_us[node] = now_us + for_us
            self.asked.pop(node, None)

    def links(self) -> Links | None:
        """What others of the community may take over."""
        if not self.view or self.of is None:
            return None
        return Links(self.parent, self.of, self.view.members)

    def _level(self, of: Topic | None) -> int:
        return next(
            (level for level, each in enumerate(self.generations) if of in each), len(self.generations)
        )


def populated(generations: Generations, members: Mapping[Topic, tuple[NodeId, ...]]) -> Topic | None:
    """The nearest topic above that has any members."""
    return next((topic for each in generations for topic in each if members.get(topic)), None)
