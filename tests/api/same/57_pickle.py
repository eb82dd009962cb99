# Observes: classes of the program pickled, copied, sent to another interpreter, enumerated, dataclasses, slots.
import copy
import dataclasses
import enum
import pickle
import subprocess
import sys
import typing


@dataclasses.dataclass(order=True, frozen=True)
class Point:
    x: int
    y: float = 0.5
    names: tuple = dataclasses.field(default=(), repr=False)


class Colour(enum.Flag):
    RED = enum.auto()
    BLUE = enum.auto()


class Row(typing.NamedTuple):
    key: str
    value: "Point"


class Slotted:
    __slots__ = ("a",)

    def __reduce__(self):
        return Slotted, ()


values = [Point(1), Colour.RED | Colour.BLUE, Row("k", Point(2)), Slotted(), print, Point]
stored = pickle.dumps(values)
print(pickle.loads(stored), copy.deepcopy(values)[:3], stored[:40])
print(Point.__module__, Point(1) < Point(2), dataclasses.asdict(Point(3)), typing.get_type_hints(Row), hash(Point(1)) == hash(Point(1)))
if "child" not in sys.argv:
    sys.stdout.flush()
    open("/tmp/stored", "wb").write(pickle.dumps(Point(4)))
    subprocess.run([sys.executable, __file__, "child"], check=True)
    subprocess.run([sys.executable, "-c", "import pickle; pickle.load(open('/tmp/stored', 'rb'))"])
else:
    print(pickle.load(open("/tmp/stored", "rb")))
