"""Algorithms 5.1 to 5.3 of VCube-PB (2017) to the letter, to show where they do not hold.

The numbers in comments are the paper's lines, those of 5.3 with a prime. VCube-Top is who
calls `notify_membership` and `notify_crash`, as the listing has it. Who is subscribed
beforehand is registered too, and all know of him.

Where the listing cannot run as printed, it is read as the prose has it, and kindly:
- Task T1 runs everywhere. Line 9 starts it with a node's own first event, so that who has
  published nothing would never send again what line 42' gives it.
- The `return` of line 44 belongs to the `if` of line 42: else nobody ever forwards anything.
- delMsg (17') counts deliveries. As printed it counts what leaves msgs, and CHECKRECS ends
  before it has looked again at what waited for the event just delivered.
- CHECKCB (1') takes cb by value, for line 14' needs it afterwards.
- In line 31' the publisher's own entries have x = none, which is in no members; it stands for
  the node itself. As printed, a publisher forgets all its ACKs whenever anybody leaves.
- `q = j` (33') is y = j; lines 38' and 39' follow the `if` of 34': else a publisher waits
  for ever for a child whose cluster is empty.
- Of several x in line 28 it is the first that was put in.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from treecast.core import Event, EventId, Host, Machine, Message, NodeId, TimerKey, Topic
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Ack, Pub
from treecast.structures import hypercube

AckEntry: TypeAlias = tuple[NodeId | None, NodeId, EventId]
"""An element of acks: who sent the event to this node (None: nobody), to whom it went on, the event."""


@dataclass
class Variables:
    """The local variables that the paper indexes by topic, and msgs and acks of that topic."""

    members: list[NodeId] = field(default_factory=list)  # sorted
    counter: int = 1
    queue: deque[Event] = field(default_factory=deque)
    causal_barrier: set[EventId] = field(default_factory=set)
    acks: list[AckEntry] = field(default_factory=list)
    msgs: dict[EventId, Event] = field(default_factory=dict)
    recs: list[Event] = field(default_factory=list)
    delvs: dict[NodeId, int] = field(default_factory=dict)
    first_rec: dict[NodeId, int] = field(default_factory=dict)


class PaperPB(Machine):
    """Node i."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        self.host, self.i = host, node
        self.log2_n = max(setup.nodes).bit_length()
        self.stopics: dict[Topic, None] = {}
        self.ptopics: dict[Topic, None] = {}
        self.topics: dict[Topic, Variables] = {}
        for topic, members in setup.subscribers.items():
            self.of(topic).members = list(members)
            if node in members:
                self.stopics[topic] = self.ptopics[topic] = None

    def start(self) -> None:
        pass

    def timer(self, key: TimerKey) -> None:
        raise AssertionError(f"the paper sets no timer {key!r}")

    def of(self, t: Topic) -> Variables:
        return self.topics.setdefault(t, Variables())

    def neighborhood(self, i: NodeId, t: Topic, k: int) -> tuple[NodeId, ...]:
        return hypercube.children(i, self.of(t).members, max(k, 0))

    # -- algorithm 5.1 --------------------------------------------------------------------

    def subscribe(self, t: Topic) -> None:
        self.notify_membership(join=[(self.i, t)])  # 2
        self.stopics[t] = None  # 3

    def unsubscribe(self, t: Topic) -> None:
        self.of(t).members.remove(self.i)  # 5
        del self.stopics[t]  # 6

    def register(self, t: Topic) -> None:
        self.ptopics[t] = None  # 9

    def unregister(self, t: Topic) -> None:
        del self.ptopics[t]  # 12

    def publish(self, t: Topic, data: bytes) -> EventId:
        assert t in self.ptopics  # 14
        at = self.of(t)
        identity = EventId(self.i, at.counter)  # 16-18
        at.counter += 1  # 19
        self.co_broadcast(Event(identity, t, frozenset(), data))  # 20
        return identity

    # -- algorithm 5.2 --------------------------------------------------------------------

    def notify_membership(
        self, join: Iterable[tuple[NodeId, Topic]] = (), leave: Iterable[tuple[NodeId, Topic]] = ()
    ) -> None:
        for j, t in join:
            at = self.of(t)
            at.members = sorted({*at.members, j})  # 3
            self.stopics[t] = None  # 4
        for j, t in leave:
            self.check_leave(j, t)  # 6

    def co_broadcast(self, m: Event) -> None:
        self.of(m.topic).queue.append(m)  # 11
        self.task_t1(m.topic)

    def task_t1(self, t: Topic) -> None:
        at = self.of(t)
        while at.queue:
            m = at.queue[0]
            s, c = m.id
            if any(x is None and event == EventId(s, c - 1) for x, _, event in at.acks):
                return  # 16
            at.queue.popleft()  # 14
            at.first_rec.setdefault(s, c)  # 18-19
            m = Event(m.id, t, frozenset(at.causal_barrier), m.payload)  # 22
            at.msgs[m.id] = m  # 17
            if s == self.i:
                self.host.published(m)
            self.host.deliver(m)  # 20
            at.delvs[s] = c  # 21
            for j in self.neighborhood(s, t, self.log2_n):  # 23
                at.acks.append((None, j, m.id))  # 24
                self.host.send(j, Pub(m))  # 25
            at.causal_barrier = {m.id}  # 26

    def receive(self, j: NodeId, message: Message) -> None:
        match message:
            case Ack():
                self.on_ack(j, message)
            case Pub():
                self.on_tree(j, message.event)
            case _:
                raise AssertionError(f"the paper has no {message.kind}")

    def on_ack(self, j: NodeId, ack: Ack) -> None:
        at = self.of(ack.topic)
        found = [entry for entry in at.acks if entry[1:] == (j, ack.origin)]  # 28
        if found:
            at.acks.remove(found[0])  # 29
            k = found[0][0]
            if k is not None:
                self.check_acks(k, ack.topic, ack.origin)  # 31
            self.task_t1(ack.topic)

    def on_tree(self, j: NodeId, m: Event) -> None:
        t, (s, c) = m.topic, m.id
        at = self.of(t)
        at.first_rec.setdefault(s, c)  # 35-36
        known = any((each.id, each.parents) == (m.id, m.parents) for each in at.recs)  # 37
        if not known and at.delvs.get(s, 0) < c:  # 38
            at.recs.append(m)  # 39
            at.msgs.setdefault(m.id, m)  # 40
            self.check_recs(t)  # 41
            if s not in at.members:  # 42
                self.co_broadcast(m)  # 43
                return  # 44
        for k in self.neighborhood(self.i, t, hypercube.cluster(self.i, j) - 1):  # 45
            if (j, k, m.id) not in at.acks:  # 46
                at.acks.append((j, k, m.id))  # 47
                self.host.send(k, Pub(m))  # 48
        self.check_acks(j, t, m.id)  # 49

    def notify_crash(self, j: NodeId) -> None:
        for t in list(self.stopics):
            self.check_leave(j, t)  # 51

    # -- algorithm 5.3 --------------------------------------------------------------------

    def check_cb(self, at: Variables, cb: frozenset[EventId]) -> bool:
        return all(at.delvs.get(s, 0) >= c or at.first_rec.get(s, 0) > c for s, c in cb)  # 3'

    def check_recs(self, t: Topic) -> None:
        at = self.of(t)
        while ready := [m for m in at.recs if self.check_cb(at, m.parents)]:  # 10'
            m = ready[0]
            s, c = m.id
            at.recs.remove(m)  # 11'
            at.delvs[s] = max(c, at.delvs.get(s, 0))  # 12'
            self.host.deliver(m)  # 13'
            at.causal_barrier = at.causal_barrier - m.parents | {m.id}  # 14'
            if any(s == other.publisher and c < other.sequence for other in at.msgs):
                at.msgs.pop(m.id, None)  # 16'

    def check_acks(self, j: NodeId, t: Topic, origin: EventId) -> None:
        at = self.of(t)
        if not any(x == j and event == origin for x, _, event in at.acks) and j in at.members:  # 20'-21'
            self.host.send(j, Ack(t, origin, ()))  # 22'

    def check_leave(self, j: NodeId, t: Topic) -> None:
        at = self.of(t)
        at.members = [member for member in at.members if member != j]  # 24'
        if not at.members:
            self.stopics.pop(t, None)  # 26'
            return
        at.first_rec = {}  # 28'
        k = hypercube.first_member(self.i, hypercube.cluster(self.i, j), at.members)  # 29'
        for entry in list(at.acks):
            x, y, origin = entry
            if not {origin.publisher, self.i if x is None else x} <= {*at.members, self.i}:  # 31'
                at.acks.remove(entry)  # 32'
            elif y == j:  # 33'
                if k is not None and (x, k, origin) not in at.acks:  # 34'
                    at.acks.append((x, k, origin))  # 35'
                    self.host.send(k, Pub(at.msgs[origin]))  # 36'-37'
                at.acks.remove(entry)  # 38'
                if x is not None:
                    self.check_acks(x, t, origin)  # 39'
        last = max((m.id for m in at.recs if m.id.publisher == j), default=None)  # 40'
        if last is not None:
            self.co_broadcast(at.msgs[last])  # 41'-42'
        self.task_t1(t)
