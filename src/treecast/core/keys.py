"""What keys of scenarios and settings may hold: types and bounds, read from the annotations.

A dataclass says once, in its annotations, what each key may hold; this module checks
a value against its annotation and words what would have been right. A key is added by
adding a field.
Invariant: nothing here knows a key by name.
"""

import json
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from treecast.core import ScenarioError, Topic, TopicError, parse_topic

TIME_MS_MAX = 10**10
"""About four months: in microseconds exact as a float, and a tenth of what an engine can count."""
DELAY_US_MAX = 10**10
"""Nearly three hours for one hop."""
COUNT_MAX = 10**7
SHOWN_CHARACTERS_MAX = 60

MISFIT: Final = object()
"""What `fit` returns for a value that its annotation does not admit."""


@dataclass(frozen=True, slots=True)
class Within:
    """Bounds of a number, and the noun by which a message calls it."""

    noun: str
    low: float
    high: float
    above: bool = False
    """The number must be above `low`, not `low` itself."""

    def admits(self, number: float) -> bool:
        """Not a number (NaN) compares with nothing and is never admitted."""
        return (self.low < number if self.above else self.low <= number) and number <= self.high

    def __str__(self) -> str:
        if self.above:
            return f"{self.noun} above {self.low} and at most {self.high}"
        return f"{self.noun} from {self.low} to {self.high}"


Microseconds: TypeAlias = Annotated[int, Within("whole microseconds", 0, DELAY_US_MAX)]
Milliseconds: TypeAlias = Annotated[float, Within("milliseconds", 0, TIME_MS_MAX)]
Duration: TypeAlias = Annotated[float, Within("milliseconds", 0, TIME_MS_MAX, above=True)]
Count: TypeAlias = Annotated[int, Within("a count", 1, COUNT_MAX)]


def shown(value: object) -> str:
    """`value` as TOML would show it, on one line and not too long."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    text = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[: SHOWN_CHARACTERS_MAX - 3]}..."


def nearest(word: str, words: list[str]) -> str:
    """The end of an error message: the word that was probably meant, else all there are."""
    close = get_close_matches(word, words, n=1)
    if close:
        return f"did you mean {shown(close[0])}?"
    return f"there is {', '.join(shown(each) for each in words)}" if words else "there is none"


@cache
def annotations_of(kind: type) -> dict[str, Any]:
    """Each field of a dataclass and its annotation, bounds included."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}


def conform(values: object) -> None:
    """Check every field of a dataclass and settle it into its type; raise `ScenarioError`.

    Settling makes a topic of a text, a float of a whole number, a tuple of a list.
    """
    kind: type = type(values)
    for name, hint in annotations_of(kind).items():
        given = getattr(values, name)
        try:
            fitted = fit(hint, given)
        except TopicError as error:
            raise ScenarioError(f"{name}: {error}") from None
        if fitted is MISFIT:
            raise ScenarioError(f"{name} = {shown(given)}; {_right(hint, given)}")
        object.__setattr__(values, name, fitted)


def fit(hint: Any, value: object, exact: bool = False) -> Any:
    """`value` in the type that `hint` asks for, or MISFIT.

    `exact` keeps a whole number from passing for a float: a union tries its members
    exactly first, so that 1 is a count before it is a share.
    """
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *bounds = get_args(hint)
        fitted = fit(inner, value, exact)
        return fitted if fitted is not MISFIT and all(each.admits(fitted) for each in bounds) else MISFIT
    if origin in {Union, UnionType}:
        passes = ((member, strict) for strict in (True, False) for member in get_args(hint))
        fits = (fit(member, value, strict) for member, strict in passes)
        return next((fitted for fitted in fits if fitted is not MISFIT), MISFIT)
    if origin is Literal:
        return value if isinstance(value, str) and value in get_args(hint) else MISFIT
    if origin is tuple:
        return _fit_tuple(get_args(hint), value, exact)
    return _fit_plain(hint, value, exact)


def _fit_tuple(members: tuple[Any, ...], value: object, exact: bool) -> Any:
    if not isinstance(value, list | tuple):
        return MISFIT
    hints = (members[0],) * len(value) if members[-1] is Ellipsis else members
    if len(hints) != len(value):
        return MISFIT
    fitted = tuple(fit(hint, each, exact) for hint, each in zip(hints, value, strict=True))
    return MISFIT if any(each is MISFIT for each in fitted) else fitted


def _fit_plain(hint: Any, value: object, exact: bool) -> Any:
    if hint is Any:  # another check looks after it
        return value
    if hint is Topic:
        return parse_topic(value) if isinstance(value, str) else MISFIT
    if isinstance(value, bool) and hint is not bool:
        return MISFIT
    if hint is float and isinstance(value, int) and not exact:
        return float(value) if abs(value) <= 1 << 53 else MISFIT
    return value if isinstance(value, hint) else MISFIT


def describe(hint: Any) -> str:
    """What `hint` admits, for the end of an error message."""
    origin, members = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return str(members[1])
    if origin in {Union, UnionType}:
        return " or ".join(describe(each) for each in members if each is not type(None))
    if origin is Literal:
        return " or ".join(shown(each) for each in members)
    if origin is tuple:
        if members[-1] is Ellipsis:
            return f"a list, each {describe(members[0])}"
        return f"[{', '.join(describe(each) for each in members)}]"
    nouns = {
        Topic: 'a topic\'s name, as in "chat.room1"',
        str: "a text in quotes",
        float: "a number",
        int: "a whole number",
        bool: "true or false",
    }
    return nouns.get(hint) or f"a {hint.__name__}"


def _right(hint: Any, given: object) -> str:
    if get_origin(hint) is Literal and isinstance(given, str):
        return nearest(given, list(get_args(hint)))
    return f"give {describe(hint)}"
