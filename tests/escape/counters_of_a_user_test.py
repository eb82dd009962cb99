"""Counters that the kernel keeps for one user of the host, and that all of the user's jails share: while one jail
uses up as much as it can, another one is made and works."""
import json
import pathlib
import resource
import subprocess

import attacks_test
import time_scale

# Senders wait at full queues, each with as many descriptors as a message takes, and the queues are emptied at once: newer kernels
# compare with the limit when a message is made, and count it when it is in the queue.
DESCRIPTORS_IN_FLIGHT = """
import array, os, socket, sys, threading, time
SENDERS = 10
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.open("/dev/null", os.O_RDONLY)] * 253))]
receivers, senders = [], []
for number in range(SENDERS):
    receivers.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    receivers[-1].bind(f"/tmp/{number}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:
        filler.setblocking(False)
        filler.connect(f"/tmp/{number}")
        filled = 0
        try:
            while filler.send(b"x"):
                filled += 1
        except BlockingIOError:
            pass
    senders.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    senders[-1].connect(f"/tmp/{number}")
threads = [threading.Thread(target=sender.sendmsg, args=([b"y"], rights)) for sender in senders]
for thread in threads:
    thread.start()
time.sleep(0.5)
for receiver in receivers:
    for _ in range(filled):
        receiver.recv(1)
for thread in threads:
    thread.join()
kept = socket.socketpair()
try:
    while True:
        kept[0].sendmsg([b"y"], rights)
except OSError as error:
    print(error.strerror, flush=True)
sys.stdin.read()
"""

# The kernel gives one user 64 MiB of pages for pipes, and pipes of two pages from then on.
PAGES_OF_PIPES = """
import os, sys
kept = []
for _ in range(8):
    if os.fork() == 0:
        try:
            while True:
                kept.append(os.pipe())
        except OSError:
            sys.stdin.read()
            os._exit(0)
import time
time.sleep(1)
print("no more pipes", flush=True)
sys.stdin.read()
"""

OUTPUT_BYTES = 1 << 20
OUT_OF_MEMORY = 137  # exit status of `agent-sandbox exec`


class CountersOfAUser(attacks_test.Ring):
    def beside(self, name, text):
        """Returns the report of a harmless program that runs while the jail of `text` holds its resources, that jail's
        output, and the exit status of its command."""
        program = pathlib.Path(self.directory, name)
        program.write_text(text, encoding="utf-8")
        # The limits are those of most shells: few descriptors, but a program may ask for more.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        usual = (min(1024, hard), hard)
        with subprocess.Popen([attacks_test.BINARY, "exec", str(program), "--language", "python",
                               "--timeout", str(time_scale.timeout(20))],
                              cwd=self.directory, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, usual)) as attacker:
            try:
                said = attacker.stdout.readline().decode()
                neighbour = subprocess.run(
                    [attacks_test.BINARY, "exec", "-c", f"print('x' * {OUTPUT_BYTES - 1})", "--json"],
                    env=self.environment, capture_output=True, check=False, timeout=time_scale.timeout(30),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, usual))
            finally:
                attacker.stdin.close()
                attacker.wait()
        self.assertEqual(b"", neighbour.stderr)
        return json.loads(neighbour.stdout), said, attacker.returncode

    def check(self, name, text, last_word):
        report, said, status = self.beside(name, text)
        # Init may come first: it ends a jail as out of memory where more is in flight than it finds.
        self.assertTrue(last_word in said or status == OUT_OF_MEMORY, (said, status))
        self.assertEqual("success", report["status"], report["stderr"])
        self.assertEqual(OUTPUT_BYTES, len(report["stdout"]))

    def test_descriptors_in_flight(self):
        self.check("descriptors.py", DESCRIPTORS_IN_FLIGHT, "Too many references")

    def test_pages_of_pipes(self):
        self.check("pipes.py", PAGES_OF_PIPES, "no more pipes")
