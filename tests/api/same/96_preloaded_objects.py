# Observes: objects from before the program's first line that are copied, pickled, derived from, compared, and used with objects
# whose references are counted.
import abc
import collections.abc
import copy
import functools
import gc
import io
import os
import pickle
import sys

values = [os.path.join, os.PathLike, io.StringIO, len, str.join, "posix", ("a", 1, 2.5, b"c"), os.environ.__class__, print, abc.ABC, 10**30]
print(pickle.loads(pickle.dumps(values)) == values, len(pickle.dumps(values)), pickle.dumps(values, 0)[:60])
print([copy.copy(each) is each for each in values], [copy.deepcopy(each) is each for each in values])
print([type(each).__name__ for each in values], [bool(gc.is_tracked(each)) for each in (os.path.join, abc.ABC, "a", 1)])


class Path(os.PathLike):
    def __fspath__(self):
        return "/tmp"


class Text(io.StringIO):
    def __del__(self):
        print("del of a derived class", flush=True)


print(os.fspath(Path()), Path.__mro__, issubclass(Path, os.PathLike), isinstance(Text(), io.TextIOBase))
print([each.__name__ for each in collections.abc.Mapping.__subclasses__() if each.__module__ == "__main__"],
      [each.__name__ for each in os.PathLike.__subclasses__() if each.__module__ == "__main__"])


class Counted:
    def __fspath__(self):
        return "x"


# A call of what was there before leaves no reference to what it was given.
mine = Counted()
before = sys.getrefcount(mine)
os.path.join(mine, mine)
os.path.split(mine)
functools.partial(os.path.join, mine)("y")
str([mine])
isinstance(mine, (os.PathLike, collections.abc.Hashable))
print(sys.getrefcount(mine) - before, len(gc.get_referrers(mine)), gc.get_referrers(mine)[0] is globals())
text = "".join(["of", " its ", "own"])
before = sys.getrefcount(text)
table = {text: os.path.join, "posix": text}
print(sys.getrefcount(text) - before, table.popitem()[1] is text, sys.intern(text) is text, sys.intern("".join(["of its", " own"])) is text)

# Strings, bytes, tuples and numbers that a program only appends to grow as any other.
name = os.name
name += "!" * 3
whole = os.path.join.__code__.co_names
whole += (1,)
raw = os.environb.get(b"PATH", b"") if hasattr(os, "environb") else b""
raw += b"!"
print(name, os.name, len(whole) - len(os.path.join.__code__.co_names), raw[-1:], os.path.join.__code__.replace(co_name="x").co_name)
function = type(os.path.join)(os.path.join.__code__, {**vars(os.path), "os": os}, "mine")
print(function("a", "b"), function.__globals__ is vars(os.path), function.__code__ is os.path.join.__code__)
os.path.join.__code__, kept = (lambda *parts: "changed").__code__, os.path.join.__code__
print(os.path.join("a", "b"))
os.path.join.__code__ = kept
print(os.path.join("a", "b"))
print(eval(kept.replace(co_flags=kept.co_flags).co_consts.__repr__()) == kept.co_consts, hash(kept) == hash(os.path.join.__code__))
