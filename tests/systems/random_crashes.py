"""Random scenarios with crashes, recoveries and churn for VCube-PB, by seed, and their judgement.

Run as a command it replays seeds: `.venv/bin/python tests/systems/random_crashes.py SEED ...`
prints the scenario in TOML form and every violation.
"""

import sys
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from effective import effective
from seeds import Seeds

from treecast.core import Topic, parse_topic
from treecast.protocols.vcube.settings import VCubePBSettings, rounds_bound
from treecast.sim import Scenario
from treecast.sim.scenario import (
    Action,
    Duplication,
    Fault,
    Loss,
    Network,
    PacketNetwork,
    Partition,
    Slow,
    TopicSetup,
    UniformNetwork,
)

EVERY_MS = 500.0
"""A testing round."""


@dataclass
class Timeline:
    """What the applications do, as it is drawn; knows who is up and who is subscribed."""

    random: Random
    nodes: int
    topics: list[Topic]
    subscribed: dict[Topic, set[int]]
    at_ms: float = 0.0
    registered: dict[Topic, set[int]] = field(default_factory=dict)
    down_until: dict[int, float] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)

    def do(self, do: str, node: int, topic: Topic | None = None, sends: int | None = None) -> None:
        at_ms = round(self.at_ms, 3)
        self.actions.append(Action(at_ms=at_ms, node=node, do=do, topic=topic, sends=sends))  # type: ignore[arg-type]

    def is_up(self, node: int) -> bool:
        return node not in self.down_until

    def act(self, node: int, topic: Topic) -> None:
        """Something that this node's application may do now."""
        subscribed, registered = node in self.subscribed[topic], node in self.registered[topic]
        draw = self.random.random()
        if not subscribed and not registered:
            if draw < 0.7:
                self.subscribed[topic].add(node)
                self.do("subscribe", node, topic)
            else:
                self.registered[topic].add(node)
                self.do("register", node, topic)
        elif draw < 0.7:
            self.do("publish", node, topic)
        elif subscribed:
            self.subscribed[topic].discard(node)
            self.do("unsubscribe", node, topic)
        else:
            self.registered[topic].discard(node)
            self.do("unregister", node, topic)

    def crash(self, node: int, back_after_ms: float) -> None:
        """The node crashes at once, in the middle of its next sends, or of a broadcast of its own."""
        sends = self.random.choice([None, 0, 1, 2, 3])
        if back_after_ms < 6 * EVERY_MS:  # it might be back before it has sent so often
            sends = None
        self.do("crash", node, sends=sends)
        mine = [topic for topic in self.topics if node in self.subscribed[topic] | self.registered[topic]]
        if sends is not None and mine:
            self.do("publish", node, self.random.choice(mine))
        for topic in self.topics:
            self.subscribed[topic].discard(node)
            self.registered[topic].discard(node)
        self.down_until[node] = self.at_ms + back_after_ms

    def recover_the_due(self) -> None:
        for node, until_ms in sorted(self.down_until.items()):
            if until_ms <= self.at_ms:
                del self.down_until[node]
                self.do("recover", node)
                for topic in self.topics:
                    if self.random.random() < 0.6:
                        self.subscribed[topic].add(node)
                        self.do("subscribe", node, topic)


