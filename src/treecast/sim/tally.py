"""What each fault and each churn of a run did, counted by the table that asked for it.

Invariant: a scenario whose fault or churn did nothing is refused after the run, because
whoever wrote it would otherwise believe that its protocol has withstood it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from treecast.core import ScenarioError
from treecast.sim.scenario import Scenario

Effect: TypeAlias = Literal[
    "nodes_crashed",
    "messages_never_left",
    "messages_lost",
    "recoveries",
    "copies_made",
    "messages_blocked",
    "messages_delayed",
    "leaves",
    "joins",
]

COUNTS_OF: Mapping[str, Sequence[Effect]] = {
    "crash": ("nodes_crashed", "messages_never_left", "messages_lost", "recoveries"),
    "recover": ("recoveries",),
    "loss": ("messages_lost",),
    "duplication": ("copies_made",),
    "partition": ("messages_blocked",),
    "slow": ("messages_delayed",),
    "churn": ("leaves", "joins"),
    "crashed": ("nodes_crashed", "messages_never_left", "messages_lost", "recoveries"),
    "unseen": ("messages_lost",),
}
"""What is counted of each kind."""

_WITHOUT_EFFECT: Mapping[str, str] = {
    "crash": "no node crashed: each was down already, or had not sent enough, or the run ended before; "
    "let it happen earlier, after fewer sends, or to a node that is up",
    "recover": "no node recovered: it was not down, or the run ended before; "
    "let it come after a crash of that node",
    "loss": "no message was lost: too few were sent in its window between its nodes; "
    "widen window_ms or raise share",
    "duplication": "no copy was made: too few messages were sent in its window between its nodes; "
    "widen window_ms or raise share",
    "partition": "no message was blocked: none was sent across it in its window; "
    "widen window_ms or take another side",
    "slow": "no message was delayed: its nodes processed none in its window; "
    "widen window_ms or choose others",
    "crashed": "no node had crashed: all that were drawn are publishers, who stay; let more crash",
    "unseen": "no message was lost: too few were sent in its window; widen window_ms or raise share",
    "churn": "nobody left: the run ended before, or nobody was subscribed, or none was due; "
    "let it last longer or change more",
}


@dataclass(slots=True)
class Tally:
    """What one fault or churn did; `place` names its table."""

    kind: str
    place: str
    counts: dict[Effect, int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = dict.fromkeys(COUNTS_OF[self.kind], 0)

    def add(self, effect: Effect, times: int = 1) -> None:
        self.counts[effect] += times

    @property
    def effective(self) -> bool:
        return any(self.counts.values())


def tallies_of(scenario: Scenario) -> dict[str, Tally]:
    """An empty one, by place, for each table that counts what it does."""
    found: dict[str, Tally] = {}
    for number, action in enumerate(scenario.actions, start=1):
        if action.of_node:
            place = f"[[action]] {number}"
            found[place] = Tally(action.do, place)
    for number, _ in enumerate(scenario.churns, start=1):
        place = f"[[churn]] {number}"
        found[place] = Tally("churn", place)
    for number, fault in enumerate(scenario.faults, start=1):
        place = f"[[fault]] {number}"
        found[place] = Tally(fault.kind, place)
    return found


def refuse_without_effect(tallies: Sequence[Tally]) -> None:
    """Raise `ScenarioError` for the first that did nothing."""
    for tally in tallies:
        if not tally.effective:
            raise ScenarioError(
                f"{tally.place}: the {tally.kind} never took effect: {_WITHOUT_EFFECT[tally.kind]}"
            )
