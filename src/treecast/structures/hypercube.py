"""The virtual hypercube: clusters and their order (VCube-PS 2018, section 2).

Node i sees the others in clusters s = 1, 2, ...: cluster s holds the ids j with
`(i ^ j).bit_length() == s`, which is a Kademlia bucket. The papers' recursive list
c(i, s) is that cluster in ascending XOR distance from i's hypercube neighbour
`i ^ (1 << (s - 1))`. So no table is needed: with the members in a sorted sequence, a
cluster is a slice and its first member is found by bisection, for the papers' dense ids
and for sparse 256-bit ids alike.

Invariants: `members` is sorted and without duplicates wherever it is taken; trees do
not overlap, whatever each node believes about the members: a child in cluster s answers
for cluster s alone, and the clusters of a node partition the other ids.
"""

from bisect import bisect_left
from collections.abc import Sequence

from treecast.core import NodeId


def cluster(i: NodeId, j: NodeId) -> int:
    """The index s of the cluster of node i that holds node j; 0 for i itself."""
    return (i ^ j).bit_length()


def within(i: NodeId, h: int, members: Sequence[NodeId]) -> tuple[int, int]:
    """The slice of `members` that differ from node i in none but the h lowest bits."""
    base = i >> h << h
    begin = bisect_left(members, base)
    return begin, bisect_left(members, base + (1 << h), begin)


def members_of_cluster(i: NodeId, s: int, members: Sequence[NodeId]) -> list[NodeId]:
    """The ordered cluster c(i, s), restricted to `members`."""
    neighbour = i ^ (1 << (s - 1))
    begin, end = within(neighbour, s - 1, members)
    return sorted(members[begin:end], key=neighbour.__xor__)


def first_member(i: NodeId, s: int, members: Sequence[NodeId]) -> NodeId | None:
    """The first member in c(i, s), or None when the cluster has no member.

    When the neighbour itself is no member, those that share the longest prefix with it
    come first; they are a slice beside the place where it would stand, and of random ids
    such a slice holds one or two: so O(log N), in three bisections.
    """
    neighbour = i ^ (1 << (s - 1))
    low = neighbour >> (s - 1) << (s - 1)
    position = bisect_left(members, neighbour)
    nearest = s  # the smallest cluster of the neighbour that holds a member; s: none does
    if position < len(members):
        above = members[position]
        if above == neighbour:
            return above
        if above < low + (1 << (s - 1)):
            nearest = (above ^ neighbour).bit_length()
    if position and members[position - 1] >= low:
        nearest = min(nearest, (members[position - 1] ^ neighbour).bit_length())
    if nearest == s:
        return None
    bit = nearest - 1
    other = (neighbour >> bit ^ 1) << bit
    begin = bisect_left(members, other)
    end = bisect_left(members, other + (1 << bit), begin)
    while end - begin > 1:
        bit = (members[begin] ^ members[end - 1]).bit_length() - 1  # where these part
        upper = members[end - 1] >> bit << bit
        boundary = (begin + end) // 2  # right at once where ids are dense
        if not members[boundary - 1] < upper <= members[boundary]:
            boundary = bisect_left(members, upper, begin, end)
        if neighbour >> bit & 1:
            begin = boundary
        else:
            end = boundary
    return members[begin]


def children(i: NodeId, members: Sequence[NodeId], h: int) -> tuple[NodeId, ...]:
    """CHILDREN(i, t, h): the first member of each cluster s <= h of node i, largest first.

    Only clusters that hold a member are visited, found from the two ends of the slice
    of members within reach: with 256-bit ids nearly all 256 clusters are empty.
    """
    found: list[NodeId] = []
    begin, end = within(i, h, members)
    while begin < end:
        s = max((members[begin] ^ i).bit_length(), (members[end - 1] ^ i).bit_length())
        if s == 0:
            break  # only node i itself is left
        child = first_member(i, s, members)
        assert child is not None, "an end of the slice lies in this cluster"
        found.append(child)
        middle = (i >> (s - 1) | 1) << (s - 1)  # where node i's half and cluster s meet
        boundary = bisect_left(members, middle, begin, end)
        if i < middle:
            end = boundary
        else:
            begin = boundary
    return tuple(found)


def parent(root: NodeId, i: NodeId, members: Sequence[NodeId]) -> NodeId:
    """The node that passes on to node i, a member, what `root`, another node, sends to `members`."""
    sender = root
    while True:
        child = first_member(sender, cluster(sender, i), members)
        assert child is not None, f"node {i} is no member"
        if child == i:
            return sender
        sender = child
