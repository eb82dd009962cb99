"""The includes that each folder may have: server -> runtime -> <jail/*.h>, and third parties in their place."""
import re

import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)

# (folder, forbidden include, reason). The folder and its exceptions are path prefixes.
RULES = (
    (("jail/",), (), r"runtime/|server/", "the library knows nothing of what uses it"),
    (("runtime/",), (), r"server/", "the product knows no front door"),
    (("runtime/", "server/"), (), r"jail/src/|\.\./", "only <jail/*.h> is the library's interface"),
    (("jail/include/",), (), r"(?!jail(_c)?/)\w+/", "a public header shows no third party"),
    (("jail/",), ("jail/examples/",), r"boost/|curl/|spdlog/|fmt/|simdjson|CLI/|sqlite3|hiredis", "libjail has no such dependency"),
    (("runtime/", "policies/"), (), r"boost/beast|CLI/", "HTTP and the command line are the server's"),
    (("runtime/", "server/", "policies/"), ("runtime/json/",), r"simdjson", "JSON is read by runtime/json"),
    (("runtime/", "server/", "policies/"), ("runtime/store/",), r"sqlite3|openssl/", "jobs are stored by runtime/store"),
    (("runtime/", "server/", "policies/"), ("runtime/observe/",), r"spdlog/", "logs are written by runtime/observe"),
    (("server/cli/",), (), r"server/api/decode", "what a request may ask for is said by runtime/service"),
    (("server/",), (), r"curl/|sqlite3|hiredis", "the outside world is runtime's"),
    (("runtime/", "policies/"), ("runtime/llm/",), r"curl/", "the outside world is reached by runtime/llm"),
    (("jail/", "runtime/", "server/", "policies/"), ("jail/src/policy/",), r"seccomp\.h", "libseccomp has one user"),
    (("jail/include/", "runtime/", "server/", "policies/"), (), r"netlink/|sys/capability\.h", "only jail/src talks to the kernel"),
    (("",), (), r"nlohmann/", "one JSON library is enough"),
)


def wrong_includes(root):
    violations = []
    for path in tree.code_files(root):
        where = path.relative_to(root).as_posix()
        for match in INCLUDE.finditer(tree.text_of(path)):
            for folders, exceptions, forbidden, why in RULES:
                if (where.startswith(folders) and not (exceptions and where.startswith(exceptions))
                        and re.match(forbidden, match.group(1))):
                    line = tree.line_of(match.string, match.start(1))
                    violations.append(f"{where}:{line} includes {match.group(1)}: {why}")
    return violations


class Layers(tree.RuleTest):
    def test_project(self):
        self.assert_project_keeps(wrong_includes)

    def test_project_has_includes_to_check(self):
        includes = sum(len(INCLUDE.findall(tree.text_of(path)))
                       for path in tree.code_files(tree.PROJECT))
        self.assertGreater(includes, 50)

    def test_control(self):
        planted = {
            "jail/src/parent/a.cc": '#include "runtime/sandbox/runner.h"\n#include <boost/asio.hpp>\n',
            "jail/include/jail/a.h": "#include <seccomp.h>\n#include <vector>\n",
            "jail/src/policy/a.cc": "#include <seccomp.h>\n#include <sys/capability.h>\n",
            "runtime/sandbox/a.cc": '#include "server/api/a.h"\n#include "jail/src/plan/plan.h"\n',
            "runtime/sandbox/b.cc": '#include "../../jail/fd.h"\n#  include <boost/beast/http.hpp>\n',
            "runtime/json/a.cc": "#include <simdjson.h>\n#include <boost/json.hpp>\n",
            "runtime/observe/a.cc": "#include <spdlog/spdlog.h>\n",
            "runtime/sandbox/c.cc": "#include <sqlite3.h>\n#include <openssl/evp.h>\n#include <curl/curl.h>\n",
            "server/http/a.cc": "#include <boost/beast.hpp>\n#include <simdjson.h>\n#include <spdlog/spdlog.h>\n",
            "server/cli/a.cc": '#include "server/api/decode.h"\n',
            "server/http/b.cc": "#include <netlink/netlink.h>\n#include <curl/curl.h>\n",
            "jail/examples/a/main.cc": "#include <boost/asio.hpp>\n",
            "tests/unit/a_test.cc": "#include <nlohmann/json.hpp>\n",
        }
        self.assert_rule_finds(
            wrong_includes, planted, "a.cc:1 includes runtime/sandbox/runner.h", "a.cc:2 includes boost/asio.hpp",
            "a.h:1 includes seccomp.h", "c.cc:1 includes sqlite3.h", "c.cc:2 includes openssl/", "c.cc:3 includes curl/curl.h", "includes server/api/a.h", "includes jail/src/plan/plan.h",
            "includes ../../jail/fd.h", "includes boost/beast/http.hpp", "includes server/api/decode.h", "server/http/a.cc:2 includes simdjson.h",
            "server/http/a.cc:3 includes spdlog", "includes netlink/netlink.h", "includes curl/curl.h", "includes nlohmann")
