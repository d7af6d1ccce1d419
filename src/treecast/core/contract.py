"""The contract between a protocol and the world that it runs in.

A protocol is a `Machine`: no I/O, no clock, no async, no global randomness. It is told
things (one method a kind) and acts only through its `Host`: the simulator's, a recording
one in tests, and later the network's.

Invariants of every machine:
- it touches no other node's state, only its own and its host;
- it never iterates over a `set` where the order can reach a message or a random draw,
  so that a run is the same under any PYTHONHASHSEED;
- the host calls it from one thread and never re-enters it: what a machine sends, even
  to itself, is received after the current call has returned.
"""

from collections.abc import Hashable
from random import Random
from typing import ClassVar, Protocol, TypeAlias

from treecast.core.errors import UsageError
from treecast.core.events import Event, EventId
from treecast.core.ids import NodeId
from treecast.core.topics import Topic

TimerKey: TypeAlias = Hashable


class Message(Protocol):
    """What machines say to one another: small, immutable, named by a noun.

    `kind` names it in journals and counters (PUB, SUB, ACK). `is_ack` marks the
    acknowledgements that a network model may carry free of charge. The properties say
    what the message is about, for journals; None where it is about no such thing.
    """

    kind: ClassVar[str]
    is_ack: ClassVar[bool]

    @property
    def topic(self) -> Topic | None: ...

    @property
    def origin(self) -> EventId | None:
        """The node that started this broadcast and its counter."""
        ...

    @property
    def event(self) -> Event | None:
        """The event it carries."""
        ...


class Host(Protocol):
    """What a machine may do to the world."""

    @property
    def random(self) -> Random:
        """This node's own stream, seeded by the host."""
        ...

    @property
    def life(self) -> int:
        """How many times this node has been started before; a real host keeps it on disk.

        A crash ends a life, and with it all that the machine knew. What carries this
        number is never taken for what an earlier life said.
        """
        ...

    def now(self) -> int:
        """The host's clock in microseconds; it never goes back."""
        ...

    def send(self, to: NodeId, message: Message) -> None:
        """Hand `message` to the network; returns at once and reports nothing."""
        ...

    def published(self, event: Event) -> None:
        """Take note that this node publishes `event`; called once, before it is sent or delivered."""
        ...

    def deliver(self, event: Event) -> None:
        """Hand `event` to the application of this node, its own events included."""
        ...

    def joined(self, topic: Topic) -> None:
        """Tell the application that its subscription stands.

        From here on no event that anybody starts publishing on `topic` misses this
        node, until it unsubscribes.
        """
        ...

    def peer_changed(self, peer: NodeId, *, alive: bool) -> None:
        """Tell the application that the protocol takes `peer` for crashed, or for alive again."""
        ...

    def hangs(self, topic: Topic, parent: NodeId | None) -> None:
        """Take note where this node hangs in the tree of `topic`: below `parent`, or as its root."""
        ...

    def cut_off(self, topic: Topic) -> None:
        """Take note that this node hangs nowhere in the tree of `topic`, for now or for good."""
        ...

    def answered(self, request: EventId, event: EventId | None, reason: str) -> None:
        """Tell the application what came of a `Machine.publish` that returned `request`.

        It stands as `event` now, which the protocol has made safe; or, when that is None, it was
        given up for that `reason`. Protocols that promise nothing of the kind never call it.
        """
        ...

    def count(self, what: str, times: int = 1) -> None:
        """Count something that would else pass in silence: what was refused, dropped, given up."""
        ...

    def set_timer(self, key: TimerKey, after_us: int) -> None:
        """Call `Machine.timer(key)` after that long; a timer set under the same key is replaced."""
        ...

    def cancel_timer(self, key: TimerKey) -> None:
        """Forget the timer under `key`; without effect when there is none."""
        ...


class Machine(Protocol):
    """One node's side of a protocol.

    Protocols derive from it: what only some of them offer has a body here that refuses.
    """

    def start(self) -> None:
        """The node begins to run; called once, before anything else."""
        ...

    def subscribe(self, topic: Topic) -> None:
        """Raise `AlreadySubscribedError` when the node is subscribed."""
        ...

    def unsubscribe(self, topic: Topic) -> None:
        """Raise `NotSubscribedError` when it is not."""
        ...

    def register(self, topic: Topic) -> None:
        """Announce this node as a publisher that need not subscribe (open groups)."""
        raise UsageError(
            f"register: {type(self).__name__} has no registered publishers; "
            f"subscribe to {topic!r} and publish"
        )

    def unregister(self, topic: Topic) -> None:
        """Take `register` back."""
        raise UsageError(
            f"unregister: {type(self).__name__} has no registered publishers; "
            f"none was registered on {topic!r}"
        )

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        """Publish and return the event's id; a subscribed publisher delivers it at once."""
        ...

    def receive(self, sender: NodeId, message: Message) -> None:
        """A message arrived; `sender` is the node that sent this copy."""
        ...

    def timer(self, key: TimerKey) -> None:
        """A timer set under `key` ran out."""
        ...
