"""One seed gives one journal: in another process, under another hash seed, in the other engine."""

import os
import subprocess
import sys

import pytest
from random_scenarios import random_scenario

from treecast.journal import journal_hash
from treecast.sim import simulate
from treecast.sim.network import flight_us_min

SEEDS = range(2_000, 2_120)

_HASHES = """
import sys
sys.path.insert(0, sys.argv[1])
from random_scenarios import random_scenario
from treecast.journal import journal_hash
from treecast.sim import simulate
for seed in range(0, 30):
    print(journal_hash(simulate(random_scenario(seed)).journal))
"""


def _hashes(hash_seed: str) -> list[str]:
    process = subprocess.run(
        [sys.executable, "-c", _HASHES, os.path.dirname(__file__)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.split()


def test_processes_with_other_hash_seeds_write_the_same_journals() -> None:
    first, second = _hashes("0"), _hashes("4711")
    assert len(set(first)) == 30, "different scenarios have different journals"
    assert first == second


@pytest.mark.parametrize("until_ms", [None, 40.0])
def test_both_engines_write_the_same_journal(until_ms: float | None) -> None:
    compared = 0
    for seed in SEEDS:
        scenario = random_scenario(seed, until_ms=until_ms)
        if not flight_us_min(scenario.network):
            continue
        windowed = simulate(scenario, engine="windowed")
        ordered = simulate(scenario, engine="event-order")
        assert windowed.journal is not None
        assert ordered.journal is not None
        assert journal_hash(windowed.journal) == journal_hash(ordered.journal), f"seed {seed}"
        assert windowed.journal.schema.metadata == ordered.journal.schema.metadata, f"seed {seed}"
        assert windowed.messages == ordered.messages, f"seed {seed}"
        assert windowed.delivery_latency_ms == ordered.delivery_latency_ms, f"seed {seed}"
        compared += 1
    assert compared > 60


def test_another_seed_draws_other_subscribers_and_times() -> None:
    journals = {journal_hash(simulate(random_scenario(seed)).journal) for seed in range(3_000, 3_010)}
    assert len(journals) == 10
