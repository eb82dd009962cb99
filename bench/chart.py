"""The charts of a run as one SVG, without a library; all axes are logarithmic."""
import html
import math

WIDTH, LEFT, RIGHT, ROW = 880, 300, 90, 22
OURS, THEIRS, GREY = "#1a7f5a", "#8a8f98", "#57606a"


def text(x, y, words, anchor="start", colour=GREY, size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{html.escape(words)}</text>'


def short(value, unit):
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}{unit}"


def bars(title, rows, unit, top):
    """`rows`: (name, value, lowest, highest, ours). Returns SVG lines and the y below them."""
    low = 10 ** math.floor(math.log10(min(row[2] for row in rows)))
    high = 10 ** math.ceil(math.log10(max(row[3] for row in rows)))
    scale = (WIDTH - LEFT - RIGHT) / max(1, math.log10(high / low))

    def place(value):
        return LEFT + scale * math.log10(max(value, low) / low)

    lines = [text(LEFT, top + 14, title, colour="#24292f", size=14)]
    first, bottom = top + 28, top + 28 + ROW * len(rows)
    tick = low
    while tick <= high * 1.001:
        x = place(tick)
        lines += [f'<line x1="{x:.1f}" y1="{first}" x2="{x:.1f}" y2="{bottom}" stroke="#d0d7de"/>',
                  text(x, bottom + 15, f"{tick:g}{unit}", "middle", size=11)]
        tick *= 10
    for number, (name, value, lowest, highest, ours) in enumerate(rows):
        y, middle, end = first + ROW * number, first + ROW * number + ROW / 2, place(value)
        lines += [f'<rect x="{LEFT}" y="{y + 4}" width="{max(1, end - LEFT):.1f}" height="{ROW - 8}" fill="{OURS if ours else THEIRS}"/>',
                  f'<line x1="{place(lowest):.1f}" y1="{middle}" x2="{place(highest):.1f}" y2="{middle}" stroke="#24292f"/>',
                  text(LEFT - 8, middle + 4, name, "end"),
                  text(max(end, place(highest)) + 6, middle + 4, short(value, unit), colour="#24292f")]
    return lines, bottom + 34


def rows_of(part, ours, bounds, wanted, common):
    """`common` is the end that all their names share. Returns (name, middle, lowest, highest, ours) for each row
    that `wanted` takes, the best first."""
    rows = []
    for name, row in part.items():
        if wanted(name):
            middle, lowest, highest = bounds(row)
            shown = name.removesuffix(common)
            rows.append((f"agent-sandbox: {shown}" if ours(name) else shown, middle, lowest, highest, ours(name)))
    return sorted(rows, key=lambda row: row[1])


def svg(summary, ours, caption):
    """`summary`: as Figures.summary() makes it. `ours`: tells by its name whether a row is ours."""
    def times(row):
        return row["p50"] / 1e3, row["min"] / 1e3, (row["p90"] or row["p50"]) / 1e3

    def rates(row):
        return row["median"], min(row["values"]), max(row["values"])

    def single(name):
        return not any(word in name for word in (" load", "clients", "output", "a jail made"))

    def rate(name):
        return "clients" in name and not name.startswith("exec")

    series, per_second = summary["series_us"], summary["per_second"]
    panels = (
        ("print(6*7): median, and from the minimum to the 90th percentile", " ms",
         rows_of(series, ours, times, lambda name: single(name) and "pandas" not in name, "")),
        ("import pandas and use it: the same", " ms",
         rows_of(series, ours, times, lambda name: single(name) and "pandas" in name, ", pandas")),
        ("runs a second, 8 clients: median, and from the lowest to the highest", "/s",
         rows_of(per_second, ours, rates, rate, ", 8 clients")[::-1]))
    lines, y = [], 10
    for title, unit, rows in panels:
        if rows:
            part, y = bars(title, rows, unit, y)
            lines += part
    lines.append(text(LEFT, y, caption, size=11))
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 16}" '
                      f'viewBox="0 0 {WIDTH} {y + 16}" font-family="sans-serif">',
                      f'<rect width="{WIDTH}" height="{y + 16}" fill="#ffffff"/>', *lines, "</svg>", ""])
