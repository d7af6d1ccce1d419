"""Causal delivery within one topic by causal barriers (VCube-PS 2018, section 3.2).

An event carries its immediate predecessors, its parents. A node hands an event over once
each parent has been handed over, or is known never to come. Waiting events are indexed by
a parent that they wait for; an arrival looks at nobody else's.

What the paper keeps in last_delvs and first_rec is `heard` here: heard[q] = c says that of
all that q has started in this topic up to its counter c, everything that will ever arrive
here has arrived. It rests on per-source FIFO reception, section 3.2.2: q starts its next
broadcast when the previous one has been acknowledged by all who were sent it. So q's own
word raises it (`settle`), and so does an event of q that was delivered long ago; what was
delivered lately, or waits, is looked for first. The caller must see to it that a settled
structure misses nothing that q starts after what it has told.

A node that joins faces one more danger, which the paper does not treat. With m1 -> m2 ->
m3, m2 not sent to it and m1 still on its way, m3 names only m2: skipping m2 would let m3
overtake m1. So a structure starts `strict`: only an event all of whose parents have been
delivered here is delivered. `become_settled` ends that, once all that was started before
the node was known to everyone has either arrived or never will; then the waiting events go
out in the order of their sequence numbers. These are Lamport clocks (a node counts on from
the highest that it has delivered), so causes come first even where the link is missing.

A protocol in which every event reaches everybody in the end, by whatever way, stays
strict for good: then `delivered` says of each source through where it has been handed
over, nothing left out, and a joiner begins with somebody else's (`skip_to`).

Invariants: an event is handed over at most once, after all its predecessors that are ever
handed over here; what `publish` returns covers all that was handed over before.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from treecast.core import Event, EventId, NodeId, Source

RECENT_MAX = 1200
"""How many delivered ids make a generation; two generations are kept.

