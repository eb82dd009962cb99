"""One run: what is set up, what is measured in turns, and what comes afterwards."""
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "api"), str(HERE.parent / "tests")]
import counts  # noqa: E402
import figures as figures_module  # noqa: E402
import host_view  # noqa: E402
import live_server  # noqa: E402
import memory  # noqa: E402
import peers  # noqa: E402
import sandboxes as sandboxes_module  # noqa: E402
from worker import Failed, Worker  # noqa: E402

CODE, EXPECTED = "print(6*7)", "42"
PANDAS, PANDAS_EXPECTED = "import pandas as pd; print(pd.Series([1, 2, 3]).sum())", "6"
SHIPPED = json.loads((HERE.parent / "rootfs" / "templates" / "data.json").read_text(encoding="utf-8"))
DATA_IMPORTS = ",".join(SHIPPED["imports"])
DATA = ("--template", "data", "--imports", DATA_IMPORTS, "--warm-up", SHIPPED["warm_up"], "--after-fork", SHIPPED["after_fork"],
        "--rehearsal", SHIPPED["rehearsal"])
LANGUAGES = {"javascript": "console.log(6*7)", "typescript": "const n: number = 6 * 7; console.log(n)", "bash": "echo $((6*7))"}
OPENED = ("launchers", "floor", "in_process", "ends", "http", "languages", "sandboxes")  # before the rounds
PARTS = ("counts", *OPENED, "memory")
HELD_MB = (0, 20, 200)  # memory of a program at its end
CLIENTS = 8
PAUSE_MS = 3  # the pause before a request, once everything that it needs is there
IN_STOCK = 500  # requests that use up the jails which a pool has in stock: these would flatter a rate
# Over HTTP nobody sees when the pool is full again, so this is longer than making a jail takes.
REFILL_MS, DATA_REFILL_MS, NODE_REFILL_MS = 10, 50, 200
USER = 60800  # the user of a server that root starts: no jail runs as root


@dataclasses.dataclass(frozen=True)
class Plan:
    rounds: int            # of all measurements in turns
    launches: int          # of each launcher in a round
    pandas_rounds: int     # rounds in which the launchers import pandas too
    requests: int          # warm requests of one client in a round, each to a full pool
    cold: int              # cold requests in a round
    ends: int              # ends of programs with each size of memory, in a round
    floods: int            # how often each rate is measured
    flood_seconds: float
    pandas_seconds: float  # the same for launchers that import pandas
    pandas_floods: tuple   # the launchers for these
    long_run: int          # warm requests of 8 clients, to see whether the rate sags
    fresh_floods: int      # floods of a fresh server, in turn with the one that had the long run
    loads: tuple           # shares of the sustained rate, for open loops
    load_seconds: float
    jails: int             # number of waiting jails whose memory is measured
    state_mb: int          # Python objects in a template; 0: not measured
    refills: int
    sandboxes: int         # number of living sandboxes
    lives: int             # lives of sandboxes in a round


QUICK = Plan(rounds=5, launches=2, pandas_rounds=2, requests=30, cold=3, ends=5,
             floods=1, flood_seconds=1.5, pandas_seconds=5, pandas_floods=("python3",),
             long_run=5_000, fresh_floods=4, loads=(0.5,), load_seconds=3, jails=100, state_mb=0, refills=20, sandboxes=100,
             lives=5)
FULL = Plan(rounds=30, launches=2, pandas_rounds=6, requests=50, cold=4, ends=5,
            floods=3, flood_seconds=3, pandas_seconds=8, pandas_floods=("python3", "bubblewrap"),
            long_run=100_000, fresh_floods=6, loads=(0.25, 0.5, 0.75, 0.9, 1.1), load_seconds=8, jails=1_000, state_mb=1_024, refills=50,
            sandboxes=1_000, lives=5)


def say(words):
    print(f"bench: {words}", file=sys.stderr)


