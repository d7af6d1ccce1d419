"""What the single-root systems share: the root, and who is subscribed (VCube-PS 2018, section 4).

A publisher sends its event to the topic's root, one hop; the root passes it on, down a
tree. Which tree that is, and how it follows the subscribers, a system adds.

Causal order is each node's own affair: its barrier holds an event until the event's parents
are there. A newcomer is told by the root, of each source, the last event that it had passed on
before it took his `Sub` in; those and all before them he leaves out, neither delivering them
from then on nor waiting for them. With an event he leaves out all that precedes it, so that no
gap lies between two that he delivers. For let m1 precede m2, and m2 be left out. If they are
of one source, m1 comes before m2. If not, somebody else had delivered m1, or a later event of
its source, before m2 was published: the root had passed that on before it had m2, or any later
event of m2's source.

Invariants:
- every node takes the same node for a topic's root;
- once the root has taken a `Sub` in, whatever it passes on reaches the origin, once, as long
  as the origin stays subscribed: a system asks the root only when its tree reaches so far.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, TypeAlias

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
    ScenarioError,
    Source,
    TimerKey,
    Topic,
    first_sequence,
)
from treecast.core.keys import Within, conform
from treecast.protocols.baselines.messages import Sub, Uns, Welcome
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Pub
from treecast.protocols.vcube.view import is_member
from treecast.structures.causal_barrier import CausalBarrier

Root: TypeAlias = Annotated[int, Within("a node", 0, 2**63 - 1)] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RootSettings:
    """What every single-root system can be told."""

    root: Root = None
    """The root of all topics; None: each topic's is drawn by a hash of its name."""

    def __post_init__(self) -> None:
        conform(self)


@lru_cache(maxsize=1024)
def _hash_of(topic: Topic) -> int:
    """A number that every node derives from a topic's name alone."""
    return int.from_bytes(sha256(topic.encode()).digest(), "big")


class Subscription:
    """What a node keeps of a topic that it has ever subscribed to.

    It is kept after leaving: what the node publishes when it is back follows from what it
    delivered before.
    """

    __slots__ = ("asked", "causal", "subscribed")

    def __init__(self, *, standing: bool) -> None:
        self.causal = CausalBarrier(settled=False)  # strict for good: `skip_to` names all that is left out
        self.subscribed = standing
        self.asked: EventId | None = None  # the Sub that awaits the root's answer


