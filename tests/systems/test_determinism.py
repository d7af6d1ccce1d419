"""One seed gives one journal: in another process, under another hash seed, in the other engine."""

import os
import subprocess
import sys
from array import array
from typing import Literal

import pytest
from random_scenarios import random_scenario

from treecast.journal import journal_hash
from treecast.sim import LatencySummary, Result, simulate
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


def _figures(result: Result) -> dict[str, object]:
    """All that result.json holds, less what depends on the machine."""
    machine = {"wall_s", "cpu_s", "peak_memory_mb"}
    return {key: value for key, value in result.to_json().items() if key not in machine}


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
        assert _figures(windowed) == _figures(ordered), f"seed {seed}"
        compared += 1
    assert compared > 60


def test_another_seed_draws_other_subscribers_and_times() -> None:
    journals = {journal_hash(simulate(random_scenario(seed)).journal) for seed in range(3_000, 3_010)}
    assert len(journals) == 10


@pytest.mark.parametrize("engine", [None, "event-order"])
def test_latencies_are_what_the_journal_tells(engine: Literal["event-order"] | None) -> None:
    """Reception: the first PUB that a subscriber receives of an event that it delivers later."""
    late = 0
    for seed in range(4_000, 4_040):
        result = simulate(random_scenario(seed), engine=engine)
        assert result.journal is not None
        rows = result.journal.to_pylist()
        published = {
            (row["source"], row["sequence"]): row["time_us"] for row in rows if row["kind"] == "publish"
        }
        received: dict[tuple[int, int, int], int] = {}
        receptions, deliveries = array("q"), array("q")
        for row in rows:
            event = (row["source"], row["sequence"])
            if row["kind"] == "receive" and row["message"] == "PUB":
                received.setdefault((row["node"], *event), row["time_us"])
            elif row["kind"] == "deliver" and row["node"] != row["source"]:
                receptions.append(received[row["node"], *event] - published[event])
                deliveries.append(row["time_us"] - published[event])
        assert result.reception_latency_ms == LatencySummary.of_us(receptions), f"seed {seed}"
        assert result.delivery_latency_ms == LatencySummary.of_us(deliveries), f"seed {seed}"
        late += receptions != deliveries
    assert late > 10
