"""The resources of its host that a server holds at one moment, to detect later what it has leaked."""
import os
import time

import host_view
import time_scale


def _descriptors(launcher):
    try:
        return host_view.open_descriptors(launcher)
    except PermissionError:
        return None  # not dumpable, and this user is not root: the run as root looks


class Snapshot:
    def __init__(self, server):
        # Other waiting jails have taken the place of those that were used.
        self.processes = sorted(server.processes().values())
        self.launcher = server.launcher()
        self.mounts = host_view.mounts()
        self.cgroups = host_view.cgroups_of(server.pid)
        self.server_descriptors = host_view.open_descriptors(server.pid)
        self.launcher_descriptors = _descriptors(server.launcher())
        self.files = sorted(os.listdir(server.temporary) + os.listdir(server.directory))
        self.shared_memory = {name for name in os.listdir("/dev/shm") if "sandbox" in name or "jail" in name}


def settled(server, before):
    """The first snapshot without anything new, or the last one taken: requests of clients that left may
    still start while one looks, but what leaks stays."""
    deadline = time.monotonic() + time_scale.patience(10)
    while True:
        after = Snapshot(server)
        nothing_new = (after.processes == before.processes
                       and after.server_descriptors <= before.server_descriptors
                       and after.launcher_descriptors == before.launcher_descriptors)
        if nothing_new or time.monotonic() > deadline:
            return after
        time.sleep(0.05)


def assert_nothing_left(test, before, after):
    """`test` fails if something is left."""
    test.assertEqual(before.processes, after.processes)
    test.assertEqual(before.mounts, after.mounts)
    test.assertEqual(set(), after.cgroups - before.cgroups)
    test.assertLessEqual(after.server_descriptors, before.server_descriptors)
    test.assertEqual(before.launcher_descriptors, after.launcher_descriptors)
    test.assertEqual(before.files, after.files)
    test.assertEqual(before.shared_memory, after.shared_memory)
