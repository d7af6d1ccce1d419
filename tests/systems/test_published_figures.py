"""The figures that the VCube-PS paper states, within the bounds that this project sets itself."""

from statistics import mean

import pytest

from treecast.core import Topic
from treecast.sim import Result, Scenario, simulate
from treecast.sim.scenario import Once, PacketNetwork, TopicSetup

TOPIC = Topic("t")
RUNS = 40


def _run(nodes: int, subscribers: float, publishers: float | int, seed: int, window_ms: float) -> Result:
    """Section 4's packet model: t_pc = t_t = 1, t_pp = 100, ACKs free."""
    scenario = Scenario(
        name="published",
        protocol="vcube-ps",
        nodes=nodes,
        seed=seed,
        network=PacketNetwork(acks="free"),
        topics=(TopicSetup(name=TOPIC, subscribers=subscribers),),
        workloads=(Once(topic=TOPIC, publishers=publishers, window_ms=(0.0, window_ms)),),
    )
    return simulate(scenario, journal="counters")


def _mean_ms(result: Result) -> float:
    assert result.reception_latency_ms.mean is not None
    return result.reception_latency_ms.mean


@pytest.mark.parametrize(("nodes", "published_ms"), [(1024, 420), (4096, 533)])
def test_one_publisher_and_a_quarter_subscribed(nodes: int, published_ms: float) -> None:
    """Section 4.1, figure 4: latency, and as many PUB messages as receivers."""
    results = [_run(nodes, 0.25, 1, seed, 0) for seed in range(RUNS)]
    assert mean(map(_mean_ms, results)) == pytest.approx(published_ms, rel=0.03)
    for result in results:
        assert result.messages["PUB"].sent == result.events_delivered - 1 == nodes // 4 - 1


def test_all_publish() -> None:
    """Section 4.2, figure 5(a): one run here; `make bench` takes many."""
    everyone = _mean_ms(_run(1024, 1.0, 1.0, 1, 1000))
    assert everyone == pytest.approx(563, rel=0.03)
