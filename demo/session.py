"""What the page's routes do: projects by id, uploads, runs asked for and looked up. No HTTP here, and no torch."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forget_me_not.demo import choices, edits
from forget_me_not.demo.client import Client
from forget_me_not.demo.disk import read_json, room_for, write_json
from forget_me_not.demo.inside_kept import learnt, usable
from forget_me_not.demo.project import Project, request
from forget_me_not.demo.uploads import incoming
from forget_me_not.demo.verified import with_findings
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

ID, SHA = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{64}")
IN_MEMORY = 64
"""Projects whose data stays in memory; the rest are read when asked for."""
METHODS_AT_ONCE = 12
UNFINISHED = ("queued", "running", "paused")
LEFT_OVER = 3600.0
RUNS_WAITING = 64
"""Runs of a project that may be unfinished at a time."""
TELLING = ("method", "settings", "seed", "training", "created", "experiment", "variant")
"""What a run was asked for with that tells it from others; the last two only in ready-made experiments."""
RUNS_TOLD = 72
"""Newest runs of a project the page hears of; Compare reads all."""


class Session:
    """All that this server holds. home: data folder; client: the worker."""

    def __init__(self, home: Path, client: Client):
        self.home, self.client = home, client
        for part in ("projects", "runs", "incoming"):
            (home / part).mkdir(parents=True, exist_ok=True)
        for left in (home / "incoming").iterdir():  # by a server that was killed
            if time.time() - left.stat().st_mtime > LEFT_OVER:
                left.unlink(missing_ok=True)
        self._lock = threading.Lock()
        self._projects: OrderedDict[str, Project] = OrderedDict()
        self._told: dict[str, dict[str, Any]] = {}

    # Projects

    def new_project(self) -> Project:
        """A new empty project."""
        room_for(self.home, 0)
        project = Project.create(self.home / "projects")
        self._hold(project)
        return project

    def project(self, pid: str) -> Project:
        """The project with this id; Problem("project_unknown"). To know the id is the permission to read it."""
        if not ID.fullmatch(pid):
            raise Problem("project_unknown")
        with self._lock:
            held = self._projects.get(pid)
        if held is None:
            held = Project(self.home / "projects" / pid)
            _ = held.data
        return self._hold(held)

    def upload(self, project: Project, path: Path, name: str, label: str, domain: str, burst: str = "") -> dict[str, Any]:
        """What became of one uploaded file, which lies at `path`: a photo (of a camera burst, maybe) or a zip of photos."""
        by_domain = project.data["kind"] == "domain"
        with incoming(path, name, label, domain, by_domain, choices.burst(burst)) as (items, skipped):
            added, refused = project.add(items)
        return {"added": added, "skipped": [*skipped, *refused], "project": project.view()}

    def refused(self, project: Project, name: str, problem: Problem) -> dict[str, Any]:
        """As `upload`, for a file that was left out as a whole."""
        values = {key: value if isinstance(value, str | int | float) else str(value) for key, value in problem.values.items()}
        shown = str(values.pop("name", "") or edits.clean(name.rsplit("/", 1)[-1]))
        return {"added": 0, "skipped": [{"name": shown, "code": problem.code, "values": values}], "project": project.view()}

    # Runs

    def train(self, project: Project, asked: Mapping[str, Any]) -> list[str]:
        """Ids of the runs started or queued, one a method and seed; Problem where one cannot be, and none is left behind."""
        with project.lock:
            chosen = project.data["chosen"]
            methods = choices.method_names(asked.get("methods", chosen["methods"]))
            settings = choices.settings(asked.get("settings", chosen["settings"]))
            seed = choices.seed(asked.get("seed", chosen["seed"]))
            seeds = choices.seeds(asked.get("seeds", 1))
            choices.seed(seed + seeds - 1)
            self.allow(project, len(methods) * seeds)
            if not methods:
                raise Problem("no_methods")
            if len(methods) > METHODS_AT_ONCE:
                raise Problem("methods_many", limit=METHODS_AT_ONCE)
            training, now = secrets.token_hex(8), time.time()
            asked_for = {secrets.token_hex(16): request(project, m, settings.get(m, {}), s, training, now)
                         for s in range(seed, seed + seeds) for m in methods}  # fmt: skip
            project.remember_runs(list(asked_for), {"methods": methods, "settings": settings, "seed": seed, "seeds": seeds})
        return self.launch(project, asked_for)

    def allow(self, project: Project, runs: int) -> None:
        """Nothing, or the Problem that keeps this many more runs of the project from starting."""
        found = project.view()["ready"]["reasons"]
        reason = next((r for r in found if r["code"] != "no_methods"), None)
        if reason is not None:
            raise Problem(reason["code"], **reason["values"])
        if runs + sum(self.status(rid)["status"] in UNFINISHED for rid in project.data["runs"]) > RUNS_WAITING:
            raise Problem("runs_many", limit=RUNS_WAITING)
        room_for(self.home, 0)

    def launch(self, project: Project, asked_for: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Hands runs the project remembers, id -> request, to the worker; where it refuses one, none is left behind."""
        try:
            for rid, what in asked_for.items():
                write_json(self.home / "runs" / rid / "request.json", what)
            self.client.call("start", runs=list(asked_for), patience=90)
        except BaseException:
            for rid in asked_for:
                shutil.rmtree(self.home / "runs" / rid, ignore_errors=True)
            project.forget_runs(list(asked_for))
            raise
        return list(asked_for)

    def folder(self, rid: str) -> Path:
        """The folder of a run; Problem("run_unknown")."""
        if not ID.fullmatch(rid) or not (self.home / "runs" / rid / "request.json").is_file():
            raise Problem("run_unknown")
        return self.home / "runs" / rid

    def status(self, rid: str) -> dict[str, Any]:
        """Where a run stands, without its tasks: {"status", "problem", "restarted", "place", "wait", "left"}.

        wait: seconds until it begins, left: seconds until its training has ended; None while nobody knows.
        """
        said = self.client.status.get("unsaid", {}).get(rid) or read_json(self.home / "runs" / rid / "status.json", {})
        # a run without a request: its page died before it could ask for it
        status = said.get("status") or ("queued" if (self.home / "runs" / rid / "request.json").is_file() else "gone")
        told = self.client.status
        return {"status": status, "problem": said.get("problem"), "restarted": bool(said.get("restarted")),
                "place": dict(told["queue"]).get(rid, 0), "wait": told.get("waits", {}).get(rid),
                "left": told.get("lefts", {}).get(rid)}  # fmt: skip

    def run(self, rid: str) -> dict[str, Any]:
        """A run as the page shows it."""
        folder = self.folder(rid)
        asked = read_json(folder / "request.json", {})
        shown = {c["key"]: c["name"] for c in asked["classes"]}
        first: dict[tuple[str, str], str] = {}
        for photo in asked["photos"]:
            first.setdefault((photo["class"], photo["domain"]), photo["sha"])
            first.setdefault((photo["class"], ""), photo["sha"])
        tasks = [{"name": t["name"], "classes": [shown[c] for c in t["classes"]],
                  "photo": first.get((t["classes"][0], t.get("domain", "")))} for t in asked["tasks"]]  # fmt: skip
        return {"id": rid, "project": asked["project"], "kind": asked["kind"], "tasks": tasks,
                **{k: asked.get(k) for k in TELLING}, **self._standing(rid)}  # fmt: skip

    def runs(self, project: Project) -> list[dict[str, Any]]:
        """The newest runs of a project, oldest first, each as one line: what tells it from others, and where it stands."""
        known = ((rid, self._facts(rid)) for rid in project.data["runs"][-RUNS_TOLD:])
        return [{**facts, **self._standing(rid)} for rid, facts in known if facts is not None]

    def _facts(self, rid: str) -> dict[str, Any] | None:
        """What never changes of a run: id, method, seed, training, how many tasks; None where it is gone."""
        found = self._told.get(rid)
        if found is None:
            asked = read_json(self.home / "runs" / rid / "request.json")
            if not isinstance(asked, dict):
                return None
            found = {"id": rid, "tasks": len(asked["tasks"]), **{k: asked.get(k) for k in TELLING}}
            self._told[rid] = found
        return found

    def _standing(self, rid: str) -> dict[str, Any]:
        """What changes of a run: as `status`, with "begun" and how many tasks are "done"."""
        folder = self.home / "runs" / rid
        done = len(list((folder / "answers").glob("[0-9]*.safetensors"))) if (begun := (folder / "run.json").is_file()) else 0
        return {**self.status(rid), "begun": begun, "done": done}

    def lines(self, rid: str, since: int) -> list[dict[str, Any]]:
        """The lines {"n", "t", "event"} of a run from number `since` on."""
        folder = self.folder(rid)
        if not (folder / "run.json").is_file():
            return []
        return list(RunFolder(folder, {}).lines(since))

    def control(self, rid: str, what: str) -> dict[str, Any]:
        """Where the run stands after "pause", "resume", "step", "stop" or, still waiting, "withdraw"."""
        folder = self.folder(rid)
        if what not in ("pause", "resume", "step", "stop", "withdraw"):
            raise Problem("edit_unknown", do=str(what)[:40])
        if what == "withdraw":
            return self._withdraw(rid, folder)
        return {"status": self.client.call("run", run=rid, what=what)["status"]}

    def _withdraw(self, rid: str, folder: Path) -> dict[str, Any]:
        """Takes a run out of the queue; Problem("run_begun") where its turn has come."""
        pid = str(read_json(folder / "request.json", {}).get("project"))
        self.client.call("run", run=rid, what="withdraw")
        if ID.fullmatch(pid):
            self.project(pid).forget_runs([rid])
        shutil.rmtree(folder, ignore_errors=True)
        return {"status": "gone"}

    def inside(self, rid: str) -> dict[str, Any] | None:
        """The pictures of a run; None while they are being made."""
        folder = self.folder(rid)
        made = read_json(folder / "inside.json")
        if usable(made) and len(made["frames"]) == learnt(self.lines(rid, 0)):  # by what it shows, not by when: clocks go back
            if made["pending"]:  # the worker goes on drawing, or begins again after a death
                self.client.call("inside", run=rid)
            return made
        if made is not None and "problem" in made:
            (folder / "inside.json").unlink(missing_ok=True)  # told once; asked again it is tried again
            raise Problem(made["problem"]["code"], **made["problem"]["values"])
        if self.status(rid)["status"] in ("queued", "running"):
            return None
        self.client.call("inside", run=rid)
        return None

    def ask(self, rid: str, sha: str | None = None, path: Path | None = None, name: str = "photo") -> dict[str, Any]:
        """What a run's learner says of a photo of the project, or of a file that is called `name`."""
        self.folder(rid)
        if path is not None:
            return self._said(self.client.call("ask", run=rid, path=str(path), name=name))
        if not SHA.fullmatch(sha or ""):
            raise Problem("photo_unknown")
        return self._said(self.client.call("ask", run=rid, photo=sha))

    @contextlib.contextmanager
    def draft(self):
        """A path for one incoming file, gone afterwards."""
        path = self.home / "incoming" / secrets.token_hex(16)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def cards(self) -> list[dict[str, Any]]:
        """What is known of every method; Problem("worker_away") until the worker has written it."""
        found = read_json(self.home / "cards.json")
        return with_findings(self.client.cards() if found is None else found)

    def _said(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in answer.items() if k != "re"}

    def _hold(self, project: Project) -> Project:
        with self._lock:
            project = self._projects.setdefault(project.id, project)
            self._projects.move_to_end(project.id)
            while len(self._projects) > IN_MEMORY:
                self._projects.popitem(last=False)
            return project
