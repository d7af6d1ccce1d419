"""What a delivery needs: a publication before it, a subscription, and no delivery of the same before.

Four rules (VCube-PS, section 3: no duplication, no creation), each judged from the rows
publish, deliver, subscribe and unsubscribe. Inside a node the order of rows counts; between
nodes only time does, for rows of one instant stand in the order of node ids.
A node is subscribed from its `subscribe` row to its `unsubscribe` row or the end of its
life; those who are subscribed from the start have a `subscribe` row at time 0. A node that
starts again may deliver what an earlier life delivered, and publishes under new counters.
A publisher that is not subscribed (open groups) delivers nothing of its own.
"""

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from treecast.checkers.interests import Interests
from treecast.checkers.lives import CUTS, Lives
from treecast.checkers.report import Tally, Verdict, name_event
from treecast.checkers.rows import select, walk
from treecast.core import EventId, NodeId
from treecast.journal import Kind

_PUBLISH, _DELIVER = str(Kind.PUBLISH), str(Kind.DELIVER)
_SUBSCRIBE, _UNSUBSCRIBE = str(Kind.SUBSCRIBE), str(Kind.UNSUBSCRIBE)
_COLUMNS = ("time_us", "node", "kind", "topic", "source", "sequence")


class _Publication(NamedTuple):
    row: int
    time_us: int
    node: NodeId
    topic: str


def check_deliveries(journal: pa.Table, lives: Lives) -> tuple[Verdict, ...]:
    """No duplicate, no creation, subscribers only, own event at once."""
    return _Deliveries(journal, lives).verdicts()


