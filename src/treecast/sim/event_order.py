"""The event-order engine: one heap of all that will happen, for networks without a shortest flight.

It is also the oracle of the windowed engine: both must give the same journal.
"""

from collections import deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from treecast.core import Message, NodeId
from treecast.sim.faulty_host import FaultyHost
from treecast.sim.host import ARRIVAL, COMPLETION, TIMER, SimHost
from treecast.sim.network import Link
from treecast.sim.observer import Observer

Entry: TypeAlias = tuple[int, int, NodeId, NodeId, int, NodeId, Message | None]
"""Time, priority, node, of an arrival its sender, count; then sender and message.

The tie rule, then the order of entering: of completions at one instant the first to have arrived is first.
"""


class EventOrderHost(SimHost):
    """A node in the event-order engine."""

    __slots__ = ("_engine",)

    def __init__(
        self, node: NodeId, seed: int, link: Link, observer: Observer, engine: "EventOrderEngine"
    ) -> None:
        super().__init__(node, seed, link, observer)
        self._engine = engine

    def send(self, to: NodeId, message: Message) -> None:
        self._carry(self._arrival_us(self.now_us, message), to, message)
        if self.traced:
            self.observer.message_sent(self.now_us, self.node, to, message)

    def _carry(self, arrival_us: int, to: NodeId, message: Message) -> None:
        self._engine.enter(arrival_us, ARRIVAL, to, self.node, message)

    def _wake(self, at_us: int) -> None:
        # The agenda knows whether a timer or an input is due; both come after completions.
        self._engine.enter(at_us, TIMER, self.node, self.node, None)

    def arrive(self, time_us: int, sender: NodeId, message: Message) -> None:
        """A message joins those that await the processor."""
        queue_max = self._engine.queue_max
        if queue_max is not None and not self.finds_room(time_us, queue_max):
            self.drop(message)
            return
        begin_us = max(time_us, self.busy_us)
        self.note_begin(begin_us)
        self.busy_us = begin_us + self.processing_us(begin_us, self._engine.processing_us)
        if queue_max is not None:
            self.note_waiting(self.busy_us)
        self._engine.enter(self.busy_us, COMPLETION, self.node, sender, message)

    def note_begin(self, begin_us: int) -> None:
        """The processor will begin with a message then."""

    def complete(self, time_us: int, sender: NodeId, message: Message) -> None:
        """The processor is through with a message."""
        self.hand_on(time_us, sender, message)


class FaultyEventOrderHost(FaultyHost, EventOrderHost):
    """A node that meets with faults, in the event-order engine."""

    def __init__(
        self, node: NodeId, seed: int, link: Link, observer: Observer, engine: "EventOrderEngine"
    ) -> None:
        super().__init__(node, seed, link, observer, engine)
        self._begins_us: deque[int] = deque()  # of the messages in the processor

    def arrive(self, time_us: int, sender: NodeId, message: Message) -> None:
        if time_us <= self.fate.deaf_until_us:
            self.lose(message)
        else:
            super().arrive(time_us, sender, message)

    def note_begin(self, begin_us: int) -> None:
        self._begins_us.append(begin_us)

    def complete(self, time_us: int, sender: NodeId, message: Message) -> None:
        self.note_processed(self._begins_us.popleft())
        super().complete(time_us, sender, message)

    def _empty_processor(self) -> list[Message]:
        self._begins_us.clear()
        self._through_us.clear()
        return self._engine.discard_completions(self.node)


class EventOrderEngine:
    """Runs hosts event by event."""

    def __init__(
        self,
        processing_us: int,
        *,
        acks_free: bool,
        host_type: type[EventOrderHost] = EventOrderHost,
        queue_max: int | None = None,
    ) -> None:
        self.queue_max = queue_max
        self.processing_us = processing_us
        self._host_type = host_type
        self._acks_free = acks_free
        self._heap: list[Entry] = []
        self._entered = 0
        self.hosts: dict[NodeId, EventOrderHost] = {}

    def add_host(self, node: NodeId, seed: int, link: Link, observer: Observer) -> EventOrderHost:
        host = self.hosts[node] = self._host_type(node, seed, link, observer, self)
        return host

    def enter(
        self, time_us: int, priority: int, node: NodeId, sender: NodeId, message: Message | None
    ) -> None:
        self._entered += 1
        tie = sender if priority == ARRIVAL else 0
        heappush(self._heap, (time_us, priority, node, tie, self._entered, sender, message))

    def discard_completions(self, node: NodeId) -> list[Message]:
        """Take out what the processor of `node` has not come to the end of."""
        mine = [entry for entry in self._heap if entry[2] == node and entry[1] == COMPLETION]
        if mine:
            self._heap = [entry for entry in self._heap if entry[2] != node or entry[1] != COMPLETION]
            heapify(self._heap)
        return [entry[-1] for entry in mine if entry[-1] is not None]

    @property
    def pending(self) -> bool:
        """Whether anything is left to happen."""
        return bool(self._heap)

    def in_flight(self) -> Iterator[Message]:
        """Messages that have not arrived."""
        return (entry[-1] for entry in self._heap if entry[1] == ARRIVAL and entry[-1] is not None)

    def in_processing(self) -> Iterator[Message]:
        """Messages that have arrived and were not handed on."""
        return (entry[-1] for entry in self._heap if entry[1] == COMPLETION and entry[-1] is not None)

    def step(self, until_us: int) -> int | None:
        """Run one event, nothing past until_us; return its time, or None when nothing is left."""
        heap = self._heap
        if not heap or heap[0][0] > until_us:
            return None
        time_us, priority, node, _, _, sender, message = heappop(heap)
        host = self.hosts[node]
        if message is None:
            if host.agenda and host.agenda[0][0] == time_us:
                host.do_next()
            return time_us
        if priority == ARRIVAL:
            host.observer.messages_arrived((message,))
        if priority == COMPLETION:
            host.complete(time_us, sender, message)
        elif self._acks_free and message.is_ack:
            host.hand_on(time_us, sender, message)
        else:
            host.arrive(time_us, sender, message)
        return time_us
