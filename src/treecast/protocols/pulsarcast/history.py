"""What a node has of one topic's events, what it lacks, and what it lacks (section 3, eventual delivery).

An event is settled, and only then delivered, passed on and linked to, when all that it
links to is settled; what it links to and is not here is fetched: first from the neighbour
that told of it, then from the others in the tree, then from the DHT. So a node that was away
walks back from the newest event to the last that it has, and a link into another topic
holds an event back for ever, as nothing of another topic is ever taken in here.

Beyond the paper a newcomer has a horizon: of each source the last event that was settled at
its parent when that welcomed it. What is not beyond it neither is owed to it nor held
against it. With `history = "all"` there is no horizon, and it walks back to the first event.

Invariants:
- what is settled is closed: with an event, all before it, but for what the horizon hides;
- so of one source the events settled are those up to `seen`, without a gap;
- a missing event is asked for at most `FETCHES_MAX` times, which is counted, until a new neighbour comes;
- no more than `WAITING_MAX` events wait for others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

from treecast.core import EventId, NodeId, PeerError, Source, Topic
from treecast.protocols.pulsarcast.cids import Cid
from treecast.protocols.pulsarcast.descriptors import TopicDescriptor
from treecast.protocols.pulsarcast.envelope import PARENTS_MAX
from treecast.protocols.pulsarcast.messages import Carried
from treecast.protocols.pulsarcast.records import Record, read_record
from treecast.structures.event_graph import EventGraph

BATCH_MAX = 64
"""Events asked for, and sent, at once."""
HEADS_TOLD_MAX = 64
"""Heads that a node tells of itself; what it leaves out comes before later ones soon."""
FETCHES_MAX = 12
"""The neighbours and the DHT in turns; more only burdens them with what nobody has."""
WAITING_MAX = 100_000
CONFIRMING_MAX = 512
"""How far back from a neighbour's heads a node looks for its own last event."""


class Lack:
    """A missing event: since when, and how often it was asked for."""

    __slots__ = ("asked", "since_us", "teller")

    def __init__(self, since_us: int, teller: NodeId | None) -> None:
        self.since_us = since_us
        self.teller = teller  # whose word it is that there is such an event
        self.asked = 0

    def source(self, neighbours: Sequence[NodeId]) -> NodeId | None:
        """Whom to ask now: its teller and, each other time, the DHT (None) or another neighbour in turn."""
        turn, is_teller = divmod(self.asked, 2)  # of the times that it was asked for, this one included
        if is_teller and self.teller in neighbours:
            return self.teller
        place = (turn - 1) % (len(neighbours) + 1)
        return neighbours[place - 1] if place else None


