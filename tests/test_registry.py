"""Cards: settings from signatures, their text, presets, and plug-ins that are as good as ours."""

import subprocess
import sys
import textwrap
from typing import Annotated, Literal

import pytest

from forget_me_not.models import registry
from forget_me_not.models.core import Problem
from forget_me_not.models.registry import Card, Setting, Slider, load_plugin, register, settings_of


class Example:
    """A learner.

    Args:
        rate: How fast; this help
            goes on here.
        kind: Which of the two.
        on: Whether at all.
        many: How many.

    More prose: not a setting.
    """

    def __init__(
        self,
        vit,
        *,
        rate: Annotated[float, Slider(1e-4, 1, log=True, expert=False)] = 0.025,
        kind: Literal["round", "square"] = "round",
        on: bool = True,
        many: Annotated[int, Slider(1, 9, 2)] = 3,
    ):
        pass


class Terse:
    """Args:
    rate: How fast.
    many: How many,
        counted.
    """

    def __init__(self, vit, *, rate: Annotated[float, Slider(0, 1)] = 0.5, many: Annotated[int, Slider(1, 9)] = 3):
        pass


@pytest.fixture
def mine():
    """Cards registered by a test are gone after it."""
    before = registry.cards()  # loaded first: what is imported once does not register again
    yield
    registry._CARDS.clear()
    registry._CARDS.update(before)


def card(**presets):
    return Card("example", "Example", "Tests", "", Example, presets=presets, settings=settings_of(Example))


def test_settings_come_from_the_signature():
    assert settings_of(Example) == (
        Setting("rate", "float", 0.025, "How fast; this help goes on here.", 1e-4, 1, None, True, (), False),
        Setting("kind", "choice", "round", "Which of the two.", choices=("round", "square")),
        Setting("on", "bool", True, "Whether at all."),
        Setting("many", "int", 3, "How many.", 1, 9, 2),
    )


def test_help_is_read_when_the_docstring_begins_with_args():
    assert [s.help for s in settings_of(Terse)] == ["How fast.", "How many, counted."]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("rate", "0.1", 0.1), ("rate", 1, 1.0), ("rate", "1e-4", 1e-4), ("many", "9", 9), ("on", "off", False), ("on", "TRUE", True),
     ("on", False, False), ("kind", "square", "square")],
)  # fmt: skip
def test_text_is_read_as_its_kind(name, text, value):
    read = card().read({name: text})[name]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [("rate", "0", "0.0001 to 1"), ("rate", "nan", "0.0001 to 1"), ("rate", "fast", "0.0001 to 1"), ("many", "2.5", "1 to 9"),
     ("many", 10, "1 to 9"), ("many", None, "1 to 9"), ("on", "perhaps", "true or false"), ("kind", "oval", "round, square")],
)  # fmt: skip
def test_what_does_not_fit_says_what_would(name, text, wanted):
    with pytest.raises(Problem, match="setting_bad") as caught:
        card().read({name: text})
    assert caught.value.values == {"name": name, "value": text, "wanted": wanted}


def test_settings_lie_over_the_preset_and_it_over_the_defaults():
    c = card(big={"many": 7, "kind": "square"})
    assert c.read({}) == {"rate": 0.025, "kind": "round", "on": True, "many": 3}
    assert c.read({"preset": "big", "many": "5"}) == {"rate": 0.025, "kind": "square", "on": True, "many": 5}
    with pytest.raises(Problem, match="preset_unknown") as caught:
        c.read({"preset": "huge"})
    assert caught.value.values["known"] == "big"
    with pytest.raises(Problem, match="setting_unknown") as caught:
        c.read({"speed": 1})
    assert caught.value.values["known"] == "rate, kind, on, many"


def test_a_setting_needs_default_and_range():
    class NoDefault:
        def __init__(self, vit, *, rate: Annotated[float, Slider(0, 1)]):
            pass

    class NoRange:
        def __init__(self, vit, *, rate: float = 1.0):
            pass

    for learner in (NoDefault, NoRange):
        with pytest.raises(TypeError, match="rate"):
            settings_of(learner)


def test_a_name_belongs_to_one_module(mine):
    registry.cards()  # ours are there before any plug-in
    with pytest.raises(Problem, match="method_exists"):
        register("tosca", title="Mine", family="Tests", line="")(Example)
    with pytest.raises(ValueError, match="lower case"):
        register("My Method", title="Mine", family="Tests", line="")(Example)
    assert register("example_method", title="Mine", family="Tests", line="")(Example) is Example
    assert registry.card("example_method").learner is Example
    register("example_method", title="Again", family="Tests", line="")(Example)  # the same file, loaded anew
    assert registry.card("example_method").title == "Again"


def test_our_methods_find_themselves():
    assert {"tosca", "simplecil", "finetune", "finetune_blocks", "linear_probe", "joint"} <= set(registry.cards())
    with pytest.raises(Problem, match="method_unknown") as caught:
        registry.card("tosco")
    assert "tosca" in caught.value.values["known"]


PLUGIN = """
from forget_me_not.models.core import Log, Prediction, Reads
from forget_me_not.models.methods.simplecil import SimpleCIL
from forget_me_not.models.registry import register

@register("plugged", title="Plugged", family="Mine", line="Mine.")
class Plugged(SimpleCIL):
    pass
"""


def test_a_plugin_is_a_method_like_ours(mine, tmp_path):
    file = tmp_path / "my_method.py"
    file.write_text(PLUGIN)
    assert load_plugin(file) == ("plugged",)
    from forget_me_not.models.check import check_method

    assert all(r.passed for r in check_method(registry.card("plugged")))
    file.write_text(PLUGIN.replace('title="Plugged"', 'title="Edited"'))
    assert load_plugin(file) == ("plugged",)
    assert registry.card("plugged").title == "Edited"


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        (None, "plugin_missing", None),
        ("x = 1", "plugin_empty", None),
        ("import no_such_thing", "plugin_failed", "ModuleNotFoundError"),
        ("def (", "plugin_failed", "SyntaxError"),
        (PLUGIN.replace("plugged", "tosca"), "method_exists", None),
    ],
)
def test_a_plugin_that_cannot_be_used_says_why(mine, tmp_path, text, code, reason):
    file = tmp_path / "broken.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(Problem, match=code) as caught:
        load_plugin(file)
    if reason:
        assert caught.value.values["reason"].startswith(reason)
    assert registry.card("tosca").title == "TOSCA"


def test_cards_do_not_depend_on_who_was_imported_first():
    code = """
        from forget_me_not.models.methods import tosca
        from forget_me_not.models import registry
        print(*sorted(registry.cards()))
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    ours = sorted(n for n, c in registry.cards().items() if c.learner.__module__.startswith("forget_me_not."))
    assert out.stdout.split() == ours
