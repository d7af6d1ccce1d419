"""What Kademlia and Pulsarcast can be told; the keys of a scenario's `[settings]`."""

from dataclasses import dataclass
from typing import Annotated

from treecast.core.keys import COUNT_MAX, Duration, Milliseconds, Within, conform

SEEDS = 3
"""The first nodes of a network are the ones that a newcomer asks first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DhtSettings:
    """The DHT's part; the defaults are the paper's and libp2p's."""

    k: Annotated[int, Within("a count", 1, 64)] = 20
    """Contacts in a bucket, copies of a value: as many as are unlikely to be gone within an hour."""
    alpha: Annotated[int, Within("a count", 1, 64)] = 3
    """Questions of one lookup at a time: fewer wait longer for the dead, more cost messages."""
    rpc_timeout_ms: Duration = 5_000.0
    """Above the longest way there and back, queues included."""
    join_spread_ms: Milliseconds = 1_000.0
    """Nodes that begin together look for their neighbours at times drawn from so long."""
    refresh_ms: Duration = 3_600_000.0
    """A range in which nothing was sought for so long is looked up."""
    republish_ms: Duration = 3_600_000.0
    """Who keeps a value stores it anew when nobody has for so long."""
    expire_ms: Duration = 86_400_000.0
    """A value that nobody stores anew is dropped after so long."""
    quiet_ms: Duration = 900_000.0
    """A full bucket's oldest contact is pinged for a newcomer's sake if it was silent for so long."""
    values_max: Annotated[int, Within("a count", 1, COUNT_MAX)] = 1_000_000
    """Values that a node keeps for others; what comes beyond is refused and counted."""

    def __post_init__(self) -> None:
        conform(self)
