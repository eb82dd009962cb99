# Observes: the recursion limit, the depth that is reached and the text of the error.
# Ends: error 1
import sys
print(sys.getrecursionlimit())
deepest = 0


def deeper(depth):
    global deepest
    deepest = depth
    deeper(depth + 1)


try:
    deeper(0)
except RecursionError as error:
    print(deepest, error)


class Nested:
    def __repr__(self):
        return repr(self)


for action in (lambda: repr(Nested()), lambda: eval("(" * 150 + ")" * 150), lambda: eval("-" * 5000 + "1"),
               lambda: __import__("json").loads("[" * 3000), lambda: hash(Nested()) and sorted([Nested()] * 2)):
    try:
        action()
    except (RecursionError, MemoryError, SyntaxError, TypeError) as error:
        print(type(error).__name__, error)
sys.setrecursionlimit(3000)
try:
    deeper(0)
except RecursionError:
    print(deepest)
sys.setrecursionlimit(1000)
deeper(0)
