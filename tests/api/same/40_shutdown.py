# Observes: what prints while the interpreter goes down: globals, cycles, class attributes, finalizers, generators.
import sys
import weakref


class Loud:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name, sys.is_finalizing() if sys else "no sys", flush=True)


class Holder:
    attribute = Loud("in a class")


def generate():
    try:
        yield 1
    finally:
        print("generator closed", flush=True)


first = Loud("a global")
cycle = Loud("in a cycle")
cycle.itself = cycle
running = generate()
next(running)
weakref.finalize(first, print, "finalize of a global", flush=True)
weakref.finalize(Holder, print, "finalize of a class", flush=True)
early = Loud("deleted early")
del early
print("the end")
