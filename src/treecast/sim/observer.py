"""What a run leaves behind: counters and latencies always, a journal when asked for.

Reception latency is measured from an event's publication to its first arrival at a node
that is subscribed then, delivery latency to its delivery there; the publisher itself does
not count (VCube-PS 2018, section 4: mean over all pairs of event and subscriber).
"""

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from treecast.core import Event, EventId, Message, NodeId, Topic

if TYPE_CHECKING:
    from treecast.journal.recorder import Recorder

Level: TypeAlias = Literal["all", "deliveries", "counters"]


class Observer:
    """Takes note of what happens at every node of one run."""

    __slots__ = (
        "_journal",
        "_messages",
        "_published_us",
        "delivered",
        "delivery_us",
        "received",
        "reception_us",
        "sent",
    )

    def __init__(self, journal: "Recorder | None", *, messages: bool) -> None:
        self._journal = journal
        self._messages = journal if messages else None
        self._published_us: dict[EventId, int] = {}
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.reception_us = array("q")
        self.delivery_us = array("q")
        self.delivered = 0

    @property
    def journals_messages(self) -> bool:
        return self._messages is not None

    @property
    def published(self) -> int:
        return len(self._published_us)

    @property
    def hops(self) -> int:
        return self.received.total()

    def message_sent(self, now_us: int, node: NodeId, to: NodeId, message: Message) -> None:
        if self._messages is not None:
            self._messages.message("send", now_us, node, message, to)

    def message_received(self, now_us: int, node: NodeId, sender: NodeId, message: Message) -> None:
        if self._messages is not None:
            self._messages.message("receive", now_us, node, message, sender)

    def event_published(self, now_us: int, event: Event) -> None:
        self._published_us[event.id] = now_us
        self.delivered += 1
        if self._journal is not None:
            self._journal.event("publish", now_us, event.id.publisher, event)
            self._journal.event("deliver", now_us, event.id.publisher, event)

    def event_delivered(self, now_us: int, node: NodeId, event: Event, received_us: int) -> None:
        published_us = self._published_us[event.id]
        self.reception_us.append(received_us - published_us)
        self.delivery_us.append(now_us - published_us)
        self.delivered += 1
        if self._journal is not None:
            self._journal.event("deliver", now_us, node, event)

    def membership_changed(self, kind: str, now_us: int, node: NodeId, topic: Topic) -> None:
        if self._journal is not None:
            self._journal.membership(kind, now_us, node, topic)
