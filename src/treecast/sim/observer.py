"""What a run leaves behind: counters and latencies always, a journal when asked for.

Reception latency is measured from an event's publication to its first arrival at a node
that is subscribed then, delivery latency to its delivery there; the publisher itself does
not count (VCube-PS 2018, section 4: mean over all pairs of event and subscriber).
"""

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

from treecast.core import Event, EventId, Message, NodeId, Topic

if TYPE_CHECKING:
    from treecast.journal.recorder import Recorder

Level: TypeAlias = Literal["all", "deliveries", "counters"]


class Observer:
    """Takes note of what happens at every node of one run."""

    __slots__ = (
        "_arrived",
        "_delays_us",
        "_journal",
        "_late",
        "_own_delivered",
        "_published_us",
        "reception_us",
        "traces_messages",
    )

    def __init__(self, journal: "Recorder | None", *, messages: bool) -> None:
        self._journal = journal
        self.traces_messages = messages and journal is not None
        self._published_us: dict[EventId, int] = {}
        self._own_delivered = 0
        self._arrived: Counter[type[Message]] = Counter()
        self.reception_us = array("q")
        self._late = array("q")  # index of a reception that was not delivered at once ...
        self._delays_us = array("q")  # ... and how long after it was

    @property
    def published(self) -> int:
        return len(self._published_us)

    @property
    def delivered(self) -> int:
        return len(self.reception_us) + self._own_delivered

    @property
    def hops(self) -> int:
        """Messages that have arrived so far."""
        return self._arrived.total()

    @property
    def delivery_us(self) -> "array[int]":
        found = array("q", self.reception_us)
        for index, delay_us in zip(self._late, self._delays_us, strict=True):
            found[index] += delay_us
        return found

    def messages_arrived(self, messages: Iterable[Message]) -> None:
        """Messages have reached the processors of those they were sent to."""
        self._arrived.update(map(type, messages))

    def arrived(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for message_type, count in self._arrived.items():
            found[message_type.kind] += count
        return found

    def message_sent(self, now_us: int, node: NodeId, to: NodeId, message: Message) -> None:
        if self._journal is not None:
            self._journal.message("send", now_us, node, message, to)

    def message_received(self, now_us: int, node: NodeId, sender: NodeId, message: Message) -> None:
        if self._journal is not None:
            self._journal.message("receive", now_us, node, message, sender)

    def event_published(self, now_us: int, event: Event) -> None:
        self._published_us[event.id] = now_us
        if self._journal is not None:
            self._journal.event("publish", now_us, event.id.publisher, event)

    def own_event_delivered(self, now_us: int, event: Event) -> None:
        """A publisher has delivered its own event, which no latency is measured of."""
        self._own_delivered += 1
        if self._journal is not None:
            self._journal.event("deliver", now_us, event.id.publisher, event)

    def event_delivered(self, now_us: int, node: NodeId, event: Event, received_us: int) -> None:
        if now_us != received_us:
            self._late.append(len(self.reception_us))
            self._delays_us.append(now_us - received_us)
        self.reception_us.append(received_us - self._published_us[event.id])
        if self._journal is not None:
            self._journal.event("deliver", now_us, node, event)

    def peer_changed(self, kind: str, now_us: int, node: NodeId, peer: NodeId) -> None:
        if self._journal is not None:
            self._journal.peer(kind, now_us, node, peer)

    def membership_changed(self, kind: str, now_us: int, node: NodeId, topic: Topic) -> None:
        if self._journal is not None:
            self._journal.membership(kind, now_us, node, topic)
