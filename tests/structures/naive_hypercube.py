"""The virtual hypercube as the papers write it: lists, built by recursion, scanned from the front."""

from collections.abc import Callable, Collection

from treecast.core import NodeId

Children = Callable[[NodeId, int], Collection[NodeId]]
"""CHILDREN(i, h) with the members left out: they are the same for everybody."""


def ordered_cluster(i: NodeId, s: int) -> list[NodeId]:
    """c(i, s) = i xor 2^(s-1), then c(i xor 2^(s-1), k) for k = 1 .. s-1."""
    neighbour = i ^ 2 ** (s - 1)
    found = [neighbour]
    for k in range(1, s):
        found += ordered_cluster(neighbour, k)
    return found


def cluster(i: NodeId, j: NodeId, d: int) -> int:
    """The s for which j is in c(i, s)."""
    return next(s for s in range(1, d + 1) if j in ordered_cluster(i, s))


def children(i: NodeId, members: Collection[NodeId], h: int) -> set[NodeId]:
    """CHILDREN(i, t, h): the first member in each c(i, s), s <= h."""
    found = set()
    for s in range(1, h + 1):
        for j in ordered_cluster(i, s):
            if j in members:
                found.add(j)
                break
    return found


def nearest_by_xor(i: NodeId, s: int, members: Collection[NodeId]) -> list[NodeId]:
    """Cluster s of node i by the XOR metric alone: where ids are too wide for the recursion."""
    inside = [j for j in members if (i ^ j).bit_length() == s]
    return sorted(inside, key=lambda j: j ^ i ^ (1 << (s - 1)))


def tree(root: NodeId, d: int, children_of: Children) -> list[tuple[NodeId, NodeId]]:
    """The edges of a broadcast from `root`; ends only if nobody is asked for ever."""
    edges: list[tuple[NodeId, NodeId]] = []
    ahead = [(root, d)]
    while ahead:
        i, h = ahead.pop()
        for child in children_of(i, h):
            edges.append((i, child))
            ahead.append((child, (i ^ child).bit_length() - 1))
    return edges
