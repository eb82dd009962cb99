"""Deadlines of tests on hosts of any speed: how many times as long they are as on a fast host.

JAIL_TEST_TIME_SCALE says it; without it they are as long as they stand in the tests. `rings.py` sets it to what the build's own
agent-sandbox measures. Only a bound on a wait for something that should happen grows by it: never what a test asserts, nor a
deadline that is to be missed, nor a pause.
"""
import json
import math
import os
import pathlib
import subprocess

VARIABLE = "JAIL_TEST_TIME_SCALE"
SCALE = max(1.0, float(os.environ.get(VARIABLE, "1")))
# A measured value is capped at this; an emulated processor is slower, and must be declared by the environment.
MOST_MEASURED = 10
# A program that is to be ended from outside sleeps for 50 s, and must not be seen to end by itself.
MOST_PATIENCE = 40
# The longest that a request may ask for.
MOST_TIMEOUT = 60


def scaled(seconds):
    """Scales the time of something that ends by itself: a command, an answer."""
    return seconds * SCALE


def patience(seconds):
    """Scales the wait for a condition that might also become true for another reason if the wait is too long."""
    return scaled(seconds) if SCALE > MOST_MEASURED else min(scaled(seconds), max(seconds, MOST_PATIENCE))


def timeout(seconds):
    """Scales the deadline of a program in a jail that is expected to end."""
    return min(scaled(seconds), MOST_TIMEOUT)


def measured(build):
    """The scale for the host where this runs, a whole number, and the line that tells why. It is measured by the program
    in `build`, or in the release build beside it."""
    # A build of parts, as the one under sanitizers is, has no program of its own.
    builds = (pathlib.Path(build), pathlib.Path(build).parent / "release")
    programs = [each / "server" / "cli" / "agent-sandbox" for each in builds]
    program = next((each for each in programs if each.exists()), None)
    if program is None:
        return 1, f"not measured, since there is no {programs[0]}"
    finished = subprocess.run([program, "doctor", "--speed", "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=60)
    if finished.returncode:
        raise RuntimeError(f"the speed of this host cannot be measured: {finished.stderr.strip()}")
    speed = json.loads(finished.stdout)
    return min(max(1, math.ceil(speed["slowness"])), MOST_MEASURED), f"host: {speed['description']}"


def for_ring(build, given):
    """The variable for the tests of a ring: the caller's value, else the environment's, else the measured one."""
    if given is not None:
        return {VARIABLE: f"{given:g}"}
    if VARIABLE in os.environ:
        return {}
    scale, why = measured(build)
    print(f"deadlines {scale} times as long; {why}", flush=True)
    return {VARIABLE: str(scale)}
