"""What Kademlia and Pulsarcast can be told; the keys of a scenario's `[settings]`."""

from dataclasses import dataclass
from typing import Annotated, Literal

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarcastSettings(DhtSettings):
    """Pulsarcast's own part, besides the DHT's."""

    publishers: Literal["anyone", "author"] = "anyone"
    """Who may publish on the topics of a run: anybody, or their authors alone, whom others must ask.

    The latter is the paper's order guarantee: all events of a topic in one chain.
    """
    linking: Literal["last-seen", "custom"] = "last-seen"
    """Who chooses an event's parent: the publishing node, or the application."""
    history: Literal["new", "all"] = "new"
    """What a subscriber is owed: what is published after it has joined, or all from the first event on."""
    beat_ms: Duration = 10_000.0
    """How often a node tells its parent in each tree what it has, and is told. A parent that leaves
    out `BEATS_MISSED_MAX` answers is taken for lost: shorter finds it sooner and costs messages."""
    join_timeout_ms: Duration = 5_000.0
    """How long a node waits for the answer to a join before it tries again."""
    fetch_ms: Duration = 2_000.0
    """How long an event may be overdue before it is fetched; above what the network's jitter sets apart."""
    request_timeout_ms: Duration = 60_000.0
    """How long a request to publish may take before it is sent again."""
    window_max: Annotated[int, Within("a count", 1, 4096)] = 32
    """Events that a node publishes at a time, at most; fewer while storing takes long."""
    requests_max: Annotated[int, Within("a count", 1, 4096)] = 4
    """Requests to publish that a node has under way at a time."""
    queue_max: Annotated[int, Within("a count", 1, COUNT_MAX)] = 100_000
    """Events that wait at a node to be published; what comes beyond is refused and counted."""
