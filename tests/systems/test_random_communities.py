"""Random scenarios hold what CAMCAST promises; a few here, as many as time allows in the soak."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from effective import outcomes
from random_communities import SEEDS, random_scenario
from soak import first_complaint

from treecast.checkers import check
from treecast.journal import journal_hash
from treecast.sim import Result

SCENARIOS = 24
CHUNK = 6


@pytest.mark.parametrize("first", range(0, SCENARIOS, CHUNK))
def test_every_rule_holds(first: int) -> None:
    assert not (text := SEEDS.complaints(range(first, first + CHUNK))), text


def test_the_scenarios_are_no_sleepers() -> None:
    """Together they exercise what they are made for, or a pass would mean little."""
    kinds: dict[str, int] = {}
    stragglers = checked = 0.0
    for seed in range(SCENARIOS, SCENARIOS + 12):
        result, report = SEEDS.judge(seed)
        for kind, traffic in result.messages.items():
            kinds[kind] = kinds.get(kind, 0) + traffic.received
        stragglers += report.figures["stragglers"]
        checked += report.verdict("completeness").checked
    rare = {kind for kind, count in kinds.items() if count < 10}
    assert not rare, f"{rare} should come about more often"
    assert {"REPAIR", "WANT", "REPLACE", "GONE", "NEWPROCESS", "FIND", "REQCONTACT"} <= kinds.keys()
    assert stragglers, "somebody should be reached after he has left"
    assert checked > 300, "events should be owed to many"


def test_both_engines_write_the_same_journal() -> None:
    for seed in range(200, 206):
        scenario = replace(random_scenario(seed), settle_ms=10_000.0)
        first, second = list(outcomes(scenario, "event-order", None))[-1]
        assert isinstance(first, Result)
        assert isinstance(second, Result)
        assert first.journal is not None
        assert second.journal is not None
        assert journal_hash(first.journal) == journal_hash(second.journal), f"seed {seed}"
        assert first.journal.schema.metadata == second.journal.schema.metadata


_HASHES = """
import sys
from dataclasses import replace
sys.path.insert(0, sys.argv[1])
from effective import effective
from random_communities import random_scenario
from treecast.journal import journal_hash
for seed in range(400, 406):
    print(journal_hash(effective(replace(random_scenario(seed), settle_ms=10_000.0)).journal))
"""


def test_processes_with_other_hash_seeds_write_the_same_journals() -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", _HASHES, os.path.dirname(__file__)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for hash_seed in ("0", "4711")
    )
    assert len(set(first)) == 6
    assert first == second


def test_without_repair_there_are_no_parasites_either() -> None:
    for seed in range(300, 306):
        scenario = random_scenario(seed)
        settings = replace(scenario.settings, repair=False)
        (result,) = list(outcomes(replace(scenario, settings=settings, settle_ms=5_000.0), None))[-1]
        assert isinstance(result, Result)
        assert result.journal is not None
        assert "DIGEST" not in result.messages
        report = check(result.journal)
        assert report.ok
        assert report.verdict("completeness").skipped is not None


@pytest.mark.soak
def test_every_rule_holds_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        assert not (text := first_complaint(SEEDS.complaint_of, "random communities")), text
