// What each fork runs before its program comes, so that what it touches is there already.
#pragma once

namespace jail::zygote {

// Touches what small programs touch: the compiler, functions, classes, exceptions, formatting, the
// standard streams, the collector. One text after the other, so that a fork which waits holds the
// compiler's memory for one of them.
inline constexpr const char* rehearsals[] = {R"py(
import sys
class Shape:
    sides = 0
    def __init__(self, name, *rest, **named):
        self.name = name
        self.points = [str(n) for n in range(3)] + list(rest)
    def __repr__(self):
        return f"{self.name!r}:{self.sides:>4}:{1.5:.2f}"
)py",
                                             R"py(
def walk(items, depth=1):
    total, seen = 0, {}
    for index, item in enumerate(sorted(items, key=lambda x: -x)):
        seen[item] = (index, depth)
        total += item * 2 // 1
        if item % 2 and depth:
            total += walk({1, 2}, depth - 1)
    return total
)py",
                                             R"py(
try:
    walk((3, 1, 2))
    raise ValueError("%s %d" % (Shape("a", k=1), len("b" * 3)))
except (ValueError, KeyError) as error:
    text = " ".join(map(str, error.args)).split(":")
with open("/dev/null") as nothing:
    nothing.read()
print("", end="", flush=True)
print("", end="", file=sys.stderr)
)py"};

// A program for a fork that nobody hears.
inline constexpr const char* printing = "print(6 * 7)\n";

}  // namespace jail::zygote