def random_scenario(seed: int) -> Scenario:
    """A scenario in which anything happens that VCube-PB says it survives; half of the nodes stay up."""
    random = Random(f"crashes/{seed}")
    nodes = random.choice([2, 3, 4, 4, 5, 7, 8, 8, 11, 13, 16, 16, 23, 32]) if random.random() < 0.97 else 64
    topics = [parse_topic(f"t{number}.x") for number in range(random.choice([1, 1, 2]))]
    subscribed = {
        topic: {node for node in range(nodes) if random.random() < random.choice([0.3, 0.7, 1.0])}
        for topic in topics
    }
    setups = tuple(TopicSetup(name=topic, subscribers=tuple(sorted(subscribed[topic]))) for topic in topics)
    timeline = Timeline(random, nodes, topics, subscribed, registered={topic: set() for topic in topics})
    draw_course(timeline, random, crashes=random.choice([1, 2, nodes // 2]), unnoticed=True)
    network = draw_network(random)
    timeout_ms, retry_ms = random.choice([60.0, 250.0, 450.0]), random.choice([1_000.0, 5_000.0])
    faults = draw_faults(random, timeline.at_ms)
    # A node may be suspected wrongly until the last fault has ended.
    patience_ms = 4 * EVERY_MS + max((fault.window_ms[1] for fault in faults), default=0.0)
    return Scenario(
        name=f"random crashes {seed}",
        protocol="vcube-pb",
        nodes=nodes,
        seed=seed,
        settle_ms=patience_ms + EVERY_MS * (4 * rounds_bound(nodes) + 20),
        network=network,
        settings=VCubePBSettings(
            test_every_ms=EVERY_MS,
            timeout_ms=timeout_ms,
            retry_ms=retry_ms,
            patience_ms=patience_ms,
        ),
        topics=setups,
        actions=tuple(timeline.actions),
        faults=faults,
    )


def _down_ms(random: Random, unnoticed: bool) -> float:
    """Long enough for the crash to be noticed; or, sometimes, so short that the node is back before."""
    if unnoticed and random.random() < 0.4:
        return random.choice([0.0, 20.0, 300.0]) + random.expovariate(1 / random.choice([10.0, 1_000.0]))
    return 6 * EVERY_MS + random.expovariate(1 / 3_000.0)


def draw_course(
    timeline: Timeline, random: Random, crashes: int, first_mortal: int = 0, *, unnoticed: bool = False
) -> None:
    """Nodes below `first_mortal` do not crash."""
    steps = random.choice([10, 30, 80])
    span_ms = random.choice([200.0, 3_000.0, 20_000.0])
    actors = random.sample(range(timeline.nodes), random.randint(1, timeline.nodes))
    mortal = random.sample(range(first_mortal, timeline.nodes), max(1, timeline.nodes // 2))
    may_recover = random.random() < 0.6
    left = crashes
    for _ in range(steps):
        timeline.at_ms += random.choice([0.0, random.expovariate(1.0) * span_ms / steps])
        timeline.recover_the_due()
        up = [node for node in mortal if timeline.is_up(node)]
        if left and up and random.random() < 2 * crashes / steps:
            left -= 1
            timeline.crash(random.choice(up), _down_ms(random, unnoticed) if may_recover else float("inf"))
            continue
        node = random.choice(actors)
        if timeline.is_up(node):
            timeline.act(node, random.choice(timeline.topics))
    if left == crashes:
        timeline.crash(random.choice(mortal), float("inf"))
    for until_ms in sorted(timeline.down_until.values()):
        if until_ms < float("inf"):
            timeline.at_ms = max(timeline.at_ms, until_ms)
            timeline.recover_the_due()


def draw_faults(random: Random, span_ms: float) -> tuple[Fault, ...]:
    """What makes the fault-free look crashed: lost and late messages, cut and one-way connections."""
    found: list[Fault] = []
    for _ in range(random.choice([0, 0, 1, 1, 2, 4])):
        begin_ms = round(random.uniform(0, span_ms), 3)
        window_ms = (begin_ms, round(begin_ms + random.choice([EVERY_MS, 8 * EVERY_MS, 30 * EVERY_MS]), 3))
        share = random.choice([0.05, 0.3, 1.0])
        match random.choice(["loss", "duplication", "partition", "slow"]):
            case "loss":
                senders = random.choice(["all", 0.5, 1])
                found.append(Loss(share=share, senders=senders, window_ms=window_ms))
            case "duplication":
                later_us_max = random.choice([1_000, 1_000_000])
                found.append(Duplication(share=share, later_us_max=later_us_max, window_ms=window_ms))
            case "partition":
                blocked: Literal["both", "out", "in"] = random.choice(["both", "both", "out", "in"])
                found.append(Partition(side=random.choice([1, 0.5]), blocked=blocked, window_ms=window_ms))
            case _:
                longer_us = random.choice([50_000, 300_000])
                found.append(Slow(nodes=random.choice([1, 0.3]), longer_us=longer_us, window_ms=window_ms))
    return tuple(found)


def draw_network(random: Random) -> Network:
    if random.random() < 0.3:
        return PacketNetwork(
            processing_us=random.choice([0, 100]),
            transmission_us=random.choice([100, 1_000]),
            propagation_us=random.choice([1_000, 10_000]),
            acks=random.choice(["free", "charged"]),
        )
    low_us = random.choice([0, 1_000, 10_000])
    return UniformNetwork(
        low_us=low_us,
        high_us=low_us + random.choice([1_000, 10_000, 40_000]),
        processing_us=random.choice([0, 500]),
    )


SEEDS = Seeds("random_crashes.py", random_scenario, effective)


if __name__ == "__main__":
    SEEDS.replay(sys.argv[1:])
