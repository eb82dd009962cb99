#!/usr/bin/env python3
"""Prints a header as doxygen shall read it: the plain comments of this project's style become those
that doxygen takes for documentation.

  doxygen_comments.py HEADER

A comment above a declaration or behind one documents it; the first one of a file, the file. One above
several functions, with no empty line and no other comment between them, documents them all. What is
behind a declaration and says only "the library's own" hides it. Code is left as it is.
"""
import re
import sys

TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//.*')
HIDDEN = "the library's own"
NOT_DOCUMENTATION = re.compile(r"NOLINT|namespace\b|extern \"C\"|clang-format\b")
ERRORS = re.compile(r"(?:^|(?<=[.:)] ))Errors: ", re.MULTILINE)


def split(line):
    """Code and comment of a line; None where it has no plain comment."""
    for token in TOKENS.finditer(line):
        if token.group().startswith("//"):
            text = token.group()[2:]
            return (line[:token.start()], None) if text[:1] in ("/", "!") else (line[:token.start()], text.removeprefix(" "))
    return line, None


def escaped(text):
    """Words that doxygen would take for commands or tags are words; `code` stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"[\\@<>#&%]", r"\\\g<0>", part) for part in parts)


def paragraphs(lines):
    """The same text, with what it says about errors as a paragraph with that head."""
    text = ERRORS.sub("\n@par Errors\n", escaped("\n".join(lines)))
    return text.strip("\n").split("\n")


def block_above(lines, indent, first_of_file):
    head = ["@file", ""] if first_of_file else []
    return [f"{indent}/// {line}".rstrip() for line in head + paragraphs(lines)]


def block_behind(code, lines):
    first, *rest = paragraphs(lines)
    return [f"{code}///< {first}", *(f"{' ' * len(code)}///< {line}" for line in rest)]


def is_documented(following):
    """Whether a comment above this line belongs to it."""
    code = following.strip()
    return bool(code) and not code.startswith(("}", "#pragma", "#include", "#if", "#endif"))


def comment_at(lines, at):
    """Code, texts and end of the comment that begins in this line and goes on below in the same column."""
    code, comment = split(lines[at])
    end, texts = at + 1, [comment]
    while end < len(lines):
        next_code, next_comment = split(lines[end])
        if next_comment is None or next_code.strip() or len(next_code) != len(code):
            break
        texts.append(next_comment)
        end += 1
    return code, texts, end


def begins_function(line, previous):
    return "(" in line and not line.strip().startswith(("}", "#", ")")) and previous.rstrip().endswith((";", "}"))


def converted(source):
    lines = source.split("\n")
    out, at, shared = [], 0, []
    while at < len(lines):
        code, comment = split(lines[at])
        if comment is None or NOT_DOCUMENTATION.match(comment):
            shared = shared if code.strip() else []
            if shared and begins_function(code, split(lines[at - 1])[0]):
                out += shared
            out.append(lines[at])
            at += 1
            continue
        code, texts, end = comment_at(lines, at)
        if code.strip():
            hidden = texts == [HIDDEN]
            out += [f"/** @cond */{code}/** @endcond */"] if hidden else block_behind(code, texts)
        elif at == 0:
            out += block_above(texts, code, first_of_file=True)
        elif end < len(lines) and is_documented(lines[end]):
            shared = block_above(texts, code, first_of_file=False)
            out += shared
        else:
            out += lines[at:end]
        at = end
    return "\n".join(out)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(converted(header.read()))
