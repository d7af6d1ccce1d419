"""The figures that the CAMCAST paper states, with fewer runs than `python benchmarks cam-...` takes."""

import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest
from communities import QUINTUPLE, THREE, TRIPLE, Case, Outcome, run

from treecast.structures import gossip_formulas as formulas

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(("sizes", "published"), [(THREE, 11216), (TRIPLE, 1699), (QUINTUPLE, 3739)])
def test_parasites(sizes: tuple[int, ...], published: int) -> None:
    """Table 2: an event of the root topic."""
    found = [run(Case(sizes=sizes, protocol="gossip-broadcast", event_of=-1), seed) for seed in range(2)]
    assert mean(each.parasites for each in found) == pytest.approx(published, rel=0.02)
    for protocol in ("camcast", "gossip-multicast"):
        assert run(Case(sizes=sizes, protocol=protocol, event_of=-1), 1).parasites == 0  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def triple() -> list[Outcome]:
    return [run(Case(sizes=TRIPLE), seed) for seed in range(40)]


def test_rounds(triple: list[Outcome]) -> None:
    """Table 1: rounds to the last first reception, over the runs that reach the root."""
    last = [each.rounds_last for each in triple if each.received[-1]]
    assert mean(each for each in last if each is not None) == pytest.approx(8.83, rel=0.10)


def test_messages_are_those_of_the_closed_forms(triple: list[Outcome]) -> None:
    """Section 4.3: inside each community and upward, where a community has the event at all."""
    level = formulas.Level(n=100)
    for n in range(3):
        whole = [each.within[n] for each in triple if each.received[n]]
        assert mean(whole) == pytest.approx(formulas.messages_within(level), rel=0.05)
    upward = [each.upward[n] for each in triple for n in range(2) if each.received[n]]
    assert mean(upward) == pytest.approx(formulas.upward_messages(level), rel=0.1)


def test_repair_reaches_every_live_process() -> None:
    """15 % of messages lost and 30 % of processes crashed from the start, tables never mended."""
    for seed in range(2):
        found = run(Case(sizes=THREE, crashed=0.3, repair=True), seed)
        assert found.received == found.alive
        assert found.parasites == 0
        assert found.messages["REPAIR"] > 0


def test_weak_views_cost_less_than_crashes_that_all_see() -> None:
    """Figures 15 and 17 at 30 %."""
    strong, weak = (
        mean(
            each.received[-1] / max(1, each.alive[-1])
            for each in (run(Case(sizes=TRIPLE, crashed=0.3, seen=seen), seed) for seed in range(20))  # type: ignore[arg-type]
        )
        for seen in ("by all", "by each")
    )
    assert weak > strong


def test_ten_thousand_processes_take_five_seconds_and_a_gigabyte() -> None:
    """In a process of its own, since the peak of memory is that of a process."""
    code = "from memberships import large; print(*large())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True, check=True
    )
    seconds, megabytes, delivered = (float(each) for each in done.stdout.split())
    assert delivered > 9_900
    assert seconds < 5
    assert megabytes < 1_024
