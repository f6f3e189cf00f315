"""No data becomes code: no pickle, no torch.load, no eval, no shell, anywhere in the package."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(file for part in ("models", "demo", "assets") for file in (ROOT / part).rglob("*.py")), ROOT / "app.py"])
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal", "jsonpickle", "yaml", "xmlrpc", "code"}
NAMES = {"eval", "exec", "compile", "__import__", "breakpoint"}
CALLS = {("torch", "load"), ("torch", "save"), ("torch.hub", "load"), ("np", "load"), ("numpy", "load"), ("joblib", "load"),
         ("joblib", "dump"), ("pd", "read_pickle"), ("os", "system"), ("os", "popen"), ("tempfile", "mktemp"), ("Image", "open"),
         ("torch.jit", "load"), ("torch.package", "PackageImporter")}  # fmt: skip
KEYWORDS = {("allow_pickle", True), ("shell", True), ("weights_only", False), ("trust_remote_code", True)}


def dotted(node):
    """a.b.c of an attribute, or ""."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def found(tree):
    """(line, what) of everything in a file that could run what it reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in MODULES and not node.level:
                yield node.lineno, node.module
            for alias in node.names:
                if ((node.module or ""), alias.name) in CALLS:
                    yield node.lineno, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in NAMES or tuple(name.rsplit(".", 1)) in CALLS:
                yield node.lineno, name
            for keyword in node.keywords:
                if isinstance(keyword.value, ast.Constant) and (keyword.arg, keyword.value.value) in KEYWORDS:
                    yield node.lineno, f"{keyword.arg}={keyword.value.value}"


def test_the_package_runs_nothing_it_reads():
    assert len(SOURCES) > 150
    wrong = [f"{file.relative_to(ROOT)}:{line} {what}" for file in SOURCES
             for line, what in found(ast.parse(file.read_text("utf-8")))]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize("code", [
    "import pickle", "from pickle import loads", "import torch\ntorch.load(x)", "from torch import load", "os.system(x)",
    "exec(text)", "np.load(p, allow_pickle=True)", "eval(text)", "subprocess.run(x, shell=True)", "joblib.load(p)",
    "f(weights_only=False)",
])  # fmt: skip
def test_the_search_finds_what_it_looks_for(code):
    assert list(found(ast.parse(code)))
