"""What a scenario may set of VCube-PB."""

from dataclasses import dataclass

from treecast.core import ScenarioError
from treecast.core.keys import Count, Duration, conform


@dataclass(frozen=True, slots=True, kw_only=True)
class VCubePBSettings:
    """The detector's rounds, and how long and how often VCube-PB tries."""

    test_every_ms: Duration = 1_000.0
    """The length of a testing round."""
    timeout_ms: Duration = 500.0
    """Who has not answered a test by then is taken for crashed."""
    retry_ms: Duration = 5_000.0
    """An event that a child has not acknowledged by then is sent to it again."""
    patience_ms: Duration = 60_000.0
    """What nobody can send who is trusted is waited for so long, and then given up as lost with the dead.

    A node that is suspected for longer, and alive all the same, may find that others went on
    without what only it had: nothing tells it from a dead one.
    """
    keep_events: Count = 4_096
    """How many events of a topic a node keeps for those who missed them."""

    def __post_init__(self) -> None:
        conform(self)
        if self.timeout_ms >= self.test_every_ms:
            raise ScenarioError(
                f"timeout_ms = {self.timeout_ms:g} is not below test_every_ms = {self.test_every_ms:g}; "
                "a test must end within its round"
            )


def rounds_bound(nodes: int) -> int:
    """log2(N)^2, within which VCube lets everybody know of a change (VCube-PB, section 5.1)."""
    return (nodes - 1).bit_length() ** 2
