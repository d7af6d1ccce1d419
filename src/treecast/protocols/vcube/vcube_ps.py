"""VCube-PS: causal publish/subscribe over trees on the hypercube (2018, section 3).

Every broadcast grows a tree of its own: SUB over all nodes, UNS and PUB over the topic's
subscribers as each node on the way sees them. ACKs climb back up the tree; a node starts
its next broadcast on a topic when the last one has been acknowledged by everybody. The
functions are named after the paper's; docs/protocols/vcube-ps.md maps them and gives the
reason for each deviation.

Invariants:
- no node receives the same broadcast twice: a child answers for one cluster of its parent;
- on one topic, this node's broadcasts leave in the order of their counters, one at a time;
- this node's view of a topic that it has ever subscribed to, once whole, lacks nobody
  whose SUB it has received and whose UNS it has not: so whoever forwards through it,
  while it is subscribed or later, reaches everybody behind it.
"""

from collections import deque
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from treecast.core import (
    AlreadySubscribedError,
    Event,
    EventId,
    Host,
    Machine,
    Message,
    NodeId,
    NotSubscribedError,
    PeerError,
    TimerKey,
    Topic,
    first_sequence,
)
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Ack, Fence, Membership, Pub, Sub, Uns
from treecast.protocols.vcube.view import TopicView, is_member
from treecast.structures.causal_barrier import CausalBarrier
from treecast.structures.hypercube import cluster

OwnBroadcast: TypeAlias = Pub | Sub | Uns


class TopicState:
    """All that a node keeps of a topic that it has ever subscribed to."""

    __slots__ = (
        "causal",
        "fence",
        "held",
        "joined",
        "operation",
        "parked",
        "queue",
        "running",
        "subscribed",
        "through",
        "topic",
        "view",
        "whole",
    )

    def __init__(self, topic: Topic, node: NodeId, members: tuple[NodeId, ...], *, standing: bool) -> None:
        self.topic = topic
        self.view = TopicView(node, members)
        self.causal = CausalBarrier(settled=standing)
        self.queue: deque[OwnBroadcast] = deque()  # br_queue[t]
        self.running: EventId | None = None  # the own broadcast that awaits ACKs
        self.through = 0  # the counter of the last own broadcast acknowledged by all
        self.operation = Membership(node, standing, 0, 0)  # the own one broadcast last
        self.subscribed = standing  # as the application wants it
        self.joined = standing  # the SUB of the present subscription is acknowledged by all
        self.whole = standing  # the view was once complete; SUBs keep it so
        self.parked: list[tuple[NodeId, Pub | Uns]] = []  # to forward once the view is whole
        self.fence: EventId | None = None  # the own one of the present subscription
        self.held: list[EventId] = []  # fences of others that await the end of `running`


class Wave(msgspec.Struct, gc=False):
    """A broadcast that this node has passed on and whose ACKs it awaits (the paper's acks)."""

    parent: NodeId | None  # None: the broadcast is this node's own
    pending: int
    members: TopicState | None  # None: it goes to all nodes, else to this topic's subscribers
    news: tuple[Membership, ...] = ()


