"""What the checkers say: verdicts with their violations, and figures.

Invariant: `Verdict.count` is exact; only the first `LISTED_MAX` violations are spelt out.
"""

from dataclasses import dataclass, field

from treecast.core import EventId, NodeId

LISTED_MAX = 20
"""A broken run breaks a rule thousands of times for one reason; the first few show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One breach of a rule: a sentence, and what it names."""

    text: str
    rows: tuple[int, ...] = ()
    times_us: tuple[int, ...] = ()
    nodes: tuple[NodeId, ...] = ()
    events: tuple[EventId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One rule, how many cases were judged by it, and those that broke it.

    `skipped` gives the reason when the journal cannot show whether the rule holds; such
    a verdict judges nothing and does not fail.
    """

    name: str
    statement: str
    checked: int = 0
    count: int = 0
    violations: tuple[Violation, ...] = ()
    skipped: str | None = None

    @property
    def ok(self) -> bool:
        return not self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All verdicts on one journal; figures are measured, not judged."""

    verdicts: tuple[Verdict, ...]
    figures: dict[str, int | float]

    @property
    def ok(self) -> bool:
        return all(verdict.ok for verdict in self.verdicts)

    @property
    def skipped(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.skipped is not None)

    def verdict(self, name: str) -> Verdict:
        """The verdict under `name`; KeyError when there is none."""
        for verdict in self.verdicts:
            if verdict.name == name:
                return verdict
        raise KeyError(name)


@dataclass(slots=True)
class Tally:
    """A verdict in the making."""

    name: str
    statement: str
    checked: int = 0
    count: int = 0
    _listed: list[Violation] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Further violations are counted but not listed: no need to work out their wording."""
        return len(self._listed) >= LISTED_MAX

    def violate(
        self,
        text: str,
        *,
        rows: tuple[int, ...] = (),
        times_us: tuple[int, ...] = (),
        nodes: tuple[NodeId, ...] = (),
        events: tuple[EventId, ...] = (),
    ) -> None:
        self.count += 1
        if not self.is_full:
            self._listed.append(
                Violation(text=text, rows=rows, times_us=times_us, nodes=nodes, events=events)
            )

    def verdict(self) -> Verdict:
        return Verdict(
            name=self.name,
            statement=self.statement,
            checked=self.checked,
            count=self.count,
            violations=tuple(self._listed),
        )

    def skip(self, reason: str) -> Verdict:
        return Verdict(name=self.name, statement=self.statement, skipped=reason)


def name_event(event: tuple[NodeId, int]) -> str:
    """An event as violations write it: publisher and counter, `3:17`."""
    return f"{event[0]}:{event[1]}"
