"""What a node keeps of a topic's events, and whom it has told of them: VCube-PB's repair.

Trees bring events fast; this makes sure that they come at all (agreement), whatever was
suspected wrongly, lost or not yet known: neighbours on the topic's hypercube tell one
another what they have delivered, and send what the other lacks. The neighbours of all
members together connect every member with every other, however the cube is filled.

What was delivered lately is not told: it is on its way to everybody by the trees, and
would be asked for without need. It ages for one round at least.

Invariants: events are kept in the order of delivery, so causes come first; what is told has
been delivered or left out, with all that precedes it; a node is told again until it has answered;
no version is used twice, in one life or another, so that no late answer says too much.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from treecast.core import Event, NodeId, Source
from treecast.protocols.vcube.pb_messages import Vector

_NEVER = -1


class TopicLog:
    """One node's log of one topic."""

    __slots__ = (
        "_aged",
        "_asked",
        "_begin",
        "_forgotten",
        "_keep",
        "_kept",
        "_new",
        "_previous",
        "_round",
        "_told",
        "version",
    )

    def __init__(self, keep: int, version: int) -> None:
        """`version`: the last one that may have been used before."""
        self._keep = keep
        self._kept: deque[Event] = deque()
        self._forgotten: dict[Source, int] = {}  # of each source, through where events are gone
        self._new: dict[Source, int] = {}  # delivered in this round
        self._previous: dict[Source, int] = {}  # ... and in the one before
        # The rest: sequence, version and round, oldest version first.
        self._aged: dict[Source, tuple[int, int, int]] = {}
        self._round = 0
        self._begin = self.version = version
        self._told: dict[NodeId, int] = {}  # the version up to which a neighbour lacks nothing
        self._asked: dict[NodeId, None] = {}  # neighbours, the one told longest ago first

    @property
    def is_empty(self) -> bool:
        """Whether no event is kept."""
        return not self._kept

    def add(self, event: Event) -> None:
        """Keep an event that has just been delivered, or published."""
        self._kept.append(event)
        if len(self._kept) > self._keep:
            gone = self._kept.popleft().id
            self._forgotten[gone.source] = gone.sequence
        self._new[event.id.source] = event.id.sequence

    def skip(self, vector: Mapping[Source, int]) -> None:
        """Note what will never be delivered here: it is told of, though nobody can be helped out with it.

        Else two members might not hear of each other's events, all of whose neighbours are newcomers.
        """
        for source, sequence in vector.items():
            self._forgotten[source] = max(sequence, self._forgotten.get(source, _NEVER))
            self._new[source] = max(sequence, self._new.get(source, _NEVER))

    def begin_round(self) -> None:
        """A round has passed: what was delivered in the one before it is told from now on."""
        self._round += 1
        if self._previous:
            self.version += 1
            for source, sequence in self._previous.items():
                self._aged.pop(source, None)
                self._aged[source] = sequence, self.version, self._round
        self._previous, self._new = self._new, {}

    def recent(self, source: Source, rounds: int) -> Event | None:
        """The source's newest event, if it is kept and came within that many rounds."""
        if source not in self._new and source not in self._previous:
            *_, aged = self._aged.get(source, (_NEVER,))
            if aged < self._round - rounds:
                return None
        return next((event for event in reversed(self._kept) if event.id.source == source), None)

    def next_to_tell(self, neighbours: Iterable[NodeId]) -> NodeId | None:
        """Of the neighbours that may lack something the one whose turn it is."""
        behind = [each for each in neighbours if self._told.get(each, self._begin) < self.version]
        if not behind:
            return None
        chosen = next((each for each in behind if each not in self._asked), None)
        if chosen is None:
            chosen = next(each for each in self._asked if each in behind)
        self._asked.pop(chosen, None)
        self._asked[chosen] = None
        return chosen

    def news_for(self, neighbour: NodeId) -> Vector:
        """What the neighbour has not yet said that it has."""
        told, found = self._told.get(neighbour, self._begin), []
        for source in reversed(self._aged):
            sequence, version, _ = self._aged[source]
            if version <= told:
                break
            found.append((source, sequence))
        return tuple(found)

    def note_told(self, neighbour: NodeId, version: int) -> None:
        self._told[neighbour] = max(version, self._told.get(neighbour, self._begin))

    def note_heard(self, neighbour: NodeId, vector: Vector) -> None:
        """The neighbour has told that much itself: if that is all there is to tell, it need not be told."""
        its = dict(vector)
        if all(its.get(source, _NEVER) >= sequence for source, sequence in self.news_for(neighbour)):
            self.note_told(neighbour, self.version)

    def forget_neighbour(self, neighbour: NodeId) -> None:
        """It has begun a new life, and knows nothing."""
        self._told.pop(neighbour, None)
        self._asked.pop(neighbour, None)

    def has_all_after(self, after: Mapping[Source, int]) -> bool:
        """Whether nothing above these numbers has been forgotten."""
        return all(self._forgotten.get(source, _NEVER) <= number for source, number in after.items())

    def events_after(self, after: Mapping[Source, int]) -> Iterator[Event]:
        """The events above these numbers, of these sources, causes first."""
        for event in self._kept:
            number = after.get(event.id.source)
            if number is not None and event.id.sequence > number:
                yield event
