"""Partial views against a naive list: whatever is done to them, in whatever order."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from treecast.structures.partial_view import PartialView

OWNER = 0
nodes = st.integers(0, 9)
deeds = st.lists(
    st.one_of(
        st.tuples(st.just("add"), nodes),
        st.tuples(st.just("discard"), nodes),
        st.tuples(st.just("replace"), nodes, nodes),
        st.tuples(st.just("merge"), st.lists(nodes), st.lists(nodes)),
    )
)
capacities = st.none() | st.integers(0, 6)


def apply(view: PartialView, members: list[int], deed: tuple) -> None:  # type: ignore[type-arg]
    """Do it to the view, and to a plain list without an order."""

    def add(node: int) -> bool:
        room = view.capacity is None or len(members) < view.capacity
        fits = node != OWNER and node not in members and room
        if fits:
            members.append(node)
        return fits

    def discard(node: int) -> bool:
        there = node in members
        if there:
            members.remove(node)
        return there

    match deed:
        case ("add", node):
            assert view.add(node) == add(node)
        case ("discard", node):
            assert view.discard(node) == discard(node)
        case ("replace", old, new):
            there = old in members
            assert view.replace(old, new) == there
            if there and old != new:
                discard(old)
                add(new)
        case ("merge", fresh, failed):
            view.merge(fresh, failed)
            for node in failed:
                discard(node)
            for node in fresh:
                add(node)


@given(deeds, capacities)
def test_a_view_is_a_set_without_its_owner(history: list[tuple], capacity: int | None) -> None:  # type: ignore[type-arg]
    view, members = PartialView(OWNER, capacity=capacity), list[int]()
    for deed in history:
        apply(view, members, deed)
        assert sorted(view) == sorted(members)
        assert len(view) == len(members)
        assert all((node in view) == (node in members) for node in range(10))
        assert OWNER not in view
        assert view.is_full == (capacity is not None and len(members) == capacity)


@given(st.lists(nodes), st.integers(0, 12), st.sets(nodes), st.integers())
def test_a_sample_is_distinct_and_leaves_out_whom_it_is_told_to(
    members: list[int], count: int, without: set[int], seed: int
) -> None:
    view = PartialView(OWNER, members)
    drawn = view.sample(Random(seed), count, without)
    candidates = set(view) - without
    assert len(drawn) == len(set(drawn)) == min(count, len(candidates))
    assert set(drawn) <= candidates
    chosen = view.choice(Random(seed), without)
    assert chosen in candidates if candidates else chosen is None


@given(deeds, st.integers())
def test_the_same_history_and_stream_give_the_same_draws(history: list[tuple], seed: int) -> None:  # type: ignore[type-arg]
    views = [PartialView(OWNER), PartialView(OWNER)]
    for view in views:
        for deed in history:
            apply(view, list(view), deed)
    assert views[0].members == views[1].members
    assert views[0].sample(Random(seed), 3) == views[1].sample(Random(seed), 3)


def test_every_member_is_drawn_as_often_as_another() -> None:
    view, random = PartialView(OWNER, range(1, 9)), Random(1)
    counts = dict.fromkeys(view, 0)
    for _ in range(8_000):
        for node in view.sample(random, 2):
            counts[node] += 1
    assert all(1_800 < count < 2_200 for count in counts.values()), counts
