"""A crash is known to all within log2(N)^2 rounds (VCube-PB 2017, section 5.1).

`benchmarks detection` takes every N up to 256 and every crash; here are some of each.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synchronous_rounds import Rounds, rounds_by_distance, rounds_until_known

from treecast.core import ID_BITS
from treecast.protocols.vcube.settings import rounds_bound
from treecast.structures import hypercube

SMALL_MAX = 17
LARGE = [(31, 0), (32, 7), (33, 32), (64, 63), (65, 64), (100, 3), (128, 1), (200, 150), (255, 254), (256, 0)]


@pytest.mark.parametrize("count", range(2, SMALL_MAX))
def test_any_single_crash_is_known_in_time(count: int) -> None:
    for crashed in range(count):
        rounds = rounds_until_known(range(count), crashed)
        assert max(rounds.values()) <= rounds_bound(count)
        assert rounds == rounds_by_distance(range(count), crashed)


@pytest.mark.parametrize(("count", "crashed"), LARGE)
def test_in_larger_systems_too(count: int, crashed: int) -> None:
    rounds = rounds_until_known(range(count), crashed)
    assert max(rounds.values()) <= rounds_bound(count)
    assert rounds == rounds_by_distance(range(count), crashed)


@given(st.sets(st.integers(0, 2**16 - 1), min_size=2, max_size=24), st.data())
def test_and_where_ids_have_gaps(ids: set[int], data: st.DataObject) -> None:
    nodes = tuple(sorted(ids))
    crashed = data.draw(st.sampled_from(nodes), label="crashed")
    assert rounds_until_known(nodes, crashed) == rounds_by_distance(nodes, crashed)


def test_who_has_heard_of_nothing_tests_the_first_of_each_cluster() -> None:
    """What the distance rests on."""
    network = Rounds(range(23))
    for _ in range(2):
        network.run()
        for node in range(23):
            assert network.tested[node] == list(hypercube.children(node, range(23), ID_BITS))
