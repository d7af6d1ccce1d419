"""Links: when a message arrives, by the models' own definitions."""

from hypothesis import given
from hypothesis import strategies as st

from treecast.core import EventId, Topic
from treecast.protocols.vcube.messages import Ack, Sub
from treecast.sim.network import PacketLink, flight_us_min, make_link
from treecast.sim.scenario import PacketNetwork, UniformNetwork

SUB = Sub(Topic("t"), EventId(0, 1))
ACK = Ack(Topic("t"), EventId(0, 1), ())


def test_one_line_sends_one_message_after_the_other() -> None:
    link = PacketLink(PacketNetwork(transmission_us=10, propagation_us=100))
    assert [link.arrival_us(5, SUB) for _ in range(3)] == [115, 125, 135]
    assert link.arrival_us(200, ACK) == 310, "the line is free again; an ACK is charged like any other"
    assert link.arrival_us(205, SUB) == 320


def test_a_free_ack_neither_waits_nor_makes_wait() -> None:
    link = PacketLink(PacketNetwork(transmission_us=10, propagation_us=100, acks="free"))
    assert link.arrival_us(0, SUB) == 110
    assert link.arrival_us(0, ACK) == 110
    assert link.arrival_us(0, ACK) == 110
    assert link.arrival_us(0, SUB) == 120


@given(
    low_us=st.integers(0, 50),
    spread_us=st.integers(0, 50),
    sends=st.lists(st.integers(0, 1_000), min_size=1, max_size=20).map(sorted),
    seed=st.integers(0, 5),
)
def test_a_uniform_delay_stays_in_its_range(low_us: int, spread_us: int, sends: list[int], seed: int) -> None:
    network = UniformNetwork(low_us=low_us, high_us=low_us + spread_us)
    link, again, other = (make_link(network, seed, node) for node in (3, 3, 4))
    delays = [link.arrival_us(now_us, SUB) - now_us for now_us in sends]
    assert all(low_us <= delay <= low_us + spread_us for delay in delays)
    assert delays == [again.arrival_us(now_us, SUB) - now_us for now_us in sends]
    assert flight_us_min(network) == low_us
    if spread_us > 10 and len(sends) == 20:
        assert delays != [other.arrival_us(now_us, SUB) - now_us for now_us in sends]


@given(
    transmission_us=st.integers(0, 50),
    propagation_us=st.integers(0, 50),
    sends=st.lists(st.integers(0, 300), max_size=20).map(sorted),
)
def test_no_flight_is_shorter_than_the_shortest(
    transmission_us: int, propagation_us: int, sends: list[int]
) -> None:
    network = PacketNetwork(transmission_us=transmission_us, propagation_us=propagation_us, acks="free")
    link = PacketLink(network)
    for position, now_us in enumerate(sends):
        message = ACK if position % 3 else SUB
        assert link.arrival_us(now_us, message) - now_us >= flight_us_min(network)
