"""Third-party hostile programs (hostile.py), each in a warm jail, while seven clients keep sending requests, and in
a cold one."""
import hostile

CLIENTS = 8


class Corpus(hostile.HostileTest):
    def test_warm_beside_others(self):
        self.run_all(least=50, clients=CLIENTS)

    def test_cold(self):
        self.run_all(least=50, template="none")
