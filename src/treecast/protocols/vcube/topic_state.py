"""All that a node of VCube-PB keeps of one topic, and what it knows that it lacks there.

Invariant: nothing is lacking that has been delivered or is left out for good.
"""

from collections import deque

from treecast.core import Event, EventId, NodeId, Source, Topic, first_sequence
from treecast.protocols.vcube.pb_messages import Vector
from treecast.protocols.vcube.topic_log import TopicLog
from treecast.structures.causal_barrier import CausalBarrier

_NEVER = -1


class TopicState:
    """Of a topic that a node has subscribed to or published on."""

    __slots__ = (
        "_keep",
        "_lacking",
        "candidates",
        "causal",
        "cut",
        "held",
        "joined",
        "left_round",
        "log",
        "queue",
        "registered",
        "running",
        "subscribed",
        "topic",
    )

    def __init__(self, topic: Topic, keep: int, life: int) -> None:
        self.topic = topic
        self._keep = keep
        self.causal = CausalBarrier(settled=False)
        self.log = TopicLog(keep, first_sequence(life) - 1)
        self.subscribed = False
        self.registered = False
        self.joined = False  # it is known where the subscription begins
        self.left_round: int | None = None  # when it ceased to be either
        self.candidates: deque[NodeId] | None = None  # whom to ask where to begin; None: not known yet
        self.held: dict[EventId, Event] = {}  # came before that was known
        self.queue: deque[Event] = deque()  # published, to be sent
        self.running: EventId | None = None  # the own event that awaits ACKs
        self._lacking: dict[Source, tuple[int, int]] = {}  # what others have: sequence, round of noticing
        # Another's vector, up to which to do without what is still lacking so long after that round.
        self.cut: tuple[Vector, int] | None = None

    @property
    def vector(self) -> Vector:
        """Of each source, through where everything has been delivered or left out for good."""
        return tuple(self.causal.delivered.items())

    def compare(self, vector: Vector, now_round: int) -> Vector:
        """Note what `vector` has and this node lacks; return the numbers above which it does."""
        delivered, after = self.causal.delivered, []
        for source, sequence in vector:
            own = delivered.get(source, _NEVER)
            if own < sequence:
                after.append((source, own))
                self._lacking.setdefault(source, (sequence, now_round))
        return tuple(after)

    def lacking(self, noticed_before: int) -> Vector:
        """Above which numbers something is missing that was noticed before that round."""
        delivered = self.causal.delivered
        for source, (sequence, _) in list(self._lacking.items()):
            if delivered.get(source, _NEVER) >= sequence:
                del self._lacking[source]
        return tuple(
            (source, delivered.get(source, _NEVER))
            for source, (_, noticed) in self._lacking.items()
            if noticed < noticed_before
        )

    def notice_again(self, now_round: int) -> None:
        """Wait for what is lacking as if it had been noticed only now."""
        self.cut = None
        for source, (sequence, _) in self._lacking.items():
            self._lacking[source] = sequence, now_round

    def leave_out(self, vector: Vector) -> dict[Source, int]:
        """Note that nothing `vector` covers will come here any more; return what is new in it."""
        delivered = self.causal.delivered
        skipped = {source: number for source, number in vector if number > delivered.get(source, _NEVER)}
        self.log.skip(skipped)
        return skipped

    def stay(self, now_round: int) -> None:
        """If the node has left, serve the others from its log for as long as if it left only now."""
        if self.left_round is not None:
            self.left_round = now_round

    def retire(self) -> None:
        """The node left long ago: nobody is served from its log any more."""
        if not self.log.is_empty:
            self.log = TopicLog(self._keep, self.log.version)
            self.log.skip(self.causal.delivered)

    def forget_lacking(self) -> None:
        self._lacking.clear()
        self.cut = None
