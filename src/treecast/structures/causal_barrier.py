"""Causal delivery within one topic by causal barriers (VCube-PS 2018, section 3.2).

An event carries its immediate predecessors, its parents. A node hands an event over once
each parent has been handed over, or is known never to come. Waiting events are indexed by
a parent that they wait for; an arrival looks at nobody else's.

What the paper keeps in last_delvs and first_rec is `heard` here: heard[q] = c says that of
all that q has started in this topic up to its counter c, everything that will ever arrive
here has arrived. It rests on per-source FIFO reception, section 3.2.2: q starts its next
broadcast when the previous one has been acknowledged by all who were sent it, so the
arrival of q's event c proves it for c, and so does the word of q itself (`settle`).

A node that joins faces one more danger, which the paper does not treat. With m1 -> m2 ->
m3, m2 not sent to it and m1 still on its way, m3 names only m2: skipping m2 would let m3
overtake m1. So a structure starts `strict`: only an event all of whose parents have been
delivered here is delivered. `become_settled` ends that, once all that was started before
the node was known to everyone has either arrived or never will; then the waiting events go
out in the order of their sequence numbers. These are Lamport clocks (a node counts on from
the highest that it has delivered), so causes come first even where the link is missing.

Invariants: an event is handed over at most once, after all its predecessors that are ever
handed over here; what `publish` returns covers all that was handed over before.
"""

from collections import deque
from collections.abc import Sequence

from treecast.core import Event, EventId, NodeId

RECENT_MAX = 1024
"""How many delivered ids are kept for the quick test of an arrival's parents.

Parents are mostly recent, so one subset test in C replaces a look-up for each of them.
What has been dropped here is still known by `heard`. Cost: 64 KiB a topic at the most.
"""

_NEVER = -1


class CausalBarrier:
    """What one node knows of one topic's causal order."""

    __slots__ = ("_barrier", "_delivered", "_heard", "_recent", "_waiting", "_watchers", "strict")

    def __init__(self, *, settled: bool) -> None:
        self._barrier: set[EventId] = set()
        self._heard: dict[NodeId, int] = {}
        self._recent: set[EventId] = set()
        self._waiting: dict[EventId, Event] = {}
        self._watchers: dict[NodeId, list[Event]] = {}
        self.strict = not settled
        self._delivered: dict[NodeId, int] = {}  # while strict: each publisher's newest sequence

    @property
    def waiting(self) -> int:
        """How many events have arrived and not been handed over."""
        return len(self._waiting)

    def publish(self, identity: EventId) -> frozenset[EventId]:
        """Count an event of this node's own as delivered; return its parents."""
        parents = frozenset(self._barrier)
        self._barrier = {identity}
        self._heard[identity.publisher] = identity.sequence
        self._note_delivered(identity)
        return parents

    def receive(self, event: Event) -> Sequence[Event]:
        """Take in an arrival; return what can be handed over now, in order."""
        publisher, sequence = identity = event.id
        self._heard[publisher] = sequence
        if self._watchers:
            return self._receive_beside_waiting(event)
        if not self._recent.issuperset(event.parents) and (blocker := self._blocker(event)) is not None:
            self._watch(event, blocker)
            return ()
        self._barrier.difference_update(event.parents)
        self._barrier.add(identity)
        self._note_delivered(identity)
        return (event,)

    def hear(self, identity: EventId) -> None:
        """Note an arrival that is not for the application: the node is not subscribed."""
        self._heard[identity.publisher] = identity.sequence

    def settle(self, source: NodeId, through: int) -> Sequence[Event]:
        """Note that all of `source` up to `through` that will ever arrive has arrived."""
        if through <= self._heard.get(source, _NEVER):
            return ()
        self._heard[source] = through
        return self._release([source]) if source in self._watchers else ()

    def become_strict(self) -> None:
        """The node subscribes (again): what it missed while away must not be skipped yet."""
        self.strict = True
        self._delivered = {}
        self._recent.clear()

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
                self._hand_over(event)
                ready.append(event)
            else:
                self._watch(event, blocker)
        return ready

    def drop_waiting(self) -> None:
        """The node unsubscribes: what has not been handed over never will be."""
        self._waiting.clear()
        self._watchers.clear()

    def _receive_beside_waiting(self, event: Event) -> Sequence[Event]:
        blocker = self._blocker(event)
        if blocker is not None:
            self._watch(event, blocker)
            # It may still have told that older ones of its publisher never come.
            return self._release([event.id.publisher])
        self._hand_over(event)
        return (event, *self._release([event.id.publisher]))

    def _release(self, sources: Sequence[NodeId]) -> list[Event]:
        """Hand over the waiting events that a change at these sources unblocks, and so on."""
        ready: list[Event] = []
        changed = deque(sources)
        while changed:
            for event in self._watchers.pop(changed.popleft(), ()):
                blocker = self._blocker(event)
                if blocker is not None:
                    self._watch(event, blocker)
                    continue
                self._hand_over(event)
                ready.append(event)
                changed.append(event.id.publisher)
        return ready

    def _blocker(self, event: Event) -> NodeId | None:
        """The publisher of a parent that may still come, or None when nothing holds the event."""
        missing = event.parents - self._recent
        if not missing:
            return None
        if self.strict:
            last = self._delivered.get
            blocking = [parent for parent in missing if parent.sequence > last(parent.publisher, _NEVER)]
        else:
            heard, waiting = self._heard.get, self._waiting
            blocking = [
                parent
                for parent in missing
                if parent.sequence > heard(parent.publisher, _NEVER) or parent in waiting
            ]
        return min(blocking).publisher if blocking else None

    def _watch(self, event: Event, source: NodeId) -> None:
        self._waiting[event.id] = event
        self._watchers.setdefault(source, []).append(event)

    def _hand_over(self, event: Event) -> None:
        self._waiting.pop(event.id, None)
        self._barrier.difference_update(event.parents)
        self._barrier.add(event.id)
        self._note_delivered(event.id)

    def _note_delivered(self, identity: EventId) -> None:
        if self.strict:
            self._delivered[identity.publisher] = identity.sequence
        if len(self._recent) >= RECENT_MAX:
            self._recent.clear()
        self._recent.add(identity)


def _lamport(event: Event) -> tuple[int, NodeId]:
    return event.id.sequence, event.id.publisher
