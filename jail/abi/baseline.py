#!/usr/bin/env python3
"""What programs that were built against libjail rely on, as two files beside this one.

  jail/abi/baseline.py BUILD    renews them; BUILD is where libjail.so was built

libjail.abi describes the C interface, as abidw (Debian: abigail-tools) finds it in a library of empty
functions made from the headers. libjail.symbols lists the names that libjail.so offers.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = HERE.parent / "include"
DESCRIPTION = HERE / "libjail.abi"
SYMBOLS = HERE / "libjail.symbols"
# A declaration of a function, whose comments are gone, as clang-format lays it out.
FUNCTION = re.compile(r"^((?:const )?\w+\*? jail_\w+\([^;{}]*\));", re.MULTILINE)


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr or done.stdout}")
    return done.stdout


def declarations(headers):
    """The C functions that the headers declare."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((headers / "jail_c").glob("*.h")))
    return FUNCTION.findall(re.sub(r"//[^\n]*", "", text))


def declared_names(headers):
    return {re.search(r"jail_\w+(?=\()", declaration).group() for declaration in declarations(headers)}


def describe(headers, target):
    """Writes what abidw says about the C interface of `headers`."""
    with tempfile.TemporaryDirectory() as name:
        # By its name alone, or the description would say where it was made.
        source, library = pathlib.Path(name, "empty.c"), pathlib.Path(name, "libempty.so")
        bodies = [f"{declaration} {{ __builtin_trap(); }}\n" for declaration in declarations(headers)]
        source.write_text("#include <jail_c.h>\n" + "".join(bodies), encoding="utf-8")
        run("cc", "-std=c11", "-g", "-fPIC", "-shared", "-I", headers.resolve(), source.name, "-o", library, cwd=name)
        run("abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed",
            "--type-id-style", "hash", "--out-file", target, library)


def offered(library):
    """Maps each mangled name to a readable one."""
    def listed(*options):
        lines = run("nm", "--dynamic", "--defined-only", "--no-sort", *options, library).splitlines()
        return [line.split(" ", 2)[2] for line in lines if " A " not in line]
    return dict(zip(listed(), listed("--demangle"), strict=True))


def recorded():
    """The mangled ones of the recorded names."""
    return {line.split("  ")[0] for line in SYMBOLS.read_text(encoding="utf-8").splitlines()}


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    describe(HEADERS, DESCRIPTION)
    names = offered(pathlib.Path(argv[1]) / "jail" / "libjail.so")
    SYMBOLS.write_text("".join(f"{name}  {names[name]}\n" for name in sorted(names)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
