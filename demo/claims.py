"""The table of claims in words: for the README, and for a section of Compare. The numbers are assets/results/claims.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forget_me_not.demo.words import fill, words

KEPT = Path(__file__).parents[1] / "assets" / "results" / "claims.json"


def table(lang: str, claims: Sequence[Mapping[str, Any]] | None = None) -> list[dict[str, str]]:
    """{"name", "claim", "paper", "found", "verdict", "said"} of every claim in a language; verdict is a code, said its words."""
    known = words(lang)
    claims = json.loads(KEPT.read_text(encoding="utf-8")) if claims is None else claims
    return [{
        "name": one["name"], "claim": known[f"claims.{one['name']}"], "paper": one["paper"] or known["claims.ours"],
        "found": known["claims.need_data"] if one["kind"] == "untested" else
                 known["say.gap"].join(_said(one["kind"], part, known, lang) for part in one["found"]),
        "verdict": one["verdict"], "said": known[f"claims.{one['verdict']}"],
    } for one in claims]  # fmt: skip


def _said(kind: str, part: Mapping[str, Any], known: Mapping[str, str], lang: str) -> str:
    end = "." if lang == "en" else "。"
    if kind == "figure":
        return fill(known["claims.figure"], {name: _signed(part[name]) for name in ("mean", "low", "high")}) + end
    if kind == "ratio":
        return fill(known["claims.ratio"], {"ratio": f"{part['mean']:.1f}"}) + end
    values = {"mean": _signed(part["mean"]), "half": "" if part["half"] is None else f"{part['half']:.3f}", "n": part["n"]}
    if kind == "lambda":
        return fill(known["claims.lambda"], {**values, "pack": known[f"claims.pack_{part['pack']}"]}) + end
    if part["a"] == part["b"]:  # two ways to judge the same answers
        return fill(known["claims.leak"], values) + end
    key = "claims.one" if part["half"] is None else "claims.difference"
    return fill(known[key], {**values, "a": part["a"], "b": part["b"]}) + end


def _signed(value: float) -> str:
    return f"{value:+.3f}"


def markdown(lang: str = "en") -> str:
    """The README's table."""
    known = words(lang)
    head = [known["claims.claim"], known["claims.found"], known["claims.verdict"]]
    rows = [[f"{one['claim']} ({_link(one['paper'])})", one["found"], one["said"]] for one in table(lang)]
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, ["---"] * 3, *rows])


def _link(paper: str) -> str:
    return f"[{paper}](https://arxiv.org/abs/{paper.removeprefix('arXiv:')})" if paper.startswith("arXiv:") else paper
