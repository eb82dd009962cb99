"""g++ 12 destroys a braced temporary inside a co_await expression twice, and a closure with what it
has captured as well: a double free at run time that no compiler warning announces. Such a value
gets a name first and is then moved."""
import re

import tree

LAMBDA_HEAD = re.compile(r"(?:\]|\)|\bmutable|\bnoexcept|->\s*[\w:<>,\s&*]+)\s*$")


def skip_block(code, start):
    depth = 0
    for offset in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[offset], 0)
        if depth == 0:
            return offset
    return len(code)


# A closure and its captures; the bracket of an index follows the indexed expression.
CLOSURE = re.compile(r"\[([^\[\]]*)\]\s*[({]")
BEFORE_A_CLOSURE = re.compile(r"[(,=]\s*$")


def owns_something(captures):
    """Returns whether a closure captures more than `this` and references."""
    parts = [part.strip() for part in captures.split(",")]
    return any(part not in ("", "this") and not part.startswith("&") for part in parts)


def awaited_braces(code):
    """Offsets of braces and closures that are temporaries between a `co_await` and the end of its expression."""
    for match in re.finditer(r"\bco_await\b", code):
        depth, offset = 0, match.end()
        while offset < len(code):
            letter = code[offset]
            closure = CLOSURE.match(code, offset) if letter == "[" else None
            if closure and owns_something(closure[1]) and BEFORE_A_CLOSURE.search(code, match.end(), offset):
                yield offset
                break
            if letter in "([":
                depth += 1
            elif letter in ")]":
                depth -= 1
                if depth < 0:
                    break
            elif letter == ";" and depth == 0:
                break
            elif letter == "{":
                if not LAMBDA_HEAD.search(code, match.end(), offset):
                    yield offset
                    break
                offset = skip_block(code, offset)
            offset += 1


def braced_awaits(root):
    violations = []
    for path in tree.code_files(root):
        code = tree.without_comments_and_strings(tree.text_of(path))
        for offset in awaited_braces(code):
            violations.append(f"{path.relative_to(root)}:{tree.line_of(code, offset)} "
                              "has a braced value or a closure that owns something inside a co_await expression")
    return violations


def statement_expressions(root):
    violations = []
    for path in tree.code_files(root):
        code = tree.without_comments_and_strings(tree.text_of(path))
        if "co_await" not in code and "co_return" not in code:
            continue
        for match in re.finditer(r"\(\s*\{", code):
            if "co_await" in code[match.end():skip_block(code, match.end() - 1)]:
                violations.append(f"{path.relative_to(root)}:{tree.line_of(code, match.start())} "
                                  "awaits inside a statement expression")
    return violations


class Coroutines(tree.RuleTest):
    def test_project_names_what_it_awaits_with(self):
        self.assert_project_keeps(braced_awaits)

    def test_project_has_no_awaiting_statement_expression(self):
        self.assert_project_keeps(statement_expressions)

    def test_control_braced_awaits(self):
        planted = {"runtime/a.cc": """
            co_await run(Options{.name = "x"});
            auto r = co_await run(1, {.name = "x"}, 2);
            if (auto ok = co_await send({1, 2}); !ok) { co_return; }
            co_await post([text] { f(text); });
            co_await post(1, [&other, held = std::move(held)]() mutable { f(held); });
        """, "runtime/good.cc": """
            Options options{.name = "x"};
            auto r = co_await run(std::move(options));
            // co_await run(Options{});
            if (auto ok = co_await send(options); !ok) { f(Options{}); }
            while (co_await more()) { f({1}); }
            co_await post([this]() mutable -> std::vector<int> { return std::vector<int>{1}; }, token);
            co_await post([] { f(Options{}); });
            co_await post([&text, this] { f(text[i]); });
            co_await read(buffers[n], sizes[first]);
        """}
        self.assert_rule_finds(braced_awaits, planted, *(f"a.cc:{line} " for line in range(2, 7)))

    def test_control_statement_expressions(self):
        planted = {"runtime/a.cc": "int x = ({ int y = co_await f(); y; });\nvoid g() { if (x) { co_return; } }\n"}
        self.assert_rule_finds(statement_expressions, planted, "a.cc:1 ")
