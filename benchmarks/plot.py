"""The plot of the benchmarks: how many times as fast as release 0.1, by workload and model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.race import OLD
from benchmarks.report import Bar

WORKLOADS = {
    "a": "render a long conversation",
    "b": "render short chats",
    "b, all lists": "render short chats, all lists",
    "re-render every turn of a": "render every turn again",
    "c": "parse completions",
    "d": "bridge every turn",
}
"""The workloads of the plot, and their names there."""
TICKS = (1, 2, 5, 10, 20, 50, 100, 1_000)


def draw(bars: Sequence[Bar], path: Path) -> None:
    """Draw a group of bars for each workload, with one bar for each model and the range of its rounds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    models = list(dict.fromkeys(model for model, _, _ in bars))
    figure, axes = pyplot.subplots(figsize=(9, 5.5), layout="constrained")
    height = 0.8 / len(models)
    places = {workload: index for index, workload in enumerate(WORKLOADS)}
    for index, model in enumerate(models):
        own = [(places[workload], spread) for name, workload, spread in bars if name == model and workload in places]
        axes.barh(
            [place + (index - (len(models) - 1) / 2) * height for place, _ in own],
            [spread.median for _, spread in own],
            height=height,
            xerr=[[s.median - s.low for _, s in own], [s.high - s.median for _, s in own]],
            error_kw={"elinewidth": 0.8},
            label=model,
        )
    axes.set_xscale("log")
    axes.set_xticks(TICKS, list(map(str, TICKS)))
    axes.minorticks_off()
    axes.grid(axis="x", linewidth=0.3)
    axes.set_yticks(list(places.values()), list(WORKLOADS.values()))
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel(f"times as fast as {OLD.label} by CPU time: median, lowest and highest of the rounds")
    figure.legend(loc="outside upper center", ncols=4, fontsize="small")
    figure.savefig(path, dpi=120)
