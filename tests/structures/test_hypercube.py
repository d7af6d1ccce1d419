"""The hypercube against the papers' recursion, their examples, and its promise of O(log N)."""

from bisect import bisect_left
from collections.abc import Sequence
from random import Random
from typing import overload

import naive_hypercube as naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import ID_BITS, NodeId
from treecast.structures import hypercube

POWERS = [1, 2, 3, 4, 5, 6]

FIGURE_1 = {
    1: [[1], [0], [3], [2], [5], [4], [7], [6]],
    2: [[2, 3], [3, 2], [0, 1], [1, 0], [6, 7], [7, 6], [4, 5], [5, 4]],
    3: [
        [4, 5, 6, 7],
        [5, 4, 7, 6],
        [6, 7, 4, 5],
        [7, 6, 5, 4],
        [0, 1, 2, 3],
        [1, 0, 3, 2],
        [2, 3, 0, 1],
        [3, 2, 1, 0],
    ],
}
"""The table of c(i, s) for eight nodes: by s, then by i."""


@st.composite
def dense_members(draw: st.DrawFn) -> tuple[int, list[NodeId]]:
    """A dimension and some of its ids."""
    d = draw(st.sampled_from(POWERS))
    return d, sorted(draw(st.sets(st.integers(0, 2**d - 1), min_size=1)))


@st.composite
def sparse_members(draw: st.DrawFn) -> list[NodeId]:
    """Wide ids, some of which agree in long prefixes and some in all but a few low bits."""
    free = draw(st.sets(st.integers(0, 2**ID_BITS - 1), min_size=1, max_size=6))
    ids = set(free)
    for root in sorted(free):
        for shift, bits in draw(
            st.lists(st.tuples(st.integers(0, ID_BITS - 8), st.integers(1, 255)), max_size=12)
        ):
            ids.add(root ^ (bits << shift))
    return sorted(ids)


# -- the papers' examples ----------------------------------------------------------------


@pytest.mark.parametrize("s", FIGURE_1)
@pytest.mark.parametrize("i", range(8))
def test_figure_1_the_table_of_clusters_for_eight_nodes(i: NodeId, s: int) -> None:
    assert hypercube.members_of_cluster(i, s, range(8)) == FIGURE_1[s][i]


def test_the_example_of_cluster() -> None:
    assert [hypercube.cluster(0, j) for j in range(1, 8)] == [1, 2, 2, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("i", "members", "h", "expected"),
    [
        (0, range(8), 3, {1, 2, 4}),
        (0, range(8), 2, {1, 2}),
        (4, range(8), 2, {5, 6}),
        (0, [0, 3, 4], 3, {3, 4}),
        (4, [0, 3, 4], 2, set()),
        # Of the text on figure 3.
        (1, range(8), 0, set()),
        (2, range(8), 1, {3}),
        (3, range(8), 0, set()),
        (2, [0, 2, 3, 5, 7], 3, {3, 0, 7}),
        (7, [0, 2, 3, 5, 7], 2, {5}),
    ],
)
def test_the_examples_of_children(
    i: NodeId, members: Sequence[NodeId], h: int, expected: set[NodeId]
) -> None:
    assert set(hypercube.children(i, members, h)) == expected


def test_figure_3_the_tree_of_t1_where_all_subscribe_and_node_0_publishes() -> None:
    edges = naive.tree(0, 3, lambda i, h: hypercube.children(i, range(8), h))
    assert sorted(edges) == [(0, 1), (0, 2), (0, 4), (2, 3), (4, 5), (4, 6), (6, 7)]


def test_figure_3_the_tree_of_t2_where_five_subscribe_and_node_2_publishes() -> None:
    edges = naive.tree(2, 3, lambda i, h: hypercube.children(i, [0, 2, 3, 5, 7], h))
    assert sorted(edges) == [(2, 0), (2, 3), (2, 7), (7, 5)]


# -- against the recursion, and by XOR where ids are wide ---------------------------------


@pytest.mark.parametrize("d", POWERS)
def test_all_members_every_cluster_is_the_papers_list(d: int) -> None:
    for i in range(2**d):
        for s in range(1, d + 1):
            expected = naive.ordered_cluster(i, s)
            assert hypercube.members_of_cluster(i, s, range(2**d)) == expected
            assert {hypercube.cluster(i, j) for j in expected} == {s}
            assert hypercube.first_member(i, s, range(2**d)) == expected[0]
        for h in range(d + 1):
            assert hypercube.children(i, range(2**d), h) == tuple(i ^ 2 ** (s - 1) for s in range(h, 0, -1))


@given(dense_members(), st.data())
def test_some_members_every_answer_is_the_papers(
    drawn: tuple[int, list[NodeId]], data: st.DataObject
) -> None:
    d, members = drawn
    i = data.draw(st.integers(0, 2**d - 1), label="node, a member or not")
    for s in range(1, d + 1):
        expected = [j for j in naive.ordered_cluster(i, s) if j in members]
        assert hypercube.members_of_cluster(i, s, members) == expected
        assert hypercube.first_member(i, s, members) == (expected[0] if expected else None)
    for h in range(d + 1):
        found = hypercube.children(i, members, h)
        assert set(found) == naive.children(i, members, h)
        assert len(set(found)) == len(found)
    for j in members:
        if j != i:
            assert hypercube.cluster(i, j) == naive.cluster(i, j, d)


