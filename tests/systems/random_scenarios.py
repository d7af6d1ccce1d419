"""Random scenarios by seed, a swarm of shapes, and their judgement by the checkers.

Run as a command it replays seeds: `.venv/bin/python tests/systems/random_scenarios.py PROTOCOL SEED ...`
prints the scenario in TOML form and every violation.
"""

import sys
from functools import partial
from random import Random

from seeds import Seeds

from treecast.core import Topic, parse_topic
from treecast.protocols.baselines.single_root import RootSettings
from treecast.protocols.baselines.srpt import BrokerSettings
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Action, Network, PacketNetwork, TopicSetup, UniformNetwork


def random_scenario(seed: int, until_ms: float | None = None, protocol: str = "vcube-ps") -> Scenario:
    """A scenario that can be run: applications act only as their subscriptions allow."""
    random = Random(f"scenario/{seed}")
    nodes = random.choice([2, 3, 4, 5, 8, 11, 16, 23, 32, 47, 64])
    network = _network(random)
    span_ms = random.choice([50.0, 500.0, 3_000.0, 20_000.0])
    topics: list[TopicSetup] = []
    actions: list[Action] = []
    for number in range(random.choice([1, 1, 1, 2, 3])):
        topic = parse_topic(f"t{number}.x")
        share = random.choice([0.0, 0.2, 0.6, 1.0])
        initial = tuple(node for node in range(nodes) if random.random() < share)
        topics.append(TopicSetup(name=topic, subscribers=initial))
        actions += _actions(random, nodes, topic, set(initial), span_ms)
    actions.sort(key=lambda action: action.at_ms)
    return Scenario(
        name=f"random {seed}",
        protocol=protocol,
        nodes=nodes,
        seed=seed,
        until_ms=until_ms,
        network=network,
        settings=_settings(protocol, nodes, Random(f"settings/{seed}")),
        topics=tuple(topics),
        actions=tuple(actions),
    )


def _settings(protocol: str, nodes: int, random: Random) -> object:
    """Any root, or each topic's own; any number of brokers. None where there is nothing to set."""
    count = random.randint(1, nodes)
    root = random.choice([None, random.randrange(nodes)])
    match protocol:
        case "srpt-s" | "fixed-root":
            return RootSettings(root=root)
        case "srpt-b":
            return BrokerSettings(brokers=count)
    return None


def _network(random: Random) -> Network:
    acks = random.choice(["free", "charged"])
    if random.random() < 0.4:
        return PacketNetwork(
            processing_us=random.choice([0, 1_000, 20_000]),
            transmission_us=random.choice([0, 1_000, 30_000]),
            propagation_us=random.choice([1, 1_000, 100_000]),
            acks=acks,
        )
    low_us = random.choice([0, 1, 1_000, 10_000])
    return UniformNetwork(
        low_us=low_us,
        high_us=low_us + random.choice([0, 10_000, 300_000, 2_000_000]),
        processing_us=random.choice([0, 1_000]),
        acks=acks,
    )


def _actions(random: Random, nodes: int, topic: Topic, subscribed: set[int], span_ms: float) -> list[Action]:
    """Subscribing, leaving, returning and publishing, at random, in bursts and at one instant."""
    weights = [random.choice([1, 4]), random.choice([0, 1, 3]), random.choice([2, 10])]
    actors = random.sample(range(nodes), random.randint(1, nodes))
    at_ms, found = 0.0, []
    for _ in range(random.choice([5, 30, 120])):
        at_ms += random.choice([0.0, random.expovariate(1.0) * span_ms / 40])
        node = random.choice(actors)
        do = random.choices(["subscribe", "unsubscribe", "publish"], weights)[0]
        if (node in subscribed) == (do == "subscribe"):
            continue
        if do == "subscribe":
            subscribed.add(node)
        elif do == "unsubscribe":
            subscribed.discard(node)
        found.append(Action(at_ms=round(at_ms, 3), node=node, do=do, topic=topic))
    return found


def seeds_of(protocol: str) -> Seeds:
    """The same scenarios for each protocol, but for its settings."""
    draw = partial(random_scenario, protocol=protocol)
    return Seeds(f"random_scenarios.py {protocol}", draw, simulate)


if __name__ == "__main__":
    seeds_of(sys.argv[1]).replay(sys.argv[2:])
