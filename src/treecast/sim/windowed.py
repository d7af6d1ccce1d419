"""The windowed engine: node by node through each window of the shortest flight time.

No message arrives sooner than L after it is sent, so what a node does inside a window of
length L cannot touch another node in that window. Each node therefore goes through a
whole window alone, in its own time order; its state stays in the processor's cache, and
there is no heap of all messages in flight, only a list a node and window.

Invariants: a window's messages are all there when it begins; the order in which nodes go
through a window leaves no trace, so the journal is that of the event-order engine.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterator
from heapq import heappop, heappush
from operator import itemgetter
from typing import TypeAlias

from treecast.core import Message, NodeId, ScenarioError
from treecast.sim.faulty_host import FaultyHost
from treecast.sim.host import ARRIVAL, COMPLETION, SimHost
from treecast.sim.network import Link
from treecast.sim.observer import Observer
from treecast.sim.scenario import NODES_MAX

Arrival: TypeAlias = tuple[int, Message]
"""A stamp, which is time and sender in one number, and what arrives."""

_FIRST, _SECOND = itemgetter(0), itemgetter(1)
_SENDER_BITS = (NODES_MAX - 1).bit_length()
_SENDER_MASK = (1 << _SENDER_BITS) - 1


class Inbox:
    """What arrives at one node in one window.

    Two flat columns: as pairs, all that is in flight would take three times the memory,
    and a cache miss for each pair.
    """

    __slots__ = ("messages", "stamps")

    def __init__(self) -> None:
        self.stamps = array("q")
        self.messages: list[Message] = []

    def arrivals(self) -> list[Arrival]:
        """By time and sender; what one sender sent for one instant keeps its order."""
        return sorted(zip(self.stamps, self.messages, strict=True), key=_FIRST)


class Windows(dict[int, defaultdict[NodeId, Inbox]]):
    """Arrivals by window and node; a node stands in every window in which it has to act."""

    def __init__(self) -> None:
        super().__init__()
        self._order: list[int] = []

    def __missing__(self, window: int) -> defaultdict[NodeId, Inbox]:
        heappush(self._order, window)
        inboxes = self[window] = defaultdict(Inbox)
        return inboxes

    @property
    def first(self) -> int:
        return self._order[0]

    def take_first(self) -> tuple[int, defaultdict[NodeId, Inbox]]:
        window = heappop(self._order)
        return window, self.pop(window)


class WindowedHost(SimHost):
    """A node in the windowed engine."""

    __slots__ = ("_acks_free", "_length_us", "_processing_us", "_queue_max", "_windows", "backlog")

    def __init__(
        self, node: NodeId, seed: int, link: Link, observer: Observer, engine: "WindowedEngine"
    ) -> None:
        super().__init__(node, seed, link, observer)
        self._windows = engine.windows
        self._length_us = engine.length_us
        self._processing_us = engine.processing_us
        self._acks_free = engine.acks_free
        self._queue_max = engine.queue_max
        self.backlog: list[Arrival] = []  # arrived, and processed in a later window

    def send(self, to: NodeId, message: Message) -> None:
        self._carry(self._arrival_us(self.now_us, message), to, message)
        if self.traced:
            self.observer.message_sent(self.now_us, self.node, to, message)

    def _carry(self, arrival_us: int, to: NodeId, message: Message) -> None:
        inbox = self._windows[arrival_us // self._length_us][to]
        try:
            inbox.stamps.append(arrival_us << _SENDER_BITS | self.node)
        except OverflowError:
            raise ScenarioError(
                f"a message sent at {self.now_us / 1000:g} ms arrives later than can be counted; "
                "shorten the network's delays"
            ) from None
        inbox.messages.append(message)

    def _wake(self, at_us: int) -> None:
        self._windows[at_us // self._length_us][self.node]

    def run_window(self, inbox: Inbox, end_us: int) -> None:
        """Go through all that happens here before `end_us`."""
        work = self._take(inbox, end_us, self._queue_max)
        receive = self.machine.receive
        agenda = self.agenda
        busy_us, processing_us = self.busy_us, self._processing_us
        for position, (stamp, message) in enumerate(work):
            time_us = stamp >> _SENDER_BITS
            time_us = (time_us if time_us > busy_us else busy_us) + processing_us
            if time_us >= end_us:
                self._put_off(work[position:], time_us)
                break
            if agenda:
                self.do_until((time_us, COMPLETION))
            busy_us = self.now_us = time_us
            if self.traced:
                self.observer.message_received(time_us, self.node, stamp & _SENDER_MASK, message)
            event = message.event
            if event is None:
                receive(stamp & _SENDER_MASK, message)
            else:
                self.arriving = event
                receive(stamp & _SENDER_MASK, message)
                if self.arriving is not None:
                    self.note_early()
        self.busy_us = busy_us
        if agenda:
            self.do_until((end_us,))

    def _take(self, inbox: Inbox, end_us: int, queue_max: int | None) -> list[Arrival]:
        """What awaits the processor: what was put off, then what arrives and finds room."""
        self.observer.messages_arrived(inbox.messages)
        work = inbox.arrivals()
        if self._acks_free:
            work = self._let_acks_pass(work)
        if queue_max is not None:
            work = self._let_in(work, end_us, queue_max)
        if self.backlog:
            work = self.backlog + work
            self.backlog = []
        return work

    def _let_in(self, arrivals: list[Arrival], end_us: int, queue_max: int) -> list[Arrival]:
        """Those that find room; when the processor will be through with each is certain already."""
        busy_us = self._through_us[-1] if self._through_us else 0
        found: list[Arrival] = []
        for stamp, message in arrivals:
            arrival_us = stamp >> _SENDER_BITS
            if arrival_us >= end_us:  # the run is cut before
                found.append((stamp, message))
            elif self.finds_room(arrival_us, queue_max):
                busy_us = max(arrival_us, busy_us) + self._processing_us
                self.note_waiting(busy_us)
                found.append((stamp, message))
            else:
                self.drop(message)
        return found

    def end(self, until_us: int) -> None:
        """The run ends then, perhaps cut."""

    def _put_off(self, work: list[Arrival], through_us: int) -> None:
        """Leave the rest to later windows; the first will be processed by `through_us`."""
        self.backlog = work
        self._wake(through_us)

    def _let_acks_pass(self, arrivals: list[Arrival]) -> list[Arrival]:
        """Take out the ACKs, which do not wait for the processor; return the others."""
        others: list[Arrival] = []
        for stamp, message in arrivals:
            if message.is_ack:
                self.plan_arrival(stamp >> _SENDER_BITS, stamp & _SENDER_MASK, message)
            else:
                others.append((stamp, message))
        return others


class FaultyWindowedHost(FaultyHost, WindowedHost):
    """A node that meets with faults, in the windowed engine."""

    _has_room: bool = False
    """Whether the first message of the backlog has found room already."""
    _crashed_us: int | None = None
    """When the crash was of which the queue still shows what it held."""

    def run_window(self, inbox: Inbox, end_us: int) -> None:
        work = self._take(inbox, end_us, None)  # a crash may yet empty the queue: each is judged in its turn
        for position, (stamp, message) in enumerate(work):
            arrival_us = stamp >> _SENDER_BITS
            if arrival_us >= end_us:  # the run is cut before
                self.backlog = work[position:]
                break
            self.do_until((arrival_us, ARRIVAL))
            if self._has_room:
                self._has_room = False
            elif self._queue_max is not None and not self._may_wait(arrival_us, self._queue_max):
                self.drop(message)
                continue
            begin_us = max(arrival_us, self.busy_us)
            time_us = begin_us + self.processing_us(begin_us, self._processing_us)
            if not self._survives(arrival_us, min((time_us, COMPLETION), (end_us,))):
                self.lose(message)
            elif time_us >= end_us:
                self._put_off(work[position:], time_us)
                self._has_room = True
                break
            else:
                self.busy_us = time_us
                self.note_processed(begin_us)
                self.hand_on(time_us, stamp & _SENDER_MASK, message)
        self.do_until((end_us,))

    def end(self, until_us: int) -> None:
        if self._queue_max is None:
            return
        judged = int(self._has_room)
        left = self.backlog[:judged]
        for stamp, message in self.backlog[judged:]:
            arrival_us = stamp >> _SENDER_BITS
            if arrival_us > until_us or self._may_wait(arrival_us, self._queue_max):
                left.append((stamp, message))
            else:
                self.drop(message)
        self.backlog = left

    def _may_wait(self, arrival_us: int, queue_max: int) -> bool:
        """Whether a message found room; if it came before a crash, among those that it was lost with."""
        if arrival_us > self.fate.deaf_until_us:
            if self._crashed_us is not None:
                self._through_us.clear()
                self._crashed_us = None
        elif self._crashed_us is None or arrival_us > self._crashed_us:
            return True  # the node was down
        if not self.finds_room(arrival_us, queue_max):
            return False
        begin_us = max(arrival_us, self._through_us[-1] if self._through_us else 0)
        self.note_waiting(begin_us + self.processing_us(begin_us, self._processing_us))
        return True

    def _survives(self, arrival_us: int, bound: tuple[int, ...]) -> bool:
        """Do what the agenda holds before `bound`, up to a crash that what arrived then falls victim to."""
        agenda, fate = self.agenda, self.fate
        while arrival_us > fate.deaf_until_us and agenda and agenda[0] < bound:
            self.do_next()
        return arrival_us > fate.deaf_until_us

    def _empty_processor(self) -> list[Message]:
        """`run_window` loses each as it comes to it, which is before the crash's window ends."""
        self._crashed_us = self.now_us
        return []


