"""Every code of a refusal is used somewhere."""
import re

import tree

TABLE = "runtime/refusals/"
ENUM = re.compile(r"enum class RefusalCode[^{]*\{(.*?)\};", re.DOTALL)


def codes_that_nobody_sends(root):
    header = root / TABLE / "refusal_code.h"
    sent = set()
    for path in tree.code_files(root):
        where = path.relative_to(root).as_posix()
        if where.startswith(("runtime/", "server/")) and not where.startswith(TABLE):
            sent |= set(re.findall(r"RefusalCode::(\w+)", tree.without_comments_and_strings(tree.text_of(path))))
    codes = re.findall(r"\w+", ENUM.search(tree.text_of(header)).group(1))
    return [f"{TABLE}refusal_code.h: nobody sends {code}" for code in codes if code not in sent]


class RefusalCodes(tree.RuleTest):
    def test_project(self):
        self.assert_project_keeps(codes_that_nobody_sends)

    def test_control(self):
        header = "enum class RefusalCode : std::uint8_t {\n  sent,\n  unsent,\n  mentioned,\n};\n"
        planted = {f"{TABLE}refusal_code.h": header,
                   f"{TABLE}refusal_code.cc": "auto a = RefusalCode::unsent;\n",
                   "server/api/a.cc": "auto a = RefusalCode::sent;  // RefusalCode::mentioned\n"}
        self.assert_rule_finds(codes_that_nobody_sends, planted, "nobody sends unsent", "nobody sends mentioned")
