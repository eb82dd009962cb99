# Observes: the program reads its own source, by linecache, inspect, tokenize, the loader, and runs itself again.
import inspect
import linecache
import os
import runpy
import sys
import tokenize


def documented(a, /, b: int = 3, *c, d, **e) -> str:
    """A docstring."""
    return "x"  # a comment


class Documented:
    """Of a class."""

    def method(self):
        pass


print(inspect.getsource(documented), inspect.getsource(Documented.method), inspect.signature(documented), inspect.getcomments(documented))
print(inspect.getfile(Documented), inspect.getsourcelines(Documented)[1], inspect.getmodule(documented), inspect.getabsfile(documented))
print(repr(linecache.getline(__file__, 1)), sorted(name for name in linecache.cache if "main" in name))
with tokenize.open(__file__) as file:
    print(file.encoding, len(list(tokenize.generate_tokens(file.readline))))
code = documented.__code__
print(code.co_filename, code.co_firstlineno, code.co_qualname, list(code.co_lines())[:2], list(code.co_positions())[:2])
print(os.path.abspath(__file__), os.stat(__file__).st_size == len(open(__file__).read()))
if "SECOND" not in os.environ:
    print(__loader__.get_code("__main__").co_name)
    os.environ["SECOND"] = "x"
    print(sorted(runpy.run_path(__file__, run_name="second"))[:3], flush=True)
    os.execv(sys.executable, [sys.executable, __file__])
