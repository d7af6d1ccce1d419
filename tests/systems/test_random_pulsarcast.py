"""Random scenarios with crashes, churn and faults hold what Pulsarcast promises; more of them in the soak."""

from collections import Counter

import pytest
from effective import outcomes
from random_pulsarcast import REPLAYS, random_scenario
from soak import first_complaint

from treecast.journal import journal_hash
from treecast.sim import Result

SCENARIOS = 30
CHUNK = 10


@pytest.mark.parametrize("first", range(0, SCENARIOS, CHUNK))
def test_every_rule_holds(first: int) -> None:
    complaints = [text for seed in range(first, first + CHUNK) if (text := REPLAYS.complaint(seed))]
    assert not complaints, "\n\n".join(complaints)


def test_the_scenarios_are_no_sleepers() -> None:
    """Together they do what they are made for, or a pass would mean little."""
    scenarios: Counter[str] = Counter()
    for seed in range(SCENARIOS, SCENARIOS + 10):
        result, report = REPLAYS.judge(seed)
        scenarios["parent lost"] += result.counts.get("parent lost", 0) > 0
        scenarios["fetched"] += result.counts.get("event: fetched from a neighbour", 0) > 0
        scenarios["requested"] += "ASK" in result.messages
        scenarios["handed on"] += "LEAVE" in result.messages
        scenarios["orphans judged"] += report.verdict("no orphans").checked > 0
        scenarios["agreement judged"] += report.verdict("agreement").checked > 0
    assert min(scenarios.values()) >= 2, scenarios


def test_both_engines_write_the_same_journals() -> None:
    for seed in range(1_000, 1_004):
        for pair in outcomes(random_scenario(seed), None, "event-order"):
            first, second = (
                journal_hash(each.journal) if isinstance(each, Result) else each  # type: ignore[arg-type]
                for each in pair
            )
            assert first == second, f"seed {seed}"


@pytest.mark.soak
def test_every_rule_holds_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        assert not (text := first_complaint(REPLAYS.complaint, "random scenarios with Pulsarcast")), text
