"""The figures that the VCube-PS paper states, within the bounds that this project sets itself."""

from statistics import mean

import pytest
from published import ALL, ONE_1024, ONE_4096, RUNS, Case, run


@pytest.mark.parametrize("case", [ONE_1024, ONE_4096], ids=["1024", "4096"])
def test_one_publisher_and_a_quarter_subscribed(case: Case) -> None:
    """Section 4.1, figure 4: latency, and as many PUB messages as receivers."""
    runs = [run(case, seed) for seed in range(RUNS)]
    assert mean(latency_ms for latency_ms, _ in runs) == pytest.approx(case.published_ms, rel=0.03)
    assert all(exact for _, exact in runs)


def test_all_publish() -> None:
    """Section 4.2, figure 5(a): one run here; `make bench` takes forty, and compares with 25 %."""
    latency_ms, _ = run(ALL, 1)
    assert latency_ms == pytest.approx(ALL.published_ms, rel=0.03)
