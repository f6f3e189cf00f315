"""Progress on standard error: bars in a terminal, a line a task elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from forget_me_not.demo.cli.words import tell
from forget_me_not.models.events import Encoded, Evaluated, Event, RunStarted, Step, TaskFinished, TaskStarted


def _progress(console: Console) -> Progress:
    name, now = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[now]}"))
    return Progress(name, BarColumn(), now, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that takes (done, of) while `what` goes on; of = 0: not known."""
    with _progress(Console(stderr=True)) as shown:
        task = shown.add_task(what, total=None, now="")

        def heard(done: int, of: int) -> None:
            unit = f"{done / 2**20:.0f} MB" if of > 10**6 or done > 10**6 else f"{done}"
            shown.update(task, completed=done, total=of or None, now=unit)

        yield heard


class Watch:
    """What is shown of one run while it learns: feed it the run's events.

    Args: name of the run; tasks: how many the stream has; judged: what an accuracy is the share of.
    """

    def __init__(self, name: str, tasks: int, judged: str = "all test photos so far"):
        self.name, self.tasks, self.judged = name, tasks, judged
        self._shown = _progress(Console(stderr=True))
        self._bar = self._shown.add_task(name, total=tasks, now="")
        self._accuracy = ""

    def __enter__(self) -> Watch:
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.stop()

    def see(self, event: Event | None) -> None:
        """Draws what has changed."""
        match event:
            case RunStarted():
                self._draw(0, "")
            case TaskStarted(task=t):
                self._draw(t, f"task {t + 1} of {self.tasks}")
            case Encoded(task=t, stage=stage, done=done, total=total):
                self._draw(t, f"task {t + 1} of {self.tasks}, encoding {done} of {total} {stage} photos")
            case Step(task=t, step=step, steps=steps, loss=loss):
                now = "" if loss is None else f", loss {loss:.3f}"
                self._draw(t + step / steps, f"task {t + 1} of {self.tasks}, step {step} of {steps}{now}")
            case Evaluated(correct=correct, total=total):
                self._accuracy = f"{100 * sum(correct) / max(1, sum(total)):.1f} % of {self.judged} are right"
            case TaskFinished(task=t, seconds=seconds):
                self._draw(t + 1, self._accuracy)
                if self._shown.disable:
                    tell(f"{self.name}: task {t + 1} of {self.tasks}, {self._accuracy} ({sum(seconds.values()):.1f} s)")

    def _draw(self, done: float, now: str) -> None:
        self._shown.update(self._bar, completed=done, now=now)
