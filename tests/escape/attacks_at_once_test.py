"""All attacks eight at once, cold and warm, again and again: what contains one alone has to contain it beside seven others.

  JAIL_TEST_ATTACKS=ROUNDS  how often each of them; without it nothing is run but the controls
"""
import os
import time
import unittest

import at_once
import attacks_test
import warm_test

ROUNDS = int(os.environ.get("JAIL_TEST_ATTACKS", "0"))


class AttacksAtOnce(at_once.AttacksAtOnce):
    def repeated(self, runner, attacks):
        if ROUNDS == 0:
            self.skipTest("JAIL_TEST_ATTACKS says no number of rounds; `./dev test --full` does")
        self.all_at_once(runner, attacks, ROUNDS)

    def test_cold(self):
        self.repeated(at_once.ColdAttack, at_once.COLD)

    def test_warm(self):
        self.wait_until_warm()
        self.repeated(warm_test.WarmAttacks, at_once.WARM)

    def test_control_an_attack_that_comes_through_is_named(self):
        """Two are contained and one says that it is not: only the last one is reported."""
        contained = next(attack for attack in at_once.WARM if attack.name == "privileges")
        escaped = at_once.patient(contained)
        escaped.name, escaped.program = "planted", lambda: "print('ESCAPED: planted')"
        self.wait_until_warm()
        with self.assertRaisesRegex(AssertionError, "planted: ") as failure:
            self.all_at_once(warm_test.WarmAttacks, [contained, contained, escaped], 1, at_once=3)
        self.assertNotIn("privileges: ", str(failure.exception))
