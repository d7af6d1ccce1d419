"""Random scenarios hold what the single-root systems promise, in both engines.

The scenarios are those of VCube-PS: the same applications do the same at the same times.
"""

from collections import Counter

import pytest
from random_scenarios import random_scenario, seeds_of
from soak import first_complaint

from treecast.journal import journal_hash
from treecast.sim import simulate
from treecast.sim.network import flight_us_min

PROTOCOLS = {
    "srpt-s": {"PUB", "SUB", "ACK", "GRAFT", "PRUNE"},
    "srpt-b": {"PUB", "SUB", "ACK", "GRAFT", "PRUNE"},
    "fixed-root": {"PUB", "SUB", "ACK", "UNS"},
}
"""With the kinds of their messages."""
SCENARIOS = 150
CHUNK = 50
SLEEPERS_MAX = 60
ENGINE_SEEDS = range(2_000, 2_040)


@pytest.mark.parametrize("first", range(0, SCENARIOS, CHUNK))
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_rule_holds(protocol: str, first: int) -> None:
    assert not (text := seeds_of(protocol).complaints(range(first, first + CHUNK))), text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_scenarios_are_no_sleepers(protocol: str) -> None:
    """Together they exercise what they are made for, or a pass would mean little."""
    kinds: Counter[str] = Counter()
    late = left = 0
    for seed in range(SCENARIOS, SCENARIOS + SLEEPERS_MAX):
        result, report = seeds_of(protocol).judge(seed)
        kinds.update({kind: traffic.received for kind, traffic in result.messages.items()})
        delivery, reception = result.delivery_latency_ms, result.reception_latency_ms
        late += (delivery.mean or 0.0) > (reception.mean or 0.0)
        left += report.figures.get("false positives", 0) > 0
    assert kinds.keys() == PROTOCOLS[protocol]
    assert min(kinds.values()) > 150, kinds
    assert late > SLEEPERS_MAX // 5, "events should wait for their causes in many scenarios"
    assert left > SLEEPERS_MAX // 5, "events should reach nodes that are not subscribed in many scenarios"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_both_engines_write_the_same_journals(protocol: str) -> None:
    compared = 0
    for seed in ENGINE_SEEDS:
        scenario = random_scenario(seed, protocol=protocol)
        if flight_us_min(scenario.network):
            windowed, ordered = (simulate(scenario, engine=engine) for engine in ("windowed", "event-order"))
            assert journal_hash(windowed.journal) == journal_hash(ordered.journal), f"seed {seed}"
            compared += 1
    assert compared > len(ENGINE_SEEDS) // 2


@pytest.mark.soak
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_rule_holds_for_long(protocol: str, capsys: pytest.CaptureFixture[str]) -> None:
    judged = seeds_of(protocol).complaint_of
    with capsys.disabled():
        assert not (text := first_complaint(judged, f"random scenarios of {protocol}")), text
