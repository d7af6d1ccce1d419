"""What a run leaves behind: counters and latencies always, a journal when asked for.

Reception latency is measured from an event's publication to its first arrival at a node
that is subscribed then, delivery latency to its delivery there; the publisher itself does
not count (VCube-PS 2018, section 4: mean over all pairs of event and subscriber).
"""

from array import array
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

from treecast.core import Event, EventId, Hierarchy, Message, NodeId, Topic
from treecast.sim.result import LatencySummary

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
        "_perished",
        "_published_us",
        "_vanished",
        "counts",
        "false_positives",
        "healed_us",
        "hierarchy",
        "inputs_skipped",
        "ordered",
        "reception_us",
        "refused",
        "traces_messages",
    )

    def __init__(self, journal: "Recorder | None", *, messages: bool) -> None:
        self._journal = journal
        self.traces_messages = messages and journal is not None
        self._published_us: dict[EventId, int] = {}
        self._own_delivered = 0
        self._arrived: Counter[type[Message]] = Counter()
        self._vanished: Counter[type[Message]] = Counter()  # on their way, less the copies made there
        self._perished: Counter[type[Message]] = Counter()  # at nodes that were down
        self.inputs_skipped: Counter[str] = Counter()
        self.false_positives = 0  # events that came to nodes which were not subscribed
        self.counts: Counter[str] = Counter()  # what machines have asked to be counted
        self.refused = 0  # messages that a machine could not make sense of
        self.healed_us: int | None = None  # the last crash or recovery, the end of the last other fault
        self.hierarchy: Hierarchy | None = None  # where a topic's subscribers get its sub-topics' events
        self.ordered = True  # an event may wait for others after it came
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

    def latencies_ms(self) -> tuple[LatencySummary, LatencySummary]:
        """Of receptions and of deliveries; to be asked for once, at the end.

        There is one for each event and subscriber, too many to hold twice: what was counted up
        to its reception is counted on, in place, to its delivery.
        """
        received = LatencySummary.of_us(self.reception_us)
        for index, delay_us in zip(self._late, self._delays_us, strict=True):
            self.reception_us[index] += delay_us
        return received, LatencySummary.of_us(self.reception_us)

    def is_parasite(self, topic: Topic, interests: Collection[Topic]) -> bool:
        """Whether an event of `topic` is none for who is interested in these."""
        if self.hierarchy is None or topic in interests:
            return topic not in interests
        return not any(each in interests for each in self.hierarchy.above(topic))

    def messages_arrived(self, messages: Iterable[Message]) -> None:
        """Messages have reached the processors of those they were sent to."""
        self._arrived.update(map(type, messages))

    def message_vanished(self, message: Message, copies: int = 1) -> None:
        """That many fewer than were sent will arrive; a copy made on the way is minus one."""
        self._vanished[type(message)] += copies

    def message_perished(self, message: Message) -> None:
        """It reached a node that was down, or that went down before it was handed on."""
        self._perished[type(message)] += 1

    def arrived(self) -> Counter[str]:
        return _by_kind(self._arrived)

    def vanished(self) -> Counter[str]:
        return _by_kind(self._vanished)

    def perished(self) -> Counter[str]:
        return _by_kind(self._perished)

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

    def tree_changed(self, kind: str, now_us: int, node: NodeId, topic: Topic, parent: NodeId | None) -> None:
        if self._journal is not None:
            self._journal.tree(kind, now_us, node, topic, parent)

    def request_answered(
        self, now_us: int, node: NodeId, request: EventId, event: EventId | None, reason: str
    ) -> None:
        self.counts["accepted" if event is not None else f"given up: {reason}"] += 1
        if self._journal is not None:
            self._journal.answer(now_us, node, request, event)

    def membership_changed(self, kind: str, now_us: int, node: NodeId, topic: Topic) -> None:
        if self._journal is not None:
            self._journal.membership(kind, now_us, node, topic)

    def healed(self, at_us: int) -> None:
        """A fault was over then."""
        self.healed_us = at_us if self.healed_us is None else max(self.healed_us, at_us)

    def node_changed(self, kind: str, now_us: int, node: NodeId) -> None:
        """The node has crashed or recovered."""
        self.healed(now_us)
        if self._journal is not None:
            self._journal.node(kind, now_us, node)

    def input_skipped(self, do: str) -> None:
        self.inputs_skipped[do] += 1


def _by_kind(counts: Counter[type[Message]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for message_type, count in counts.items():
        found[message_type.kind] += count
    return found