class VCubePS(Machine):
    """One node of VCube-PS."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        self._host = host
        self._node = node
        self._everyone = TopicView(node, tuple(setup.nodes))
        self._reach_max = setup.nodes[-1].bit_length()  # log2 N: the number of clusters
        self._counter = first_sequence(host.life)
        self._waves: dict[EventId, Wave] = {}
        self._topics: dict[Topic, TopicState] = {
            topic: TopicState(topic, node, members, standing=True)
            for topic, members in setup.subscribers.items()
            if host.life == 0 and is_member(node, members)
        }

    # -- the application's side: algorithm 1 ------------------------------------------

    def start(self) -> None:
        for topic in self._topics:
            self._host.joined(topic)

    def subscribe(self, topic: Topic) -> None:
        state = self._topics.get(topic)
        if state is None:
            state = self._topics[topic] = TopicState(topic, self._node, (), standing=False)
        elif state.subscribed:
            raise AlreadySubscribedError(
                f"node {self._node} is subscribed to {topic!r} already; unsubscribe first"
            )
        state.subscribed = True
        state.joined = False
        state.fence = None
        state.causal.become_strict()
        state.queue.append(Sub(topic, self._next_origin()))
        self._start_propagation(state)

    def unsubscribe(self, topic: Topic) -> None:
        state = self._subscribed_state(topic, "unsubscribe from")
        state.subscribed = False
        state.causal.drop_waiting()
        state.queue.append(Uns(topic, self._next_origin()))
        self._start_propagation(state)

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        state = self._subscribed_state(topic, "publish to")
        origin = self._next_origin()
        event = Event(origin, topic, state.causal.publish(origin), payload)
        self._host.published(event)
        self._host.deliver(event)
        state.queue.append(Pub(event))
        self._start_propagation(state)
        return origin

    def _subscribed_state(self, topic: Topic, purpose: str) -> TopicState:
        state = self._topics.get(topic)
        if state is None or not state.subscribed:
            raise NotSubscribedError(
                f"node {self._node} cannot {purpose} {topic!r}: it is not subscribed; subscribe first"
            )
        return state

    def _next_origin(self) -> EventId:
        origin = EventId(self._node, self._counter)
        self._counter += 1
        return origin

    # -- the source's side: task START_MSG_PROPAGATION --------------------------------

    def _start_propagation(self, state: TopicState) -> None:
        """Start the queued broadcasts, each when the one before it is acknowledged by all."""
        while state.queue and state.running is None:
            message = state.queue.popleft()
            state.running = message.origin
            if isinstance(message, Sub):
                children, members = self._everyone.children(self._reach_max), None
            else:
                children, members = state.view.children(self._reach_max), state
            if not isinstance(message, Pub):
                state.joined = False
                state.operation = Membership(
                    self._node, isinstance(message, Sub), message.origin.sequence, state.through
                )
                state.view.update((state.operation,))
            if children:
                self._propagate(None, message, children, members)
            else:
                self._end_propagation(state, message.origin, ())

    def _end_propagation(self, state: TopicState, origin: EventId, news: Sequence[Membership]) -> None:
        """An own broadcast has been acknowledged by everyone whom it was sent to."""
        self._learn(state, news)
        if origin == state.fence:
            for event in state.causal.become_settled():
                self._deliver(event)
        if origin != state.running:
            return  # a fence, perhaps of a subscription that has ended since
        state.running = None
        state.through = origin.sequence
        held, state.held = state.held, []
        for fence in held:
            wave = self._waves[fence]
            wave.pending -= 1
            if not wave.pending:
                self._end_wave(state.topic, fence, wave)
        if state.operation.subscribed and state.operation.counter == origin.sequence:
            self._become_joined(state)

    def _become_joined(self, state: TopicState) -> None:
        """All nodes know of the subscription, and their answers have made the view whole."""
        state.whole = True
        parked, state.parked = state.parked, []
        for sender, message in parked:
            self._forward(sender, message, state)
        if state.subscribed and not any(isinstance(message, Sub) for message in state.queue):
            state.joined = True
            self._host.joined(state.topic)
            self._fence_if_blocked(state)

    def _fence_if_blocked(self, state: TopicState) -> None:
        """Ask for a fence when an event waits for what may never come."""
        if not state.joined or state.fence is not None or not state.causal.waiting:
            return
        fence = Fence(state.topic, self._next_origin())
        state.fence = fence.origin
        self._propagate(None, fence, self._everyone.children(self._reach_max), None)

    # -- everybody's side: task HANDLE_RECEIVED_MSG -----------------------------------

    def receive(self, sender: NodeId, message: Message) -> None:
        if type(message) is Ack:  # half of all messages, hence first
            self._on_ack(message)
        elif type(message) is Pub:
            self._on_pub(sender, message)
        elif type(message) is Sub:
            self._on_sub(sender, message)
        elif type(message) is Uns:
            self._on_uns(sender, message)
        elif type(message) is Fence:
            self._on_fence(sender, message)
        else:
            raise PeerError(f"node {sender} sent a {message.kind}, which VCube-PS does not know")

    def timer(self, key: TimerKey) -> None:
        raise AssertionError(f"VCube-PS sets no timers, but {key!r} ran out")

    def _on_pub(self, sender: NodeId, pub: Pub) -> None:
        event = pub.event
        state = self._topics.get(event.topic)
        if state is None:
            raise self._stray(sender, pub)
        self._forward(sender, pub, state)
        causal = state.causal
        if not state.subscribed:
            causal.hear(event.id)
            return
        for ready in causal.receive(event):
            self._deliver(ready)
        if causal.strict:
            self._fence_if_blocked(state)

    def _on_sub(self, sender: NodeId, sub: Sub) -> None:
        state = self._topics.get(sub.topic)
        if state is not None:
            self._learn_broadcast(state, sub.origin, subscribed=True)
        self._forward_to_all(sender, sub)

    def _on_uns(self, sender: NodeId, uns: Uns) -> None:
        state = self._topics.get(uns.topic)
        if state is None:
            raise self._stray(sender, uns)
        self._forward(sender, uns, state)
        self._learn_broadcast(state, uns.origin, subscribed=False)

    def _on_fence(self, sender: NodeId, fence: Fence) -> None:
        state = self._topics.get(fence.topic)
        hold = state is not None and state.running is not None
        if state is not None and hold:
            state.held.append(fence.origin)
        self._forward_to_all(sender, fence, hold=hold)

    def _on_ack(self, ack: Ack) -> None:
        wave = self._waves.get(ack.origin)
        if wave is None:
            raise PeerError(f"ACK for {ack.origin}, which node {self._node} has not passed on")
        if ack.news:
            wave.news += ack.news
            if wave.members is not None:
                self._learn(wave.members, ack.news)
        wave.pending -= 1
        if not wave.pending:
            self._end_wave(ack.topic, ack.origin, wave)

    # -- the tree ---------------------------------------------------------------------

    def _stray(self, sender: NodeId, message: Pub | Uns) -> PeerError:
        return PeerError(
            f"node {sender} sent a {message.kind} on {message.topic!r} to node {self._node}, "
            "which has never subscribed to it"
        )

    def _forward(self, sender: NodeId, message: Pub | Uns, state: TopicState) -> None:
        """Pass on to this node's part of the topic's tree, or acknowledge as a leaf."""
        if not state.whole and cluster(self._node, sender) > 1:
            # Its view would leave out subscribers who are behind it in this tree.
            state.parked.append((sender, message))
            return
        children = state.view.children_behind(sender)
        if children:
            self._propagate(sender, message, children, state)
        else:
            news = () if state.joined else (_operation(state),)
            self._host.send(sender, Ack(state.topic, message.origin, news))

    def _forward_to_all(self, sender: NodeId, message: Sub | Fence, *, hold: bool = False) -> None:
        """Pass on to this node's part of the tree of all nodes ("*" in the paper)."""
        children = self._everyone.children_behind(sender)
        if children or hold:
            self._propagate(sender, message, children, None, hold=hold)
        else:
            topic = message.topic
            self._host.send(sender, Ack(topic, message.origin, self._own_operation(topic)))

    def _propagate(
        self,
        parent: NodeId | None,
        message: OwnBroadcast | Fence,
        children: Sequence[NodeId],
        members: TopicState | None,
        *,
        hold: bool = False,
    ) -> None:
        self._waves[message.origin] = Wave(parent, len(children) + hold, members)
        send = self._host.send
        for child in children:
            send(child, message)

    def _end_wave(self, topic: Topic, origin: EventId, wave: Wave) -> None:
        """All those whom the wave awaits are done: tell the parent (SENDACKS)."""
        del self._waves[origin]
        if wave.parent is None:
            state = self._topics[topic]
            self._end_propagation(state, origin, wave.news)
            self._start_propagation(state)
            return
        news = wave.news
        if wave.members is None:
            news += self._own_operation(topic)
        elif not wave.members.joined:  # not everybody is sure to have heard of it
            news += (_operation(wave.members),)
        self._host.send(wave.parent, Ack(topic, origin, news))

    # -- membership -------------------------------------------------------------------

    def _own_operation(self, topic: Topic) -> tuple[Membership, ...]:
        state = self._topics.get(topic)
        return (_operation(state),) if state else ()

    def _learn(self, state: TopicState, news: Sequence[Membership]) -> None:
        """Merge what others say of themselves into the view, and into what may still arrive."""
        state.view.update(news)
        for operation in news:
            for event in state.causal.settle(operation.node, operation.through):
                self._deliver(event)

    def _learn_broadcast(self, state: TopicState, origin: EventId, *, subscribed: bool) -> None:
        # A node's broadcasts on a topic follow one another: all before this one has arrived.
        self._learn(state, (Membership(origin.publisher, subscribed, origin.sequence, origin.sequence),))

    def _deliver(self, event: Event) -> None:
        if event.id.sequence >= self._counter:  # Lamport: what is published next comes later
            self._counter = event.id.sequence + 1
        self._host.deliver(event)


def _operation(state: TopicState) -> Membership:
    own = state.operation
    return Membership(own.node, own.subscribed, own.counter, state.through)
