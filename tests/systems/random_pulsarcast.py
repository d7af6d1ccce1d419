"""Random scenarios with crashes, recoveries, churn and faults for Pulsarcast, by seed, and their judgement.

Run as a command it replays seeds: `.venv/bin/python tests/systems/random_pulsarcast.py SEED ...`
prints the scenario in TOML form and every violation.
"""

import sys
from dataclasses import replace
from random import Random

from effective import effective
from random_crashes import Timeline, draw_course, draw_faults, draw_network
from seeds import Seeds

from treecast.core import parse_topic
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.sim import Scenario
from treecast.sim.scenario import Fault, TopicSetup

SETTLE_MS = 60_000.0
"""Many beats: a parent that is lost, tried again, shunned and found again takes ten."""


CREATED_MS = 4_000.0
"""By then the authors have stored their topics: one who dies before has made none."""


def random_scenario(seed: int) -> Scenario:
    """A scenario in which anything happens that Pulsarcast says it survives; node 0, a seed, stays up."""
    random = Random(f"pulsarcast/{seed}")
    nodes = random.choice([2, 3, 4, 5, 8, 8, 13, 16, 23, 32])
    topics = [parse_topic(f"t{number}.x") for number in range(random.choice([1, 1, 2]))]
    share = random.choice([0.3, 0.7, 1.0])
    subscribed = {topic: {node for node in range(nodes) if random.random() < share} for topic in topics}
    setups = tuple(TopicSetup(name=topic, subscribers=tuple(sorted(subscribed[topic]))) for topic in topics)
    timeline = Timeline(random, nodes, topics, subscribed, registered={topic: set() for topic in topics})
    timeline.at_ms = CREATED_MS
    draw_course(timeline, random, random.choice([1, 2, nodes // 2]), first_mortal=1)
    settings = PulsarcastSettings(
        k=random.choice([4, 20]),
        rpc_timeout_ms=400.0,
        republish_ms=random.choice([5_000.0, 10_000.0]),
        join_spread_ms=random.choice([0.0, 500.0]),
        publishers=random.choice(["anyone", "author"]),
        history=random.choice(["new", "all"]),
        beat_ms=1_000.0,
        join_timeout_ms=500.0,
        fetch_ms=random.choice([100.0, 500.0]),
        request_timeout_ms=2_000.0,
        window_max=random.choice([1, 32]),
    )
    return Scenario(
        name=f"random pulsarcast {seed}",
        protocol="pulsarcast",
        nodes=nodes,
        seed=seed,
        settle_ms=SETTLE_MS,
        network=draw_network(random),
        settings=settings,
        topics=setups,
        actions=tuple(timeline.actions),
        faults=tuple(_later(fault) for fault in draw_faults(random, timeline.at_ms - CREATED_MS)),
    )


def _later(fault: Fault) -> Fault:
    begin_ms, end_ms = fault.window_ms  # type: ignore[union-attr]
    return replace(fault, window_ms=(begin_ms + CREATED_MS, end_ms + CREATED_MS))


SEEDS = Seeds("random_pulsarcast.py", random_scenario, effective)


if __name__ == "__main__":
    SEEDS.replay(sys.argv[1:])
