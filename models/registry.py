"""Cards of all methods: `@register(...)` on a class is all a method does to be found by page, command line and tests."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from forget_me_not.models.core import Problem


@dataclass(frozen=True)
class Slider:
    """The range a numeric setting makes sense in, and the step of its control. Mark: expert hides it from Explore."""

    low: float
    high: float
    step: float | None = None
    log: bool = False
    expert: bool = True


@dataclass(frozen=True)
class Setting:
    """One constructor argument as forms, command line and JSON see it. kind: "bool", "int", "float" or "choice"."""

    name: str
    kind: str
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    step: float | None = None
    log: bool = False
    choices: tuple[Any, ...] = ()
    expert: bool = True

    def read(self, text: Any) -> Any:
        """The value `text` stands for, checked; Problem("setting_bad") says what would do."""
        try:
            if self.kind == "bool":
                value = {"true": True, "false": False, "1": True, "0": False, "on": True, "off": False}[str(text).lower()]
            elif self.kind == "choice":
                value = next(c for c in self.choices if str(c) == str(text))
            else:
                value = {"int": int, "float": float}[self.kind](text)
                if not self.low <= value <= self.high:
                    raise ValueError
        except (KeyError, ValueError, StopIteration, TypeError):
            ranges = {"bool": "true or false", "choice": ", ".join(map(str, self.choices))}
            wanted = ranges.get(self.kind, f"{self.low} to {self.high}")
            raise Problem("setting_bad", name=self.name, value=text, wanted=wanted) from None
        return value


@dataclass(frozen=True)
class Card:
    """What is known of a method: names, family, paper, deviations, settings, and the class that learns.

    parameters: formula of trained numbers a task, for people; sees: "task", or "all so far" for the joint bound.
    presets: name -> settings; identity: at its defaults the method changes nothing before it has learnt. batch_vote:
    its published code lets a batch of test photos choose one module together, which Look inside shows beside the honest way.
    """

    name: str
    title: str
    family: str
    line: str
    learner: type
    paper: str = ""
    stores: str = ""
    deviations: tuple[str, ...] = ()
    parameters: str = ""
    sees: str = "task"
    identity: bool = False
    bound: bool = False
    batch_vote: bool = False
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    settings: tuple[Setting, ...] = ()

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All settings, `given` (text or values, `preset` first) over the defaults; Problem where one is wrong."""
        known = {s.name: s for s in self.settings}
        given = dict(given)
        preset = given.pop("preset", None)
        if preset is not None and preset not in self.presets:
            raise Problem("preset_unknown", method=self.name, preset=preset, known=", ".join(self.presets) or "none")
        values = {s.name: s.default for s in self.settings} | dict(self.presets.get(preset, {}))
        for name, text in given.items():
            if name not in known:
                raise Problem("setting_unknown", method=self.name, name=name, known=", ".join(known) or "none")
            values[name] = known[name].read(text)
        return values


_CARDS: dict[str, Card] = {}


def register(name: str, **facts: Any) -> Callable[[type], type]:
    """Class decorator: makes the class a method called `name`; facts are Card fields (title, family, line, …)."""

    def add(learner: type) -> type:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ValueError(f"{name!r} must be lower case letters, digits and underscores")
        old = _CARDS.get(name)
        if old is not None and old.learner.__module__ != learner.__module__:
            raise Problem("method_exists", name=name)
        sees = getattr(learner, "sees", "task")
        _CARDS[name] = Card(name=name, learner=learner, settings=settings_of(learner), sees=sees, **facts)
        return learner

    return add


def settings_of(learner: type) -> tuple[Setting, ...]:
    """The keyword-only arguments of `learner.__init__` as Settings.

    Help comes from the `Args:` of the class docstring and, for what it does not name, from those of the classes it builds on.
    """
    hints = get_type_hints(learner.__init__, include_extras=True)
    help_ = {name: text for kind in reversed(learner.__mro__)
             for name, text in _argument_help(inspect.cleandoc(kind.__doc__ or "")).items()}  # fmt: skip
    found = []
    for parameter in inspect.signature(learner.__init__).parameters.values():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        if parameter.default is parameter.empty:
            raise TypeError(f"{learner.__name__}.{parameter.name} needs a default")
        hint, slider = hints[parameter.name], None
        if get_origin(hint) is Annotated:
            hint, slider = get_args(hint)[0], get_args(hint)[1]
        text = help_.get(parameter.name, "")
        if hint is bool:
            found.append(Setting(parameter.name, "bool", parameter.default, text))
        elif get_origin(hint) is Literal:
            found.append(Setting(parameter.name, "choice", parameter.default, text, choices=get_args(hint)))
        elif hint in (int, float) and isinstance(slider, Slider):
            found.append(Setting(parameter.name, hint.__name__, parameter.default, text, slider.low, slider.high,
                                 slider.step, slider.log, expert=slider.expert))
        else:
            raise TypeError(f"{learner.__name__}.{parameter.name}: use bool, Literal, or Annotated[int | float, Slider(…)]")
    return tuple(found)


def _argument_help(doc: str) -> dict[str, str]:
    """Argument -> help, from the lines under `Args:`; deeper lines go on with the argument above them."""
    lines = iter(doc.expandtabs().splitlines())
    next((line for line in lines if line.strip() == "Args:"), None)
    found, margin, last = {}, None, ""
    for line in filter(str.strip, lines):
        indent = len(line) - len(line.lstrip())
        margin = indent if margin is None else margin
        if indent > margin and last:
            found[last] += " " + line.strip()
        elif indent == margin and (match := re.match(r"(\w+): (.+)", line.strip())):
            last = match[1]
            found[last] = match[2].strip()
        else:
            break
    return found


def _load_own() -> None:
    package = importlib.import_module("forget_me_not.models.methods")
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)


def cards() -> dict[str, Card]:
    """All registered methods by name, ours and plug-ins."""
    _load_own()
    return dict(_CARDS)


def card(name: str) -> Card:
    """The card of one method; Problem("method_unknown") names those there are."""
    found = cards()
    if name not in found:
        raise Problem("method_unknown", name=name, known=", ".join(sorted(found)))
    return found[name]


def load_plugin(path: str | Path) -> tuple[str, ...]:
    """Imports a file of methods like one of ours; returns the names it registered."""
    path = Path(path).resolve()
    if path.is_dir():
        raise Problem("plugin_folder", path=str(path))
    if not path.is_file():
        raise Problem("plugin_missing", path=str(path))
    before = set(cards())
    name = f"forget_me_not_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Problem:
        raise
    except Exception as error:  # a person's own file may do anything
        raise Problem("plugin_failed", path=str(path), reason=f"{type(error).__name__}: {error}") from error
    mine = tuple(n for n, c in _CARDS.items() if c.learner.__module__ == name)
    if not mine and set(_CARDS) == before:
        raise Problem("plugin_empty", path=str(path))
    return mine