class History:
    """The events of one topic at one node."""

    __slots__ = (
        "_count",
        "_graph",
        "_hidden",
        "_records",
        "cid",
        "descriptor",
        "horizon",
        "lacks",
        "last",
        "own",
        "seen",
        "tips",
        "topic",
    )

    def __init__(self, topic: Topic, cid: Cid, count: Callable[[str], None]) -> None:
        self.topic = topic
        self.cid = cid
        self.descriptor: TopicDescriptor | None = None
        self._count = count
        self._graph: EventGraph[Cid] = EventGraph()
        self._records: dict[Cid, Record] = {}
        self._hidden: set[Cid] = set()  # before the horizon: settled without being delivered
        self.horizon: dict[Source, int] | None = None
        self.tips: dict[Cid, None] = {}  # settled, and no settled one links to them
        self.last: Cid | None = None  # settled last: what a new event links to
        self.own: Cid | None = None  # this node's last event, until a neighbour is known to have it
        self.seen: dict[Source, int] = {}
        self.lacks: dict[Cid, Lack] = {}

    def __contains__(self, cid: Cid) -> bool:
        return cid in self._graph

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> dict[Cid, Record]:
        """All events that are here, settled or waiting."""
        return self._records

    @property
    def settled(self) -> Collection[Cid]:
        """Causes first."""
        return self._graph.complete

    def waits(self, cid: Cid) -> bool:
        """Whether an event is here and something before it is not."""
        return cid in self._records and cid not in self._graph.complete

    def heads(self) -> tuple[Cid, ...]:
        """The newest of what is settled, for others to see what they lack."""
        return tuple(islice(reversed(self.tips), HEADS_TOLD_MAX))

    def seen_ids(self) -> tuple[EventId, ...]:
        """Of each source the last event that is settled here."""
        return tuple(EventId(source.publisher, last) for source, last in self.seen.items())

    def parents_for_new(self) -> tuple[Cid, ...]:
        """The causal barrier of an event that is published now."""
        return tuple(islice(reversed(self.tips), PARENTS_MAX - 1))

    # -- taking in ------------------------------------------------------------------------

    def begin_at(self, heads: Iterable[Cid], seen: Iterable[EventId]) -> None:
        """Draw the horizon: these heads and all up to `seen` are before this node's time."""
        if self.horizon is None:
            self.horizon = {}
        for last in seen:
            self.horizon[last.source] = last.sequence
            self.seen[last.source] = max(last.sequence, self.seen.get(last.source, 0))
        for head in heads:
            if head not in self._graph:
                self._hidden.add(head)
                self.lacks.pop(head, None)
                self._graph.add(head, ())
                self.tips[head] = None  # what is published here links to them: histories stay one
                self.last = self.last or head

    def take(self, carried: Carried, now_us: int, teller: NodeId | None) -> Sequence[Record]:
        """Take an event in; return those that are settled by it and are to be delivered, causes first.

        What is not to be believed is counted, and nothing else.
        """
        if carried.cid in self._graph:
            self._count("event: duplicate")
            return ()
        record = self._read(carried)
        return () if record is None else self.add(record, now_us, teller)

    def add(self, record: Record, now_us: int, teller: NodeId | None) -> Sequence[Record]:
        """Take in what is known to be sound."""
        cid = record.carried.cid
        self.lacks.pop(cid, None)
        if self._is_hidden(record.carried.id):
            self._hidden.add(cid)
            self._records[cid] = record
            return self._settle(self._graph.add(cid, ()))
        parents = record.parents
        missing = [parent for parent in parents if parent not in self._graph]
        if missing and len(self._records) - len(self._graph.complete) > WAITING_MAX:
            self._count("event: too many wait")
            return ()
        self._records[cid] = record
        for parent in missing:
            if parent not in self.lacks:
                self.lacks[parent] = Lack(now_us, teller)
        return self._settle(self._graph.add(cid, parents))

    def _is_hidden(self, event: EventId) -> bool:
        return self.horizon is not None and event.sequence <= self.horizon.get(event.source, 0)

    def _settle(self, ready: Sequence[Cid]) -> Sequence[Record]:
        found = []
        tips, seen = self.tips, self.seen
        for cid in ready:
            record = self._records[cid]
            for parent in record.parents:
                tips.pop(parent, None)
            tips[cid] = None
            event = record.carried.id
            if event.sequence > seen.get(event.source, 0):
                seen[event.source] = event.sequence
            if cid not in self._hidden:
                self.last = cid
                found.append(record)
        return found

    def _read(self, carried: Carried) -> Record | None:
        """The event, if this topic can have it."""
        assert self.descriptor is not None, "a place in the tree comes after the descriptor"
        try:
            record = read_record(carried)
        except PeerError as error:
            self._count(f"event refused: {type(error).__name__}")
            return None
        if record.descriptor.topic != self.cid:
            self._count("event refused: of another topic")
        elif not self.descriptor.may_publish(record.publisher):
            self._count("event refused: publisher not allowed")
        else:
            return record
        return None

    # -- what others lack, and what is lacking here ---------------------------------------

    def before(self, events: Iterable[Cid], known: Collection[Cid]) -> Iterator[Carried]:
        """These events and what comes before them, nearest first, as far as they are here."""
        records = self._records
        for cid in self._graph.before(events, known):
            if cid in records:
                yield records[cid].carried

    def note_heads(self, heads: Iterable[Cid], now_us: int, teller: NodeId) -> None:
        """A neighbour has these: what is not here may be on its way, or lost."""
        heads = tuple(heads)
        if self.own is not None and self.own in islice(self._graph.before(heads), CONFIRMING_MAX):
            self.own = None
        for head in heads:
            if head in self._graph:
                continue
            if head in self.lacks:
                self.lacks[head].teller = teller
            elif len(self.lacks) < WAITING_MAX:
                self.lacks[head] = Lack(now_us, teller)

    def overdue(self, now_us: int, fetch_us: int) -> list[tuple[Cid, Lack]]:
        """What it is time to ask for, at most a batch: each time after twice as long as the time before."""
        found: list[tuple[Cid, Lack]] = []
        for cid, lack in list(self.lacks.items()):
            if cid in self._graph:
                del self.lacks[cid]
            elif lack.asked < FETCHES_MAX and lack.since_us + (fetch_us << lack.asked // 2) <= now_us:
                lack.asked += 1
                lack.since_us = now_us
                if lack.asked == FETCHES_MAX:
                    self._count("event: given up fetching")
                found.append((cid, lack))
                if len(found) >= BATCH_MAX:
                    break
        return found

    def revive(self) -> None:
        """There is a new neighbour: he may have what nobody had."""
        for lack in self.lacks.values():
            lack.asked = 0

    @property
    def is_fetching(self) -> bool:
        """Whether something is missing that is to be asked for yet."""
        return any(lack.asked < FETCHES_MAX for lack in self.lacks.values())