class Run:
    """The resources of a run that are open, and the figures so far."""

    def __init__(self, build, plan, directory, parts):
        self.build, self.plan, self.directory, self.parts = build, plan, directory, parts
        self.figures = figures_module.Figures()
        self.open = contextlib.ExitStack()
        self.steps = []       # (period in rounds, action) for the measurements in turns
        self.floods = []      # the same for rates
        self.server = None
        self.sandboxes = self.sandbox_server = None
        self.bodies = 0  # written for load workers
        self.http = {}        # name -> Worker
        self.warm = None      # in process

    def program(self, name):
        return str(self.build / "bench" / name)

    def binary(self):
        return str(self.build / "server" / "cli" / "agent-sandbox")

    def has(self, part):
        return not self.parts or part in self.parts

    def attempt(self, name, action):
        """A measurement that is impossible here is named with its reason, and the rest goes on."""
        try:
            return action()
        except (Failed, live_server.DidNotStart, OSError, http.client.HTTPException) as error:
            self.figures.missing[name] = str(error)
            return None

    def each_round(self, name, action, every=1):
        def step():
            if name not in self.figures.missing:
                self.attempt(name, action)
        self.steps.append((every, step))

    def each_flood(self, name, action):
        def flood():
            if name not in self.figures.missing:
                before = memory.busy_seconds()
                answer = self.attempt(name, action)
                if answer is not None:
                    self.figures.add_rate(name, answer["per_second"])
                    spent = 1e3 * (memory.busy_seconds() - before) / len(answer["total"])
                    self.figures.numbers[f"{name}: ms of processor time a run"] = spent
        self.floods.append(flood)

    # --- counts

    def count(self):
        for name, options, code, expected in (("cold", ("--cold",), CODE, EXPECTED), ("warm", (), CODE, EXPECTED),
                                              ("warm, pandas", DATA, PANDAS, PANDAS_EXPECTED)):
            command = [self.program("bench_in_process"), "--code", code, "--expect", expected + "\n", "--root", "host",
                       "--uid", str(USER), "--ready", "1", *options]
            counts.measure(self.figures, name, command, USER)

    # --- the launchers

    def add_launchers(self):
        own = {"exec, cold": [self.binary(), "exec", "-c", CODE]}
        own_pandas = {"exec, cold": [self.binary(), "exec", "-c", PANDAS]}
        bare = self.open.enter_context(
            peers.Launchers(self.program("bench_spawn"), self.directory / "bare", CODE, EXPECTED, own))
        pandas = self.open.enter_context(peers.Launchers(
            self.program("bench_spawn"), self.directory / "pandas", PANDAS, PANDAS_EXPECTED, own_pandas, bare=False))
        self.figures.missing |= bare.missing
        self.figures.missing |= {f"{name}, pandas": why for name, why in pandas.missing.items() if name not in bare.missing}
        self.figures.peers = [name for name in bare.names if name not in ("python3", *own)]
        every = max(1, self.plan.rounds // self.plan.pandas_rounds)
        for name in bare.names:
            self._add_launcher(bare, name, name, self.plan.launches, 1, self.plan.flood_seconds)
        for name in pandas.names:
            seconds = self.plan.pandas_seconds if name in self.plan.pandas_floods else 0
            self._add_launcher(pandas, name, f"{name}, pandas", 1, every, seconds)
        judge = self.open.enter_context(peers.GoJudge(self.program("bench_http_load"), self.directory, CODE, EXPECTED))
        if judge.missing:
            self.figures.missing["go-judge"] = judge.missing
        else:
            self.figures.peers.append("go-judge")
            self._add_http("go-judge", judge.load, self.plan.launches, REFILL_MS)

    def _add_launcher(self, launchers, name, series, count, every, flood_seconds):
        def launch():
            for _ in range(count):
                self.figures.add(series, launchers.once(name)["total"])
        self.each_round(series, launch, every)
        if flood_seconds:
            self.each_flood(f"{series}, {CLIENTS} clients", lambda: launchers.flood(name, CLIENTS, flood_seconds))

    # --- the floor

    def add_floor(self):
        for name, code, expected, imports in (("floor", CODE, EXPECTED, ""),
                                              ("floor, pandas", PANDAS, PANDAS_EXPECTED, DATA_IMPORTS)):
            worker = self.open.enter_context(Worker(
                peers.PYTHON, str(HERE / "floor" / "floor.py"), "--imports", imports, "--code", code, "--expect", expected + "\n"))
            self._add_floor(name, worker)

    def _add_floor(self, name, worker):
        def run():
            answer = worker.ask("run", self.plan.requests, PAUSE_MS)
            self.figures.add(name, answer["total"])
            self.figures.add(f"{name}, to its output", answer["output"])
        if self.attempt(name, lambda: worker.ask("run", 10, PAUSE_MS)):
            self.each_round(name, run)
            cost = self.attempt(name, lambda: worker.ask("cost", 100))["total"]
            self.figures.numbers[f"microseconds of a request that {name}'s own parent adds, at most"] = sorted(cost)[50]

    # --- libjail without a server

    def in_process(self, *options, code=CODE, expected=EXPECTED):
        return self.open.enter_context(Worker(
            self.program("bench_in_process"), "--code", code, "--expect", expected + "\n", "--root", "host", "--uid", str(USER), *options))

    def add_in_process(self):
        cold = self.in_process("--cold")
        self._add_in_process("in process, cold", cold, self.plan.cold)
        self.warm = self._open_warm("in process, warm")
        data = self._open_warm("in process, warm, pandas", *DATA, code=PANDAS, expected=PANDAS_EXPECTED)
        for name, worker in (("in process, warm", self.warm), ("in process, warm, pandas", data)):
            if worker:
                self._add_in_process(name, worker, self.plan.requests)

    def _open_warm(self, name, *options, **program):
        def opened():
            worker = self.in_process(*options, **program)
            worker.ask("run", 10, PAUSE_MS)
            return worker
        return self.attempt(name, opened)

    def _add_in_process(self, name, worker, count):
        def run():
            answer = worker.ask("run", count, PAUSE_MS)
            self.figures.add(name, answer["total"])
            self.figures.add_phases(name, answer)
        self.each_round(name, run)
        self.each_flood(f"{name}, 4 at once", lambda: worker.ask("flood", self._enough(name), 4))

    def _enough(self, name):
        """The number of requests that take about as long as the measurement of a rate, from the time of one."""
        return max(80, int(min(400, 1e6 / self.figures.value(f"{name}.p50")) * self.plan.flood_seconds))

    def half_load_in_process(self):
        rate = self.figures.value("in process, warm, 4 at once.rate")
        if self.warm and rate:
            answer = self.warm.ask("open", rate / 2, self.plan.load_seconds)
            self.figures.add("in process, warm, half load", answer["total"])

    # --- the end of a program

    def add_ends(self):
        """The time from a program's output to its owner's knowing that it exited, compared with a fork that is
        reaped."""
        for held in HELD_MB:
            code = f"import os; held = b'x' * ({held} << 20); os.write(1, b'{EXPECTED}\\n')"
            name = f"the end of a program with {held} MB"
            jail = self._open_warm(name, "--memory-mb", "512", code=f"{code}; os._exit(0)")
            if jail:
                self._add_end(name, jail, "report")
            # Its child exits as soon as the code is done.
            floor = self.open.enter_context(Worker(
                peers.PYTHON, str(HERE / "floor" / "floor.py"), "--code", code, "--expect", EXPECTED + "\n"))
            self._add_end(f"floor, {name}", floor, "reaped")

    def _add_end(self, name, worker, phase):
        self.each_round(name, lambda: self.figures.add(name, worker.ask("run", self.plan.ends, PAUSE_MS)[phase]))

    # --- over HTTP

    def add_http(self):
        self.server = self._serve("tcp")
        warm = self._wait_for_warm({"code": CODE, "template": "python"})
        cold = {"template": "none"} if warm is None else {}
        self._open_http("http, cold", {"code": CODE, **cold}, EXPECTED, self.plan.cold)
        if warm:
            self.figures.missing["http, warm"] = warm
            return
        self._open_http("http, warm", {"code": CODE}, EXPECTED, self.plan.requests)
        unix = self._serve("unix", API_HOST=f"unix:{self.directory}/unix/api.sock")
        self._wait_for_warm({"code": CODE, "template": "python"}, unix)
        self._open_http("http over a unix socket, warm", {"code": CODE}, EXPECTED, self.plan.requests, unix)
        no_data = self._wait_for_warm({"code": PANDAS, "template": "data"})
        if no_data:
            self.figures.missing["http, warm, pandas"] = no_data
        else:
            self._open_http("http, warm, pandas", {"code": PANDAS, "template": "data"}, PANDAS_EXPECTED, self.plan.requests,
                            pause_ms=DATA_REFILL_MS)

    def add_languages(self):
        server = self._serve("languages")
        for language, code in LANGUAGES.items():
            body = {"code": code, "language": language}
            missing = self._wait_for_warm({**body, "template": language}, server)
            if missing:
                self.figures.missing[f"http, warm, {language}"] = missing
                continue
            for kind, template in (("warm", language), ("cold", "none")):
                self._add_language(f"http, {kind}, {language}", self._load_worker(server, {**body, "template": template}, EXPECTED))

    def _add_language(self, name, worker):
        def run():
            answer = worker.ask("closed", 1, self.plan.cold, NODE_REFILL_MS)
            self.figures.add(name, answer["total"])
            self._count_warm(name, answer)
        self.each_round(name, run)

    def _serve(self, name, **environment):
        """A server with a directory of its own, which belongs to the user that it becomes."""
        place = self.directory / name
        place.mkdir(mode=0o700)
        user = ()
        if os.geteuid() == 0:
            os.chown(place, USER, USER)
            user = ("--user", str(USER))
        server = live_server.LiveServer(*user, binary=self.binary(),
                                        environment={"JOBS_PATH": str(place / "jobs.sqlite"), **environment})
        self.open.callback(server.stop)
        return server

    def _wait_for_warm(self, body, server=None):
        """The reason why there are no warm answers, or None."""
        until = time.monotonic() + 20
        with (server or self.server).client() as client:
            while True:
                answer = client.post(body)
                if answer.status != 200:
                    return f"{body.get('template')}: {answer.json.get('detail', answer.status)}"
                if answer.json["warm"]:
                    return None
                if time.monotonic() > until:
                    return f"template {body.get('template')} gave no warm answer within 20 s"
                time.sleep(0.1)

    def _open_http(self, name, body, expected, count, server=None, pause_ms=REFILL_MS):
        worker = self._load_worker(server or self.server, body, expected)
        self.http[name] = worker
        self._add_http(name, worker, count, pause_ms)

    def _load_worker(self, server, body, expected):
        self.bodies += 1
        path = self.directory / f"{self.bodies}.json"
        path.write_text(json.dumps(body), encoding="utf-8")
        return self.open.enter_context(Worker(self.program("bench_http_load"), server.path or str(server.port), "/execute",
                                              str(path), f'"stdout":{json.dumps(expected + chr(10))}'))

    def _add_http(self, name, worker, count, pause_ms):
        def run():
            answer = worker.ask("closed", 1, count, pause_ms)
            self.figures.add(name, answer["total"])
            if answer["queued"]:
                spent = [sum(parts) for parts in zip(answer["queued"], answer["started"], answer["ran"])]
                answer["everything else"] = [total - known for total, known in zip(answer["total"], spent)]
                self.figures.add_phases(name, answer)
            self._count_warm(name, answer)
        self.each_round(name, run)

        def flood():
            answer = worker.ask("closed", CLIENTS, self._enough(name))
            self.figures.add(f"{name}, {CLIENTS} clients", answer["total"])
            return answer
        self.each_flood(f"{name}, {CLIENTS} clients", flood)

    def _count_warm(self, name, answer):
        if "warm" in name:
            lowest = self.figures.numbers.get(f"{name}: lowest share of warm answers in a round", 1)
            self.figures.numbers[f"{name}: lowest share of warm answers in a round"] = min(
                lowest, answer["warm"] / len(answer["total"]))

    def open_loops(self):
        worker, rate = self.http.get("http, warm"), self.figures.value(f"http, warm, {CLIENTS} clients.rate")
        for share in self.plan.loads if worker and rate else ():
            answer = worker.ask("open", rate * share, self.plan.load_seconds, 64)
            name = f"http, warm, open loop at {share:.0%} load ({rate * share:.0f}/s)"
            self.figures.add(name, answer["total"])
            if answer["refused"]:
                self.figures.numbers[f"{name}: refused"] = answer["refused"]

    def long_run(self):
        worker = self.http.get("http, warm")
        if not worker:
            return
        before = self._server_size()
        worker.ask("closed", CLIENTS, IN_STOCK)
        self.figures.add_rate("long run", worker.ask("closed", CLIENTS, self.plan.long_run)["per_second"])
        time.sleep(2)
        after = self._server_size()
        self._compare_with_a_fresh_server(worker)
        for word, one, two in zip(("resident MB", "descriptors", "processes"), before, after):
            self.figures.numbers[f"server, {word} before the long run"] = one
            self.figures.numbers[f"server, {word} after {self.plan.long_run} requests"] = two

    def _compare_with_a_fresh_server(self, aged):
        """The servers take turns, so that other load on the machine affects both."""
        fresh_server = self._serve("fresh")
        self._wait_for_warm({"code": CODE, "template": "python"}, fresh_server)
        fresh = self._load_worker(fresh_server, {"code": CODE}, EXPECTED)
        fresh.ask("closed", CLIENTS, IN_STOCK)
        for _ in range(self.plan.fresh_floods):
            for name, worker in (("a fresh server", fresh), ("after the long run", aged)):
                answer = worker.ask("closed", CLIENTS, self._enough("http, warm"))
                self.figures.add_rate(f"{name}, {CLIENTS} clients", answer["per_second"])

    def _server_size(self):
        pid = self.server.pid
        return memory.resident_mb(pid), memory.descriptors(pid), len(memory.descendants(pid))

    # --- sandboxes that live

    def add_sandboxes(self):
        server = self._serve("sandboxes", SANDBOX_MAX_LIVING=str(self.plan.sandboxes + 1), JOBS_PATH=":memory:")
        self.sandboxes = sandboxes_module.Sandboxes(server)
        self.sandbox_server = server

        def live():
            for _ in range(self.plan.lives):
                sandboxes_module.one_life(self.sandboxes, self.figures)
                if host_view.landlock_version() >= 6:  # else no template can fork into a sandbox
                    for template, code in (("python", CODE), ("data", PANDAS)):
                        sandboxes_module.first_code(self.sandboxes, self.figures, template, code)
        live()
        self.each_round("a sandbox, created", live)

    def many_sandboxes(self):
        sandboxes_module.many(self.sandboxes, self.sandbox_server.pid, self.plan.sandboxes, self.figures)

    # --- memory, and templates that hold much

    def measure_memory(self):
        for name, options, program in (("bare", (), {}), ("data", DATA, {"code": PANDAS, "expected": PANDAS_EXPECTED})):
            count = self.plan.jails if name == "bare" else max(10, self.plan.jails // 5)
            self.attempt(f"memory of warm jails, {name}", lambda n=name, o=options, p=program, c=count: self._hold(n, o, p, c))

    def _hold(self, name, options, program, count):
        empty = self._filled(options, program, 1)
        alone = host_view.available_mb()
        empty.close()
        time.sleep(1)
        worker = self._filled(options, program, count)
        taken = (alone - host_view.available_mb()) / (count - 1)
        self.figures.numbers[f"MB of a warm jail (of the host), {name}"] = taken
        if taken > 0:  # on a busy machine the difference may have any sign
            self.figures.numbers[f"warm jails in a GiB (of the host), {name}"] = 1024 / taken
        if os.geteuid() == 0:
            sizes = memory.unshared_kb(worker.pid)
            if sizes:
                self.figures.numbers[f"MB of a warm jail (USS), {name}"] = sizes[len(sizes) // 2] / 1024
        else:
            self.figures.missing[f"USS of warm jails, {name}"] = "only root may look into every process of a jail"
        answered = worker.ask("all", count)["answered"]
        seconds = worker.ask("fill")["total"][0] / 1e6
        self.figures.numbers[f"of {count} warm jails at once answered, {name}"] = answered
        self.figures.add_rate(f"{count} jails made anew, {name}", count / seconds)
        worker.close()

    def _filled(self, options, program, count):
        worker = self.in_process("--ready", str(count), *options, **program)
        worker.ask("fill")
        time.sleep(1)
        return worker

    def measure_refills(self):
        for state in (0, self.plan.state_mb) if self.plan.state_mb else ():
            name = f"a jail made, {f'{state} MB of objects' if state else 'bare'}"
            self.attempt(name, lambda n=name, s=state: self._refill(n, s))

    def _refill(self, name, state):
        worker = self.in_process("--ready", "1", "--state-mb", str(state), "--memory-mb", "2048")
        worker.ask("fill")
        self.figures.add(name, worker.ask("run", self.plan.refills, 20)["init_set_up"])
        worker.close()

    # --- all of it

    def measure(self):
        with self.open:
            if self.has("counts"):
                say("counting")
                self.count()
            for part in OPENED:
                if self.has(part):
                    say(f"opening {part}")
                    self.attempt(part, getattr(self, f"add_{part}"))
            say(f"{self.plan.rounds} rounds of everything")
            for number in range(self.plan.rounds):
                for every, step in self.steps:
                    if number % every == 0:
                        step()
            say("rates")
            for _ in range(self.plan.floods):
                for flood in self.floods:
                    flood()
            if self.has("in_process"):
                self.attempt("in process, warm, half load", self.half_load_in_process)
            if self.has("http"):
                say("load")
                self.attempt("http, warm, open loops", self.open_loops)
                self.attempt("long run", self.long_run)
            if self.has("sandboxes"):
                say("many sandboxes")
                self.attempt("many sandboxes", self.many_sandboxes)
            if self.has("memory"):
                say("memory")
                self.measure_memory()
                self.measure_refills()
        return self.figures
