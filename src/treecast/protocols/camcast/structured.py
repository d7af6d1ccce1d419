"""The structured membership: tables from the lookup service, renewed now and then (section 5.2.3).

Invariant: the table holds what the service answered last, less whom it has heard to be gone.
"""

import math
from collections.abc import Sequence

from treecast.core import NodeId, Topic
from treecast.protocols.camcast.lookup import Lookup
from treecast.protocols.camcast.membership import Membership, Surroundings
from treecast.structures.partial_view import PartialView


class Structured(Membership):
    """One process in one group, by what the lookup service says."""

    def __init__(self, around: Surroundings, topic: Topic, lookup: Lookup) -> None:
        super().__init__(around, topic)
        self._lookup = lookup
        self._size = 1
        self._standing = False

    def size(self) -> float:
        return self._size if self._settings.size is None else self._settings.size

    def begin(self, members: Sequence[NodeId], count: int | None = None) -> None:
        self._size = len(members)
        super().begin(members, count)
        self._standing = True
        self._set_timer("refresh", self._host.random.random() * self._settings.refresh_ms)

    def join(self) -> None:
        self._lookup.announce(self.topic, present=True)
        self._ask()
        self._set_timer("refresh", self._settings.search_ms)

    def leave(self) -> None:
        self._lookup.announce(self.topic, present=False)
        self._standing = False
        self.view.clear()
        self._cancel_timers("refresh")

    def found(self, members: Sequence[NodeId], size: int | None) -> None:
        self.view = PartialView(self._node, members)
        self._size = max(1, len(members) + 1 if size is None else size)
        if not self._standing:
            self._standing = True
            self._set_timer("refresh", self._settings.refresh_ms)
            self._around.joined(self.topic)

    def timer(self, what: str) -> None:
        if what == "refresh":
            self._lookup.announce(self.topic, present=True)
            self._ask()
            again_ms = self._settings.refresh_ms if self._standing else self._settings.search_ms
            self._set_timer("refresh", again_ms)

    def _ask(self) -> None:
        # Room for the size to have doubled since.
        count = math.ceil(math.log(2 * self._size + 1)) + self._settings.c
        self._lookup.find(self.topic, None, self.topic, count)
