"""Random scenarios hold what VCube-PS promises; a few here, as many as time allows in the soak."""

import pytest
from random_scenarios import seeds_of
from soak import first_complaint

SCENARIOS = 600
CHUNK = 50
SEEDS = seeds_of("vcube-ps")


@pytest.mark.parametrize("first", range(0, SCENARIOS, CHUNK))
def test_every_rule_holds(first: int) -> None:
    assert not (text := SEEDS.complaints(range(first, first + CHUNK))), text


def test_the_scenarios_are_no_sleepers() -> None:
    """Together they exercise what they are made for, or a pass would mean little."""
    kinds: dict[str, int] = {}
    late = forwarded = 0
    for seed in range(SCENARIOS, SCENARIOS + 100):
        result, report = SEEDS.judge(seed)
        for kind, traffic in result.messages.items():
            kinds[kind] = kinds.get(kind, 0) + traffic.received
        delivery, reception = result.delivery_latency_ms, result.reception_latency_ms
        late += (delivery.mean or 0.0) > (reception.mean or 0.0)
        forwarded += report.figures.get("false positives", 0) > 0
    assert kinds.keys() == {"PUB", "SUB", "UNS", "ACK", "FENCE"}
    assert min(kinds.values()) > 1_000
    assert late > 30, "events should wait for their causes in many scenarios"
    assert forwarded > 20, "nodes that have left should forward in many scenarios"


@pytest.mark.soak
def test_every_rule_holds_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        assert not (text := first_complaint(SEEDS.complaint_of, "random scenarios")), text
