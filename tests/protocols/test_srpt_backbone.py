"""The pruned tree against one that is built whole and cut down by hand."""

import naive_hypercube as naive
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import NodeId
from treecast.protocols.baselines.backbone import Backbone, evenly_spaced

WIDE = st.sets(st.integers(0, 2**256 - 1), min_size=1, max_size=40)
DENSE = st.integers(1, 70).map(range)
NODES = st.one_of(WIDE, DENSE).map(lambda ids: tuple(sorted(ids)))


def whole_tree(root: NodeId, brokers: list[NodeId], nodes: tuple[NodeId, ...]) -> dict[NodeId, NodeId]:
    """Each node's parent: brokers by the papers' clusters, anyone else under the last broker before it."""
    parents: dict[NodeId, NodeId] = {}
    ahead = [(root, 256)]
    while ahead:
        i, reach = ahead.pop()
        for s in range(1, reach + 1):
            for child in naive.nearest_by_xor(i, s, brokers)[:1]:
                parents[child] = i
                ahead.append((child, s - 1))
    for node in nodes:
        if node not in brokers:
            parents[node] = max(broker for broker in brokers if broker < node)
    return parents


@given(NODES, st.data())
def test_the_pruned_tree_reaches_the_subscribers_and_the_forwarders_on_the_way(
    nodes: tuple[NodeId, ...], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(nodes)), label="brokers")
    subscribers = sorted(data.draw(st.sets(st.sampled_from(nodes)), label="subscribers"))
    brokers = list(evenly_spaced(nodes, count))
    root = data.draw(st.sampled_from(brokers), label="root")
    parents = whole_tree(root, brokers, nodes)
    wanted = set()
    for subscriber in subscribers:
        node = subscriber
        while node != root:
            wanted.add((parents[node], node))
            node = parents[node]

    backbone = Backbone(brokers, root)
    edges, ahead = [], [root]
    while ahead:
        i = ahead.pop()
        children = backbone.children(i, subscribers)
        assert backbone.in_order(i, reversed(children)) == children
        edges += [(i, child) for child in children]
        ahead += children
    assert sorted(edges) == sorted(wanted), "each once, and nobody else"
    assert backbone.parent(root) is None
    assert {node: backbone.parent(node) for node in nodes if node != root} == parents


@given(NODES, st.data())
def test_brokers_are_evenly_spaced(nodes: tuple[NodeId, ...], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(nodes)), label="brokers")
    places = [nodes.index(broker) for broker in evenly_spaced(nodes, count)]
    assert len(places) == count
    assert places[0] == 0
    below = [after - place for place, after in zip(places, [*places[1:], len(nodes)], strict=True)]
    assert max(below) - min(below) <= 1


def test_the_papers_configurations() -> None:
    """Section 4.6: 127, 15 and 1 subscribers for each broker."""
    nodes = tuple(range(4096))
    for count, below in ((32, 127), (256, 15), (2048, 1)):
        brokers = evenly_spaced(nodes, count)
        backbone = Backbone(brokers, brokers[5])
        subscribers = [node for node in nodes if node not in set(brokers)]
        for broker in brokers:
            leaves = [each for each in backbone.children(broker, subscribers) if each in set(subscribers)]
            assert leaves == list(range(broker + 1, broker + 1 + below))


def test_largest_cluster_first_and_leaves_last() -> None:
    backbone = Backbone((0, 4, 8, 12), 0)
    assert backbone.children(0, range(16)) == (8, 4, 1, 2, 3)
    assert backbone.children(8, (8, 9, 14)) == (12, 9)
    assert backbone.children(14, range(16)) == ()
