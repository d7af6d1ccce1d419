"""The workloads of a scenario: who publishes what when.

Invariant: how many events a workload publishes is known before the run begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from treecast.core import NodeId, ScenarioError, Topic
from treecast.core.keys import TIME_MS_MAX, Count, Duration, Milliseconds, conform
from treecast.sim.recorded import Recording, read_recording
from treecast.sim.scenario_keys import Selection, Window, check_window, selected_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """Each publisher publishes one event, at a time drawn from the window."""

    kind: ClassVar[str] = "once"

    topic: Topic
    publishers: Selection = "all"
    window_ms: Window = (0.0, 0.0)

    def __post_init__(self) -> None:
        conform(self)
        check_window(self.window_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Each publisher publishes `count` events, all at one time drawn from the window."""

    kind: ClassVar[str] = "burst"

    topic: Topic
    count: Count
    publishers: Selection = 1
    window_ms: Window = (0.0, 0.0)

    def __post_init__(self) -> None:
        conform(self)
        check_window(self.window_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic:
    """Each publisher publishes `count` events, one every `every_ms`, the first drawn from the window."""

    kind: ClassVar[str] = "periodic"

    topic: Topic
    every_ms: Duration
    count: Count
    publishers: Selection = 1
    window_ms: Window = (0.0, 0.0)

    def __post_init__(self) -> None:
        conform(self)
        check_window(self.window_ms)
        check_length(self.count, self.every_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """One event every `every_ms`, each by one of those who are subscribed at its time.

    `spacing`: "even" keeps to `every_ms`; "poisson" draws each gap, exponential with that mean.
    """

    kind: ClassVar[str] = "steady"

    topic: Topic
    every_ms: Duration
    count: Count
    spacing: Literal["even", "poisson"] = "even"
    window_ms: Window = (0.0, 0.0)
    """The first event's time is drawn from it."""

    def __post_init__(self) -> None:
        conform(self)
        check_window(self.window_ms)
        check_length(self.count, self.every_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Topics, subscriptions and publications out of a file, one event every `every_ms` (`sim.recorded`).

    The file's topics need no [[topic]]; its users are subscribed from the start.
    """

    kind: ClassVar[str] = "recorded"

    path: str
    """From the folder in which the command runs."""
    every_ms: Duration
    first: Count | None = None
    """Only so many of its events, the first ones; all subscriptions stand."""
    begin_ms: Milliseconds = 0.0
    """When the first event is published."""

    def __post_init__(self) -> None:
        conform(self)
        check_length(len(self.events), self.every_ms)

    @property
    def recording(self) -> Recording:
        return read_recording(self.path)

    @property
    def events(self) -> Sequence[tuple[NodeId, Topic]]:
        """Who publishes where, in order."""
        return self.recording.events[: self.first]


Workload: TypeAlias = Once | Burst | Periodic | Steady | Recorded


def check_length(count: int, every_ms: float) -> None:
    if every_ms * count > TIME_MS_MAX:
        raise ScenarioError(f"count = {count} every {every_ms} ms ends after {TIME_MS_MAX} ms; lower one")


def publications(workload: Workload, subscribers: int) -> int:
    """How many events a workload publishes in a topic of that many subscribers."""
    match workload:
        case Recorded():
            return len(workload.events)
        case Steady():
            return workload.count
        case Once():
            return selected_count(workload.publishers, subscribers)
        case _:
            return selected_count(workload.publishers, subscribers) * workload.count
