"""Random streams: one a purpose, all from the scenario's seed.

Two protocols under one seed face the same subscribers and publications, because what a
node draws never moves the stream of a workload or of another node.
"""

from random import Random


def stream(seed: int, *purpose: object) -> Random:
    """The stream of that purpose; text seeds do not depend on PYTHONHASHSEED."""
    return Random("/".join(map(str, (seed, *purpose))))
