"""The windowed engine: node by node through each window of the shortest flight time.

No message arrives sooner than L after it is sent, so what a node does inside a window of
length L cannot touch another node in that window. Each node therefore goes through a
whole window alone, in its own time order; its state stays in the processor's cache, and
there is no heap of all messages in flight, only a list a node and window.

Invariants: a window's messages are all there when it begins; the order in which nodes go
through a window leaves no trace, so the journal is that of the event-order engine.
"""

from collections import defaultdict
from heapq import heappop, heappush
from operator import itemgetter
from typing import TypeAlias

from treecast.core import Message, NodeId
from treecast.sim.host import SimHost
from treecast.sim.network import Link
from treecast.sim.observer import Observer

Arrival: TypeAlias = tuple[int, NodeId, int, Message]
"""When, from whom, the sender's count of sends (so that ties never compare messages), what."""

Inbox: TypeAlias = list[Arrival]

Completion: TypeAlias = tuple[int, NodeId, Message]
"""When the processor is through with a message and the machine is told."""

_TIME = itemgetter(0)


class Windows(dict[int, defaultdict[NodeId, Inbox]]):
    """Arrivals by window and node; a node stands in every window in which it has to act."""

    def __init__(self) -> None:
        super().__init__()
        self._order: list[int] = []

    def __missing__(self, window: int) -> defaultdict[NodeId, Inbox]:
        heappush(self._order, window)
        inboxes = self[window] = defaultdict(list)
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
        self.backlog: list[Completion] = []  # arrived, and processed in a later window

    def send(self, to: NodeId, message: Message) -> None:
        arrival_us = self.link.arrival_us(self.now_us, message)
        self.sends += 1
        self._windows[arrival_us // self._length_us][to].append(
            (arrival_us, self.node, self.sends, message)
        )
        observer = self.observer
        observer.sent[message.kind] += 1
        if observer.journals_messages:
            observer.message_sent(self.now_us, self.node, to, message)

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

    def step(self, until_us: int) -> int | None:
        """Run one window, nothing past until_us; return its time, or None when nothing is left."""
        if not self._windows or self._windows.first * self._length_us > until_us or self._cut:
            return None
        window, inboxes = self._windows.take_first()
        end_us = (window + 1) * self._length_us
        self._cut = end_us > until_us
        end_us = min(end_us, until_us + 1)
        for node in sorted(inboxes):
            self._run_node(self.hosts[node], inboxes[node], end_us)
        return end_us - 1

    def _run_node(self, host: WindowedHost, inbox: Inbox, end_us: int) -> None:
        receive = host.machine.receive
        observer = host.observer
        received = observer.received
        journals = observer.journals_messages
        agenda = host.agenda
        work = self._completions(host, inbox)
        for done, (time_us, sender, message) in enumerate(work):
            if time_us >= end_us:
                host.backlog = work[done:]
                self._windows[time_us // self._length_us][host.node]
                break
            while agenda and agenda[0][0] < time_us:
                host.do_next()
            host.now_us = time_us
            received[message.kind] += 1
            if journals:
                observer.message_received(time_us, host.node, sender, message)
            host.arriving = message.event
            receive(sender, message)
            if host.arriving is not None:
                host.note_early()
        while agenda and agenda[0][0] < end_us:
            host.do_next()

    def _completions(self, host: WindowedHost, inbox: Inbox) -> list[Completion]:
        """When each arrival of this window, and what was left before it, is handed on."""
        inbox.sort()
        work, host.backlog = host.backlog, []
        busy_us, processing_us = host.busy_us, self._processing_us
        passing: list[Completion] = []
        for time_us, sender, _, message in inbox:
            if self._acks_free and message.is_ack:
                passing.append((time_us, sender, message))
                continue
            busy_us = (time_us if time_us > busy_us else busy_us) + processing_us
            work.append((busy_us, sender, message))
        host.busy_us = busy_us
        if passing:
            work = passing + work  # the sort is stable: arrivals come before completions
            work.sort(key=_TIME)
        return work
