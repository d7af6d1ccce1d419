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
from treecast.sim.host import COMPLETION, SimHost
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

    __slots__ = ("_length_us", "_windows", "backlog")

    def __init__(
        self, node: NodeId, seed: int, link: Link, observer: Observer, windows: Windows, length_us: int
    ) -> None:
        super().__init__(node, seed, link, observer)
        self._windows = windows
        self._length_us = length_us
        self.backlog: list[Arrival] = []  # arrived, and processed in a later window

    def send(self, to: NodeId, message: Message) -> None:
        arrival_us = self._arrival_us(self.now_us, message)
        inbox = self._windows[arrival_us // self._length_us][to]
        try:
            inbox.stamps.append(arrival_us << _SENDER_BITS | self.node)
        except OverflowError:
            raise ScenarioError(
                f"a message sent at {self.now_us / 1000:g} ms arrives later than can be counted; "
                "shorten the network's delays"
            ) from None
        inbox.messages.append(message)
        if self.traced:
            self.observer.message_sent(self.now_us, self.node, to, message)

    def _wake(self, at_us: int) -> None:
        self._windows[at_us // self._length_us][self.node]


class WindowedEngine:
    """Runs hosts through windows of `length_us`, which must not exceed the shortest flight."""

    def __init__(self, length_us: int, processing_us: int, *, acks_free: bool) -> None:
        assert length_us > 0, "a network without a shortest flight needs the event-order engine"
        self._length_us = length_us
        self._processing_us = processing_us
        self._acks_free = acks_free
        self._windows = Windows()
        self._cut = False  # the run was stopped inside a window
        self.hosts: dict[NodeId, WindowedHost] = {}

    def add_host(self, node: NodeId, seed: int, link: Link, observer: Observer) -> WindowedHost:
        host = WindowedHost(node, seed, link, observer, self._windows, self._length_us)
        self.hosts[node] = host
        return host

    @property
    def pending(self) -> bool:
        """Whether anything is left to happen."""
        return bool(self._windows) or any(host.backlog or host.agenda for host in self.hosts.values())

    def in_flight(self) -> Iterator[Message]:
        """Messages that have not arrived."""
        for inboxes in self._windows.values():
            for inbox in inboxes.values():
                yield from inbox.messages

    def in_processing(self) -> Iterator[Message]:
        """Messages that have arrived and were not handed on."""
        for host in self.hosts.values():
            yield from map(_SECOND, host.backlog)
            yield from host.passing()

    def step(self, until_us: int) -> int | None:
        """Run one window, nothing past until_us; return its time, or None when nothing is left."""
        if not self._windows or self._windows.first * self._length_us > until_us or self._cut:
            return None
        window, inboxes = self._windows.take_first()
        end_us = (window + 1) * self._length_us
        self._cut = end_us > until_us
        end_us = min(end_us, until_us + 1)
        for node in sorted(inboxes):
            self._run_node(self.hosts[node], inboxes.pop(node), end_us)
        return end_us - 1

    def _run_node(self, host: WindowedHost, inbox: Inbox, end_us: int) -> None:
        host.observer.messages_arrived(inbox.messages)
        work = inbox.arrivals()
        if self._acks_free:
            work = self._let_acks_pass(host, work)
        if host.backlog:
            work = host.backlog + work
            host.backlog = []
        receive = host.machine.receive
        agenda = host.agenda
        busy_us, processing_us = host.busy_us, self._processing_us
        for position, (stamp, message) in enumerate(work):
            time_us = stamp >> _SENDER_BITS
            time_us = (time_us if time_us > busy_us else busy_us) + processing_us
            if time_us >= end_us:
                host.backlog = work[position:]
                self._windows[time_us // self._length_us][host.node]
                break
            if agenda:
                host.do_until((time_us, COMPLETION))
            busy_us = host.now_us = time_us
            if host.traced:
                host.observer.message_received(time_us, host.node, stamp & _SENDER_MASK, message)
            event = message.event
            if event is None:
                receive(stamp & _SENDER_MASK, message)
            else:
                host.arriving = event
                receive(stamp & _SENDER_MASK, message)
                if host.arriving is not None:
                    host.note_early()
        host.busy_us = busy_us
        if agenda:
            host.do_until((end_us,))

    def _let_acks_pass(self, host: WindowedHost, arrivals: list[Arrival]) -> list[Arrival]:
        """Take out the ACKs, which do not wait for the processor; return the others."""
        others: list[Arrival] = []
        for stamp, message in arrivals:
            if message.is_ack:
                host.plan_arrival(stamp >> _SENDER_BITS, stamp & _SENDER_MASK, message)
            else:
                others.append((stamp, message))
        return others
