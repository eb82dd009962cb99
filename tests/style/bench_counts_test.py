"""The counts that `./dev bench` takes from a trace of system calls."""
import sys
import unittest

import tree

sys.path.insert(0, str(tree.PROJECT / "bench"))
import counts  # noqa: E402

TRACE = """\
100 execve("/bin/bench", ["bench"], 0x1) = 0
100 clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD}, 88 <unfinished ...>
101 execve("/proc/self/fd/5", ["launcher"], 0x2) = 0
100 <... clone3 resumed>)             = 101
101 clone3({flags=CLONE_NEWUSER|CLONE_NEWPID}, 88) = 102
102 fsmount(5, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID) = 6
102 move_mount(6, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) = 0
102 clone(child_stack=NULL, flags=SIGCHLD) = -1 EAGAIN (Resource temporarily unavailable)
102 clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 3
102 exit_group(0)                     = ?
"""


class BenchCounts(unittest.TestCase):
    def test_tally(self):
        # The clone3 of a thread and the clone that fails make no process; fsmount and move_mount count one each.
        self.assertEqual({"owner": 2, "jail": 7, "processes": 2, "mounts": 2}, counts.tally(TRACE))


if __name__ == "__main__":
    unittest.main()
