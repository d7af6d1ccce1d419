"""What a process remembers of a group's events: which it has seen, and for a while the events themselves.

Invariants:
- `add` admits an event at most once, however much has been forgotten since: of each source it
  is known up to which sequence events may have been forgotten, and none up to there is new;
- it holds at most `capacity` events, and one number for each source that it has forgotten any of.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from treecast.core import Event, EventId, Source


class Entry(NamedTuple):
    """An event, and when it was published, at the latest, by this process's clock."""

    event: Event
    born_us: int
    upward: float | None


class EventLog:
    """Events in the order in which they were added; the oldest are forgotten first."""

    __slots__ = ("_capacity", "_entries", "_floors", "_ids", "refused")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: dict[EventId, Entry] = {}
        self._ids: list[EventId] = []  # ascending
        self._floors: dict[Source, int] = {}
        self.refused = 0
        """Events that may have been new, but came after what was forgotten of their source."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[EventId]:
        return iter(self._entries)

    def __contains__(self, event: EventId) -> bool:
        """Whether it was added, or may have been: then it would not be admitted."""
        return event in self._entries or event.sequence <= self._floors.get(event.source, -1)

    def get(self, event: EventId) -> Entry | None:
        return self._entries.get(event)

    def add(self, event: Event, born_us: int, upward: float | None = None) -> bool:
        """Admit `event`; False when it was there before, or may have been."""
        if event.id in self._entries:
            return False
        if event.id in self:
            self.refused += 1
            return False
        self._entries[event.id] = Entry(event, born_us, upward)
        insort(self._ids, event.id)
        if len(self._entries) > self._capacity:
            self._forget(next(iter(self._entries)))
        return True

    @property
    def forgotten(self) -> Mapping[Source, int]:
        """Of each source, up to which sequence events may have been forgotten."""
        return self._floors

    def forget_older(self, born_us: int) -> None:
        """Forget events published before then, as far as nothing younger was added before them."""
        while self._entries:
            first = next(iter(self._entries))
            if self._entries[first].born_us >= born_us:
                return
            self._forget(first)

    def between(self, low: EventId | None, high: EventId | None) -> Iterator[Entry]:
        """The events with ids from `low` up to `high`, both included, ascending; None is no bound."""
        begin = 0 if low is None else bisect_left(self._ids, low)
        end = len(self._ids) if high is None else bisect_right(self._ids, high)
        return (self._entries[each] for each in self._ids[begin:end])

    def slice(self, after: EventId | None, count: int) -> list[Entry]:
        """`count` events with ids above `after`, ascending; None is before all."""
        begin = 0 if after is None else bisect_right(self._ids, after)
        return [self._entries[each] for each in self._ids[begin : begin + count]]

    def _forget(self, event: EventId) -> None:
        del self._entries[event]
        del self._ids[bisect_left(self._ids, event)]
        source = event.source
        self._floors[source] = max(self._floors.get(source, -1), event.sequence)


class Past:
    """The ids of events that were seen in groups left since; of the events themselves nothing is kept.

    Invariant: at most `capacity` ids; what may be among those forgotten counts as seen.
    """

    __slots__ = ("_capacity", "_floors", "_ids")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._ids: dict[EventId, None] = {}
        self._floors: dict[Source, int] = {}

    def __contains__(self, event: EventId) -> bool:
        return event in self._ids or event.sequence <= self._floors.get(event.source, -1)

    def take(self, log: EventLog) -> None:
        """Remember all that a log has seen."""
        for source, sequence in log.forgotten.items():
            self._forget(source, sequence)
        self._ids.update(dict.fromkeys(log))
        while len(self._ids) > self._capacity:
            oldest = next(iter(self._ids))
            del self._ids[oldest]
            self._forget(oldest.source, oldest.sequence)

    def _forget(self, source: Source, sequence: int) -> None:
        self._floors[source] = max(self._floors.get(source, -1), sequence)
