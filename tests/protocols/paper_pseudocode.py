"""Algorithms 1 and 2 of VCube-PS (2018) to the letter, to show where they do not hold.

The numbers are the paper's lines. Read kindly in two places: one propagation task a topic
(line 11 would start a second beside one that still waits), and line 34 clears last_delvs,
which the paper writes as delv. A standing subscription has counter 0.
"""

from collections import deque
from dataclasses import dataclass, field

from treecast.core import Event, EventId, Host, Message, NodeId, Topic
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Ack, Membership, Pub, Sub, Uns
from treecast.structures import hypercube

Operations = dict[NodeId, tuple[bool, int]]
"""view[t]: for node n, whether it subscribed (SUB) or left (UNS), and rc."""


@dataclass
class Variables:
    """The local variables that the paper indexes by topic."""

    view: Operations = field(default_factory=dict)
    br_queue: deque[tuple[str, int, bytes]] = field(default_factory=deque)
    causal_barrier: set[EventId] = field(default_factory=set)
    not_delvs: list[Event] = field(default_factory=list)  # with msgs
    last_delvs: dict[NodeId, int] = field(default_factory=dict)
    first_rec: dict[NodeId, int] = field(default_factory=dict)
    running: str | None = None  # the type of the broadcast that line 31 waits for


@dataclass
class Pending:
    """An entry of acks."""

    parent: NodeId | None
    children: int
    membership: tuple[Membership, ...] = ()


class PaperMachine:
    """Node i."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        self.host, self.i, self.nodes = host, node, setup.nodes
        self.log2_n = max(setup.nodes).bit_length()
        self.counter = 1
        self.acks: dict[EventId, Pending] = {}
        self.topics: dict[Topic, Variables] = {}
        for topic, members in setup.subscribers.items():
            if node in members:
                self.of(topic).view = dict.fromkeys(members, (True, 0))

    def start(self) -> None:
        pass

    def of(self, t: Topic) -> Variables:
        return self.topics.setdefault(t, Variables())

    def is_subscribed(self, t: Topic) -> bool:
        return self.of(t).view.get(self.i, (False, 0))[0]

    # -- algorithm 1 ----------------------------------------------------------------------

    def subscribe(self, t: Topic) -> None:
        assert not self.is_subscribed(t)  # 5
        self.of(t).view = {self.i: (True, self.counter)}  # 6
        self.co_broadcast("SUB", t, b"")

    def unsubscribe(self, t: Topic) -> None:
        assert self.is_subscribed(t)  # 11
        del self.of(t).view[self.i]  # 12
        self.co_broadcast("UNS", t, b"")

    def publish(self, t: Topic, data: bytes) -> EventId:
        assert self.is_subscribed(t)  # 17
        return self.co_broadcast("PUB", t, data)

    # -- algorithm 2 ----------------------------------------------------------------------

    def co_broadcast(self, kind: str, t: Topic, data: bytes) -> EventId:
        identity = EventId(self.i, self.counter)
        self.counter += 1  # 9
        self.of(t).br_queue.append((kind, identity.sequence, data))  # 12
        self.start_msg_propagation(t)
        return identity

    def start_msg_propagation(self, t: Topic) -> None:
        at = self.of(t)
        while at.br_queue and at.running is None:
            kind, c, data = at.br_queue.popleft()  # 15
            m: Pub | Sub | Uns
            identity = EventId(self.i, c)
            if kind == "PUB":
                at.first_rec.setdefault(self.i, c)  # 17-18
                event = Event(identity, t, frozenset(at.causal_barrier), data)  # 21
                self.host.published(event)
                self.host.deliver(event)  # 19
                at.last_delvs[self.i] = c
                at.causal_barrier = {identity}  # 22
                m = Pub(event)
            else:
                m = Sub(t, identity) if kind == "SUB" else Uns(t, identity)
            chd = self.children(m, self.log2_n)  # 23-26
            for k in chd:
                self.host.send(k, m)
            if chd:
                self.acks[identity] = Pending(None, len(chd))  # 30
                at.running = kind
            else:
                self.after_wait(t, kind)

    def after_wait(self, t: Topic, kind: str) -> None:
        if kind == "UNS":
            at = self.of(t)
            at.not_delvs, at.first_rec, at.last_delvs = [], {}, {}  # 33-34

    def children(self, m: Pub | Sub | Uns, h: int) -> tuple[NodeId, ...]:
        if isinstance(m, Sub):
            return hypercube.children(self.i, self.nodes, h)
        view = self.of(m.topic).view
        return hypercube.children(self.i, sorted(n for n, (subscribed, _) in view.items() if subscribed), h)

    def receive(self, j: NodeId, m: Message) -> None:
        assert isinstance(m, Pub | Sub | Uns | Ack)
        at = self.of(m.topic)
        data: tuple[Membership, ...] = ()
        if not isinstance(m, Ack):
            chd = self.children(m, hypercube.cluster(self.i, j) - 1)  # 41-44
            if not chd:
                self.send_acks(j, m.topic, m.origin, ())  # 45-49
            else:
                self.acks[m.origin] = Pending(j, len(chd))  # 51
                for k in chd:
                    self.host.send(k, m)
        else:
            data = self.on_ack(m)
        if self.is_subscribed(m.topic):  # 62
            if isinstance(m, Pub):
                at.first_rec.setdefault(m.origin.publisher, m.origin.sequence)  # 64-65
                at.not_delvs.append(m.event)
                self.check_delivery(at)
            elif isinstance(m, Ack):
                update(at.view, data)  # 70
            else:
                s, c = m.origin
                update(at.view, (Membership(s, isinstance(m, Sub), c, 0),))  # 72
                if isinstance(m, Uns):
                    at.first_rec.pop(s, None)  # 74
        if isinstance(m, Ack):
            self.start_msg_propagation(m.topic)

    def on_ack(self, m: Ack) -> tuple[Membership, ...]:
        pending = self.acks[m.origin]  # 55
        pending.membership += m.news  # 57, 59
        pending.children -= 1
        if not pending.children:
            del self.acks[m.origin]
            if pending.parent is not None:
                self.send_acks(pending.parent, m.topic, m.origin, pending.membership)  # 61
            else:
                at = self.of(m.topic)
                assert at.running is not None
                self.after_wait(m.topic, at.running)
                at.running = None
        return pending.membership

    def check_delivery(self, at: Variables) -> None:
        while ready := [event for event in at.not_delvs if self.check_cb(at, event.parents)]:  # 84
            event = ready[0]
            self.host.deliver(event)
            at.not_delvs.remove(event)
            at.last_delvs[event.id.publisher] = event.id.sequence  # 88
            at.causal_barrier = at.causal_barrier - event.parents | {event.id}  # 89

    def check_cb(self, at: Variables, cb: frozenset[EventId]) -> bool:
        return all(
            at.last_delvs.get(s, -1) >= c or at.first_rec.get(s, -1) > c  # 92-93
            for s, c in cb
        )

    def send_acks(self, j: NodeId, t: Topic, origin: EventId, data: tuple[Membership, ...]) -> None:
        at = self.of(t)
        if self.is_subscribed(t) and origin.publisher not in at.first_rec:  # 96
            data += (Membership(self.i, True, at.view[self.i][1], 0),)  # 97
        self.host.send(j, Ack(t, origin, data))  # 98


def update(view: Operations, operations: tuple[Membership, ...]) -> None:
    """Lines 75-82."""
    for operation in operations:
        known = view.get(operation.node)
        if known is None or operation.counter > known[1]:
            view[operation.node] = (operation.subscribed, operation.counter)
