"""The figures that the VCube-PS paper states, within the bounds that this project sets itself."""

from dataclasses import replace
from statistics import mean

import pytest
from published import ALL, ONE_1024, ONE_4096, RUNS, Case, run
from srpt import DUELS, FEWER, SRPT_1024, SRPT_4096, Brokers, Duel, run_brokers


@pytest.mark.parametrize("case", [ONE_1024, ONE_4096], ids=["1024", "4096"])
def test_one_publisher_and_a_quarter_subscribed(case: Case) -> None:
    """Section 4.1, figure 4: latency, and as many PUB messages as receivers."""
    runs = [run(case, seed) for seed in range(RUNS)]
    assert mean(each.latency_ms for each in runs) == pytest.approx(case.published_ms, rel=0.03)
    assert all(each.pubs == each.receivers for each in runs)


def test_all_publish() -> None:
    """Section 4.2, figure 5(a): one run here; `make bench` takes forty, and compares with 25 %."""
    assert run(ALL, 1).latency_ms == pytest.approx(ALL.published_ms, rel=0.03)


@pytest.mark.parametrize(("case", "runs"), [(SRPT_1024, RUNS), (SRPT_4096, 8)], ids=["1024", "4096"])
def test_srpt_with_one_publisher_and_a_quarter_subscribed(case: Case, runs: int) -> None:
    """Section 4.1, figure 4: latency, and how many PUB messages VCube-PS saves."""
    found = [run(case, seed) for seed in range(runs)]
    assert mean(each.latency_ms for each in found) == pytest.approx(case.published_ms, rel=0.03)
    saved = 1 - mean(each.receivers for each in found) / mean(each.pubs for each in found)
    assert saved == pytest.approx(FEWER[SRPT_4096] / 100, rel=0.03)


@pytest.mark.parametrize("duel", [each for each in DUELS if each.published], ids=str)
def test_srpts_root_saturates_when_all_publish(duel: Duel) -> None:
    """Section 4.2, figure 5: at 256 nodes; three runs here."""
    vcube, srpt = (mean(run(case, seed).latency_ms for seed in range(3)) for case in duel.cases())
    assert srpt / vcube == pytest.approx(duel.published, rel=0.03)


def test_up_to_128_nodes_srpt_takes_one_hop_more() -> None:
    """Section 4.2, figure 5(a)."""
    duel = replace(DUELS[0], nodes=64)
    vcube, srpt = (mean(run(case, seed).latency_ms for seed in range(3)) for case in duel.cases())
    assert srpt - vcube == pytest.approx(102, rel=0.1)


def test_the_time_from_broker_to_subscriber() -> None:
    """Section 4.6: a broker sends to 15 subscribers one after the other; 4096 nodes in the benchmark."""
    found = run_brokers(Brokers("srpt-b", 16, nodes=256), 0)
    assert found.from_broker_ms == pytest.approx(1 + 100 + mean(range(1, 16)), rel=0.03)
