#!/usr/bin/env python3
"""Writes agent_sandbox/synchronous from agent_sandbox/asynchronous, in which each call stands once.

  python3 server/clients/python/write_synchronous.py           writes it
  python3 server/clients/python/write_synchronous.py --check   says what is not as it would be written, and fails
"""
import pathlib
import re
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent / "agent_sandbox"
WRITTEN_TWICE = ("byte_stream.py", "__init__.py")
WORDS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsync([A-Z]\w*)", r"\1"),
    (r"__a(enter|exit|iter)__", r"__\1__"),
    (r"__anext__", "__next__"),
)
NOTE = "# Written by write_synchronous.py from asynchronous/{name}.\n"


def synchronous(name, text):
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    return NOTE.format(name=name) + text


def stale():
    """Returns the files that differ from what would be written: their paths and texts."""
    wanted = {path.name: synchronous(path.name, path.read_text(encoding="utf-8"))
              for path in sorted((PACKAGE / "asynchronous").glob("*.py")) if path.name not in WRITTEN_TWICE}
    there = {path.name: path.read_text(encoding="utf-8") for path in (PACKAGE / "synchronous").glob("*.py")
             if path.name not in WRITTEN_TWICE}
    return {PACKAGE / "synchronous" / name: wanted.get(name) for name in sorted({*wanted, *there})
            if wanted.get(name) != there.get(name)}


def main():
    is_check = sys.argv[1:] == ["--check"]
    changed = stale()
    for path, text in changed.items():
        print(f"{path.relative_to(PACKAGE.parent)}")
        if not is_check and text is None:
            path.unlink()
        elif not is_check:
            path.write_text(text, encoding="utf-8")
    return 1 if is_check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
