"""Who carries events for whom: forwarders and false positives.

A PUB received by a node that is not subscribed at that time is a false positive
(VCube-PS, section 4); a node that sends on somebody else's PUB in that state is a
forwarder. Both happen for a while after a node unsubscribed, and are figures, not
faults. A fault is a PUB at a node that was never subscribed to its topic: only its
subscribers, present or past, carry a topic.
"""

import pyarrow as pa

from treecast.checkers.report import Tally, Verdict, name_event
from treecast.checkers.rows import NO_MESSAGES, holds_messages, select, walk
from treecast.core import EventId, NodeId
from treecast.journal import Kind

_PUB = "PUB"
_COLUMNS = ("time_us", "node", "kind", "topic", "source", "sequence")
_SEND, _RECEIVE = str(Kind.SEND), str(Kind.RECEIVE)
_SUBSCRIBE, _UNSUBSCRIBE = str(Kind.SUBSCRIBE), str(Kind.UNSUBSCRIBE)


def check_overlay(journal: pa.Table) -> tuple[Verdict, dict[str, int | float]]:
    """Judge where PUBs pass; measure receptions, false positives and forwarders."""
    tally = Tally("subscribers carry", "only who is or was subscribed to a topic sends or receives its PUBs")
    if not holds_messages(journal):
        return tally.skip(NO_MESSAGES), {}
    subscribed: set[tuple[str, NodeId]] = set()
    ever: set[tuple[str, NodeId]] = set()
    forwarders: dict[str, set[NodeId]] = {}
    receptions = false_positives = 0
    kinds = (Kind.SEND, Kind.RECEIVE, Kind.SUBSCRIBE, Kind.UNSUBSCRIBE)
    for row, time_us, node, kind, topic, source, sequence in walk(
        select(journal, kinds, _COLUMNS, message=_PUB)
    ):
        if kind == _SUBSCRIBE:
            subscribed.add((topic, node))
            ever.add((topic, node))
            continue
        if kind == _UNSUBSCRIBE:
            subscribed.discard((topic, node))
            continue
        is_subscribed = (topic, node) in subscribed
        if kind == _RECEIVE:
            receptions += 1
            false_positives += not is_subscribed
        elif not is_subscribed and node != source:
            forwarders.setdefault(topic, set()).add(node)
        tally.checked += 1
        if not is_subscribed and (topic, node) not in ever:
            did = "sent" if kind == _SEND else "received"
            tally.violate(
                f"topic {topic}: node {node} {did} the PUB of event {name_event((source, sequence))} "
                f"at {time_us} us (row {row}), without ever having been subscribed",
                rows=(row,),
                times_us=(time_us,),
                nodes=(node,),
                events=(EventId(source, sequence),),
            )
    figures: dict[str, int | float] = {
        "PUB receptions": receptions,
        "false positives": false_positives,
        "false positive share": false_positives / receptions if receptions else 0.0,
        "forwarders": sum(map(len, forwarders.values())),
    }
    for topic in sorted(forwarders):
        figures[f"forwarders of {topic}"] = len(forwarders[topic])
    return tally.verdict(), figures
