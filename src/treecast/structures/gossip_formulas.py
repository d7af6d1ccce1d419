"""The closed forms of CAMCAST's analysis (section 4), under the paper's symbols.

A hierarchy is given from the bottom up: communities t_(x-1) .. t_0, the last the root's. An
event is of the bottom topic. ln N + c stands here as floor(ln N) + c wherever messages are
counted, since so many are sent; the paper's own form, without the floor, is in `table`.

A misprint that is put right: the sum of upward messages runs over all communities but the
root's, i = x-1 .. 1; equation 1 has x-2 .. 0, under which the root's would go further up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One community: N_t processes, and the parameters with which they disseminate."""

    n: int
    """N_t: how many processes."""
    c: float = 5
    """c_t: entries of a topic table above ln N_t."""
    g: float = 5
    """g_t: how many processes link to the community above, on average."""
    a: float = 1
    """a_t: to how many entries of its super-topic table each of them sends."""
    z: int = 3
    """z_t: how many entries a super-topic table has."""
    p_succ: float = 0.85
    """Probability that a message sent is received."""
    pi: float = 1.0
    """pi_t: the share of the community that receives an event."""

    @property
    def p_sel(self) -> float:
        """g / N, at most 1."""
        return min(1.0, self.g / self.n)

    @property
    def p_a(self) -> float:
        return self.a / self.z

    @property
    def fan_out(self) -> float:
        return math.floor(math.log(self.n)) + self.c


# -- 4.3 message complexity -----------------------------------------------------------------------


def messages_within(level: Level) -> float:
    """N (floor(ln N) + c): events sent inside one community, if all of it receives them."""
    return level.n * level.fan_out


def upward_messages(level: Level) -> float:
    """nbUpwardMsg = N p_sel p_a z p_succ: events that a community passes up and that arrive."""
    return level.n * level.p_sel * level.p_a * level.z * level.p_succ


def messages(levels: Sequence[Level]) -> float:
    """Equation 1: all events sent, from the bottom community up to the root's."""
    return sum(map(messages_within, levels)) + sum(map(upward_messages, levels[:-1]))


def messages_bound(levels: Sequence[Level]) -> float:
    """Equation 3: x N_max ln N_max (1 + c_max + z_max), which no run exceeds; N_max at least 3."""
    n_max = max(level.n for level in levels)
    c_max, z_max = max(level.c for level in levels), max(level.z for level in levels)
    return len(levels) * n_max * math.log(n_max) * (1 + c_max + z_max)


def broadcast_messages(n: int, c: float) -> float:
    """(a): n (floor(ln n) + c)."""
    return n * (math.floor(math.log(n)) + c)


def multicast_messages(levels: Sequence[Level]) -> float:
    """(b), equation 4: the publisher's event is gossiped in a group for each level."""
    return sum(map(messages_within, levels))


def hierarchical_messages(clusters: int, m: int, c_1: float, c_2: float) -> float:
    """(c), equation 5: C m (c_1 + c_2 + floor(ln C) + floor(ln m)); m processes in each of C clusters."""
    return clusters * m * (c_1 + c_2 + math.floor(math.log(clusters)) + math.floor(math.log(m)))


def broadcast_parasites(interested: int, n: int, c: float, p_succ: float) -> float:
    """Of (a)'s messages, those that come to processes without interest (table 2, row 2)."""
    return broadcast_messages(n, c) * p_succ * (n - interested) / n


# -- 4.4 memory complexity ------------------------------------------------------------------------


def table(n: int, c: float) -> float:
    """ln N + c: entries of a topic table."""
    return math.log(n) + c


def memory(level: Level, *, root: bool = False) -> float:
    """ln N + c + z entries; the root's processes have no super-topic table."""
    return table(level.n, level.c) + (0 if root else level.z)


def multicast_memory(levels: Sequence[Level]) -> float:
    """(b): a table for each group that a process of the root community is in."""
    return sum(table(level.n, level.c) for level in levels)


def hierarchical_memory(clusters: int, m: int, c_1: float, c_2: float) -> float:
    """(c): ln m + ln C + c_1 + c_2."""
    return table(m, c_1) + table(clusters, c_2)


# -- 4.5 reliability: the probability that all who are interested receive an event ---------------


