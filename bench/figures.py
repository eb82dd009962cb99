"""The measured figures, by name, and what is derived from them: tables, ratios, promises."""
import os
import statistics

# A percentile of fewer samples would be a guess.
FEWEST = {"p90": 10, "p99": 100, "p999": 1000}
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def share_of(times, word):
    if word == "min":
        return min(times)
    if word == "p50":
        return statistics.median(times)
    if len(times) < FEWEST[word]:
        return None
    return sorted(times)[min(len(times) - 1, int(len(times) * SHARES[word]))]


class Figures:
    def __init__(self):
        self.series = {}     # microseconds of single requests
        self.rates = {}      # requests a second, one value for each time that it was measured
        self.numbers = {}
        self.phases = {}     # by series: name of a phase -> microseconds
        self.missing = {}    # name of a figure that could not be measured -> reason
        self.peers = []      # the other sandboxes, by name

    def add(self, name, times):
        self.series.setdefault(name, []).extend(times)

    def add_phases(self, name, answer):
        for word in PHASES:
            self.phases.setdefault(name, {}).setdefault(word, []).extend(answer.get(word, []))

    def add_rate(self, name, value):
        self.rates.setdefault(name, []).append(value)

    def best_peer(self, word):
        """The peer with the lowest time, or with the highest rate."""
        if word == "rate":
            known = [name for name in self.peers if f"{name}, 8 clients" in self.rates]
            return max(known, key=lambda name: self.value(f"{name}, 8 clients.rate"), default=None)
        known = [name for name in self.peers if name in self.series]
        return min(known, key=lambda name: self.value(f"{name}.{word}"), default=None)

    def resolve(self, key):
        """"best peer.p50" becomes "bubblewrap.p50"."""
        name, _, word = key.rpartition(".")
        if name == "best peer":
            best = self.best_peer(word)
            name = f"{best}, 8 clients" if word == "rate" else best
        return f"{name}.{word}"

    def value(self, key):
        """The value of "bubblewrap.p50" (microseconds), "NAME.rate" or "NAME.number"; None where it was not
        measured."""
        name, _, word = self.resolve(key).rpartition(".")
        if word == "number":
            return self.numbers.get(name)
        if word == "rate":
            return statistics.median(self.rates[name]) if name in self.rates else None
        times = self.series.get(name)
        return share_of(times, word) if times else None

    def summary(self):
        words = ("min", *SHARES)
        return {
            "series_us": {name: {"count": len(times), **{word: share_of(times, word) for word in words}}
                          for name, times in self.series.items()},
            "per_second": {name: {"median": statistics.median(values), "values": values} for name, values in self.rates.items()},
            "numbers": self.numbers,
            "phases_us": {name: {phase: {word: share_of(times, word) for word in words}
                                 for phase, times in phases.items() if times} for name, phases in self.phases.items()},
            "missing": self.missing}


def milliseconds(value):
    return f"{value / 1e3:9.3f}" if value is not None else f"{'-':>9}"


def table(figures, baseline):
    base = figures.value(f"{baseline}.p50")
    yield f"{'milliseconds':<46} {'min':>9} {'p50':>9} {'p90':>9} {'p99':>9} {'p99.9':>9} {'samples':>8} {'x ' + baseline:>10}"
    for name, times in figures.series.items():
        cells = " ".join(milliseconds(share_of(times, word)) for word in ("min", *SHARES))
        ratio = f"{statistics.median(times) / base:.3f}" if base else "-"
        yield f"{name:<46} {cells} {len(times):>8} {ratio:>10}"
    yield ""
    processors = len(os.sched_getaffinity(0))
    yield f"{'requests a second':<46} {'lowest':>9} {'median':>9} {'highest':>9} {'by each of ' + str(processors) + ' processors':>27}"
    for name, values in figures.rates.items():
        median = statistics.median(values)
        yield f"{name:<46} {min(values):>9.1f} {median:>9.1f} {max(values):>9.1f} {median / processors:>27.1f}"
    if figures.numbers:
        yield ""
    for name, value in figures.numbers.items():
        yield f"{name:<62} {value:>12.3f}"


# The keys are the words of the measuring programs; the order is that of the table.
PHASES = {
    "lease": "take a jail out of the pool, or ask for a cold one",
    "made": "wait for one that is being made",
    "write": "write main.py into it",
    "start": "tell init to start",
    "output": "from there to the output",
    "report": "from the output to init's report of the exit",
    "queued": "server: read, wait for a place",
    "started": "server: jail, files, start",
    "ran": "server: start to the report",
    "everything else": "HTTP, JSON, the client, and waking up in between",
    "total": "all of it",
    "gone": "off the path: until its last process is dead",
    "init_set_up": "off the path where warm: made, warmed up, ready",
    "init_started": "by init's clock: start to the program's first instruction",
    "init_ran": "by init's clock: the program",
    "init_ended": "by init's clock: its end to the end of its last process",
}


def phase_table(figures, name):
    """The phases of a request and their times, in the form that a README shows."""
    yield f"| {name} | min us | p50 us | p90 us | p99 us |"
    yield "|---|---|---|---|---|"
    known = figures.phases[name]
    for phase, times in ((words, known[key]) for key, words in PHASES.items() if known.get(key)):
        cells = [share_of(times, word) for word in ("min", "p50", "p90", "p99")]
        yield f"| {phase} | " + " | ".join("-" if cell is None else f"{cell:.0f}" for cell in cells) + " |"


def with_minimum(figures, key):
    """The figure itself, so that a reader can judge a ratio."""
    name, _, word = figures.resolve(key).rpartition(".")
    if word == "rate":
        return f"{name} {figures.value(key):.1f}/s"
    if word == "number":
        return f"{name} {figures.value(key):.3f}"
    times = figures.series[name]
    more = "" if word == "p50" else f", {word} {figures.value(key) / 1e3:.3f}"
    return f"{name} min {min(times) / 1e3:.3f}, p50 {statistics.median(times) / 1e3:.3f}{more} ms"


def judge(figures, promises):
    """A line for each promise, and whether a gate is broken. A figure that could not be measured breaks no gate. An aim
    is where a figure shall get to; only its bound is promised."""
    lines, broken = [], False
    for promise in promises:
        gate = promise.get("gate", False)
        keys = [promise[word] for word in ("figure", "over") if word in promise]
        values = [figures.value(key) for key in keys]
        head = f"{promise['name']}{' (gate)' if gate else ''}: "
        if None in values:
            absent = " and ".join(key for key, value in zip(keys, values) if value is None)
            lines.append(f"NOT MEASURED  {head}no {absent}")
            broken |= gate
            continue
        ratio = values[0] / values[1] if len(values) == 2 else values[0]
        kept = ratio <= promise.get("at_most", ratio) and ratio >= promise.get("at_least", ratio)
        broken |= gate and not kept
        bound = f"at most {promise['at_most']}" if "at_most" in promise else f"at least {promise['at_least']}"
        aim = promise.get("aim")
        if aim is not None:
            reached = ratio <= aim if "at_most" in promise else ratio >= aim
            bound += f", aimed at {aim}{'' if reached else ': not reached'}"
        by_minima = ""
        if all(key.endswith(".p50") for key in keys) and len(keys) == 2:
            low = [figures.value(key.removesuffix("p50") + "min") for key in keys]
            by_minima = f" ({low[0] / low[1]:.2f} by the minima)"
        lines.append(f"{'kept' if kept else 'BROKEN':<12}  {head}{ratio:.2f}{by_minima}, {bound}; "
                     + " over ".join(with_minimum(figures, key) for key in keys))
    return lines, broken
