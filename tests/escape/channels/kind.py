"""The parts that every kind in named.py and closed.py shares. A guest gets one file: this one, both of those, and
ends.py."""
import contextlib
import ctypes
import errno
import fcntl
import glob
import json
import mmap
import os
import platform
import re
import resource
import signal
import socket
import statistics
import struct
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
NUMBERS = {"x86_64": {"futex": 202, "sysinfo": 99, "shmget": 29, "shmctl": 31, "eventfd2": 290, "inotify_init1": 294, "inotify_add_watch": 254},
           "aarch64": {"futex": 98, "sysinfo": 179, "shmget": 194, "shmctl": 195, "eventfd2": 19, "inotify_init1": 26, "inotify_add_watch": 27}}
PAGE = mmap.PAGESIZE
# Both ends know this key, and nobody else: tests may run side by side.
KEY = int(sys.argv[2])
# Below those that the kernel gives by itself.
PORT = 10000 + KEY % 20000
# Files that every jail has: one that programs seldom read, and one for this key.
SHARED = min(glob.glob("/usr/lib/python3*/pydoc_data/topics.py"))
CHOSEN = sorted(glob.glob("/usr/lib/python3*/[a-z]*.py"))
CHOSEN = CHOSEN[KEY % len(CHOSEN)]
# The classes, by the names that the test uses.
KINDS = {}


def call(name, *arguments):
    """A raw system call, which raises OSError."""
    passed = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[platform.machine()][name]), *passed)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def text_of(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()


def number_in(path, pattern):
    found = re.search(pattern, text_of(path), re.MULTILINE)
    if not found:
        raise OSError(errno.ENODATA, path)
    return int(found[1])


class View(ctypes.Structure):
    """Python's Py_buffer, whose address is read."""
    _fields_ = [("address", ctypes.c_void_p), ("rest", ctypes.c_char * 120)]


def mapped(pages):
    """The first pages of the shared file, and where they lie. What is touched brings no neighbours along."""
    with open(SHARED, "rb") as file:
        mapping = mmap.mmap(file.fileno(), pages * PAGE, prot=mmap.PROT_READ)
    mapping.madvise(mmap.MADV_RANDOM)
    view = View()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(mapping), ctypes.byref(view), 0)
    address = view.address
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    return mapping, address


class Kind:
    """One end of a kind of state. The sender has `act(bit)`, the other end `measure()`, which returns a number."""
    # Both ends have to be on the same processor.
    one_processor = False
    children = []

    def __init__(self, sends):
        """`prepare` makes what both ends need."""
        self.sends = sends
        self.prepare()

    def prepare(self):
        pass

    def start(self, action):
        """A child that does `action` until it is killed."""
        child = os.fork()
        if child == 0:
            while True:
                with contextlib.suppress(OSError):
                    action()
        self.children.append(child)
        return child

    def stop(self, child):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.children.remove(child)


class Held(Kind):
    """The sender holds something for a one, and nothing for a zero."""
    held = None

    def act(self, bit):
        if bit and self.held is None:
            self.held = self.take()
        elif not bit and self.held is not None:
            self.give_back(self.held)
            self.held = None

    def give_back(self, held):
        for each in held:
            each.close()


class Counted(Kind):
    """A one is what the sender does some times, a zero that it does nothing; measured is how far a number has come since the last look."""
    TIMES, last = 1, 0

    def act(self, bit):
        for _ in range(self.TIMES * bit):
            self.do()

    def measure(self):
        before, self.last = self.last, self.count()
        return self.last - before


def in_a_child(action):
    """Returns the number that `action` gives in a process of its own, or OSError."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with contextlib.suppress(OSError):
                os.write(writing, str(action()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    text = os.read(reading, 100)
    os.close(reading)
    os.waitpid(child, 0)
    if not text:
        raise OSError(errno.ENODATA, "it gave none")
    return int(text)
