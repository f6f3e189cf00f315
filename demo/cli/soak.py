"""`bench soak` and `bench scale`: is anything lost under fire, and does a large stream fit; 0 only where all is as promised."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from forget_me_not.demo.soak import fire
from forget_me_not.demo.soak.lab import Lab


def main(options: argparse.Namespace) -> int:
    """Prints a line a shot or figure as it is known, and a summary; the exit status."""
    if options.what == "scale":
        return _scale(options)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(options.home or folder)
        return _load(home, options.minutes) if options.load else _soak(home, options.minutes, options.seed)


def _soak(home: Path, minutes: float, seed: int) -> int:
    """Kills and damages; 1 where one of them changed a matrix or lost a project."""
    shots = []
    for shot in fire.soak(home, minutes, seed):
        shots.append(shot)
        print("!!" if shot.why else "ok", f"{shot.seconds:5.1f} s  {shot.moment}", *([shot.why] if shot.why else []), flush=True)
    lost = sum(bool(shot.why) for shot in shots)
    kinds = len({shot.moment for shot in shots})
    print(f"{len(shots)} times under fire in {minutes:g} minutes, {kinds} ways, seed {seed}: "
          f"{len(shots) - lost} times as if nothing had been, {lost} times not")  # fmt: skip
    return int(lost > 0 or not shots)


def _load(home: Path, minutes: float) -> int:
    """Clients and trainings at once; 1 where a request failed."""
    from forget_me_not.demo.soak import load

    with Lab(home) as lab:
        quick = load.load(lab, 0, slow=0)
        seen = load.load(lab, minutes)
    for name, one in ((f"without slow readers, {load.CLIENTS} clients", quick), (f"with {load.SLOW} slow readers", seen)):
        print(f"{name}: {len(one.seconds)} requests, {len(one.errors)} errors, half below {one.quantile(0.5) * 1000:.0f} ms, "
              f"95% below {one.quantile(0.95) * 1000:.0f} ms")  # fmt: skip
    print(f"first event after at most {max(seen.first):.2f} s, {load.TRAININGS} trainings at once; the slowest had "
          f"{min(seen.fairness):.0%} of the steps of the fastest when that ended")  # fmt: skip
    print(f"memory over {minutes:g} minutes: page {seen.memory[-1][1] / 2**20:.0f} MB, {seen.slope(1) / 2**20:+.2f} MB a minute; "
          f"worker {seen.memory[-1][2] / 2**20:.0f} MB, {seen.slope(2) / 2**20:+.2f} MB a minute")  # fmt: skip
    for error in [*quick.errors, *seen.errors][:20]:
        print(f"!!  {error}")
    return int(bool(quick.errors or seen.errors))


def _scale(options: argparse.Namespace) -> int:
    """A large stream; 1 where a bar is missed."""
    import torch

    from forget_me_not.models import scale

    torch.set_num_threads(1)
    missed = 0
    for row in scale.rows(options.photos, options.classes, options.tasks, options.files):
        missed += row.passed is False
        more = ", ".join(f"{name} {value:.4g}" for name, value in row.detail.items())
        verdict = {True: "ok", False: "!!", None: "  "}[row.passed]
        print(verdict, f"{row.name:<44}{row.value:>9.3f} {row.bar:<8} {more}", flush=True)
    return int(missed > 0)
