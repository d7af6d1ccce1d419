"""What must have come about when a run has ended: completeness, agreement, joining, progress.

Judged for the subscriptions that stand when the journal ends, and only if the run ended
because nothing was left to happen, or had the time to settle: one that was cut has
deliveries still on their way. Who is owed what, and from when on, is said in `owed`.

- Completeness: an event is delivered by all to whom it is owed, if its publisher runs on
  to the end. (With "own event at once" this is VCube-PB's validity, section 4.)
- Agreement (VCube-PB, section 4): so is an event that a node has delivered that runs on,
  be it subscribed at the end or no more. An event whose publisher crashed may thus be
  lost, but not for some only; what nobody but the dead delivered is owed to nobody.
- Joining: a subscription is confirmed in the end.
- Progress after healing: the first and the third, for what was begun after the last fault
  had healed. A protocol that never promised to outlast faults breaks completeness; one
  that breaks this has not come to itself again.
"""

from bisect import bisect_left
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from treecast.checkers.interests import COMPLETENESS, not_promised
from treecast.checkers.lives import Lives
from treecast.checkers.owed import Owed, Published, Subscription
from treecast.checkers.report import Tally, Verdict, name_event
from treecast.core import EventId, NodeId
from treecast.journal import HEALED_KEY, QUIET_KEY, Kind, ended_quietly, healed_at


def check_completeness(journal: pa.Table, lives: Lives) -> tuple[tuple[Verdict, ...], dict[str, int | float]]:
    """Completeness, agreement, joining and progress after healing; how long catching up took."""
    judge = _Judge(journal, lives)
    if (broken := not_promised(journal, COMPLETENESS)) is not None:
        joining = judge.joining() if ended_quietly(journal) else judge.tallies[2].skip(_CUT)
        return tuple(joining if n == 2 else tally.skip(broken) for n, tally in enumerate(judge.tallies)), {}
    quiet = ended_quietly(journal)
    if quiet is None:
        reason = f"the journal does not say whether the run ended quietly (metadata {QUIET_KEY.decode()})"
        return tuple(tally.skip(reason) for tally in judge.tallies), {}
    if not quiet:
        return tuple(tally.skip(_CUT) for tally in judge.tallies), {}
    return judge.verdicts()


_CUT = "the run was cut before its end; leave out until_ms, or set it later"


@dataclass(frozen=True, slots=True)
class _Case:
    """One standing subscription, and the events of its topic."""

    topic: str
    node: NodeId
    subscription: Subscription
    known_us: int
    published: Published

    def owed(self, flags: bytearray, start: int) -> int:
        """How many events from `start` on, other than its own, are marked in `flags`."""
        own = self.published.own.get(self.node, [])
        return flags.count(1, start) - sum(flags[number] for number in own[bisect_left(own, start) :])


