"""What is shipped: the wheel, the console script, the README's promises, a sentence for every problem."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import photos_made as made
import pytest

from forget_me_not import app
from forget_me_not.demo.words import words

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SOURCES = sorted([*(ROOT / "models").rglob("*.py"), *(ROOT / "demo").rglob("*.py"), ROOT / "app.py"])
SAYING = {"Problem": "problem", "Skipped": "problem", "_refuse": "problem", "_note": "problem", "Note": "note"}


def codes() -> dict[tuple[str, str], list[tuple[str, set[str] | None]]]:
    """(kind, code) -> where it is raised, and with which values (None where they are not written out)."""
    found: dict[tuple[str, str], list[tuple[str, set[str] | None]]] = {}
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            written = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            code = "" if not written else written[-1] if name == "_refuse" else written[0]
            if name in SAYING and re.fullmatch(r"[a-z]+(_[a-z]+)+", code):
                spread = any(k.arg is None for k in node.keywords)
                values = None if spread or name != "Problem" else {k.arg for k in node.keywords}
                found.setdefault((SAYING[name], code), []).append((f"{file.relative_to(ROOT)}:{node.lineno}", values))
    return found


def test_every_code_has_a_sentence_in_both_languages():
    found = codes()
    assert len(found) > 60
    for language in ("en", "ja"):
        known = words(language)
        missing = {f"{kind}.{code}": where for (kind, code), where in found.items() if f"{kind}.{code}" not in known}
        assert not missing, missing
    same = {key for key, text in words("ja").items() if key.startswith(("problem.", "note.")) and text == words("en")[key]}
    assert not same, "these are not translated"


def test_every_blank_of_a_sentence_is_filled():
    for (kind, code), places in codes().items():
        for language in ("en", "ja"):
            blanks = set(re.findall(r"{(\w+)}", words(language)[f"{kind}.{code}"]))
            for where, values in places:
                assert values is None or blanks <= values, f"{code} in {where} leaves {blanks - values} open ({language})"


def test_the_table_of_methods_is_that_of_the_registry():
    """Asked of a fresh process: other tests register methods of their own in this one."""
    command = [sys.executable, "-m", "forget_me_not.app", "list", "--markdown"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    table = re.search(r"<!-- methods:[^\n]*-->\n(.*?)<!-- /methods -->", README, re.S)[1]
    assert table == told.stdout, "bring it up to date with: python app.py list --markdown"


def test_the_method_of_the_readme_passes_the_checks(tmp_path, capsys):
    name, code = re.search(r"<!-- example: (weighted\S+) -->\n```python\n(.*?)```\n<!-- /example -->", README, re.S).groups()
    (tmp_path / name).write_text(code, "utf-8")
    code = app.main(["check", str(tmp_path / name)])
    assert code == 0, capsys.readouterr().out


@pytest.mark.starter
def test_the_notebook_of_the_readme_gives_a_matrix(tmp_path, monkeypatch):
    code = re.search(r"<!-- example: notebook -->\n```python\n(.*?)```", README, re.S)[1]
    made.folder(tmp_path / "my_photos", {"apple": 6, "brick": 6, "cloud": 6, "desk": 6})
    monkeypatch.chdir(tmp_path)
    known: dict = {}
    exec(compile(code, "notebook", "exec"), known)
    assert len(known["matrix"]) == 2
    assert all(0 <= known["matrix"][t][j] <= 1 for t, j in ((0, 0), (1, 0), (1, 1)))
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_the_image_is_built_for_a_user_without_rights():
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    user = next(i for i, line in enumerate(lines) if line.startswith("USER "))
    assert lines[user] != "USER root"
    assert next(i for i, line in enumerate(lines) if line.startswith("ENTRYPOINT")) > user
    for line in lines:
        for command in re.findall(r"forget-me-not[\", ]+(\w+)", line) if line.startswith(("RUN", "ENTRYPOINT")) else []:
            with pytest.raises(SystemExit) as ended:
                app.main([command, "--help"])
            assert ended.value.code == 0
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_commands_of_the_readme_exist():
    from forget_me_not.demo.cli.arguments import parser

    named = set(re.findall(r"python app\.py ([a-z]+)", README))
    assert named >= {"run", "show", "list", "check", "backbone", "cache", "doctor"}
    for name in named:
        with pytest.raises(SystemExit) as ended:
            parser().parse_args([name, "--help"])
        assert ended.value.code == 0


def test_files_the_readme_links_to_are_there():
    for link in re.findall(r"\]\((?!https?:|#)([^)]+)\)", README):
        assert (ROOT / link).exists(), link


def test_every_folder_of_code_is_named_in_pyproject():
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    folders = {Path(name).parent for name in tracked() if name.endswith("__init__.py") and not name.startswith("tests")}
    assert {".".join(("forget_me_not", *folder.parts)) for folder in folders} | {"forget_me_not"} == set(packages)


def tracked() -> list[str]:
    """Files of the repository, or of the folder where it is no repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from a copy, so that nothing is left behind here."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(out), str(copy)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_beside_it(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"forget_me_not", f"forget_me_not-{wheel.name.split('-')[1]}.dist-info"}
    inside = ("models", "demo", "assets", "app.py")
    wanted = {f"forget_me_not/{name}" for name in tracked() if name.split("/")[0] in inside}
    missing = {name for name in wanted - set(names) if not name.endswith((".png", ".gitkeep"))}
    assert not missing, "not packaged"
    assert not [name for name in names if "/tests/" in name]


@pytest.mark.slow
def test_the_wheel_works_where_it_is_installed(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target",
                    str(tmp_path / "site"), str(wheel)], check=True)  # fmt: skip
    assert sorted(path.name.split("-")[0] for path in (tmp_path / "site").iterdir()) == ["bin", "forget_me_not", "forget_me_not"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    code = "import forget_me_not.models.neck as neck; print(neck.__file__); assert neck.shipped('starter')"
    where = [sys.executable, "-c", code]
    found = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(tmp_path / "site"))
    script = [sys.executable, str(tmp_path / "site" / "bin" / "forget-me-not"), "show", "nowhere"]
    said = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (2, "There are no runs in nowhere.\n")


def test_the_editable_install_has_the_console_script():
    script = Path(sys.executable).with_name("forget-me-not")
    assert script.exists()
    said = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", said.stdout)
