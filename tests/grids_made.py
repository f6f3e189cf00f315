"""Rows and grids of the lambda panel with numbers made up."""

from forget_me_not.demo import lambda_panel


def row(accuracy, **more):
    found = {m: 0.5 for m in lambda_panel.MEASURES} | {"accuracy": accuracy, "overlaps": [[1, accuracy], [accuracy, 1]]}
    return found | more


def filled(seeds, effect):
    """A grid where lambda .04 changes turns, routing and accuracy by `effect` of (mean, seed wobble)."""
    grid = lambda_panel.blank(seeds)
    for seed in range(seeds):
        for at in range(len(lambda_panel.GRID)):
            push, wobble = (effect if at == 4 else (0.0, 0.0)), 0.01 * (seed % 3)
            change = push[0] + push[1] * (-1) ** seed
            more = {"turns": 0.5 - change, "routing": 0.7 + change + wobble, "zeros": at / 6}
            grid = lambda_panel.joined(grid, at, row(0.8 + change + wobble, **more))
    return grid
