"""Results: exact summaries of latencies, and folders that hold one whole result."""

import json
import statistics
from array import array
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import UsageError
from treecast.sim.result import LatencySummary, Result, Traffic
from treecast.sim.scenario import Scenario
from treecast.sim.scenario_file import scenario_of
from treecast.sim.tally import Tally


def made(seed: int) -> Result:
    return Result(
        scenario=Scenario(name="made by hand", protocol="vcube-ps", nodes=4, seed=seed),
        version="0",
        journal=None,
        messages={"PUB": Traffic(sent=3, received=2)},
        reception_latency_ms=LatencySummary.of_us(array("q", [1000, 3000])),
        delivery_latency_ms=LatencySummary.of_us(array("q")),
        events_published=1,
        events_delivered=3,
        false_positives=5,
        messages_refused=0,
        queue_wait_ms=0.25,
        simulated_ms=4.0,
        ending="quiet",
        inputs_skipped={"publish": 2},
        faults=(Tally("recover", "[[action]] 3"),),
        hops=2,
        wall_s=0.5,
        cpu_s=0.5,
        peak_memory_mb=20.0,
    )


@given(st.lists(st.integers(0, 10**12) | st.integers(100, 120), min_size=1, max_size=300))
def test_percentiles_are_those_of_the_sorted_list(latencies_us: list[int]) -> None:
    summary = LatencySummary.of_us(array("q", latencies_us))
    ordered = sorted(latencies_us)
    for percent, found in ((50, summary.p50), (95, summary.p95), (99, summary.p99)):
        smallest = next(
            value
            for value in ordered
            if 100 * sum(each <= value for each in ordered) >= percent * len(ordered)
        )
        assert found == smallest / 1000
    assert summary.count == len(ordered)
    assert summary.max == ordered[-1] / 1000
    assert summary.mean is not None
    assert summary.sd is not None
    assert isclose(summary.mean, statistics.fmean(ordered) / 1000)
    assert isclose(summary.sd, statistics.pstdev(ordered) / 1000, rel_tol=1e-9, abs_tol=1e-9)


def test_nothing_measured_is_none_not_nought() -> None:
    assert LatencySummary.of_us(array("q")) == LatencySummary(0, None, None, None, None, None, None)


def test_what_is_written_replays_the_scenario(tmp_path: Path) -> None:
    result = made(3)
    result.write(tmp_path / "new" / "folder")
    document = json.loads((tmp_path / "new" / "folder" / "result.json").read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(result.to_json()))
    assert scenario_of(document["scenario"], "result.json") == result.scenario
    assert document["messages"] == {"PUB": {"sent": 3, "received": 2}}
    assert document["reception_latency_ms"]["mean"] == 2.0
    assert document["inputs_skipped"] == {"publish": 2}
    assert document["faults"] == [{"kind": "recover", "place": "[[action]] 3", "recoveries": 0}]
    assert document["delivery_latency_ms"]["mean"] is None


def test_a_newer_result_replaces_an_older_one_whole(tmp_path: Path) -> None:
    made(1).write(tmp_path)
    (tmp_path / "journal.parquet").write_bytes(b"of the older result")
    made(2).write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["seed"] == 2


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="cannot be written to") as caught:
            made(1).write(folder)
        assert str(folder) in str(caught.value)
