"""Living sandboxes: the time to create one, and the cost of many that wait or are paused."""
import concurrent.futures
import http.client
import os
import threading
import time

import host_view
import memory

SETTLE_SECONDS = 2
WATCHED_SECONDS = 5
AT_ONCE = 50


class Sandboxes:
    """A client for the sandboxes of one server. Each thread keeps one connection to it."""

    def __init__(self, server):
        self._server, self._threads = server, threading.local()

    def send(self, method, path="", body=None, expected=(200, 201, 202, 204)):
        if not hasattr(self._threads, "client"):
            self._threads.client = self._server.client()
        client, path = self._threads.client, f"/v1/sandboxes{path}"
        answer = client.send(method, path) if body is None else client.post(body, path)
        if answer.status not in expected:
            raise http.client.HTTPException(f"{method} {path}: {answer}")
        return answer

    def create(self, **fields):
        return self.send("POST", body=fields).json["id"]

    def run(self, sandbox, *command, **fields):
        return self.send("POST", f"/{sandbox}/processes", {"command": list(command), **fields})


def microseconds_of(action):
    begin = time.perf_counter()
    answer = action()
    return (time.perf_counter() - begin) * 1e6, answer


def one_life(sandboxes, figures):
    """One sandbox from its creation to its removal."""
    created, sandbox = microseconds_of(sandboxes.create)
    ran, _ = microseconds_of(lambda: sandboxes.run(sandbox, "/bin/true"))
    deleted, _ = microseconds_of(lambda: sandboxes.send("DELETE", f"/{sandbox}"))
    figures.add("a sandbox, created", [created])
    figures.add("a sandbox, created and first command", [created + ran])
    figures.add("a sandbox, created, command, deleted", [created + ran + deleted])


def first_code(sandboxes, figures, template, code):
    """The first program in a new sandbox of a template, by a new interpreter and as a fork of the warm one."""
    for kind, fields in (("a sandbox", {}), ("a warm sandbox", {"warm": True})):
        created, sandbox = microseconds_of(lambda: sandboxes.create(template=template, limits={"memory_mb": 512}, **fields))
        ran, answer = microseconds_of(lambda: sandboxes.send("POST", f"/{sandbox}/processes", {"code": code}))
        if answer.json["exit_code"] != 0 or answer.json["warm"] != bool(fields):
            raise http.client.HTTPException(f"{template} in {kind}: {answer.json}")
        figures.add(f"first code in {kind}, {template}", [ran])
        figures.add(f"{kind} of {template}, created and first code", [created + ran])
        sandboxes.send("DELETE", f"/{sandbox}")


def processor_milliseconds_per_second(pid):
    """The processor time, in milliseconds, that `pid` and all processes below it use in a second."""
    before = memory.processor_seconds(pid)
    time.sleep(WATCHED_SECONDS)
    return 1e3 * (memory.processor_seconds(pid) - before) / WATCHED_SECONDS


class Held:
    """What the server and all processes below it have, beside memory of the host."""

    def __init__(self, pid):
        self.processes, self.descriptors = len(memory.descendants(pid)), memory.descriptors(pid)


def add_of_each(pid, count, before, figures):
    """Adds what each of `count` paused sandboxes has, of which there were none `before`."""
    now, numbers = Held(pid), figures.numbers
    numbers[f"processes of each of {count} paused sandboxes"] = (now.processes - before.processes) / count
    numbers[f"descriptors of the server for each of {count} paused sandboxes"] = (now.descriptors - before.descriptors) / count
    if os.geteuid() == 0:
        sizes = memory.unshared_kb(pid)
        numbers[f"MB of each of {count} paused sandboxes (USS)"] = sizes[len(sizes) // 2] / 1024
    else:
        figures.missing["USS of sandboxes"] = "only root may look into every process of a jail"


def many(sandboxes, pid, count, figures):
    """The cost of `count` sandboxes that exist together: new, then with a process that sleeps in each, then paused, then
    resumed by a command. `pid` is the server's; the memory is what the host has less of."""
    numbers = figures.numbers
    alone, before = host_view.available_mb(), Held(pid)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(pool.map(lambda _: microseconds_of(sandboxes.create), range(count)))
        ids = [sandbox for _, sandbox in made]
        numbers[f"ms to create a sandbox, {AT_ONCE} at once, mean"] = sum(took for took, _ in made) / count / 1e3
        time.sleep(SETTLE_SECONDS)
        numbers[f"MB of each of {count} sandboxes (of the host)"] = (alone - host_view.available_mb()) / count
        list(pool.map(lambda sandbox: sandboxes.run(sandbox, "/bin/sleep", "100000", background=True), ids))
        time.sleep(SETTLE_SECONDS)
        numbers[f"MB of each of {count} sandboxes with a process that sleeps (of the host)"] = (
            (alone - host_view.available_mb()) / count)
        numbers[f"ms of a processor that {count} such sandboxes use in a second"] = processor_milliseconds_per_second(pid)
        list(pool.map(lambda sandbox: sandboxes.send("POST", f"/{sandbox}/pause"), ids))
        time.sleep(SETTLE_SECONDS)
        numbers[f"ms of a processor that {count} paused sandboxes use in a second"] = processor_milliseconds_per_second(pid)
        add_of_each(pid, count, before, figures)
        answers = list(pool.map(lambda sandbox: sandboxes.run(sandbox, "/bin/echo", "42").json["stdout"], ids))
        numbers[f"of {count} paused sandboxes ran a command"] = sum(answer == "42\n" for answer in answers)
        list(pool.map(lambda sandbox: sandboxes.send("DELETE", f"/{sandbox}"), ids))
