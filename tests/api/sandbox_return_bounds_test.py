"""What a restart does not bring back: whose settings count for what a server left, and what the host or the operator has no
room for any more."""
import os

import live_server
from return_place import ReturnTest

LONG = {"SANDBOX_MAX_LIFETIME_SECONDS": "3000", "SANDBOX_MAX_PAUSED_SECONDS": "3000"}
SHORT = {"SANDBOX_MAX_LIFETIME_SECONDS": "100", "SANDBOX_MAX_PAUSED_SECONDS": "100"}


class BoundsTest(ReturnTest):
    def waits(self, sandbox, *words):
        """It was not brought back, for a reason that has these words, and its files are kept."""
        now = self.again(sandbox).now()
        self.assertEqual(("ended", "not_restarted"), (now["state"], now["outcome"]["code"]), now)
        for word in words:
            self.assertIn(word, now["outcome"]["cause"])

    def is_back(self, sandbox, name="file"):
        self.assertEqual("kept\n", self.again(sandbox).run(f"cat {name}")["stdout"])

    def make_with_a_file(self, **fields):
        made = self.make(**fields)
        self.assertEqual("", made.run("echo kept > file")["stderr"])
        return made


class OtherServers(BoundsTest):
    def pass_time(self, seconds):
        """As if what the server left had been there for so long."""
        kept, = (self.place / "disks").glob("kept-*")
        for path in (kept, kept / "kept-until"):
            date = path.stat().st_mtime - seconds
            os.utime(path, (date, date))

    def let_another_one_remove(self, **environment):
        other = live_server.LiveServer(environment={**self.environment, **environment, "JOBS_PATH": str(self.place / "other.sqlite")})
        self.addCleanup(other.stop)
        self.assertEqual(0, other.stop())

    def test_the_settings_of_the_server_that_left_them_count(self):
        self.start(**LONG)
        made = self.make_with_a_file()
        self.end("kill")
        self.pass_time(1000)
        self.let_another_one_remove(**SHORT)
        self.start(**LONG)
        self.is_back(made)
        self.end("stop")
        self.start(**SHORT)
        self.end("stop")
        self.pass_time(1000)
        self.let_another_one_remove(**LONG)
        self.assertEqual([], self.disks())


if __name__ == "__main__":
    live_server.main()
