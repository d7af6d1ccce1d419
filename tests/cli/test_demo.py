"""The demo: a scenario that can be run under any seed, and a run that ends in verdicts."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treecast.cli.app import main
from treecast.cli.demo import END_MS, NODES, SETTLED_AFTER_MS, SUBSCRIBERS_AT_START, demo_scenario
from treecast.sim.scenario_file import load_scenario


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**63 - 1))
def test_nobody_publishes_unless_it_is_subscribed_and_settled(seed: int) -> None:
    scenario = demo_scenario(seed)
    start = scenario.topics[0].subscribers
    assert isinstance(start, tuple)
    assert len(start) == SUBSCRIBERS_AT_START
    for node in range(NODES):
        subscribed, settled_ms = node in start, 0.0
        for action in (each for each in scenario.actions if each.node == node):
            if action.do == "publish":
                assert subscribed
                assert action.at_ms >= settled_ms
            else:
                assert subscribed == (action.do == "unsubscribe")
                subscribed = not subscribed
                settled_ms = action.at_ms + SETTLED_AFTER_MS


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**63 - 1))
def test_churn_goes_on_from_beginning_to_end(seed: int) -> None:
    scenario = demo_scenario(seed)
    for do in ("subscribe", "unsubscribe"):
        times_ms = [0.0, *(each.at_ms for each in scenario.actions if each.do == do), float(END_MS)]
        assert max(later - earlier for earlier, later in pairwise(times_ms)) < END_MS / 5
    leaves = {each.node for each in scenario.actions if each.do == "unsubscribe"}
    joins = {each.node for each in scenario.actions if each.do == "subscribe"}
    assert leaves & joins
    assert demo_scenario(seed) == scenario


def test_the_demo_ends_in_verdicts_and_leaves_what_replays_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    assert main(["demo", "--seed", "9", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "everything judged holds" in printed
    assert str(out / "journal.parquet") in printed
    assert load_scenario(out / "scenario.toml") == demo_scenario(9)
    journal = (out / "journal.parquet").read_bytes()
    assert main(["simulate", str(out / "scenario.toml"), "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "journal.parquet").read_bytes() == journal
