"""The demo's scenario: a causal topic of 64 nodes with churn, drawn from a seed.

Nodes join, leave and return throughout, while conversations run: somebody asks, others
answer once the question has had time to reach them.
Invariant: nobody publishes before its subscription has settled or after it has left,
and no node subscribes twice in a row.
"""

from collections.abc import Iterator
from random import Random
from typing import Literal, TypeAlias

from treecast.core import NodeId, parse_topic
from treecast.sim.scenario import Action, PacketNetwork, Scenario, TopicSetup

NODES = 64
SUBSCRIBERS_AT_START = 40
SUBSCRIBERS_MIN = 28
SUBSCRIBERS_MAX = 56
END_MS = 120_000
CHURN_EVERY_MS = 400
CONVERSATION_EVERY_MS = 250
ANSWERS_MAX = 4
ANSWER_AFTER_MS = (150, 900)
SETTLED_AFTER_MS = 2_000
"""Six hops down the hypercube and the way back, with room for queues."""

Change: TypeAlias = tuple[float, NodeId, Literal["subscribe", "unsubscribe"]]
Stay: TypeAlias = tuple[float, float]
"""From when a subscription has settled to when it ends."""


def demo_scenario(seed: int) -> Scenario:
    """The same seed gives the same scenario on every machine."""
    stream = Random(seed)
    topic = parse_topic("demo.chat")
    start = sorted(stream.sample(range(NODES), SUBSCRIBERS_AT_START))
    changes = list(_changes(stream, start))
    publications = _publications(stream, _stays(start, changes))
    actions = [Action(at_ms=at_ms, node=node, do=do, topic=topic) for at_ms, node, do in changes]
    actions += [Action(at_ms=at_ms, node=node, do="publish", topic=topic) for at_ms, node in publications]
    return Scenario(
        name="demo: a causal topic with churn",
        protocol="vcube-ps",
        nodes=NODES,
        seed=seed,
        network=PacketNetwork(acks="charged"),
        topics=(TopicSetup(name=topic, subscribers=tuple(start)),),
        actions=tuple(sorted(actions, key=lambda action: (action.at_ms, action.node))),
    )


def _changes(stream: Random, start: list[NodeId]) -> Iterator[Change]:
    """Who joins and leaves when; a node stays as it is until its last change has settled."""
    present = set(start)
    settled_ms = dict.fromkeys(range(NODES), 0.0)
    at_ms = 0.0
    while (at_ms := at_ms + stream.randint(1, 2 * CHURN_EVERY_MS)) < END_MS:
        node = stream.choice([each for each in range(NODES) if settled_ms[each] <= at_ms])
        settled_ms[node] = at_ms + SETTLED_AFTER_MS
        if node in present and len(present) > SUBSCRIBERS_MIN:
            present.remove(node)
            yield at_ms, node, "unsubscribe"
        elif node not in present and len(present) < SUBSCRIBERS_MAX:
            present.add(node)
            yield at_ms, node, "subscribe"


def _stays(start: list[NodeId], changes: list[Change]) -> dict[NodeId, list[Stay]]:
    begun_ms = dict.fromkeys(start, 0.0)
    stays: dict[NodeId, list[Stay]] = {node: [] for node in range(NODES)}
    for at_ms, node, do in changes:
        if do == "subscribe":
            begun_ms[node] = at_ms + SETTLED_AFTER_MS
        else:
            stays[node].append((begun_ms.pop(node), at_ms))
    for node, from_ms in begun_ms.items():
        stays[node].append((from_ms, float("inf")))
    return stays


def _publications(stream: Random, stays: dict[NodeId, list[Stay]]) -> Iterator[tuple[float, NodeId]]:
    """Conversations: a question, and answers by others once it has had time to arrive."""
    at_ms = 0.0
    while (at_ms := at_ms + stream.randint(1, 2 * CONVERSATION_EVERY_MS)) < END_MS:
        yield at_ms, stream.choice(_settled(stays, at_ms))
        answer_ms = at_ms
        for _ in range(stream.randint(0, ANSWERS_MAX)):
            answer_ms += stream.randint(*ANSWER_AFTER_MS)
            yield answer_ms, stream.choice(_settled(stays, answer_ms))


def _settled(stays: dict[NodeId, list[Stay]], at_ms: float) -> list[NodeId]:
    return [node for node in range(NODES) if any(begin <= at_ms < end for begin, end in stays[node])]
