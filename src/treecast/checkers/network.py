"""The network's sanity: nothing is received that was not sent, or delivered that was not received, before.

Each reception takes one earlier send of the same message (kind, topic, origin) over the
same hop; a send may stay without reception (lost, or still on its way), never the
other way round. Messages of one hop and name are counted, not told apart.

Where the journal notes faults, the network may have duplicated messages, and no row tells
which: there a reception needs one earlier send, which others may have needed as well. It
need not be of the same lives: what a node sent before it crashed may still be on its way.

And who delivers another's event has received, by then, a message that names it: judged where
the protocol says that each holds one event at most.

Nearly always all sends of a hop's message come before all of its receptions, and there
are enough: Arrow sees that in one grouping. Only the rest is gone through row by row.
"""

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from treecast.checkers.interests import DELIVERED_WAS_RECEIVED, not_promised
from treecast.checkers.report import Tally, Verdict, name_event
from treecast.checkers.rows import NO_MESSAGES, NOTHING, holds_messages, select, walk
from treecast.core import EventId
from treecast.journal import Kind, healed_at

_COLUMNS = ("time_us", "node", "kind", "message", "topic", "source", "sequence", "peer")
_HOP = ("message", "topic", "source", "sequence", "sender", "receiver")
_RECEIVE = str(Kind.RECEIVE)


def check_network(journal: pa.Table) -> tuple[tuple[Verdict, ...], dict[str, int | float]]:
    """Judge receptions and deliveries; count messages by kind."""
    received = Tally("received was sent", "every message received was sent over that hop before")
    delivered = Tally(DELIVERED_WAS_RECEIVED, "who delivers another's event has received it before")
    if not holds_messages(journal):
        return (received.skip(NO_MESSAGES), delivered.skip(NO_MESSAGES)), {}
    figures = _judge_receptions(journal, received)
    reason = not_promised(journal, DELIVERED_WAS_RECEIVED)
    if reason is not None:
        return (received.verdict(), delivered.skip(reason)), figures
    _judge_deliveries(journal, delivered)
    return (received.verdict(), delivered.verdict()), figures


def _judge_receptions(journal: pa.Table, tally: Tally) -> dict[str, int | float]:
    rows = select(journal, (Kind.SEND, Kind.RECEIVE), _COLUMNS)
    figures = _counts(rows)
    tally.checked = int(figures["messages received"])
    may_repeat = healed_at(journal) is not None
    or_not_as_often = "" if may_repeat else ", or not as often"
    sent: Counter[tuple[Any, ...]] = Counter()
    for row, time_us, node, kind, message, topic, source, sequence, peer in walk(_doubtful(rows, may_repeat)):
        if kind != _RECEIVE:
            sent[message, topic, source, sequence, node, peer] += 1
            continue
        hop = (message, topic, source, sequence, peer, node)
        if sent[hop]:
            sent[hop] -= not may_repeat
            continue
        about = f" about {topic}" if topic is not None else ""
        tally.violate(
            f"node {node} received {message} {name_event((source, sequence))}{about} from node {peer} "
            f"at {time_us} us (row {row}), but that node had not sent it by then{or_not_as_often}",
            rows=(row,),
            times_us=(time_us,),
            nodes=(node, peer),
            events=(EventId(source, sequence),),
        )
    return figures


def _judge_deliveries(journal: pa.Table, tally: Tally) -> None:
    """A node's first reception of a message about an event is to stand before its deliveries of it."""
    event = ["node", "topic", "source", "sequence"]
    foreign = select(journal, (Kind.DELIVER,), ("time_us", *event))
    foreign = foreign.filter(pc.not_equal(foreign["node"], foreign["source"]))
    tally.checked = foreign.num_rows
    came, keyed = (_keyed(each) for each in (select(journal, (Kind.RECEIVE,), event), foreign))
    first = came.group_by(event).aggregate([("row", "min")])
    judged = keyed.join(first, event, join_type="left outer")
    early = pc.fill_null(pc.greater(judged["row_min"], judged["row"]), True)
    wrong = foreign.filter(pc.is_in(foreign["row"], value_set=judged.filter(early)["row"].combine_chunks()))
    for row, time_us, node, topic, source, sequence in walk(wrong):
        tally.violate(
            f"topic {topic}: node {node} delivered event {name_event((source, sequence))} at {time_us} us "
            f"(row {row}), of which no message had reached it by then",
            rows=(row,),
            times_us=(time_us,),
            nodes=(node,),
            events=(EventId(source, sequence),),
        )


