"""Random scenarios by seed, a swarm of shapes, and their judgement by the checkers.

Run as a command it replays seeds: `.venv/bin/python tests/systems/random_scenarios.py PROTOCOL SEED ...`
prints the scenario in TOML form and every violation.
"""

import sys
from random import Random

from treecast.checkers import Report, check
from treecast.core import Topic, parse_topic
from treecast.protocols.baselines.single_root import RootSettings
from treecast.protocols.baselines.srpt import BrokerSettings
from treecast.sim import Result, Scenario, simulate
from treecast.sim.scenario import Action, Network, PacketNetwork, TopicSetup, UniformNetwork
from treecast.sim.scenario_file import toml_of


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


def judge(seed: int, protocol: str = "vcube-ps") -> tuple[Result, Report]:
    result = simulate(random_scenario(seed, protocol=protocol))
    assert result.journal is not None
    return result, check(result.journal)


def replay(seed: int, protocol: str = "vcube-ps") -> str:
    return f"replay: .venv/bin/python tests/systems/random_scenarios.py {protocol} {seed}"


def complaint(seed: int, report: Report, protocol: str = "vcube-ps") -> str:
    """What failed, and the command that replays it."""
    lines = [violation.text for verdict in report.verdicts for violation in verdict.violations[:5]]
    return "\n".join([f"seed {seed}; {replay(seed, protocol)}", *lines])


def complaint_of(seed: int, protocol: str = "vcube-ps") -> str:
    """What is wrong with a seed's run, or nothing."""
    try:
        _, report = judge(seed, protocol)
    except Exception as error:
        raise AssertionError(f"seed {seed} ends in an error; {replay(seed, protocol)}") from error
    assert report.verdict("completeness").skipped is None, "a scenario without until_ms ends quietly"
    return "" if report.ok else complaint(seed, report, protocol)


def main() -> None:
    protocol, *seeds = sys.argv[1:]
    for seed in map(int, seeds):
        print(toml_of(random_scenario(seed, protocol=protocol)))
        print(complaint_of(seed, protocol) or "all holds")


if __name__ == "__main__":
    main()
