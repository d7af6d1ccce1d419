"""Repair: events that gossip missed are found by comparing digests, and fetched (not in the paper).

A process sends the ids of what it remembers to one other of its community at a time: that
one asks for what it lacks itself, and hands out what the sender lacks. To the community
above a process only offers: its super-processes belong to every event that it has, while it
may have no part in theirs. So no event ever comes to a process outside its communities.

Every id comes with the event's age, the time since it was published as far as the sender
can know: at most the true one. What is older than a process's part in the community is not
for its application, and not fetched from others of the community; what comes from below is
fetched all the same, since those above who were there before may lack it. No clocks are
compared, only times that have passed.

Who came later than the sender of a digest remembers nothing of the time before, whether he
is asked or asks: between two who were there from the first and know only newcomers, an
event would not go. So a newcomer, of less than `keep_ms`, also passes the digest on to another.

Invariants: an event that anyone of a community who is up remembers is offered to others of
it and, by some of them, above, until it is too old; nobody fetches what he has.
"""

from collections.abc import Sequence

import msgspec

from treecast.core import EventId, Host, NodeId
from treecast.protocols.camcast.community import Community
from treecast.protocols.camcast.messages import Digest, Repair, Want
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.protocols.camcast.super_table import SuperTopicTable
from treecast.structures.event_log import Entry

DIGEST_MAX = 512
"""Ids in one digest; a log that holds more is gone through slice by slice."""
REPAIRS_MAX = 128
"""Events handed out at once; what is left comes with later digests."""
PASSED_MAX = 4
"""So often newcomers pass one digest on."""


class Repairer:
    """Compares and hands out, for all communities of one process."""

    def __init__(self, host: Host, settings: CamcastSettings) -> None:
        self._host = host
        self._settings = settings
        self._keep_us = round(settings.keep_ms * 1000)

    def compare(self, community: Community) -> None:
        """One round: with somebody of the community, and perhaps with somebody above."""
        now_us, random = self._host.now(), self._host.random
        community.log.forget_older(now_us - self._keep_us)
        peer = community.membership.view.choice(random)
        if peer is not None:
            since_us = now_us - community.since_us
            self._host.send(peer, self._digest(community, None, since_us))
        psel = community.psel(self._settings)
        for table in community.tables:
            above = table.view.choice(random)
            if above is not None and len(community.log) and random.random() < psel:
                self._host.send(above, self._digest(community, table, None))

    def _digest(self, community: Community, table: SuperTopicTable | None, since_us: int | None) -> Digest:
        """The next slice of the log, of those that a round each goes through."""
        now_us = self._host.now()
        key = None if table is None else table.parent
        after = community.cursor.get(key)
        assert after is None or isinstance(after, EventId)
        entries = community.log.slice(after, DIGEST_MAX)
        last = len(entries) < DIGEST_MAX
        high = None if last else entries[-1].event.id
        community.cursor[key] = high
        return Digest(
            community.topic if table is None or table.of is None else table.of,
            tuple(entry.event.id for entry in entries),
            tuple(now_us - entry.born_us for entry in entries),
            None if after is None else EventId(after.publisher, after.sequence + 1),
            high,
            since_us,
            community.topic,
        )

    def answer(self, sender: NodeId, digest: Digest, community: Community) -> None:
        """Ask for what this process lacks; hand out what the sender lacks, if it is of the community."""
        comparer = sender if digest.comparer is None else digest.comparer
        if comparer == community.membership.view.owner:
            return  # its own has come back
        now_us = self._host.now()
        since_us = now_us - community.since_us
        lacking = [
            event
            for event, age_us in zip(digest.ids, digest.ages_us, strict=True)
            if (age_us <= since_us or digest.since_us is None) and event not in community.log
        ]
        if lacking:
            self._host.send(comparer, Want(community.topic, tuple(lacking[:REPAIRS_MAX]), digest.source))
        if digest.since_us is not None:
            there = frozenset(digest.ids)
            self._hand_out(
                comparer,
                community,
                [
                    entry
                    for entry in community.log.between(digest.low, digest.high)
                    if entry.event.id not in there and now_us - entry.born_us <= digest.since_us
                ],
            )

        came_later = digest.since_us is not None and since_us < min(digest.since_us, self._keep_us)
        if came_later and digest.passed < PASSED_MAX:
            onward = community.membership.view.choice(self._host.random, {comparer, sender})
            if onward is not None:
                copy = msgspec.structs.replace(digest, comparer=comparer, passed=digest.passed + 1)
                self._host.send(onward, copy)

    def grant(self, sender: NodeId, want: Want, source: Community) -> None:
        """Hand out what the receiver of a digest has asked for."""
        found = (source.log.get(event) for event in want.ids)
        now_us, above = self._host.now(), want.topic != source.topic
        for entry in found:
            if entry is not None:
                age_us = now_us - entry.born_us
                repair = Repair(entry.event, want.topic, entry.upward, age_us, above)
                self._host.send(sender, repair)

    def _hand_out(self, to: NodeId, community: Community, entries: Sequence[Entry]) -> None:
        now_us = self._host.now()
        for entry in entries[:REPAIRS_MAX]:
            age_us = now_us - entry.born_us
            self._host.send(to, Repair(entry.event, community.topic, entry.upward, age_us))
