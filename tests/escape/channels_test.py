"""Whether one jail tells another one something by state that the kernel keeps for both: for each kind of state (channels/) one program
sends a random string of bits, and another one reads. Of a kind that is closed nothing arrives, in cold jails and in warm ones, and the
same programs are understood outside of jails. What arrives by a kind that policies/THREAT_MODEL.md names is printed, and how fast where
JAIL_TEST_CHANNELS is set: how much of it is lost is the host's matter, so it fails no test."""
import concurrent.futures
import contextlib
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import unittest

import attacks_test
import time_scale

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import live_server  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent / "channels"
THREAT_MODEL = FOLDER.parents[2] / "policies" / "THREAT_MODEL.md"
TEXT = {name: (FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in ("kind", "named", "closed", "search", "ends")}
PROGRAM = "\n".join(TEXT[name] for name in ("kind", "named", "closed", "ends"))
SEARCH = "\n".join(TEXT[name] for name in ("kind", "search", "ends"))
BITS = 24
# Kinds that take longer than a slot usually has.
SLOW = ("ids of processes", "forks of all", "numbers of all processes", "memory of all", "free space")
# Guessing gets so many right once in 50,000 strings.
UNDERSTOOD = 22
# Both know these bits, from which the other end learns the values of a zero and a one.
PREAMBLE = [0, 1] * 4
# The same file as the programs use.
SHARED = min(pathlib.Path("/usr/lib").glob("python3*/pydoc_data/topics.py"), default=None)
NO_FILE = "no file of Python's that both could share"
# Without this variable, tests that only measure or that a busy neighbour can make fail are skipped.
MEASURED = "JAIL_TEST_CHANNELS"
measured = unittest.skipUnless(os.environ.get(MEASURED), f"what decides by time and chance takes a host of its own: set {MEASURED}")


def kinds(name):
    table = re.search(r"^KINDS \|= \{(.*?)\}", TEXT[name], re.MULTILINE | re.DOTALL)[1]
    return re.findall(r'"([^"]+)":', table)


def message(length=BITS):
    """Has as many ones as zeros, so that a reader of constant bits gets half of them."""
    bits = [0, 1] * (length // 2)
    random.shuffle(bits)
    return bits


def right(sent, read):
    return sum(one == other for one, other in zip(sent, read))


def drop_pages():
    """Drops the shared file from the host's memory, where nobody uses it."""
    with open(SHARED, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def tells_what_is_in_memory():
    with open(SHARED, "rb") as file:
        try:
            os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True


class Program:
    """One end, which answers each order."""

    def __init__(self, process):
        self.process = process
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"it ended: {self.process.stderr.read()}")
        return json.loads(line)

    def order(self, **fields):
        self.process.stdin.write(json.dumps(fields) + "\n")
        self.process.stdin.flush()

    def ask(self, **fields):
        self.order(**fields)
        return self.answer()


class TwoPrograms(attacks_test.Ring):
    def setUp(self):
        super().setUp()
        if SHARED is None:
            self.skipTest(NO_FILE)
        # These jails share the host's /usr, even where somebody has built a root.
        self.environment["SANDBOX_ROOTFS"] = "host"
        self.key = random.randrange(1, 1 << 30)
        self.path = pathlib.Path(self.directory, "channel.py")
        self.path.write_text(PROGRAM, encoding="utf-8")

    @contextlib.contextmanager
    def both(self, command):
        """Starts both ends; `command` is what starts one, without its side."""
        with contextlib.ExitStack() as stack:
            processes = []
            for side in ("send", "look"):
                process = stack.enter_context(subprocess.Popen(
                    [*command, side, str(self.key)], cwd=self.directory, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True))
                stack.callback(process.kill)
                processes.append(process)
            yield [Program(process) for process in processes]
            for process in processes:
                process.stdin.close()
                self.assertEqual("", process.stderr.read())
                self.assertEqual(0, process.wait(time_scale.scaled(20)))

    def in_jails(self):
        # What a neighbour holds counts as the most that it can be.
        return self.both([attacks_test.BINARY, "exec", str(self.path), "--timeout", str(time_scale.timeout(40)), "--memory", "1024", "--"])

    def outside(self):
        # One that hangs is ended, as a jail is.
        return self.both(["timeout", str(time_scale.scaled(60)), sys.executable, str(self.path)])

    @staticmethod
    def converse(kind, sender, listener):
        """Returns how many bits were read as they were sent, each when it had been sent."""
        def after(sent, **order):
            sender.ask(kind=kind, order="send", bit=0)
            listener.ask(kind=kind, order="rest")
            sender.ask(kind=kind, order="send", bit=sent)
            return listener.ask(kind=kind, **order)

        for bit in PREAMBLE:
            after(bit, order="learn", bit=bit)
        sent = message()
        return right(sent, [after(bit, order="look") for bit in sent])


class Closed(TwoPrograms):
    def cold(self, kind):
        with self.in_jails() as (sender, listener):
            self.assertLess(self.converse(kind, sender, listener), UNDERSTOOD)

    def control_outside(self, kind):
        """Other activity on the host may be louder, but not so much that no more than a guess arrives."""
        if kind == "dropped pages" and not tells_what_is_in_memory():
            self.skipTest("the host's file system does not tell what is in memory")
        found = bits = 0
        while bits < 10 * BITS:
            with self.outside() as (sender, listener):
                found, bits = found + self.converse(kind, sender, listener), bits + BITS
            # A guess has so many right once in 100,000 times.
            if found >= bits / 2 + 2.2 * math.sqrt(bits):
                return
        self.fail(f"{found} of {bits} bits")


class Named(TwoPrograms):
    def cold(self, kind):
        drop_pages()
        with self.in_jails() as (sender, listener):
            print(f"{kind}: {self.converse(kind, sender, listener)} of {BITS} bits arrive")

    def in_slots(self, kind, period, length):
        """Returns how many of `length` bits arrive where one is sent in each `period`."""
        drop_pages()
        with self.in_jails() as (sender, listener):
            # Waits until both have what they need.
            for end in (sender, listener):
                end.ask(kind=kind, order="ready")
            sent = message(length)
            slots = {"kind": kind, "order": "slots", "start": time.monotonic() + 0.05, "period": period, "bits": PREAMBLE + sent}
            sender.order(**slots)
            listener.order(**slots, known=len(PREAMBLE))
            sender.answer()
            return right(sent, listener.answer())

    def rate(self, kind):
        """Bits a second, the best of three for each period: what arrives of a bit, by Shannon's formula for bits of which some are turned."""
        best = (0, 0, 0)
        length = 96
        for period in (0.00006 * 2 ** step for step in range(11)):
            share = max(self.in_slots(kind, period, length) for _ in range(3)) / length
            wrong = min(max(1 - share, 1e-9), 0.5)
            entropy = -wrong * math.log2(wrong) - (1 - wrong) * math.log2(1 - wrong)
            if share > 0.7:  # less may be chance
                best = max(best, ((1 - entropy) / period, period, share))
            if share > 0.95:
                break
        return best

    @measured
    def test_rates(self):
        for kind in kinds("named"):
            rate, period, share = self.rate(kind)
            print(f"{kind}: {rate:.0f} bits a second, one in {period * 1e6:.0f} us, {100 * share:.0f}% of them right", flush=True)

    def test_the_threat_model_names_each_kind(self):
        text = THREAT_MODEL.read_text(encoding="utf-8")
        rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
        self.assertEqual([], [kind for kind in kinds("named") if kind not in rows])


@measured
class Search(TwoPrograms):
    # Numbers that are known to follow a neighbour, and are named; and those that tell how much of a processor one gets.
    NAMED = re.compile(r"inode$|/fdinfo/\d+ \d+ \d+$|/numa_maps |/smaps |/smaps_rollup |/net/(sockstat|softnet_stat|protocols) |"
                       r"^number of a session$|^(tcp|udp) port$|^unix name$|^size of a pipe$|/net/(tcp|unix|netlink) |"
                       r"/(sched|schedstat|stat|status|io) |^getrusage ")

    @staticmethod
    def follows(numbers, bits):
        """Returns whether all values beside ones lie on one side of all others, the numbers themselves or their
        differences."""
        def are_apart(values):
            zeros, ones = ([value for value, bit in zip(values, bits[1:]) if bit == wanted] for wanted in (0, 1))
            return max(zeros) < min(ones) or max(ones) < min(zeros)

        return are_apart(numbers[1:]) or are_apart([after - before for before, after in zip(numbers, numbers[1:])])

    def followers(self, length, who):
        """Returns the numbers that are not named and follow what one of both ends does."""
        self.path.write_text(SEARCH, encoding="utf-8")
        bits = [0, *message(length)]
        with self.in_jails() as ends:
            end, kind = who(*ends)
            read = []
            for bit in bits:
                end.ask(kind=kind, order="send", bit=bit)
                read.append(ends[1].ask(kind="search", order="measure"))
        names = set.intersection(*map(set, read))
        self.assertGreater(len(names), 2000)
        found = sorted(name for name in names if self.follows([numbers[name] for numbers in read], bits))
        print(f"of {len(names)} numbers {len(found)} follow")
        return [name for name in found if not self.NAMED.search(name)]

    def test_nothing_else_follows_a_neighbour(self):
        """A number that comes by chance follows 20 bits once in 90,000 times."""
        self.assertEqual([], self.followers(20, lambda sender, listener: (sender, "everything")))

    def test_control_what_one_has_itself_is_found(self):
        self.assertIn("statvfs /tmp free", self.followers(4, lambda sender, listener: (listener, "search")))


class Warm(live_server.ServerTest):
    """Two programs in jails that one zygote forked, by the clock: what they read comes at their end."""

    def exchange(self, names, period):
        """Returns how many bits arrive, for each kind."""
        if SHARED is None:
            self.skipTest(NO_FILE)
        drop_pages()
        sent = {kind: message() for kind in names}
        key = random.randrange(1, 1 << 30)
        start = time.monotonic() + 1
        orders = []
        for kind in names:
            slot = period * (3 if kind in SLOW else 1)
            orders.append({"kind": kind, "order": "slots", "start": start, "period": slot, "bits": PREAMBLE + sent[kind]})
            start += slot * (len(PREAMBLE) + BITS + 4)

        def run(side, more):
            with self.server.client() as client:
                result = client.execute(PROGRAM, args=[side, str(key)], template="python", timeout_seconds=60,
                                        stdin="".join(json.dumps({**order, **more}) + "\n" for order in orders))
            self.assertEqual(("success", True, ""), (result["status"], result["warm"], result["stderr"]), result)
            return [json.loads(line) for line in result["stdout"].splitlines()[1:]]

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            sender = pool.submit(run, "send", {})
            read = pool.submit(run, "look", {"known": len(PREAMBLE)}).result()
            sender.result()
        return {kind: right(sent[kind], bits) for kind, bits in zip(names, read)}

    @measured
    def test_warm(self):
        # This kind is known to transmit, so it tells whether both programs kept time.
        control = "futexes"
        for period in (0.008, 0.016):
            found = self.exchange([*kinds("closed"), control], period)
            if found.pop(control) >= UNDERSTOOD:
                break
        else:
            self.skipTest("the two programs do not keep time on this busy host")
        self.assertEqual({}, {kind: bits for kind, bits in found.items() if bits >= UNDERSTOOD})

    @measured
    def test_warm_named(self):
        for kind, bits in self.exchange(kinds("named"), 0.02).items():
            print(f"{kind}: {bits} of {BITS} bits arrive")


for each in kinds("closed"):
    name = each.replace(" ", "_")
    setattr(Closed, f"test_cold_{name}", lambda test, kind=each: test.cold(kind))
    if os.environ.get(MEASURED):
        setattr(Closed, f"test_control_outside_{name}", lambda test, kind=each: test.control_outside(kind))
for each in kinds("named"):
    name = each.replace(" ", "_")
    setattr(Named, f"test_cold_{name}", lambda test, kind=each: test.cold(kind))
