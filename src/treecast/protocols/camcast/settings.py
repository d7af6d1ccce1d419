"""What a scenario may set of CAMCAST, and of the gossip systems it is compared with."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from treecast.core import ScenarioError
from treecast.core.keys import COUNT_MAX, Count, Duration, Within, conform

Kinship: TypeAlias = Literal["unstructured", "semi-structured", "structured", "static"]
Number: TypeAlias = Annotated[int, Within("a count", 0, COUNT_MAX)]
Probability: TypeAlias = Annotated[float, Within("a probability", 0, 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipSettings:
    """How a process comes to know others of its group."""

    membership: Kinship = "unstructured"
    """unstructured: SCAMP, contacts from gateways and the neighbourhood; semi-structured: SCAMP,
    contacts from a lookup service; structured: tables from the lookup service; static: tables drawn
    at the start and never changed, as in the paper's simulations."""
    c: Number = 5
    """A process gossips to floor(ln N) + c others of its group: each one more lets e^-c of the runs
    that miss somebody shrink by a factor of e."""
    size: Count | None = None
    """N of every group, where it is given; None: static tables count, others estimate it."""
    extra_copies: Number = 0
    """SCAMP's c: how many copies of a subscription its contact sends beyond its view. Views then
    hold (c + 1) ln N on average."""
    indirection: Number = 5
    """How many random steps a subscription goes from the contact given to the one that spreads it."""
    lease_ms: Duration = 120_000.0
    """A view forgets who has not renewed his subscription for so long."""
    heartbeat_ms: Duration = 5_000.0
    """How often a process tells those in its view that it knows them."""
    isolation_ms: Duration = 20_000.0
    """Who has heard no heartbeat for so long subscribes again; some heartbeats long."""
    gateways: Number = 2
    """The first so many of a topic's first subscribers are known to all as contacts."""
    neighbours: Count = 5
    """Of how many others a process asks for contacts that it knows by no topic."""
    ttl: Count = 4
    """How many hops a question for contacts goes from neighbourhood to neighbourhood."""
    search_ms: Duration = 1_000.0
    """A question for contacts that nobody has answered by then is asked again, for more topics."""
    refresh_ms: Duration = 20_000.0
    """How often tables are filled from the lookup service, and processes announce themselves there."""

    def __post_init__(self) -> None:
        conform(self)
        if self.isolation_ms <= self.heartbeat_ms:
            raise ScenarioError(
                f"isolation_ms = {self.isolation_ms:g} is not above heartbeat_ms = {self.heartbeat_ms:g}; "
                "a process would take itself for isolated between two heartbeats"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CamcastSettings(MembershipSettings):
    """Also how communities are linked, and whether events that were missed are fetched."""

    g: Count = 5
    """So many processes of a community, on average, pass an event on to the super-community:
    p_sel = g / N."""
    a: Count = 1
    """... each to so many entries of its super-topic table, on average: p_a = a / z."""
    z: Count = 3
    """How many entries a super-topic table holds."""
    tau: Number = 1
    """With so few super-processes alive, or fewer, new ones are asked for."""
    psel: Probability | None = None
    """p_sel itself, in place of g / N."""
    link_ms: Duration = 10_000.0
    """How often a process may look after its super-topic tables."""
    repair: bool | None = None
    """Whether events that were missed are fetched; None: unless tables are static."""
    repair_ms: Duration = 2_000.0
    """How often a process compares what it has with one other of its community."""
    keep_events: Count = 4_096
    """So many events of a community a process remembers, and hands out to whoever missed them ..."""
    keep_ms: Duration = 600_000.0
    """... and for so long."""

    def __post_init__(self) -> None:
        MembershipSettings.__post_init__(self)
        if self.a > self.z:
            raise ScenarioError(
                f"a = {self.a} is above z = {self.z}; a is how many of a table's z entries get an event"
            )
        if self.tau > self.z:
            raise ScenarioError(f"tau = {self.tau} is above z = {self.z}; a table has no more than z entries")

    @property
    def repairs(self) -> bool:
        return self.membership != "static" if self.repair is None else self.repair
