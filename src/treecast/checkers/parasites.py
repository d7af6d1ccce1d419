"""No parasite events: nobody handles an event of a community that he does not belong to (CAMCAST, section 1).

A node belongs to the community of a topic while it is subscribed to it or registered as a
publisher on it, by its rows subscribe, unsubscribe, register and unregister; a crash and a
recovery end all that. An event is of its topic's community and of those of all topics that
include it; its topic is what its publish row says, whatever messages claim.

- A node sends an event, in whatever kind of message, only while it belongs to one of the
  event's communities, and only if it has published or received it in that time: so it
  neither forwards nor stores what is not its own.
- A node that never belonged to any of them never receives it.
- What comes to a node after it has left was sent by somebody who did not know that yet: it is
  measured, as stragglers, and no fault, as long as the node does nothing with it. What it
  may not do is send it on (above) or deliver it ("subscribers only").

Every row that carries an event has a barrier size; so no message escapes by its kind.
"""

import pyarrow as pa

from treecast.checkers.interests import NO_PARASITES, Interests, not_promised
from treecast.checkers.lives import CUTS
from treecast.checkers.report import Tally, Verdict, name_event
from treecast.checkers.rows import NO_MESSAGES, NOTHING, holds_messages, select, walk
from treecast.core import EventId, NodeId
from treecast.journal import Kind

_COLUMNS = ("time_us", "node", "kind", "topic", "source", "sequence", "barrier_size")
_PUBLISH, _SEND, _RECEIVE = str(Kind.PUBLISH), str(Kind.SEND), str(Kind.RECEIVE)
_BEGINS = (str(Kind.SUBSCRIBE), str(Kind.REGISTER))
_ENDS = (str(Kind.UNSUBSCRIBE), str(Kind.UNREGISTER))


def check_parasites(journal: pa.Table) -> tuple[tuple[Verdict, ...], dict[str, int | float]]:
    """Judge every event that is sent or received; measure stragglers. No verdict where nobody promised it."""
    if not_promised(journal, NO_PARASITES) is not None:
        return (), {}
    judge = _Judge(journal)
    if not holds_messages(journal):
        return (judge.tally.skip(NO_MESSAGES),), {}
    judge.walk()
    return (judge.tally.verdict(),), {"stragglers": judge.stragglers}


class _Judge:
    def __init__(self, journal: pa.Table) -> None:
        self.tally = Tally(
            NO_PARASITES,
            "who receives an event belongs or belonged to a community that it is of; who sends one, belongs",
        )
        self.stragglers = 0
        self._journal = journal
        self._interests = Interests(journal)
        self._roles: dict[NodeId, dict[str, int]] = {}  # by topic: subscribed, registered or both
        self._ever: dict[NodeId, set[str]] = {}
        self._held: dict[NodeId, dict[tuple[NodeId, int], str]] = {}  # events that a node may have stored
        self._topics = {
            (source, sequence): topic
            for _, topic, source, sequence in walk(
                select(journal, (Kind.PUBLISH,), ("topic", "source", "sequence"))
            )
        }

    def walk(self) -> None:
        kinds = (
            Kind.PUBLISH,
            Kind.SEND,
            Kind.RECEIVE,
            Kind.SUBSCRIBE,
            Kind.UNSUBSCRIBE,
            Kind.REGISTER,
            Kind.UNREGISTER,
            *CUTS,
        )
        for row, time_us, node, kind, topic, source, sequence, size in walk(
            select(self._journal, kinds, _COLUMNS)
        ):
            if kind in _BEGINS:
                roles = self._roles.setdefault(node, {})
                roles[topic] = roles.get(topic, 0) | 1 << _BEGINS.index(kind)
                self._ever.setdefault(node, set()).add(topic)
            elif kind in _ENDS:
                self._leave(node, topic, 1 << _ENDS.index(kind))
            elif topic is None and kind not in {_SEND, _RECEIVE}:  # a crash or a recovery
                self._roles.pop(node, None)
                self._held.pop(node, None)
            elif size != NOTHING:  # it carries an event
                self._judge(row, time_us, node, kind, (source, sequence), topic)

    def _leave(self, node: NodeId, topic: str, role: int) -> None:
        roles = self._roles.get(node, {})
        roles[topic] = roles.get(topic, 0) & ~role
        if roles[topic]:
            return
        del roles[topic]
        held = self._held.get(node, {})
        for event in [event for event, of in held.items() if not self._interests.concerns(of, roles)]:
            del held[event]

    def _judge(
        self, row: int, time_us: int, node: NodeId, kind: str, event: tuple[NodeId, int], claimed: str
    ) -> None:
        topic = self._topics.get(event, claimed)
        belongs = self._interests.concerns(topic, self._roles.get(node, ()))
        held = self._held.setdefault(node, {})
        wrong = ""
        if kind == _SEND:
            if not belongs:
                wrong = "sent {event}, of topic {topic}, to whose communities it did not belong"
            elif event not in held:
                wrong = "sent {event}, of topic {topic}, which it had not received since it belonged there"
        elif kind == _RECEIVE and not belongs:
            if self._interests.concerns(topic, self._ever.get(node, ())):
                self.stragglers += 1
            else:
                wrong = "received {event}, of topic {topic}, to whose communities it never belonged"
        if belongs and kind != _SEND:
            held[event] = topic
        if kind != _PUBLISH:
            self.tally.checked += 1
        if wrong:
            did = wrong.format(event=f"event {name_event(event)}", topic=topic)
            self.tally.violate(
                f"node {node} {did}, at {time_us} us (row {row})",
                rows=(row,),
                times_us=(time_us,),
                nodes=(node,),
                events=(EventId(*event),),
            )
