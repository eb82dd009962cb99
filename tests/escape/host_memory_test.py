"""The cost of the memory attacks to the host while they run: each in a cold and in a warm jail, with nothing beside
it."""
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import attacks_test  # noqa: E402
import host_view  # noqa: E402
import live_server  # noqa: E402

PRELUDE = attacks_test.PRELUDE.read_text(encoding="utf-8")
ON_MEMORY = [attack for attack in attacks_test.ALL if attack.name.startswith("memory_") and attack.language == "python"]
# In a virtual machine the kernel sets free pages aside for moments, to tell the hypervisor of them: some tens of MB are missing,
# or come back, that have nothing to do with the attack. What an attack takes is missing each time.
LOOKS = 3
# A neighbour such as a compiler takes memory too. It is not there each time, and what an attack takes is: one that seems
# to take too much is looked at this often.
MAX_LOOKS = 15


def settled_mb():
    """The same once it no longer changes: memory of processes that ended comes back little by little."""
    last = host_view.available_mb()
    for _ in range(100):
        time.sleep(0.1)
        before, last = last, host_view.available_mb()
        if abs(last - before) <= 2:
            break
    return last


class Loss:
    """The most memory that was missing while the block ran, in MB."""

    def __enter__(self):
        self._before = self._least = settled_mb()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._ended.is_set():
            self._least = min(self._least, host_view.available_mb())
            time.sleep(0.002)

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    @property
    def mb(self):
        return self._before - self._least


class HostMemory(live_server.ServerTest):
    looks = LOOKS

    def lost_by(self, attack, template):
        """Returns what the host lost. Waits until the host has it back, so that attacks do not add up."""
        with Loss() as loss:
            self.execute(PRELUDE + attack.text, template=template, timeout_seconds=attack.timeout, memory_limit_mb=attack.memory)
        return loss.mb

    def most(self, attack):
        """Returns what the host may lose by the attack, in MB."""
        return attack.memory + attack.beyond

    def smallest_loss(self, attack, template):
        least = self.lost_by(attack, template)
        for look in range(1, MAX_LOOKS):
            if look >= self.looks and least <= self.most(attack):
                break
            least = min(least, self.lost_by(attack, template))
        return least

    def check(self, template):
        self.wait_until_warm()
        self.assertGreaterEqual(len(ON_MEMORY), 10)
        losses = {attack.name: self.smallest_loss(attack, template) for attack in ON_MEMORY}
        print("loss in MB:", losses, flush=True)
        self.assertEqual({}, {attack.name: losses[attack.name] for attack in ON_MEMORY
                              if losses[attack.name] > self.most(attack)})

    def test_cold(self):
        self.check("none")

    def test_warm(self):
        self.check("python")

    def test_control_a_loss_is_seen(self):
        def lost_by_200_mb():
            with Loss() as loss:
                kept = bytes(range(256)) * (200 << 12)
                time.sleep(0.1)
                del kept
            return loss.mb
        self.assertGreater(max(lost_by_200_mb() for _ in range(LOOKS)), 100)