def _keyed(rows: pa.Table) -> pa.Table:
    """The same with numbers in place of names and of nulls, to be grouped and joined by."""
    filled = {"topic": _codes(rows["topic"])}
    filled |= {name: pc.fill_null(rows[name], NOTHING) for name in ("source", "sequence")}
    return pa.table({name: filled.get(name, rows[name]) for name in rows.column_names})


def _doubtful(rows: pa.Table, may_repeat: bool) -> pa.Table:
    """The rows of those hops' messages that one grouping does not clear, at one instant sends first."""
    is_receive = pc.equal(rows["kind"], _RECEIVE)
    hops = pa.table(
        {
            "message": _codes(rows["message"]),
            "topic": _codes(rows["topic"]),
            "source": pc.fill_null(rows["source"], NOTHING),
            "sequence": pc.fill_null(rows["sequence"], NOTHING),
            "sender": pc.fill_null(pc.if_else(is_receive, rows["peer"], rows["node"]), NOTHING),
            "receiver": pc.fill_null(pc.if_else(is_receive, rows["node"], rows["peer"]), NOTHING),
            "sent_us": pc.if_else(is_receive, None, rows["time_us"]),
            "received_us": pc.if_else(is_receive, rows["time_us"], None),
        }
    )
    # One send before all receptions is enough for a message that may be repeated.
    sends = "min" if may_repeat else "max"
    groups = hops.group_by(_HOP).aggregate(
        [("sent_us", "count"), ("received_us", "count"), ("sent_us", sends), ("received_us", "min")]
    )
    needed = (
        pc.min_element_wise(groups["received_us_count"], 1) if may_repeat else groups["received_us_count"]
    )
    too_many = pc.greater(needed, groups["sent_us_count"])
    mixed = pc.fill_null(pc.less(groups["received_us_min"], groups[f"sent_us_{sends}"]), False)
    doubtful = groups.filter(pc.or_(too_many, mixed)).select(_HOP)
    if not doubtful.num_rows:
        return rows.slice(0, 0)
    places = pa.chunked_array([pa.array(range(rows.num_rows), pa.int64())])
    found = hops.select(_HOP).append_column("place", places).join(doubtful, list(_HOP), join_type="left semi")
    chosen = rows.take(found["place"])
    late = pc.equal(chosen["kind"], _RECEIVE).cast(pa.int8())
    order = pc.sort_indices(
        chosen.append_column("late", late),
        sort_keys=[("time_us", "ascending"), ("late", "ascending"), ("row", "ascending")],
    )
    return chosen.take(order)


def _codes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers in place of names; the dictionary is the same in all chunks."""
    chunks = [pc.fill_null(chunk.indices, NOTHING) for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.int32())


def _counts(rows: pa.Table) -> dict[str, int | float]:
    figures: dict[str, int | float] = {"messages sent": 0, "messages received": 0}
    names = pa.table({name: rows[name].cast(pa.string()) for name in ("kind", "message")})
    groups = names.group_by(["message", "kind"]).aggregate([([], "count_all")]).to_pylist()
    for group in sorted(groups, key=lambda group: (str(group["message"]), group["kind"])):
        done = "received" if group["kind"] == _RECEIVE else "sent"
        figures[f"messages {done}"] += group["count_all"]
        figures[f"{group['message']} {done}"] = group["count_all"]
    return figures
