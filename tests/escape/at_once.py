"""The attacks of attacks/ and warm_attacks/, several at once and more than once: for attacks_at_once_test.py and tests/cgroup."""
import concurrent.futures
import copy
import json
import os
import random
import tempfile
import unittest

import attacks_test
import host_view
import time_scale
import warm_test  # which adds the folder of the next one; that has a warm_test.py, too
import live_server

AT_ONCE = 8
# The factor for the deadline of an attack that ends by itself: seven others keep the processors busy meanwhile.
PATIENCE = 6
LONGEST = 120


def patient(attack):
    """The same attack with deadlines for a busy host. One that its deadline ends keeps it, but on an emulated processor."""
    changed = copy.copy(attack)
    is_emulated = time_scale.SCALE > time_scale.MOST_MEASURED
    scale = PATIENCE * (time_scale.SCALE if is_emulated else 1)
    if is_emulated or "timeout" not in attack.statuses:
        changed.timeout = min(attack.timeout * scale, LONGEST)
    changed.within = max(attack.within, attack.timeout + 10) * scale
    return changed


class AttacksAtOnce(live_server.ServerTest):
    """Subclasses say which attacks, and how often."""

    environment = warm_test.WarmRing.environment
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as config:
            json.dump({"ceilings": {"timeout_seconds": LONGEST}}, config)
            config.flush()
            cls.arguments = (*cls.arguments, "--config", config.name)
            super().setUpClass()
        # The runners of single attacks talk to this server.
        warm_test.WarmAttacks.server = cls.server

    def setUp(self):
        super().setUp()
        self.client.close()
        self.client = self.server.client(**{"X-API-Key": self.environment["API_KEYS"]})

    def one(self, runner, attack):
        """Why this attack came through, or None."""
        test = runner(next(name for name in dir(runner) if name.startswith("test_")))
        try:
            test.setUp()
            test.attack(patient(attack))
        except unittest.SkipTest:
            return None
        except AssertionError as failure:
            return f"{attack.name}: {failure}"
        finally:
            test.doCleanups()
        return None

    def orphans(self):
        """Returns the processes that outlive a jail of `exec`: they are children of this process."""
        return {pid: line for pid, line in host_view.descendants(os.getpid()).items()
                if host_view.parent_of(pid) == os.getpid() and pid != self.server.pid}

    def all_at_once(self, runner, attacks, rounds, at_once=AT_ONCE):
        """Each of them `rounds` times, `at_once` together, in an order that differs each time."""
        before = (host_view.mounts(), self.server.launcher())
        seed = int(os.environ.get("JAIL_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"order: JAIL_TEST_SEED={seed}", flush=True)
        chance, queue = random.Random(seed), []
        for _ in range(rounds):
            queue += chance.sample(attacks, len(attacks))
        with concurrent.futures.ThreadPoolExecutor(at_once) as places:
            came_through = [why for why in places.map(lambda attack: self.one(runner, attack), queue) if why]
        self.client.close()  # the server does not wait for so long; the next request opens another connection
        self.assertEqual("", "\n".join(came_through))
        self.assertEqual(before, (host_view.mounts(), self.server.launcher()))
        self.assertIsNone(self.server.exit_status)
        self.assertEqual("42\n", self.execute("print(6*7)")["stdout"])
        host_view.wait_until(lambda: not self.orphans(), 5)
        self.assertEqual({}, self.orphans())
        print(f"{len(queue)} attacks, {at_once} at once", flush=True)


class ColdAttack(attacks_test.Attacks):
    def processes_left_by_attack(self, _):
        """The processes of the other attacks are still there; orphans are looked for at the end of all."""
        return {}


COLD, WARM = attacks_test.ALL, warm_test.ALL
