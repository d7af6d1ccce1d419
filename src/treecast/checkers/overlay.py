"""Who carries events for whom: forwarders and false positives.

A PUB received by a node that is not subscribed at that time is a false positive
(VCube-PS, section 4); a node that sends on somebody else's PUB in that state is a
forwarder. Both happen for a while after a node unsubscribed or crashed, and are figures,
not faults. A fault is a PUB at a node that was never subscribed to its topic: only its
subscribers, present or past, in whichever life, carry a topic. A registered publisher may
besides send its own events, and nobody else's.

Where the protocol lets anyone relay, as a tree over all nodes does, nothing is judged; nor
where it promises more, which `parasites` judges.
"""

import pyarrow as pa

from treecast.checkers.interests import NO_PARASITES, Interests, not_promised
from treecast.checkers.lives import CUTS
from treecast.checkers.report import Tally, Verdict, name_event
from treecast.checkers.rows import NO_MESSAGES, holds_messages, select, walk
from treecast.core import EventId, NodeId
from treecast.journal import RELAYS_KEY, Kind, who_relays

_PUB = "PUB"
_COLUMNS = ("time_us", "node", "kind", "topic", "source", "sequence")
_SEND, _RECEIVE = str(Kind.SEND), str(Kind.RECEIVE)
_SUBSCRIBE, _UNSUBSCRIBE, _REGISTER = str(Kind.SUBSCRIBE), str(Kind.UNSUBSCRIBE), str(Kind.REGISTER)


def check_overlay(journal: pa.Table) -> tuple[Verdict, dict[str, int | float]]:
    """Judge where PUBs pass; measure receptions, false positives and forwarders."""
    tally = Tally(
        "subscribers carry",
        "who sends or receives a topic's PUBs is or was subscribed to it, or is a registered publisher "
        "that sends its own",
    )
    if not holds_messages(journal):
        return tally.skip(NO_MESSAGES), {}
    interests = Interests(journal)
    subscribed: dict[NodeId, set[str]] = {}
    ever: set[tuple[str, NodeId]] = set()
    registered: set[tuple[str, NodeId]] = set()
    forwarders: dict[str, set[NodeId]] = {}
    receptions = false_positives = 0
    kinds = (Kind.SEND, Kind.RECEIVE, Kind.SUBSCRIBE, Kind.UNSUBSCRIBE, Kind.REGISTER, *CUTS)
    for row, time_us, node, kind, topic, source, sequence in walk(
        select(journal, kinds, _COLUMNS, message=_PUB)
    ):
        is_subscribed = topic is not None and interests.concerns(topic, subscribed.get(node, ()))
        if kind == _RECEIVE:
            receptions += 1
            false_positives += not is_subscribed
        elif kind == _SEND:
            if not is_subscribed and node != source:
                forwarders.setdefault(topic, set()).add(node)
        else:
            if kind == _SUBSCRIBE:
                subscribed.setdefault(node, set()).add(topic)
                ever.add((topic, node))
            elif kind == _UNSUBSCRIBE:
                subscribed.get(node, set()).discard(topic)
            elif kind == _REGISTER:
                registered.add((topic, node))
            else:  # a crash or a recovery
                subscribed.pop(node, None)
            continue
        tally.checked += 1
        if is_subscribed or (topic, node) in ever:
            continue
        if kind == _RECEIVE or node != source or (topic, node) not in registered:
            _report(tally, row, time_us, node, kind, topic, EventId(source, sequence))
    figures: dict[str, int | float] = {
        "PUB receptions": receptions,
        "false positives": false_positives,
        "false positive share": false_positives / receptions if receptions else 0.0,
        "forwarders": sum(map(len, forwarders.values())),
    }
    for topic in sorted(forwarders):
        figures[f"forwarders of {topic}"] = len(forwarders[topic])
    if not_promised(journal, NO_PARASITES) is None:
        return tally.skip("who belongs to a community carries its events: see no parasites"), figures
    if who_relays(journal) == "anyone":
        return tally.skip(f"the protocol lets anyone relay (metadata {RELAYS_KEY.decode()})"), figures
    return tally.verdict(), figures


def _report(
    tally: Tally, row: int, time_us: int, node: NodeId, kind: str, topic: str, event: EventId
) -> None:
    did = "sent" if kind == _SEND else "received"
    tally.violate(
        f"topic {topic}: node {node} {did} the PUB of event {name_event(event)} at {time_us} us (row {row}), "
        "without ever having been subscribed",
        rows=(row,),
        times_us=(time_us,),
        nodes=(node,),
        events=(event,),
    )
