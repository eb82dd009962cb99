"""What a jail costs in page faults, context switches, system calls, processes and mounts, in which hosts differ by a few in a hundred;
and in processor time, which depends on the host."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from worker import Failed, Worker

FEW, MANY = 5, 25  # requests of two runs: their difference does not contain a run's beginning and end
COUNTED = 100
LONGEST = 300  # seconds
NEW_PROCESS = ("clone", "clone3", "fork", "vfork")
MOUNTS = ("mount", "move_mount", "fsmount", "open_tree")
# Output of strace -f: the process number, then the call, or the rest of a line that another process interrupted.
CALL = re.compile(r"^\d+ +(\w+)\(")
RESUMED = re.compile(r"^\d+ +<\.\.\. (\w+) resumed>")


def owner_of(trace):
    """The number of the process that strace started: it makes the first call of the trace."""
    return trace.partition(" ")[0]


def tally(trace):
    """Counts in a trace: system calls of the owner, those of all others ("jail"), new processes, and calls that make or
    place mounts."""
    counts, owner = collections.Counter(), owner_of(trace)
    for line in trace.splitlines():
        if begun := CALL.match(line):
            counts["owner" if line.startswith(owner + " ") else "jail"] += 1
            counts["mounts"] += begun.group(1) in MOUNTS
        resumed = RESUMED.match(line)
        name = (begun or resumed).group(1) if begun or resumed else None
        # Threads, which are made with CLONE_THREAD, do not count as processes.
        if name in NEW_PROCESS and re.search(r"= [1-9]\d*$", line) and "CLONE_THREAD" not in line:
            counts["processes"] += 1
    return counts


def traced(command, requests, user):
    """The tally of a run of bench_in_process. Under root it is started as `user`, and so is strace: nothing changes
    its user."""
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="agent-sandbox-trace.") as directory:
        os.chmod(directory, 0o777)
        trace = pathlib.Path(directory, "trace")
        said = subprocess.run([*as_user, "strace", "-f", "-qq", "-e", "signal=none", "-o", trace, *command],
                              input=f"run {requests} 0\nfill\n", capture_output=True, text=True, timeout=LONGEST, check=False)
        if said.returncode != 0 or '"error"' in said.stdout:
            raise Failed((said.stderr or said.stdout).strip()[-300:])
        return tally(trace.read_text(encoding="utf-8", errors="replace"))


def calls(command, user):
    """System calls of the owner and of a jail, processes made and mounts for each request."""
    if not shutil.which("strace"):
        raise Failed("strace is not installed")
    few, many = (traced(command, requests, user) for requests in (FEW, MANY))
    return {name: (many[name] - few[name]) / (MANY - FEW) for name in many}


def faults(command):
    """Page faults, context switches and processor time of each request and of making the next one's jail."""
    worker = Worker(*command, "--counted")
    try:
        worker.ask("run", FEW, 0)
        return worker.ask("count", COUNTED)
    finally:
        worker.close()


WORDS = {"page_faults": "page faults", "context_switches": "context switches", "processor_us": "us of processor time",
         "owner": "system calls of the owner", "jail": "system calls of all others", "processes": "processes made",
         "mounts": "mounts made"}


def measure(figures, name, command, user):
    """Counts that are impossible here are named in figures.missing; the rest is counted."""
    for what, count in (("counts", faults), ("system calls", lambda words: calls(words, user))):
        try:
            for key, value in count(command).items():
                figures.numbers[f"{WORDS[key]} for each jail, {name}"] = value
        except (Failed, OSError, subprocess.TimeoutExpired) as error:
            figures.missing[f"{what}, {name}"] = str(error)
