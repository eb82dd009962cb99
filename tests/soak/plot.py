"""Samples of a soak as an SVG: one row a measure, time to the right."""
import matplotlib
import samples
from matplotlib import pyplot

matplotlib.use("svg")


def write(path, taken):
    """`taken`: pairs of seconds since the start and a sample."""
    shown = [measure for measure in samples.MEASURES if any(measure.name in sample for _, sample in taken)]
    figure, rows = pyplot.subplots(len(shown), 1, sharex=True, figsize=(9, 1.3 * len(shown)), layout="constrained")
    for row, measure in zip(rows, shown, strict=True):
        points = [(seconds / 60, sample[measure.name]) for seconds, sample in taken if measure.name in sample]
        row.plot(*zip(*points, strict=True), linewidth=1)
        row.set_ylim(bottom=0)
        row.set_title(measure.name + (f", {measure.unit}" if measure.unit else ""), loc="left", fontsize=8)
        row.tick_params(labelsize=7)
    rows[-1].set_xlabel("minutes", fontsize=8)
    figure.savefig(path)