class _Deliveries:
    def __init__(self, journal: pa.Table, lives: Lives) -> None:
        self._journal = journal
        self._lives = lives
        self._interests = Interests(journal)
        self._once = Tally("no duplicate", "no node delivers an event twice in one life")
        self._created = Tally(
            "no creation", "what is delivered was published before, once, on that topic, by that publisher"
        )
        self._members = Tally(
            "subscribers only",
            "a node delivers only while it is subscribed to the topic or one above it",
        )
        self._own = Tally(
            "own event at once", "a subscribed publisher delivers its own event the moment it publishes"
        )
        self._published: dict[tuple[NodeId, int], _Publication] = {}
        self._numbers: dict[tuple[NodeId, int], int] = {}
        self._delivered: dict[NodeId, bytearray] = {}  # per node, one bit an event; of its present life

    def verdicts(self) -> tuple[Verdict, ...]:
        self._read_publications()
        self._walk()
        return tuple(tally.verdict() for tally in (self._once, self._created, self._members, self._own))

    def _read_publications(self) -> None:
        for row, time_us, node, _, topic, source, sequence in walk(
            select(self._journal, (Kind.PUBLISH,), _COLUMNS)
        ):
            event = EventId(source, sequence)
            where = f"at {time_us} us (row {row})"
            first = self._published.setdefault(event, _Publication(row, time_us, node, topic))
            wrong = ""
            if first.row != row:
                wrong = (
                    f"node {node} published event {name_event(event)} {where}, "
                    f"which stood for an event of {first.time_us} us (row {first.row}) already"
                )
            elif node != source:
                wrong = (
                    f"node {node} published event {name_event(event)} {where} in the name of node {source}"
                )
            if wrong:
                self._created.violate(wrong, rows=(row,), times_us=(time_us,), nodes=(node,), events=(event,))

    def _walk(self) -> None:
        owed: dict[tuple[NodeId, int], tuple[int, int, NodeId]] = {}
        subscribed: dict[NodeId, set[str]] = {}
        kinds = (Kind.PUBLISH, Kind.DELIVER, Kind.SUBSCRIBE, Kind.UNSUBSCRIBE, *CUTS)
        for row, time_us, node, kind, topic, source, sequence in walk(select(self._journal, kinds, _COLUMNS)):
            event = (source, sequence)
            if kind == _DELIVER:
                concerned = self._interests.concerns(topic, subscribed.get(node, ()))
                self._judge(row, time_us, node, topic, event, concerned)
                if node == source and event in owed and owed[event][1] == time_us:
                    del owed[event]
            elif kind == _PUBLISH:
                if self._published[event].row == row and self._interests.concerns(
                    topic, subscribed.get(node, ())
                ):
                    self._own.checked += 1
                    owed[event] = (row, time_us, node)
            elif kind == _SUBSCRIBE:
                subscribed.setdefault(node, set()).add(topic)
            elif kind == _UNSUBSCRIBE:
                subscribed.get(node, set()).discard(topic)
            else:  # a crash or a recovery
                subscribed.pop(node, None)
                self._delivered.pop(node, None)
        for event, (row, time_us, node) in owed.items():
            self._own.violate(
                f"node {node} published event {name_event(event)} at {time_us} us (row {row}) "
                "and did not deliver it at that moment",
                rows=(row,),
                times_us=(time_us,),
                nodes=(node,),
                events=(EventId(*event),),
            )

    def _judge(
        self, row: int, time_us: int, node: NodeId, topic: str, event: tuple[NodeId, int], subscribed: bool
    ) -> None:
        self._once.checked += 1
        self._created.checked += 1
        self._members.checked += 1
        published = self._published.get(event)
        if (
            published is None
            or published.topic != topic
            or time_us < published.time_us
            or (node == published.node and row < published.row)
        ):
            self._report(self._created, row, time_us, node, topic, event, _why_not(published))
        if not subscribed:
            why = "while it was not subscribed"
            self._report(self._members, row, time_us, node, topic, event, why)
        if self._mark(node, event):
            self._report_duplicate(row, time_us, node, topic, event)

    def _mark(self, node: NodeId, event: tuple[NodeId, int]) -> bool:
        """Note the delivery; whether it was noted before."""
        number = self._numbers.setdefault(event, len(self._numbers))
        bits = self._delivered.get(node)
        if bits is None:
            bits = self._delivered[node] = bytearray()
        place, bit = number >> 3, 1 << (number & 7)
        if place >= len(bits):
            bits.extend(bytes(place + 1 - len(bits)))
        if bits[place] & bit:
            return True
        bits[place] |= bit
        return False

    def _report(
        self,
        tally: Tally,
        row: int,
        time_us: int,
        node: NodeId,
        topic: str,
        event: tuple[NodeId, int],
        why: str,
    ) -> None:
        tally.violate(
            f"topic {topic}: node {node} delivered {name_event(event)} at {time_us} us (row {row}), {why}",
            rows=(row,),
            times_us=(time_us,),
            nodes=(node,),
            events=(EventId(*event),),
        )

    def _report_duplicate(
        self, row: int, time_us: int, node: NodeId, topic: str, event: tuple[NodeId, int]
    ) -> None:
        if self._once.is_full:
            self._once.violate("")
            return
        begin = self._lives.begin_of(node, row)
        journal = self._journal.slice(begin)
        same = pc.and_(pc.equal(journal["node"], node), pc.equal(journal["kind"], _DELIVER))
        same = pc.and_(same, pc.fill_null(pc.equal(journal["source"], event[0]), False))
        same = pc.and_(same, pc.fill_null(pc.equal(journal["sequence"], event[1]), False))
        first = begin + pc.index(same, True).as_py()
        first_us = self._journal["time_us"][first].as_py()
        self._once.violate(
            f"topic {topic}: node {node} delivered event {name_event(event)} at {time_us} us (row {row}) "
            f"again, after {first_us} us (row {first})",
            rows=(row, first),
            times_us=(time_us, first_us),
            nodes=(node,),
            events=(EventId(*event),),
        )


def _why_not(published: _Publication | None) -> str:
    if published is None:
        return "but nobody published it"
    return (
        f"but node {published.node} published it on {published.topic} "
        f"at {published.time_us} us (row {published.row})"
    )
