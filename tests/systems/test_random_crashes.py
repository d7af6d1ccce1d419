"""Random crashes, recoveries, churn and faults: VCube-PB holds what it promises, in both engines."""

from collections import Counter
from pathlib import Path

import pytest
from effective import assert_engines_agree
from random_crashes import SEEDS, random_scenario
from soak import first_complaint

from treecast.checkers import check
from treecast.sim import load_scenario, simulate

SCENARIOS = 600
CHUNK = 50
REGRESSIONS = Path(__file__).parent / "regressions"
"""Scenarios by which a checker found a fault, each with its story and seed."""


@pytest.mark.parametrize("first", range(0, SCENARIOS, CHUNK))
def test_every_rule_holds(first: int) -> None:
    assert not (text := SEEDS.complaints(range(first, first + CHUNK))), text


def test_the_scenarios_are_no_sleepers() -> None:
    """Together they do what they are made for, or a pass would mean little."""
    scenarios: Counter[str] = Counter()
    for seed in range(SCENARIOS, SCENARIOS + 150):
        result, report = SEEDS.judge(seed)
        nodes = result.scenario.nodes
        effects: Counter[str] = Counter()
        for tally in result.faults:
            effects.update(tally.counts)
        sent = {kind: traffic.sent for kind, traffic in result.messages.items()}
        cut_short = effects["messages_never_left"] or effects["messages_lost"]
        scenarios["crash of an inner node or a publisher"] += effects["nodes_crashed"] > 0 and cut_short > 0
        scenarios["crash of half of the nodes"] += effects["nodes_crashed"] >= nodes // 2 > 1
        scenarios["recovery"] += effects["recoveries"] > 0
        scenarios["publisher's last event passed on by heirs"] += sent.get("HEIR", 0) > 0
        scenarios["repair"] += sent.get("REPAIR", 0) > 0
        scenarios["false suspicion"] += report.figures.get("false suspicions", 0) > 0
        scenarios["copies"] += effects["copies_made"] > 0
        scenarios["partition"] += effects["messages_blocked"] > 0
        scenarios["slow node"] += effects["messages_delayed"] > 0
        scenarios["delivered late"] += report.figures.get("catch-up time us", 0) > 0
        scenarios["agreement judged"] += report.verdict("agreement").checked > 0
        scenarios["progress judged"] += report.verdict("progress after healing").checked > 0
    assert min(scenarios.values()) >= 15, scenarios


@pytest.mark.parametrize("path", sorted(REGRESSIONS.glob("*.toml")), ids=lambda path: path.stem)
def test_what_was_broken_once_holds(path: Path) -> None:
    journal = simulate(load_scenario(path)).journal
    assert journal is not None
    report = check(journal)
    assert report.ok, [violation.text for verdict in report.verdicts for violation in verdict.violations]


def test_both_engines_write_the_same_journals() -> None:
    for seed in range(1_000, 1_040):
        assert_engines_agree(random_scenario(seed))


@pytest.mark.soak
def test_every_rule_holds_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        assert not (text := first_complaint(SEEDS.complaint_of, "random scenarios with crashes")), text
