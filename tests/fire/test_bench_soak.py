"""`bench soak` prints a line a shot and a summary, and only ends well where nothing was lost."""

import pytest

from forget_me_not.app import main
from forget_me_not.demo.soak import fire


@pytest.mark.slow
@pytest.mark.alone
def test_a_few_seconds_under_fire(tmp_path, capsys):
    assert main(["bench", "soak", "--minutes", "0.001", "--seed", "3", "--home", str(tmp_path)]) == 0
    *shots, summary = capsys.readouterr().out.splitlines()
    assert shots
    assert all(line.startswith("ok") for line in shots)
    assert f"{len(shots)} times as if nothing had been, 0 times not" in summary


def test_a_lost_matrix_is_told_and_ends_badly(monkeypatch, capsys):
    shots = [fire.Shot("here", "", 1.0), fire.Shot("there", "[[0.5]] instead of [[1.0]]", 2.0)]
    monkeypatch.setattr(fire, "soak", lambda *_: iter(shots))
    assert main(["bench", "soak"]) == 1
    out = capsys.readouterr().out
    assert "!!   2.0 s  there [[0.5]] instead of [[1.0]]" in out
    assert "1 times not" in out