class SingleRoot(Machine):
    """One node of a single-root system."""

    def __init__(self, host: Host, node: NodeId, setup: Setup, roots: Sequence[NodeId]) -> None:
        """`roots`: the nodes that can be roots, sorted."""
        settings = setup.settings
        assert isinstance(settings, RootSettings)
        self._host = host
        self._node = node
        self._setup = setup
        self._counter = first_sequence(host.life)
        self._roots = roots if settings.root is None else (_one_of(roots, settings.root),)
        self._root_of: dict[Topic, NodeId] = {}
        self._passed: dict[Topic, dict[Source, int]] = {}  # at the root: the last event of each source
        self._subscriptions: dict[Topic, Subscription] = {
            topic: Subscription(standing=True)
            for topic, subscribers in setup.subscribers.items()
            if host.life == 0 and is_member(node, subscribers)
        }

    def root_of(self, topic: Topic) -> NodeId:
        """The node from which the topic's tree grows."""
        root = self._root_of.get(topic)
        if root is None:
            root = self._root_of[topic] = self._roots[_hash_of(topic) % len(self._roots)]
        return root

    # -- what a system adds ---------------------------------------------------------------

    @abstractmethod
    def _attach(self, topic: Topic) -> None:
        """Take this node, newly subscribed, into the tree; end with `_ask_root`."""

    @abstractmethod
    def _detach(self, topic: Topic) -> None:
        """Take this node, which has unsubscribed, out of the tree."""

    def _admit(self, sub: Sub) -> bool:
        """At the root: take a subscription in; False when the node has already taken it back."""
        return True

    @abstractmethod
    def _start_down(self, event: Event) -> None:
        """At the root: send an event to the first nodes of the tree."""

    @abstractmethod
    def _pass_down(self, sender: NodeId, pub: Pub) -> None:
        """Elsewhere: send an event on to this node's part of the tree."""

    def _on_operation(self, sender: NodeId, message: Message) -> None:
        """A message that only some of the systems know."""
        raise PeerError(f"node {sender} sent a {message.kind}, which {type(self).__name__} does not know")

    # -- the application's side -----------------------------------------------------------

    def start(self) -> None:
        for topic in self._subscriptions:
            self._host.joined(topic)

    def subscribe(self, topic: Topic) -> None:
        subscription = self._subscriptions.get(topic)
        if subscription is None:
            subscription = self._subscriptions[topic] = Subscription(standing=False)
        elif subscription.subscribed:
            raise AlreadySubscribedError(
                f"node {self._node} is subscribed to {topic!r} already; unsubscribe first"
            )
        subscription.subscribed = True
        self._attach(topic)

    def unsubscribe(self, topic: Topic) -> None:
        subscription = self._subscription(topic, "unsubscribe from")
        subscription.subscribed = False
        subscription.asked = None
        subscription.causal.drop_waiting()
        self._detach(topic)

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        subscription = self._subscription(topic, "publish to")
        origin = self._next_origin()
        event = Event(origin, topic, subscription.causal.publish(origin), payload)
        self._host.published(event)
        self._host.deliver(event)
        self._send_up(event)
        return origin

    def _send_up(self, event: Event) -> None:
        """Bring an own event to the root."""
        root = self.root_of(event.topic)
        if root == self._node:
            self._pass_on(event)
        else:
            self._host.send(root, Pub(event))

    def _subscription(self, topic: Topic, purpose: str) -> Subscription:
        subscription = self._subscriptions.get(topic)
        if subscription is None or not subscription.subscribed:
            raise NotSubscribedError(
                f"node {self._node} cannot {purpose} {topic!r}: it is not subscribed; subscribe first"
            )
        return subscription

    def _subscribed(self, topic: Topic) -> bool:
        subscription = self._subscriptions.get(topic)
        return subscription is not None and subscription.subscribed

    def _next_origin(self) -> EventId:
        origin = EventId(self._node, self._counter)
        self._counter += 1
        return origin

    # -- everybody's side -----------------------------------------------------------------

    def receive(self, sender: NodeId, message: Message) -> None:
        if isinstance(message, Pub):
            self._on_pub(sender, message)
        elif type(message) is Sub:
            self._on_sub(message)
        elif type(message) is Welcome:
            self._on_welcome(message)
        else:
            self._on_operation(sender, message)

    def timer(self, key: TimerKey) -> None:
        raise AssertionError(f"{type(self).__name__} sets no timers, but {key!r} ran out")

    def _on_pub(self, sender: NodeId, pub: Pub) -> None:
        event = pub.event
        if self.root_of(event.topic) == self._node:
            self._pass_on(event)
        else:
            self._pass_down(sender, pub)
            self._take_in(event)

    def _take_in(self, event: Event) -> None:
        """Deliver what is for this node's application, as soon as its order allows."""
        subscription = self._subscriptions.get(event.topic)
        if subscription is None or not subscription.subscribed:
            return
        causal = subscription.causal
        if not causal.has(event.id):  # neither its own nor left out
            for ready in causal.receive(event):
                self._host.deliver(ready)

    # -- the root -------------------------------------------------------------------------

    def _pass_on(self, event: Event) -> None:
        """At the root: start an event on its way down."""
        passed = self._passed.setdefault(event.topic, {})
        source, sequence = event.id.source, event.id.sequence
        if sequence > passed.get(source, 0):  # of one publisher, a later event may have been faster
            passed[source] = sequence
        self._start_down(event)
        self._take_in(event)

    def _ask_root(self, topic: Topic) -> None:
        """The tree reaches this node: from here on the root may count it in."""
        subscription = self._subscriptions[topic]
        sub = Sub(topic, self._next_origin())
        subscription.asked = sub.origin
        self._tell_root(sub)

    def _tell_root(self, message: Sub | Uns) -> None:
        root = self.root_of(message.topic)
        if root == self._node:
            self.receive(root, message)
        else:
            self._host.send(root, message)

    def _on_sub(self, sub: Sub) -> None:
        topic, origin = sub.topic, sub.origin
        if self.root_of(topic) != self._node:
            raise self._misled(sub)
        if not self._admit(sub):
            return
        passed = self._passed.get(topic, {})
        welcome = Welcome(topic, origin, tuple(EventId(q.publisher, last) for q, last in passed.items()))
        if origin.publisher == self._node:
            self._on_welcome(welcome)
        else:
            self._host.send(origin.publisher, welcome)

    def _on_welcome(self, welcome: Welcome) -> None:
        topic = welcome.topic
        subscription = self._subscriptions.get(topic)
        if subscription is None or subscription.asked != welcome.origin:
            return  # the answer to a subscription that has ended since
        subscription.asked = None
        self._host.joined(topic)
        for ready in subscription.causal.skip_to({last.source: last.sequence for last in welcome.passed}):
            self._host.deliver(ready)

    def _misled(self, message: Sub | Uns | Pub) -> PeerError:
        return PeerError(
            f"node {message.origin.publisher} sent a {message.kind} on {message.topic!r} "
            f"to node {self._node}; its root is node {self.root_of(message.topic)}"
        )


def _one_of(roots: Sequence[NodeId], root: NodeId) -> NodeId:
    if not is_member(root, roots):
        raise ScenarioError(
            f"[settings]: root = {root} cannot be a root; give one of the {len(roots)} nodes "
            f"from {roots[0]} to {roots[-1]} that can"
        )
    return root
