"""Scenarios as TOML: text to `Scenario`, and back.

The keys are the fields of the scenario's dataclasses; this module walks the fields and
knows none of them by name, so a new field is a new key.
Invariant: whatever is wrong with a file is one line that names the file, the place in
it, the key, and what would be right (`ScenarioError`).
"""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from treecast.core import ScenarioError
from treecast.core.keys import annotations_of, describe, nearest, shown
from treecast.sim.scenario import Scenario


def load_scenario(path: str | PathLike[str]) -> Scenario:
    """Read the scenario at `path`."""
    where = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScenarioError(f"{where}: cannot be read ({reason}); give the path of a scenario") from None
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"{where}: not TOML: byte {error.start} is not UTF-8; save it as UTF-8 text"
        ) from None
    return parse_scenario(text, where)


def parse_scenario(text: str, where: str) -> Scenario:
    """Make a scenario of TOML text; `where` names its source in errors."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ScenarioError(f"{where}: not TOML: {reason}; see examples/scenarios for the form") from None
    return scenario_of(document, where)


def scenario_of(document: Mapping[str, object], where: str) -> Scenario:
    """Make a scenario of what TOML (or `result.json`, under "scenario") holds."""
    try:
        scenario: Scenario = _read(Scenario, dict(document), "", None)
    except ScenarioError as error:
        raise ScenarioError(f"{where}: {error}") from None
    return scenario


def document_of(scenario: Scenario) -> dict[str, object]:
    """The inverse of `scenario_of`: the TOML form, every key written out."""
    return _document(scenario, None)


def toml_of(scenario: Scenario) -> str:
    """The inverse of `parse_scenario`, for files that replay a run."""
    plain, tables = [], []
    for key, value in document_of(scenario).items():
        if isinstance(value, dict):
            tables += ["", f"[{key}]", *_assignments(value)]
        elif isinstance(value, list):
            for table in value:
                tables += ["", f"[[{key}]]", *_assignments(table)]
        else:
            plain += _assignments({key: value})
    return "\n".join([*plain, *tables, ""])


def _read(kind: type, given: dict[str, object], place: str, tag: str | None) -> Any:
    """Make a `kind` of a TOML table; `tag` is the key that picked `kind`, if one did."""
    by_key = {_key(each): each for each in fields(kind)}
    keys = [*by_key] if tag is None else [tag, *by_key]
    for key in given:
        if key not in keys:
            raise ScenarioError(f"{place}unknown key {shown(key)}; {nearest(key, keys)}")
    hints = annotations_of(kind)
    for key, each in by_key.items():
        if key not in given and each.default is MISSING and each.default_factory is MISSING:
            right = describe(hints[each.name])
            raise ScenarioError(f"{place}the key {shown(key)} is missing; give {right}")
    values = {
        each.name: _value(each, _hint(each, hints, given), given[key], place)
        for key, each in by_key.items()
        if key in given
    }
    try:
        return kind(**values)
    except ScenarioError as error:
        raise ScenarioError(f"{place}{error}") from None


def _hint(each: Field[Any], hints: Mapping[str, Any], given: Mapping[str, object]) -> Any:
    """A field's annotation; where another key decides what the field is, what that key says."""
    if "kind of" not in each.metadata:
        return hints[each.name]
    key, kind_of = each.metadata["kind of"]
    decider = given.get(key)
    return kind_of(decider) if isinstance(decider, str) else hints[each.name]


def _value(each: Field[Any], hint: Any, given: object, place: str) -> object:
    """What stands under one key: a plain value, a table, or an array of tables."""
    kinds, repeated = _tables(hint)
    if not kinds:
        return given
    key, tag = _key(each), each.metadata.get("tag")
    if not repeated:
        if not isinstance(given, dict):
            raise ScenarioError(f"{place}{key} is not a table; write [{key}] on a line of its own")
        return _variant(kinds, tag, given, f"[{key}]: ")
    if not isinstance(given, list) or not all(isinstance(table, dict) for table in given):
        raise ScenarioError(f"{place}{key} is not an array of tables; write [[{key}]] on a line of its own")
    return tuple(
        _variant(kinds, tag, table, f"[[{key}]] {number}: ") for number, table in enumerate(given, start=1)
    )


def _variant(kinds: list[type], tag: str | None, given: dict[str, object], place: str) -> object:
    if tag is None:
        return _read(kinds[0], given, place, None)
    by_name: dict[str, type] = {getattr(kind, tag): kind for kind in kinds}
    names = list(by_name)
    name = given.get(tag)
    if tag not in given:
        raise ScenarioError(f"{place}the key {shown(tag)} is missing; {nearest('', names)}")
    if not isinstance(name, str) or name not in by_name:
        near = nearest(name if isinstance(name, str) else "", names)
        raise ScenarioError(f"{place}unknown {tag} {shown(name)}; {near}")
    rest = {key: value for key, value in given.items() if key != tag}
    return _read(by_name[name], rest, place, tag)


def _key(each: Field[Any]) -> str:
    """The key of a field in TOML."""
    return str(each.metadata.get("table", each.name))


def _tables(hint: Any) -> tuple[list[type], bool]:
    """The dataclasses that a field may hold, and whether it holds many of them."""
    members = get_args(hint)
    if get_origin(hint) is tuple and len(members) == 2 and members[1] is Ellipsis:
        return _tables(members[0])[0], True
    candidates = members if get_origin(hint) in {Union, UnionType} else (hint,)
    return [each for each in candidates if isinstance(each, type) and is_dataclass(each)], False


def _document(values: Any, tag: str | None) -> dict[str, object]:
    document: dict[str, object] = {} if tag is None else {tag: getattr(values, tag)}
    for each in fields(values):
        value, below = getattr(values, each.name), each.metadata.get("tag")
        if is_dataclass(value):
            if fields(value):
                document[_key(each)] = _document(value, below)
        elif isinstance(value, tuple):
            document[_key(each)] = [_document(one, below) if is_dataclass(one) else one for one in value]
        elif value is not None:
            document[_key(each)] = value
    return document


def _assignments(table: Mapping[str, object]) -> list[str]:
    return [f"{key} = {_toml_value(value)}" for key, value in table.items()]


def _toml_value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(each) for each in value)}]"
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _toml_text(text: str) -> str:
    """A basic string of TOML: quotes and backslashes escaped; names hold no control characters."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
