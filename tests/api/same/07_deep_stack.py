# Observes: how deep a program gets that takes the limit away, and that the stack's bound ends it alike.
# Ends: killed SIGSEGV or error 1
import resource
import sys
import threading
sys.setrecursionlimit(10 ** 6)


def deeper(depth):
    return depth if depth == 0 else max(depth, deeper(depth - 1))


print(deeper(50_000), resource.getrlimit(resource.RLIMIT_STACK))
threading.stack_size(64 << 20)


class Chain:
    def __init__(self, below):
        self.below = below

    def __getattr__(self, name):
        return getattr(self.below, name)


def climb():
    top = Chain(object())
    for _ in range(20_000):
        top = Chain(top)
    try:
        top.missing
    except AttributeError as error:
        print(error)


climber = threading.Thread(target=climb)
climber.start()
climber.join()
print("now without end", flush=True)


class Deep:
    def __getattr__(self, name):
        return getattr(self, name)


Deep().missing
