"""Random scenarios with crashes, churn and faults hold what Pulsarcast promises; more of them in the soak."""

from collections import Counter

import pytest
from effective import assert_engines_agree
from random_pulsarcast import SEEDS, random_scenario
from soak import first_complaint

SCENARIOS = 30
CHUNK = 10


@pytest.mark.parametrize("first", range(0, SCENARIOS, CHUNK))
def test_every_rule_holds(first: int) -> None:
    assert not (text := SEEDS.complaints(range(first, first + CHUNK))), text


def test_the_scenarios_are_no_sleepers() -> None:
    """Together they do what they are made for, or a pass would mean little."""
    scenarios: Counter[str] = Counter()
    for seed in range(SCENARIOS, SCENARIOS + 10):
        result, report = SEEDS.judge(seed)
        scenarios["parent lost"] += result.counts.get("parent lost", 0) > 0
        scenarios["fetched"] += result.counts.get("event: fetched from a neighbour", 0) > 0
        scenarios["requested"] += "ASK" in result.messages
        scenarios["handed on"] += "LEAVE" in result.messages
        scenarios["orphans judged"] += report.verdict("no orphans").checked > 0
        scenarios["agreement judged"] += report.verdict("agreement").checked > 0
    assert min(scenarios.values()) >= 2, scenarios


def test_both_engines_write_the_same_journals() -> None:
    for seed in range(1_000, 1_004):
        assert_engines_agree(random_scenario(seed))


@pytest.mark.soak
def test_every_rule_holds_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        assert not (text := first_complaint(SEEDS.complaint_of, "random scenarios with Pulsarcast")), text
