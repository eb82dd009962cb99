# Observes: newer pieces of the language at work, and what compile() makes under the flags of this program.
from __future__ import annotations
import __future__
import dis
import sys


def annotated(value: NotThere) -> list[Nothing]:
    match value:
        case {"a": [first, *rest]} if (count := len(rest)):
            return [first, count]
        case str() | bytes():
            return "text"
        case _:
            return None


print(annotated.__annotations__, annotated({"a": [1, 2, 3]}), annotated("x"), annotated(3))
print(__future__.annotations.compiler_flag & annotated.__code__.co_flags != 0, eval("1_000"), f"{3!r:>5}|{'x'=}")
print({*"a"} | {"b"} == {"a", "b"}, [*range(3), *"x"], (lambda *a, k=1, **b: (a, k, b))(1, z=2))
exec("y: Undefined = 3")
print(y, "y" in __annotations__, __debug__)
assert __debug__
print(compile("assert 1", "x", "exec").co_code == compile("assert 1", "x", "exec").co_code, sys.flags.optimize)
dis.dis(lambda: 3)
try:
    exec("x = 1\n  y = 2")
except IndentationError as error:
    print(error, error.args)
print(help is __builtins__.help, exit, quit, copyright, credits, license, _ if "_" in vars(__builtins__) else "no _")
exit(0)