def gossip_reliability(c: float) -> float:
    """e^(-e^-c): that gossip to ln N + c each reaches everybody, as N grows."""
    return math.exp(-math.exp(-c))


def pit(level: Level) -> float:
    """Equation 6: the probability that an event is propagated to the community above.

    1 - (1 - p_succ)^(nbSuscProc p_a z), nbSuscProc = N p_sel pi. This takes as many messages
    as are sent on average; their number varies from run to run, for which see `pit_exact`.
    """
    return 1 - math.pow(1 - level.p_succ, level.n * level.p_sel * level.pi * level.p_a * level.z)


def pit_exact(level: Level) -> float:
    """The same over all that may be drawn: each of N pi processes links or not, each entry gets it or not."""
    reaches = 1 - math.pow(1 - level.p_a * level.p_succ, level.z)
    return 1 - math.pow(1 - level.p_sel * reaches, level.n * level.pi)


def reliability(levels: Sequence[Level]) -> float:
    """That all communities from the bottom to the root receive the event whole."""
    inside = math.prod(gossip_reliability(level.c) for level in levels)
    return inside * math.prod(pit(level) for level in levels[:-1])


def multicast_reliability(levels: Sequence[Level]) -> float:
    """(b): the product of e^(-e^-c) over the groups."""
    return math.prod(gossip_reliability(level.c) for level in levels)


def hierarchical_reliability(clusters: int, c_1: float, c_2: float) -> float:
    """(c): e^(-C e^-c_1 - e^-c_2)."""
    return math.exp(-clusters * math.exp(-c_1) - math.exp(-c_2))


def c_equal_to_broadcast(c: float, x: int, pit: float) -> float | None:
    """The c_1 with which CAMCAST is as reliable as (a) with c; None when 0 <= c <= -ln(-x ln pit) fails."""
    inner = 1 + x * math.exp(c) * math.log(pit)
    return c - math.log(inner) + math.log(x) if c >= 0 and inner > 0 else None


def z_below_broadcast(c: float, x: int, pit: float, n: int, n_t: int) -> float | None:
    """With fewer entries z than this CAMCAST takes less memory than (a) at equal reliability."""
    c_1 = c_equal_to_broadcast(c, x, pit)
    return None if c_1 is None else table(n, c) - table(n_t, c_1)


def c_equal_to_multicast(c: float, pit: float) -> float | None:
    """As `c_equal_to_broadcast`, for (b): 0 <= c <= -ln(-ln pit)."""
    inner = 1 + math.exp(c) * math.log(pit)
    return c - math.log(inner) if c >= 0 and inner > 0 else None


def z_below_multicast(c: float, x: int, pit: float, n_t: int) -> float | None:
    """As `z_below_broadcast`, for (b): (x - 1)(ln N_t + c) + ln(1 + e^c ln pit)."""
    c_1 = c_equal_to_multicast(c, pit)
    return None if c_1 is None else x * table(n_t, c) - table(n_t, c_1)


def c_equal_to_hierarchical(c: float, x: int, pit: float, clusters: int) -> float | None:
    """As `c_equal_to_broadcast`, for (c) with c_1 = c_2 = c."""
    inner = x * math.exp(c) * math.log(pit) + clusters + 1
    if inner <= 0:
        return None
    c_t = math.log(x) + c - math.log(inner)
    return c_t if c_t >= 0 else None


def z_below_hierarchical(c: float, x: int, pit: float, clusters: int) -> float | None:
    """As `z_below_broadcast`, for (c), with clusters as large as communities (m = N_t)."""
    c_t = c_equal_to_hierarchical(c, x, pit, clusters)
    return None if c_t is None else c + table(clusters, c) - c_t


# -- 4.6 latency ----------------------------------------------------------------------------------


def rounds(n: int) -> float:
    """Equation 12 without its O(1): ln N / ln ln N; N at least 3."""
    return math.log(n) / math.log(math.log(n))


def latency(sizes: Sequence[int]) -> tuple[float, float, float]:
    """Best, average and worst case over the communities from the bottom to the root."""
    hops = len(sizes) - 1
    each = [rounds(n) for n in sizes]
    return hops + max(each), hops + sum(each) / 2, hops + sum(each)
