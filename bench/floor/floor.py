#!/usr/bin/env python3
"""The floor: the cost of a pre-forked, warmed-up CPython child without any confinement.

  python3 bench/floor/floor.py [--imports numpy,pandas] --code CODE --expect TEXT

Reads commands from stdin and answers each with one line of JSON:
  run COUNT PAUSE_MS    COUNT requests, each to a child of its own
  cost COUNT            what this parent itself adds to a request, at most

A child is made before it is needed, runs the program once (which pays its copy-on-write faults), and
waits. A request is: the program is sent over a socket, its output is read, the child is reaped. Times
are microseconds: of an output and in total from before the first byte is sent, `reaped` from the output to the reaped child.
"""
import argparse
import gc
import importlib
import json
import os
import socket
import sys
import time

clock = time.perf_counter_ns


def child(requests):
    """Never returns. Runs the code twice: the first time is the warm-up."""
    gc.enable()
    for _ in range(2):
        code = requests.recv(65536)
        exec(compile(code, "main.py", "exec"), {"__name__": "__main__"})  # pylint: disable=exec-used
        sys.stdout.flush()
    os._exit(0)


class Child:
    def __init__(self, code, expected):
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.output, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(write_end, 1)
            child(theirs)
        theirs.close()
        os.close(write_end)
        self.expected = expected
        self.requests.send(code)
        self.check(os.read(self.output, 65536))

    def check(self, output):
        if output != self.expected:
            raise SystemExit(f"the program printed {output!r}, not {self.expected!r}")

    def request(self, code):
        """Returns (microseconds to the output, from there to the reaped child)."""
        begun = clock()
        self.requests.send(code)
        output = os.read(self.output, 65536)
        answered = clock()
        _, status = os.waitpid(self.pid, 0)
        reaped = clock()
        self.check(output)
        if status != 0:
            raise SystemExit(f"a child ended with {status}")
        self.requests.close()
        os.close(self.output)
        return (answered - begun) / 1e3, (reaped - answered) / 1e3


def run(code, expected, count, pause):
    outputs, reaped = [], []
    for _ in range(count):
        waiting = Child(code, expected)
        time.sleep(pause)
        answer, end = waiting.request(code)
        outputs.append(answer)
        reaped.append(end)
    return {"output": outputs, "reaped": reaped, "total": [sum(both) for both in zip(outputs, reaped)]}


def cost(code, count):
    """The system calls of a request, with nobody on the other side to wait for."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read_end, write_end = os.pipe()
    times = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        os.write(write_end, b"42\n")
        begun = clock()
        ours.send(code)
        os.read(read_end, 65536)
        clock()
        os.waitpid(pid, 0)
        times.append((clock() - begun) / 1e3)
        theirs.recv(65536)
    return {"total": times}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--imports", default="")
    parser.add_argument("--code", required=True)
    parser.add_argument("--expect", required=True)
    options = parser.parse_args()
    code, expected = options.code.encode(), options.expect.encode()
    for name in filter(None, options.imports.split(",")):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a child's collector would touch, and so copy, every object of the parent
    gc.disable()
    for line in sys.stdin:
        verb, *numbers = line.split()
        if verb == "run":
            answer = run(code, expected, int(numbers[0]), float(numbers[1]) / 1e3)
        else:
            answer = cost(code, int(numbers[0]))
        # A child that is forked while this is unflushed would write it once more.
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
