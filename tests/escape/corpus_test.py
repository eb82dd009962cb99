"""The hostile programs of others (hostile.py), each in a warm jail, while other clients keep asking, and in a cold one."""
import os

import hostile

# Three beside the hostile program keep two processors busy. `./dev test --full` has seven, which doubles the deadlines.
CLIENTS = int(os.environ.get("JAIL_TEST_CLIENTS", "4"))


class Corpus(hostile.HostileTest):
    def test_warm_beside_others(self):
        self.run_all(least=50, clients=CLIENTS)

    def test_cold(self):
        self.run_all(least=50, template="none")
