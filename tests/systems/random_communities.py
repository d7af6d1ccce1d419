"""Random scenarios for CAMCAST: hierarchies, churn, crashes, loss; by seed, and their judgement.

Run as a command it replays seeds: `.venv/bin/python tests/systems/random_communities.py SEED ...`
prints the scenario in TOML form and every violation.

Whom an event is owed to is promised as long as its publisher stays in its community: so
those who publish neither leave nor crash here; all others come, go, crash and return. A
lookup service keeps what it knows with three nodes: where one is used, fewer crash.
"""

import sys
from dataclasses import dataclass, field
from random import Random

from effective import effective
from seeds import Seeds

from treecast.core import Topic
from treecast.protocols.camcast.lookup import KEEPERS
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.sim import Scenario
from treecast.sim.scenario import (
    Action,
    Duplication,
    Fault,
    Loss,
    Network,
    Partition,
    RoundsNetwork,
    TopicSetup,
    UniformNetwork,
)

NAMES = ("a", "a.b", "a.b.c", "a.d", "x", "x.y", "x.y.z")
FURTHER = {"a.d": "x", "x.y": "a", "x.y.z": "a.b"}
SETTLE_MS = 60_000.0


@dataclass
class Plan:
    """What the applications do, as it is drawn."""

    random: Random
    nodes: int
    publishers: dict[Topic, set[int]]
    members: dict[Topic, set[int]]
    registered: dict[Topic, set[int]]
    crashes_left: int
    at_ms: float = 0.0
    down_until: dict[int, float] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)

    @property
    def staying(self) -> set[int]:
        return {node for nodes in self.publishers.values() for node in nodes}

    def do(self, do: str, node: int, topic: Topic | None = None) -> None:
        self.actions.append(Action(at_ms=round(self.at_ms, 3), node=node, do=do, topic=topic))  # type: ignore[arg-type]

    def step(self) -> None:
        draw, topic = self.random.random(), self.random.choice(list(self.members))
        up = [node for node in range(self.nodes) if node not in self.down_until]
        node = self.random.choice(up)
        if draw < 0.4:
            ready = sorted(self.publishers[topic])
            if ready:
                self.do("publish", self.random.choice(ready), topic)
        elif draw < 0.5 and self.crashes_left and node not in self.staying and len(up) > 2:
            self.crash(node)
        elif node in self.publishers[topic]:
            return
        elif node in self.members[topic]:
            self.members[topic].discard(node)
            self.do("unsubscribe", node, topic)
        elif node in self.registered[topic]:
            self.registered[topic].discard(node)
            self.do("unregister", node, topic)
        elif draw < 0.9:
            self.members[topic].add(node)
            self.do("subscribe", node, topic)
            if self.random.random() < 0.2:
                self.publishers[topic].add(node)
        else:
            self.registered[topic].add(node)
            self.do("register", node, topic)

    def crash(self, node: int) -> None:
        self.crashes_left -= 1
        self.do("crash", node)
        for nodes in (*self.members.values(), *self.registered.values()):
            nodes.discard(node)
        self.down_until[node] = self.at_ms + self.random.choice([500.0, 5_000.0, float("inf")])

    def recover_the_due(self) -> None:
        for node, until_ms in sorted(self.down_until.items()):
            if until_ms <= self.at_ms:
                del self.down_until[node]
                self.do("recover", node)


def random_scenario(seed: int) -> Scenario:
    random = Random(f"communities/{seed}")
    nodes = random.choice([3, 5, 8, 13, 20, 32])
    names = [Topic(name) for name in NAMES[: random.choice([1, 3, 4, 7])]]
    kin = {name: tuple(Topic(up) for up in [FURTHER.get(name, "")] if up in names) for name in names}
    several = random.random() < 0.5
    empty = random.random()
    members = {
        topic: {node for node in range(nodes) if random.random() < random.choice([0.2, 0.6])}
        if random.random() > empty * 0.5
        else set()
        for topic in names
    }
    publishers = {
        topic: {node for node in sorted(members[topic]) if random.random() < 0.3} for topic in names
    }
    topics = tuple(
        TopicSetup(
            name=topic, subscribers=tuple(sorted(members[topic])), parents=kin[topic] if several else ()
        )
        for topic in names
    )
    membership = random.choice(["unstructured", "unstructured", "semi-structured", "structured"])
    crashes = random.choice([0, KEEPERS - 1 if membership != "unstructured" else nodes])
    plan = Plan(random, nodes, publishers, members, {topic: set() for topic in names}, crashes)
    for _ in range(random.choice([10, 40, 100])):
        plan.at_ms += random.choice([0.0, random.expovariate(1 / 150.0)])
        plan.recover_the_due()
        plan.step()
    return Scenario(
        name=f"random communities {seed}",
        protocol="camcast",
        nodes=nodes,
        seed=seed,
        settle_ms=SETTLE_MS,
        network=_network(random),
        settings=CamcastSettings(
            membership=membership,  # type: ignore[arg-type]
            c=random.choice([1, 5]),
            z=random.choice([1, 3]),
            heartbeat_ms=800.0,
            isolation_ms=3_000.0,
            lease_ms=15_000.0,
            link_ms=1_500.0,
            search_ms=300.0,
            refresh_ms=2_000.0,
            repair_ms=500.0,
        ),
        topics=topics,
        actions=tuple(plan.actions),
        faults=_faults(random, plan.at_ms),
    )


def _network(random: Random) -> Network:
    if random.random() < 0.3:
        return RoundsNetwork(round_us=random.choice([5_000, 50_000]), success=random.choice([1.0, 0.85]))
    low_us = random.choice([0, 1_000, 10_000])
    return UniformNetwork(low_us=low_us, high_us=low_us + random.choice([1_000, 30_000]), processing_us=0)


def _faults(random: Random, span_ms: float) -> tuple[Fault, ...]:
    found: list[Fault] = []
    for _ in range(random.choice([0, 0, 1, 2])):
        begin_ms = round(random.uniform(0, span_ms), 3)
        window_ms = (begin_ms, round(begin_ms + random.choice([500.0, 4_000.0]), 3))
        match random.choice(["loss", "duplication", "partition"]):
            case "loss":
                found.append(Loss(share=random.choice([0.1, 0.5]), window_ms=window_ms))
            case "duplication":
                found.append(Duplication(share=0.3, later_us_max=500_000, window_ms=window_ms))
            case _:
                found.append(Partition(side=random.choice([1, 0.5]), window_ms=window_ms))
    return tuple(found)


SEEDS = Seeds("random_communities.py", random_scenario, effective)


if __name__ == "__main__":
    SEEDS.replay(sys.argv[1:])
