"""A cgroup of a suite's own, below the one that JAIL_TEST_CGROUP names."""
import os
import pathlib
import unittest

PARENT = os.environ.get("JAIL_TEST_CGROUP")
needed = unittest.skipIf(PARENT is None, "JAIL_TEST_CGROUP names no cgroup v2 directory")


def arguments(name):
    """Makes it, and returns the arguments by which a server puts its jails below it."""
    place = pathlib.Path(PARENT, f"{name}-{os.getpid()}")
    place.mkdir()
    return "--cgroup", str(place), "--require-cgroup"
