"""Random scenarios with faults by seed, for the protocol that withstands them all (`flood`)."""

from random import Random
from typing import Literal

from flood import FloodSettings

from treecast.core import Topic
from treecast.sim import Scenario
from treecast.sim.scenario import (
    Action,
    Churn,
    Duplication,
    Exchange,
    Fault,
    Loss,
    Network,
    Once,
    PacketNetwork,
    Partition,
    Sessions,
    Slow,
    Steady,
    TopicSetup,
    Turnover,
    UniformNetwork,
)
from treecast.sim.scenario_keys import Selection

TOPIC = Topic("t")
SPAN_MS = 400


def random_faults(seed: int) -> Scenario:
    random = Random(f"faults/{seed}")
    nodes = random.choice([2, 3, 5, 8, 13])
    subscribers = random.choice(["all", random.randint(1, nodes - 1)])
    until_ms = random.choice([None, None, random.choice([50.0, 123.456])])
    return Scenario(
        name=f"faults {seed}",
        protocol="flood",
        nodes=nodes,
        seed=seed,
        until_ms=until_ms,
        settle_ms=100.0 if until_ms is None else None,
        network=_network(random),
        settings=FloodSettings(
            beat_us=random.choice([0, 3_000, 20_000]), chords=random.choice([(1,), (1, 2), (0, 1, 2, 3)])
        ),
        topics=(TopicSetup(name=TOPIC, subscribers=subscribers),),
        workloads=(Once(topic=TOPIC, publishers=0.5, window_ms=(0.0, SPAN_MS)), _steady(random)),
        actions=_actions(random, nodes),
        churns=_churns(random) if subscribers != "all" else (),
        faults=tuple(_fault(random) for _ in range(random.choice([0, 1, 1, 3]))),
    )


def _network(random: Random) -> Network:
    """Whole milliseconds, so that much happens at one instant."""
    acks = random.choice(["free", "charged"])
    processing_us = random.choice([0, 1_000, 1_000, 7_000])
    if random.random() < 0.5:
        return PacketNetwork(
            processing_us=processing_us,
            transmission_us=random.choice([0, 1_000, 3_000]),
            propagation_us=random.choice([1_000, 5_000, 30_000]),
            acks=acks,
        )
    low_us = random.choice([1, 1_000, 10_000])
    return UniformNetwork(
        low_us=low_us,
        high_us=low_us + random.choice([0, 3, 20_000]),
        processing_us=processing_us,
        acks=acks,
    )


def _window(random: Random) -> tuple[float, float]:
    begin_ms = random.randint(0, SPAN_MS)
    return begin_ms, begin_ms + random.choice([1, 10, 100, SPAN_MS])


def _fault(random: Random) -> Fault:
    def some() -> Selection:
        return random.choice(["all", 1, 0.5])

    window_ms, share = _window(random), random.choice([0.1, 0.5, 1.0])
    match random.choice(["loss", "duplication", "partition", "slow"]):
        case "loss":
            return Loss(share=share, window_ms=window_ms, senders=some(), receivers=some())
        case "duplication":
            later_us_max = random.choice([1, 1_000, 50_000])
            return Duplication(
                share=share, window_ms=window_ms, senders=some(), receivers=some(), later_us_max=later_us_max
            )
        case "partition":
            blocked: Literal["both", "out", "in"] = random.choice(["both", "out", "in"])
            return Partition(side=random.choice([1, 0.5]), window_ms=window_ms, blocked=blocked)
    return Slow(nodes=some(), longer_us=random.choice([500, 1_000, 20_000]), window_ms=window_ms)


def _churns(random: Random) -> tuple[Churn, ...]:
    window_ms = _window(random)
    kinds: list[Churn] = [
        Sessions(topic=TOPIC, session_ms_mean=random.choice([10, 200]), window_ms=window_ms),
        Turnover(
            topic=TOPIC,
            share_max=random.choice([0.2, 1.0]),
            every_ms=random.choice([1, 10]),
            window_ms=window_ms,
            publishers_stay=random.random() < 0.5,
        ),
        Exchange(topic=TOPIC, leavers=1, window_ms=window_ms),
    ]
    return tuple(random.sample(kinds, random.choice([0, 1, 1, 2])))


def _steady(random: Random) -> Steady:
    spacing: Literal["even", "poisson"] = random.choice(["even", "poisson"])
    return Steady(topic=TOPIC, every_ms=random.choice([10, 50]), count=5, spacing=spacing)


def _actions(random: Random, nodes: int) -> tuple[Action, ...]:
    """Each node's own story of crashes and recoveries, at whole milliseconds."""
    found: list[Action] = []
    for node in range(nodes):
        at_ms = 0
        for _ in range(random.choice([0, 1, 3, 10])):
            at_ms += random.choice([0, 1, 2, 5, random.randint(0, SPAN_MS // 4)])
            do = random.choice(["crash", "recover", "crash"])
            sends = random.choice([None, None, 0, 1, 2, 5]) if do == "crash" else None
            found.append(Action(at_ms=at_ms, node=node, do=do, sends=sends))
    random.shuffle(found)
    return tuple(found)
