"""Random faults: both engines write the same journal and count the same, under any PYTHONHASHSEED."""

import os
import subprocess
import sys
from collections import Counter

from effective import outcomes
from flood import flood_registered
from random_faults import random_faults

from treecast.journal import journal_hash
from treecast.sim import Result

SEEDS = range(120)

_HASHES = """
import sys
sys.path[:0] = sys.argv[1:]
from effective import outcomes
from flood import flood_registered
from random_faults import random_faults
from treecast.journal import journal_hash
with flood_registered():
    for seed in range(12):
        for (run,) in outcomes(random_faults(seed), "windowed"):
            print(run if isinstance(run, str) else journal_hash(run.journal))
"""


def _all_of(result: Result | str) -> object:
    """What no engine may change: the journal, its notes, and result.json but for the machine's figures."""
    if isinstance(result, str):
        return result
    assert result.journal is not None
    machine = {"wall_s", "cpu_s", "peak_memory_mb"}
    figures = {key: value for key, value in result.to_json().items() if key not in machine}
    return journal_hash(result.journal), result.journal.schema.metadata, figures


def test_both_engines_agree_on_every_fault() -> None:
    did: Counter[str] = Counter()
    with flood_registered():
        for seed in SEEDS:
            for windowed, ordered in outcomes(random_faults(seed), "windowed", "event-order"):
                assert _all_of(windowed) == _all_of(ordered), f"seed {seed}"
                if isinstance(windowed, Result):
                    for each in windowed.faults:
                        did.update(each.counts)
                    did.update({f"skipped {do}": count for do, count in windowed.inputs_skipped.items()})
    assert min(did.values()) > 20, f"each should happen often enough to mean something: {did}"


def test_processes_with_other_hash_seeds_write_the_same_journals() -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", _HASHES, *sys.path],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "4711")
    )
    assert first.count("\n") >= 12
    assert first == second
