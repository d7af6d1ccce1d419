"""The closed forms of CAMCAST's section 4: the paper's numbers, bounds, and its conditions by brute force."""

import math
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from treecast.structures import gossip_formulas as formulas
from treecast.structures.gossip_formulas import Level

levels = st.lists(
    st.builds(
        Level,
        n=st.integers(3, 5_000),
        c=st.integers(0, 8),
        g=st.integers(1, 10),
        z=st.integers(1, 6),
        p_succ=st.floats(0.1, 1),
    ),
    min_size=1,
    max_size=6,
)
pits = st.floats(0.9, 0.99999)


def test_parasites_of_table_2() -> None:
    for sizes, published in (((1000, 100, 10), 11216), ((100,) * 3, 1699), ((100,) * 5, 3739)):
        ours = formulas.broadcast_parasites(sizes[-1], sum(sizes), 5, 0.85)
        assert ours == pytest.approx(published, rel=0.001)


@given(levels)
def test_no_hierarchy_exceeds_the_bound_on_messages(hierarchy: list[Level]) -> None:
    """Equation 3, whose N p_sel p_a z p_succ must be at most N ln N z."""
    assert formulas.messages(hierarchy) <= formulas.messages_bound(hierarchy) * (1 + 1e-9)


@given(levels)
def test_probabilities_are_probabilities_and_products(hierarchy: list[Level]) -> None:
    assert 0 <= formulas.reliability(hierarchy) <= formulas.multicast_reliability(hierarchy) <= 1
    for level in hierarchy:
        assert 0 <= formulas.pit(level) <= 1
        assert 0 <= formulas.pit_exact(level) <= 1


def test_the_exact_link_probability_is_what_draws_give() -> None:
    level, random = Level(n=100), Random(1)
    times = 4_000
    linked = sum(
        any(
            random.random() < level.p_sel
            and any(random.random() < level.p_a * level.p_succ for _ in range(level.z))
            for _ in range(level.n)
        )
        for _ in range(times)
    )
    assert linked / times == pytest.approx(formulas.pit_exact(level), abs=0.015)
    assert formulas.pit(level) > formulas.pit_exact(level), "the mean number of messages flatters it"


@given(c=st.floats(0, 10), x=st.integers(1, 6), pit=pits)
def test_c_1_makes_camcast_as_reliable_as_broadcast(c: float, x: int, pit: float) -> None:
    """Equation 7, and the condition 0 <= c <= -ln(-x ln pit)."""
    c_1 = formulas.c_equal_to_broadcast(c, x, pit)
    bound = -math.log(-x * math.log(pit))
    assume(abs(c - bound) > 1e-6)
    assert (c_1 is not None) == (c < bound)
    if c_1 is not None:
        ours = formulas.gossip_reliability(c_1) ** x * pit**x
        assert ours == pytest.approx(formulas.gossip_reliability(c), rel=1e-6)


@given(c=st.floats(0, 10), x=st.integers(1, 6), pit=pits)
def test_c_1_makes_camcast_as_reliable_as_multicast(c: float, x: int, pit: float) -> None:
    c_1 = formulas.c_equal_to_multicast(c, pit)
    bound = -math.log(-math.log(pit))
    assume(abs(c - bound) > 1e-6)
    assert (c_1 is not None) == (c < bound)
    if c_1 is not None:
        ours = formulas.gossip_reliability(c_1) ** x * pit**x
        assert ours == pytest.approx(formulas.gossip_reliability(c) ** x, rel=1e-6)


@given(c=st.floats(0, 10), x=st.integers(1, 6), pit=pits, clusters=st.integers(1, 50))
def test_c_t_makes_camcast_as_reliable_as_hierarchical(c: float, x: int, pit: float, clusters: int) -> None:
    c_t = formulas.c_equal_to_hierarchical(c, x, pit, clusters)
    low = -math.log(x * (1 - math.log(pit)) / (clusters + 1))
    high = -math.log(-x * math.log(pit) / (clusters + 1))
    assume(abs(c - low) > 1e-6 and abs(c - high) > 1e-6)
    assert (c_t is not None) == (low < c < high)
    if c_t is not None:
        ours = formulas.gossip_reliability(c_t) ** x * pit**x
        assert ours == pytest.approx(formulas.hierarchical_reliability(clusters, c, c), rel=1e-6)


@given(
    c=st.floats(0, 5),
    x=st.integers(1, 6),
    pit=pits,
    n_t=st.integers(3, 10_000),
    z=st.integers(1, 30),
    clusters=st.integers(2, 50),
)
def test_the_bounds_on_z_are_where_memories_meet(
    c: float, x: int, pit: float, n_t: int, z: int, clusters: int
) -> None:
    n = x * n_t
    rivals = (
        (
            formulas.z_below_broadcast(c, x, pit, n, n_t),
            formulas.c_equal_to_broadcast(c, x, pit),
            formulas.table(n, c),
        ),
        (
            formulas.z_below_multicast(c, x, pit, n_t),
            formulas.c_equal_to_multicast(c, pit),
            formulas.multicast_memory([Level(n=n_t, c=c)] * x),
        ),
        (
            formulas.z_below_hierarchical(c, x, pit, clusters),
            formulas.c_equal_to_hierarchical(c, x, pit, clusters),
            formulas.hierarchical_memory(clusters, n_t, c, c),
        ),
    )
    for bound, c_1, theirs in rivals:
        assert (bound is None) == (c_1 is None)
        if bound is not None and c_1 is not None and abs(z - bound) > 1e-6:
            ours = formulas.memory(Level(n=n_t, c=c_1, z=z))
            assert (ours < theirs) == (z < bound)


def test_latency_is_best_when_events_go_up_at_once() -> None:
    best, average, worst = formulas.latency((1000, 100, 10))
    assert best < average < worst
    assert formulas.latency((100,)) == pytest.approx(
        (formulas.rounds(100), formulas.rounds(100) / 2, formulas.rounds(100))
    )
