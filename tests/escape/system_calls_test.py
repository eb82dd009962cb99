"""Every system call number, made for real: in a cold jail, in a warm one, and outside of any. tests/system_calls.txt
has the answers; what a jail lets through has to end as it does outside, which tells it from what a filter refuses."""
import base64
import errno
import os
import pathlib
import platform
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import host_view  # noqa: E402
import live_server  # noqa: E402
import ordinary_user  # noqa: E402
import time_scale  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parents[1] / "system_calls.txt"
CALL_EACH = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""), "tests/escape/call_each")
ONES = (1 << 64) - 1
LAST_NUMBER = 1023
# Calls that must not be made outside of a jail: one waits for all of the machine's disks, the other slows down all
# processes of this user.
NOT_OUTSIDE = {"sync", "setpriority"}
# These are made with the guest's id inside, and with the caller's own id outside.
WITH_ONES_OWN_ID, GUEST_ID = {"setresuid", "setresgid"}, 1000
# Kernels from 6.14 on (uprobe: 6.18) ask no filter about these two, which their own trampolines make: from anywhere
# else they end like this and do nothing.
UNFILTERED = {"uretprobe": "died SIGILL", "uprobe": "failed ENXIO"}
RUN_IT = """
import os
os.chmod("call_each", 0o755)
os.execv("./call_each", ["call_each"])
"""


class Row:
    def __init__(self, line):
        self.line = line.split("#")[0].strip()
        numbers, arguments, self.answer, self.name = self.line.split()
        first, _, last = numbers.partition("-")
        self.numbers = range(int(first, 0), int(last or first, 0) + 1)
        given = [int(word, 0) & ONES for word in arguments.split(",")] if arguments not in ("*", "-1") else [ONES] * 6
        self.arguments = given + [0] * (6 - len(given))

    def orders(self):
        return [("64", number, *self.arguments) for number in self.numbers]


def spoken(outcome):
    """failed 38 -> failed ENOSYS"""
    word, _, number = outcome.partition(" ")
    if word == "failed":
        # Two names of one number.
        return "failed EOPNOTSUPP" if int(number) == errno.EOPNOTSUPP else f"failed {errno.errorcode.get(int(number), number)}"
    return f"died {signal.Signals(int(number)).name}" if word == "died" else outcome


ROWS = [Row(line) for line in TABLE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
ORDERS = [order for row in ROWS for order in row.orders()]
# The 32-bit entry: its numbers mean other calls.
OLD_ENTRY = [("80", number, *[ONES] * 6) for number in range(512)]


@unittest.skipUnless(platform.machine() == "x86_64", "the numbers of another architecture")
class SystemCalls(live_server.ServerTest):
    environment = {"JOBS_PATH": ":memory:"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = CALL_EACH.read_bytes()
        cls.outside = cls.made_outside(ORDERS) if cls.server else {}

    @classmethod
    def made_outside(cls, orders):
        """Makes the calls as an ordinary user, as which jails run too."""
        names = {number: row.name for row in ROWS for number in row.numbers}
        orders = [order for order in orders if names[order[1]] not in NOT_OUTSIDE]
        own_id = ordinary_user.NOT_ROOT.get("user", os.getuid())
        made = [[own_id if names[order[1]] in WITH_ONES_OWN_ID and word == GUEST_ID else word for word in order] for order in orders]
        path = pathlib.Path(cls.server.directory, "call_each")
        path.write_bytes(cls.program)
        path.chmod(0o755)
        done = subprocess.run([path], input=cls.lines(made), capture_output=True, text=True, timeout=time_scale.scaled(120), check=True,
                              start_new_session=True, cwd="/", **ordinary_user.NOT_ROOT)
        return dict(zip(orders, map(spoken, done.stdout.splitlines()), strict=True))

    @staticmethod
    def lines(orders):
        return "".join(" ".join(map(str, order)) + "\n" for order in orders)

    def made_in_jail(self, template, orders):
        files = {"call_each": {"base64": base64.b64encode(self.program).decode()}}
        result = self.execute(RUN_IT, template=template, stdin=self.lines(orders), files=files, timeout_seconds=60)
        self.assertEqual(("success", template != "none"), (result["status"], result["warm"]), result["stderr"])
        return dict(zip(orders, map(spoken, result["stdout"].splitlines()), strict=True))

    def wrong(self, row, order, inside):
        """Returns why this is not the row's answer, or None."""
        outside = self.outside.get(order, inside)
        if row.answer == "killed":
            right = inside == "died SIGSYS"
        elif row.answer == "kernel":
            right = inside == outside and inside != "died SIGSYS"
        else:
            right = inside in (f"failed {row.answer}", UNFILTERED.get(row.name))
        return None if right else f"{row.line} [{order[1]}]: {inside} inside, {outside} outside"

    def compare(self, made):
        wrong = [self.wrong(row, order, made[order]) for row in ROWS for order in row.orders()]
        self.assertEqual("", "\n".join(why for why in wrong if why))

    def look(self, template):
        made = self.made_in_jail(template, ORDERS)
        self.compare(made)
        self.filter_is_what_refuses(made)

    def filter_is_what_refuses(self, made):
        """This kernel knows most of the refused calls, and answers differently outside."""
        refused = {row.name for row in ROWS if row.answer not in ("kernel", "killed") and row.name != "-"}
        by_filter = {row.name for row in ROWS for order in row.orders()
                     if row.name in refused and made[order] != self.outside.get(order, made[order])}
        self.assertGreaterEqual(len(by_filter), 120, sorted(refused - by_filter))

    def test_every_number_in_a_cold_jail(self):
        self.look("none")

    def test_every_number_in_a_warm_jail(self):
        self.wait_until_warm()
        self.look("python")

    def test_the_32_bit_entry_kills_whatever_the_number(self):
        if obstacle := host_view.no_32_bit_entry():
            self.skipTest(obstacle)
        self.wait_until_warm()
        for template in ("none", "python"):
            made = self.made_in_jail(template, OLD_ENTRY)
            self.assertEqual({"died SIGSYS"}, set(made.values()), template)

    def test_control_all_numbers_are_asked(self):
        numbers = {order[1] for order in ORDERS}
        self.assertEqual(set(), set(range(LAST_NUMBER + 1)) - numbers)
        self.assertEqual(set(), {0x40000000 | number for number in range(LAST_NUMBER + 1)} - numbers)
        self.assertGreaterEqual(len({row.name for row in ROWS}), 370)

    def test_control_what_is_let_through_is_seen_to_arrive(self):
        """At least one answer of each call that a jail has cannot come from a filter."""
        made_up = {f"failed {row.answer}" for row in ROWS}
        arrived = {row.name for row in ROWS for order in row.orders()
                   if row.answer == "kernel" and self.outside.get(order) not in made_up}
        had = {row.name for row in ROWS if row.answer == "kernel"}
        self.assertGreaterEqual(len(arrived), 0.5 * len(had), sorted(had - arrived))

    def test_control_a_wrong_line_is_found(self):
        made = {order: "failed ENOSYS" for order in ORDERS}
        with self.assertRaises(AssertionError):
            self.compare(made)
        order = next(row for row in ROWS if row.name == "ptrace").orders()[0]
        self.assertIsNotNone(self.wrong(next(row for row in ROWS if row.name == "ptrace"), order, self.outside[order]))