class WindowedEngine:
    """Runs hosts through windows of `length_us`, which must not exceed the shortest flight."""

    def __init__(
        self,
        length_us: int,
        processing_us: int,
        *,
        acks_free: bool,
        host_type: type[WindowedHost] = WindowedHost,
        queue_max: int | None = None,
    ) -> None:
        self.queue_max = queue_max
        assert length_us > 0, "a network without a shortest flight needs the event-order engine"
        self.length_us = length_us
        self.processing_us = processing_us
        self.acks_free = acks_free
        self.windows = Windows()
        self.hosts: dict[NodeId, WindowedHost] = {}
        self._host_type = host_type
        self._cut = False  # the run was stopped inside a window

    def add_host(self, node: NodeId, seed: int, link: Link, observer: Observer) -> WindowedHost:
        host = self.hosts[node] = self._host_type(node, seed, link, observer, self)
        return host

    @property
    def pending(self) -> bool:
        """Whether anything is left to happen."""
        return bool(self.windows) or any(host.backlog or host.agenda for host in self.hosts.values())

    def in_flight(self) -> Iterator[Message]:
        """Messages that have not arrived."""
        for inboxes in self.windows.values():
            for inbox in inboxes.values():
                yield from inbox.messages

    def in_processing(self) -> Iterator[Message]:
        """Messages that have arrived and were not handed on."""
        for host in self.hosts.values():
            yield from map(_SECOND, host.backlog)
            yield from host.passing()

    def step(self, until_us: int) -> int | None:
        """Run one window, nothing past until_us; return its time, or None when nothing is left."""
        if not self.windows or self.windows.first * self.length_us > until_us or self._cut:
            for host in self.hosts.values():
                host.end(until_us)
            return None
        window, inboxes = self.windows.take_first()
        end_us = (window + 1) * self.length_us
        self._cut = end_us > until_us
        end_us = min(end_us, until_us + 1)
        for node in sorted(inboxes):
            self.hosts[node].run_window(inboxes.pop(node), end_us)
        return end_us - 1