class _Judge:
    def __init__(self, journal: pa.Table, lives: Lives) -> None:
        self._journal = journal
        self._lives = lives
        self._healed_us = healed_at(journal)
        self._complete = Tally(
            "completeness",
            "who stays subscribed delivers all events published after everybody has learned of him, "
            "but those of publishers who crashed",
        )
        self._agreement = Tally(
            "agreement", "what a node delivers that does not crash, all do who stay subscribed"
        )
        self._joining = Tally(
            "joining ends", "every subscription that stands at the end was confirmed by the protocol"
        )
        self._progress = Tally(
            "progress after healing",
            "what is subscribed to or published after the last fault has healed is confirmed and delivered",
        )

    @property
    def tallies(self) -> tuple[Tally, ...]:
        return self._complete, self._agreement, self._joining, self._progress

    def joining(self) -> Verdict:
        """Joining alone, where no more is promised."""
        for node, subscriptions in Owed(self._journal, self._lives, self._healed_us).standing.items():
            for topic, subscription in subscriptions.items():
                self._judge_joining(topic, node, subscription)
        return self._joining.verdict()

    def verdicts(self) -> tuple[tuple[Verdict, ...], dict[str, int | float]]:
        owed = Owed(self._journal, self._lives, self._healed_us)
        for node, subscriptions in owed.standing.items():
            for topic, subscription in subscriptions.items():
                self._judge_joining(topic, node, subscription)
                published, known_us = owed.topics.get(topic), subscription.known_us
                if published is not None and known_us is not None:
                    self._judge_events(_Case(topic, node, subscription, known_us, published))
        first = tuple(tally.verdict() for tally in self.tallies[:-1])
        if self._healed_us is None or owed.caught_up_us is None:
            reason = f"the journal notes no fault (metadata {HEALED_KEY.decode()})"
            return (*first, self._progress.skip(reason)), {}
        return (*first, self._progress.verdict()), {"catch-up time us": owed.caught_up_us - self._healed_us}

    def _judge_joining(self, topic: str, node: NodeId, subscription: Subscription) -> None:
        tallies = [self._joining]
        if self._healed_us is not None and subscription.time_us > self._healed_us:
            tallies.append(self._progress)
        for tally in tallies:
            tally.checked += 1
            if subscription.joined_us is None:
                tally.violate(
                    f"topic {topic}: node {node} subscribed at {subscription.time_us} us "
                    f"(row {subscription.row}) and was never told that its subscription stands",
                    rows=(subscription.row,),
                    times_us=(subscription.time_us,),
                    nodes=(node,),
                )

    def _judge_events(self, case: _Case) -> None:
        published, start = case.published, case.subscription.start
        self._complete.checked += case.owed(published.lasting, start)
        self._agreement.checked += case.owed(published.vouched, start)
        progress = len(published.events)
        if self._healed_us is not None:
            progress = max(start, published.after(self._healed_us))
            self._progress.checked += case.owed(published.lasting, progress)
        missed = case.subscription.delivered.find(0, start)
        while missed >= 0:
            if published.lasting[missed]:
                self._report(self._complete, case, missed)
            if published.vouched[missed]:
                self._report(self._agreement, case, missed)
            if published.lasting[missed] and missed >= progress:
                self._report(self._progress, case, missed)
            missed = case.subscription.delivered.find(0, missed + 1)

    def _report(self, tally: Tally, case: _Case, missed: int) -> None:
        if tally.is_full:
            tally.violate("")
            return
        published, subscription, node = case.published, case.subscription, case.node
        event, time_us, row = published.events[missed], published.times_us[missed], published.rows[missed]
        but = ""
        if tally is self._agreement:
            other, other_us, other_row = self._delivered_by(event)
            but = f", though node {other} delivered it at {other_us} us (row {other_row})"
        elif tally is self._progress:
            but = f", after the last fault had healed at {self._healed_us} us"
        tally.violate(
            f"topic {case.topic}: node {node}, subscribed at {subscription.time_us} us "
            f"(row {subscription.row}) and known to all from {case.known_us} us, "
            f"never delivered event {name_event(event)}, published at {time_us} us (row {row}){but}",
            rows=(subscription.row, row),
            times_us=(case.known_us, time_us),
            nodes=(node,),
            events=(EventId(*event),),
        )

    def _delivered_by(self, event: tuple[NodeId, int]) -> tuple[NodeId, int, int]:
        """The first delivery by a node that runs on: node, time and row."""
        journal = self._journal
        same = pc.and_(pc.equal(journal["kind"], str(Kind.DELIVER)), pc.equal(journal["source"], event[0]))
        same = pc.and_(same, pc.equal(journal["sequence"], event[1]))
        for row in pc.indices_nonzero(pc.fill_null(same, False)).to_pylist():
            node = journal["node"][row].as_py()
            if self._lives.lasts(node, row):
                return node, journal["time_us"][row].as_py(), row
        raise AssertionError("an event is vouched for by one of its deliveries")