@given(sparse_members(), st.data())
def test_wide_ids_every_answer_is_the_nearest_by_xor(members: list[NodeId], data: st.DataObject) -> None:
    i = data.draw(st.one_of(st.sampled_from(members), st.integers(0, 2**ID_BITS - 1)), label="node")
    h = data.draw(st.integers(0, ID_BITS), label="h")
    firsts = []
    for s in range(ID_BITS, 0, -1):
        expected = naive.nearest_by_xor(i, s, members)
        assert hypercube.members_of_cluster(i, s, members) == expected
        assert hypercube.first_member(i, s, members) == (expected[0] if expected else None)
        if expected and s <= h:
            firsts.append(expected[0])
    assert list(hypercube.children(i, members, h)) == firsts, "first members, largest cluster first"


@given(st.one_of(dense_members().map(lambda drawn: drawn[1]), sparse_members()), st.data())
def test_a_slice_holds_those_who_differ_in_low_bits_only(members: list[NodeId], data: st.DataObject) -> None:
    i = data.draw(st.one_of(st.sampled_from(members), st.integers(0, 2**ID_BITS - 1)), label="node")
    h = data.draw(st.integers(0, ID_BITS), label="h")
    begin, end = hypercube.within(i, h, members)
    assert members[begin:end] == [j for j in members if j >> h == i >> h]


# -- trees --------------------------------------------------------------------------------


@given(dense_members(), st.data())
def test_a_tree_reaches_each_member_once_and_nobody_else(
    drawn: tuple[int, list[NodeId]], data: st.DataObject
) -> None:
    d, members = drawn
    root = data.draw(st.sampled_from(members), label="root")
    reached = [child for _, child in naive.tree(root, d, lambda i, h: hypercube.children(i, members, h))]
    assert sorted([root, *reached]) == members


@given(sparse_members(), st.data())
def test_a_tree_over_wide_ids_reaches_each_member_once_and_nobody_else(
    members: list[NodeId], data: st.DataObject
) -> None:
    root = data.draw(st.sampled_from(members), label="root")
    reached = [
        child for _, child in naive.tree(root, ID_BITS, lambda i, h: hypercube.children(i, members, h))
    ]
    assert sorted([root, *reached]) == members


@given(st.one_of(dense_members().map(lambda drawn: drawn[1]), sparse_members()), st.data())
def test_a_parent_is_who_sends_to_a_node_in_the_tree(members: list[NodeId], data: st.DataObject) -> None:
    root = data.draw(st.one_of(st.sampled_from(members), st.integers(0, 2**ID_BITS - 1)), label="root")
    edges = naive.tree(root, ID_BITS, lambda i, h: hypercube.children(i, members, h))
    for sender, child in edges:
        assert hypercube.parent(root, child, members) == sender


@pytest.mark.parametrize("d", POWERS)
def test_all_members_a_parent_lacks_the_lowest_bit_in_which_a_node_differs_from_the_root(d: int) -> None:
    for root in range(2**d):
        for i in range(2**d):
            if i != root:
                lowest = (i ^ root) & -(i ^ root)
                assert hypercube.parent(root, i, range(2**d)) == i ^ lowest


@given(st.sampled_from(POWERS), st.data())
def test_nobody_is_reached_twice_whatever_each_node_believes(d: int, data: st.DataObject) -> None:
    every_id = st.sets(st.integers(0, 2**d - 1))
    views = [sorted(data.draw(every_id)) for _ in range(2**d)]
    root = data.draw(st.integers(0, 2**d - 1), label="root")
    reached = [child for _, child in naive.tree(root, d, lambda i, h: hypercube.children(i, views[i], h))]
    assert len({root, *reached}) == len(reached) + 1


# -- cost ---------------------------------------------------------------------------------


class Counted(Sequence[NodeId]):
    """A sorted sequence that counts how often an element is looked at."""

    def __init__(self, members: Sequence[NodeId]) -> None:
        self.members = members
        self.looks = 0

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def __getitem__(self, position: int) -> NodeId: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[NodeId]: ...
    def __getitem__(self, position: int | slice) -> NodeId | Sequence[NodeId]:
        found = self.members[position]
        self.looks += 1 if isinstance(position, int) else len(self.members[position])
        return found


def looks_per_child(i: NodeId, members: Sequence[NodeId], h: int) -> float:
    counted = Counted(members)
    found = hypercube.children(i, counted, h)
    assert found
    return counted.looks / len(found)


@pytest.mark.parametrize("d", [4, 8, 12, 16])
def test_a_child_costs_log_n_looks(d: int) -> None:
    """Four bisections a child and a few looks beside them, whether ids are dense or wide."""
    random = Random(d)
    wide = sorted(random.getrandbits(ID_BITS) for _ in range(2**d))
    quarter = sorted(random.sample(range(2**d), 2**d // 4))
    for members, h in ((range(2**d), d), (quarter, d), (wide, ID_BITS)):
        for i in random.sample(members, min(16, len(members))):
            assert looks_per_child(i, members, h) <= 5 * d + 16


@pytest.mark.parametrize("d", [4, 8, 12, 16])
def test_a_dense_slice_far_from_the_neighbour_costs_log_n_looks(d: int) -> None:
    """The neighbour and all close to it are missing, and those that are left are dense."""
    upper_half_of_the_last_cluster = [0, *range(3 * 2 ** (d - 2), 2**d)]
    assert hypercube.children(0, upper_half_of_the_last_cluster, d) == (3 * 2 ** (d - 2),)
    assert looks_per_child(0, upper_half_of_the_last_cluster, d) <= 12 * d


def test_the_bound_tells_a_scan_from_a_search() -> None:
    counted = Counted(range(2**16))
    assert bisect_left(counted, 40_000) == 40_000
    assert counted.looks <= 17
    assert sum(1 for _ in counted) == 2**16
    assert counted.looks > 2**16