An event's parents are what its publisher delivered last, and mostly among what the
receiver delivered in one latency's time, so a subset test in C replaces a look-up for
each. What is dropped here goes over into `heard`. 1200 ids fit a set of 32 KiB.
"""

NEW_MAX = 256
"""How many deliveries are merged into the barrier at once, when no publication asks for it."""

_NEVER = -1


class CausalBarrier:
    """What one node knows of one topic's causal order."""

    __slots__ = (
        "_barrier",
        "_delivered",
        "_heard",
        "_new",
        "_new_parents",
        "_older",
        "_recent",
        "_waiting",
        "_watchers",
        "strict",
    )

    def __init__(self, *, settled: bool) -> None:
        self._barrier: set[EventId] = set()
        self._new: list[EventId] = []  # delivered and not yet merged into the barrier
        self._new_parents: list[frozenset[EventId]] = []
        self._heard: dict[NodeId, int] = {}
        self._recent: set[EventId] = set()
        self._older: set[EventId] = set()
        self._waiting: dict[EventId, Event] = {}
        # Waiting events by a parent that blocks them: its publisher, then its sequence.
        self._watchers: dict[NodeId, dict[int, list[Event]]] = {}
        self.strict = not settled
        self._delivered: dict[Source, int] = {}  # while strict: each source's newest sequence

    @property
    def waiting(self) -> int:
        """How many events have arrived and not been handed over."""
        return len(self._waiting)

    @property
    def delivered(self) -> Mapping[Source, int]:
        """While strict: the newest sequence of each source that was handed over or skipped."""
        return self._delivered

    def has(self, identity: EventId) -> bool:
        """While strict: whether that event was handed over or skipped, or waits."""
        return self._passed(identity) or identity in self._waiting

    def publish(self, identity: EventId) -> frozenset[EventId]:
        """Count an event of this node's own as delivered; return its parents."""
        self._merge_new()
        parents = frozenset(self._barrier)
        self._hand_over(identity, parents)
        return parents

    def receive(self, event: Event) -> Sequence[Event]:
        """Take in an arrival; return what can be handed over now, in order."""
        identity, parents = event.id, event.parents
        if not self._recent.issuperset(parents) and (blocker := self._blocker(event)) is not None:
            self._watch(event, blocker)
            return ()
        self._hand_over(identity, parents)
        if self._watchers and identity.publisher in self._watchers:
            return (event, *self._release(self._watchers_of(identity)))
        return (event,)

    def hear(self, identity: EventId) -> None:
        """Note an arrival that is not for the application: the node is not subscribed."""
        self._hear(identity.publisher, identity.sequence)

    def settle(self, source: NodeId, through: int) -> Sequence[Event]:
        """Note that all of `source` up to `through` that will ever arrive has arrived."""
        self._hear(source, through)
        watched = self._watchers.get(source, ())
        passed = [EventId(source, sequence) for sequence in watched if sequence <= through]
        return self._release(event for parent in passed for event in self._watchers_of(parent))

    def skip_to(self, vector: Mapping[Source, int]) -> Sequence[Event]:
        """While strict: never hand over what `vector` covers; return what that sets free.

        The caller sees to it that no event outside the vector precedes one inside.
        """
        for source, sequence in vector.items():
            if sequence > self._delivered.get(source, _NEVER):
                self._delivered[source] = sequence
        left = [event for event in self._waiting.values() if not self._passed(event.id)]
        self._waiting.clear()
        self._watchers.clear()
        for event in left:
            self._waiting[event.id] = event
        return self._release(left)

    def give_up(self, vector: Mapping[Source, int]) -> Sequence[Event]:
        """While strict: go on without what `vector` covers and has not come; return what that sets free.

        What is covered and waits goes out first, in Lamport order, for the links between two
        of these may be missing. The caller sees to it that no event outside the vector
        precedes one inside.
        """
        covered = sorted(
            (
                event
                for event in self._waiting.values()
                if event.id.sequence <= vector.get(event.id.source, _NEVER)
            ),
            key=_lamport,
        )
        for event in covered:
            del self._waiting[event.id]
            self._hand_over(event.id, event.parents)
        return [*covered, *self.skip_to(vector)]

    def _passed(self, identity: EventId) -> bool:
        return identity.sequence <= self._delivered.get(identity.source, _NEVER)

    def become_strict(self) -> None:
        """The node subscribes (again): what it missed while away must not be skipped yet."""
        self.strict = True
        self._delivered = {}
        self._forget_older()
        self._forget_older()

    def become_settled(self) -> Sequence[Event]:
        """All that was started before this node was known to everyone has arrived or never will."""
        self.strict = False
        self._delivered = {}
        self._watchers.clear()
        ready: list[Event] = []
        # In Lamport order and without cascades: between two of these the link may be missing.
        for event in sorted(self._waiting.values(), key=_lamport):
            blocker = self._blocker(event)
            if blocker is None:
                del self._waiting[event.id]
                self._hand_over(event.id, event.parents)
                ready.append(event)
            else:
                self._watch(event, blocker)
        return ready

    def drop_waiting(self) -> None:
        """The node unsubscribes: what has not been handed over never will be."""
        for identity in self._waiting:
            self.hear(identity)
        self._waiting.clear()
        self._watchers.clear()

    def _release(self, freed: Iterable[Event]) -> list[Event]:
        """Hand over those of these waiting events that nothing blocks any more, and so on."""
        ready: list[Event] = []
        candidates = deque(freed)
        while candidates:
            event = candidates.popleft()
            blocker = self._blocker(event)
            if blocker is not None:
                self._watch(event, blocker)
                continue
            del self._waiting[event.id]
            self._hand_over(event.id, event.parents)
            ready.append(event)
            candidates.extend(self._watchers_of(event.id))
        return ready

    def _watchers_of(self, parent: EventId) -> Sequence[Event]:
        """Take out the events that wait for this parent."""
        watched = self._watchers.get(parent.publisher)
        if watched is None:
            return ()
        events = watched.pop(parent.sequence, ())
        if not watched:
            del self._watchers[parent.publisher]
        return events

    def _blocker(self, event: Event) -> EventId | None:
        """A parent that must come first, or None when nothing holds the event."""
        missing = event.parents - self._recent
        if missing:
            missing -= self._older
        if self.strict:
            blocking = [parent for parent in missing if not self._passed(parent)]
        else:
            known = self._heard.get
            blocking = [parent for parent in missing if parent[1] > known(parent[0], _NEVER)]
            if self._waiting:
                blocking += [parent for parent in missing if parent in self._waiting]
        return min(blocking) if blocking else None

    def _watch(self, event: Event, parent: EventId) -> None:
        self._waiting[event.id] = event
        self._watchers.setdefault(parent.publisher, {}).setdefault(parent.sequence, []).append(event)

    def _hand_over(self, identity: EventId, parents: frozenset[EventId]) -> None:
        new = self._new
        new.append(identity)
        self._new_parents.append(parents)
        self._recent.add(identity)
        if self.strict:
            self._delivered[identity.source] = identity.sequence
        if len(new) == NEW_MAX:
            self._merge_new()

    def _merge_new(self) -> None:
        """causal_barrier <- causal_barrier - cb + {m}, for all m delivered since it was last done.

        No event is a parent of an earlier one, so all can be put in before all are taken out.
        """
        self._barrier.update(self._new)
        self._barrier = self._barrier.difference(*self._new_parents)
        self._new.clear()
        self._new_parents.clear()
        if len(self._recent) > RECENT_MAX - NEW_MAX:
            self._forget_older()

    def _forget_older(self) -> None:
        for publisher, sequence in self._older:  # in any order: only the highest stays
            self._hear(publisher, sequence)
        self._older, self._recent = self._recent, set()

    def _hear(self, source: NodeId, through: int) -> None:
        if through > self._heard.get(source, _NEVER):
            self._heard[source] = through


def _lamport(event: Event) -> tuple[int, NodeId]:
    return event.id.counter, event.id.publisher
