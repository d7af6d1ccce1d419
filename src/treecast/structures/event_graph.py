"""The events that a node has of one topic, and the links between them (Pulsarcast, section 3).

An event links to its parents. A node may have an event and not its parents: these are
`missing` and can be asked for by name. An event is complete when all before it are there;
events become complete after their parents, so the order in which they do respects causes.

Invariants: every event is either complete, or waits for a parent that is missing or waits
itself; what is missing is named by an event that is here; events become complete once.
"""

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)


class EventGraph(Generic[Name]):
    """Names of events; what they are called by and hold is for others to keep."""

    __slots__ = ("_children", "_complete", "_heads", "_missing", "_parents", "_waiting")

    def __init__(self) -> None:
        self._parents: dict[Name, tuple[Name, ...]] = {}
        self._complete: dict[Name, None] = {}  # in the order in which they became so
        self._heads: dict[Name, None] = {}
        self._missing: dict[Name, None] = {}
        self._waiting: dict[Name, int] = {}  # for how many parents that are not complete
        self._children: dict[Name, list[Name]] = {}  # who waits for an event that is not complete

    def __contains__(self, event: Name) -> bool:
        return event in self._parents

    def __len__(self) -> int:
        return len(self._parents)

    @property
    def heads(self) -> Collection[Name]:
        """The events that none here links to, in the order in which they came."""
        return self._heads.keys()

    @property
    def missing(self) -> Collection[Name]:
        """The parents that are not here, in the order in which they were first named."""
        return self._missing.keys()

    @property
    def complete(self) -> Collection[Name]:
        """The events of which everything before is here, causes first."""
        return self._complete.keys()

    def parents(self, event: Name) -> tuple[Name, ...]:
        return self._parents[event]

    def add(self, event: Name, parents: Iterable[Name]) -> Sequence[Name]:
        """Take in an event; return those that are complete now, causes first. The same again does nothing."""
        if event in self._parents:
            return ()
        links = self._parents[event] = tuple(dict.fromkeys(parents))
        if event not in self._missing:
            self._heads[event] = None
        self._missing.pop(event, None)
        open_links = 0
        for parent in links:
            self._heads.pop(parent, None)
            if parent in self._complete:
                continue
            open_links += 1
            self._children.setdefault(parent, []).append(event)
            if parent not in self._parents:
                self._missing[parent] = None
        if open_links:
            self._waiting[event] = open_links
            return ()
        return self._complete_from(event)

    def give_up(self, event: Name) -> Sequence[Name]:
        """Do without an event that is missing; return those that are complete now."""
        if event not in self._missing:
            return ()
        return self.add(event, ())

    def before(
        self, events: Iterable[Name], known: Mapping[Name, object] | Collection[Name] = ()
    ) -> Iterator[Name]:
        """These events and all here before them, nearest first, without what is `known` or lies behind it."""
        seen = dict.fromkeys(event for event in events if event not in known)
        ahead = deque(seen)
        while ahead:
            event = ahead.popleft()
            if event not in self._parents:
                continue
            yield event
            for parent in self._parents[event]:
                if parent not in seen and parent not in known:
                    seen[parent] = None
                    ahead.append(parent)

    def _complete_from(self, event: Name) -> list[Name]:
        ready = [event]
        for each in ready:
            self._complete[each] = None
            for child in self._children.pop(each, ()):
                self._waiting[child] -= 1
                if not self._waiting[child]:
                    del self._waiting[child]
                    ready.append(child)
        return ready
