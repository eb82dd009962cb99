#include "runtime/sandbox/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sandbox/waiting_node.h"

namespace runtime {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Language, PythonIsTheRootsOwn) {
  RunRequest request;
  request.args = {"a", "b c"};
  EXPECT_THAT(arguments_of(request),
              ElementsAre("/usr/bin/python3", "/workspace/main.py", "a", "b c"));
}

TEST(Language, BashRunsItsFile) {
  RunRequest request;
  request.language = Language::bash;
  EXPECT_THAT(arguments_of(request), ElementsAre("/usr/bin/bash", "/workspace/main.sh"));
}

TEST(Language, JavaScriptIsAModuleWhereItLooksLikeOne) {
  RunRequest request;
  request.language = Language::javascript;
  request.memory_limit_mb = 128;
  request.args = {"-a"};
  request.code = "console.log(1)";
  EXPECT_THAT(arguments_of(request),
              ElementsAre("/usr/bin/node", "--max-old-space-size=128", "/workspace/main.js", "-a"));
  request.code = "import fs from 'fs'";
  EXPECT_EQ(file_name_of(request.language, request.code), "main.mjs");
  EXPECT_THAT(arguments_of(request), Contains("/workspace/main.mjs"));
}

TEST(Language, TypeScriptIsOneProgramOfTwoSteps) {
  RunRequest request;
  request.language = Language::typescript;
  request.args = {"-a", "b"};
  const auto arguments = arguments_of(request);
  EXPECT_EQ(file_name_of(request.language, ""), "main.ts");
  EXPECT_EQ(arguments.front(), "/usr/bin/bash");
  EXPECT_EQ(arguments.at(3), "/usr/bin/node");
  EXPECT_THAT(std::vector(arguments.end() - 3, arguments.end()),
              ElementsAre("/tmp/main.mjs", "-a", "b"));
}

TEST(Language, ANodeThatWaitsForTypeScriptIsTheSameNode) {
  RunRequest request;
  request.language = Language::typescript;
  const auto cold = arguments_of(request);
  const auto waiting = waiting_arguments_of(request);
  // The first three are the shell and its script.
  EXPECT_THAT(std::vector(waiting.begin() + 3, waiting.end() - 1),
              ElementsAreArray(std::vector(cold.begin() + 3, cold.end())));
  EXPECT_EQ(waiting.back(), "/workspace/main.ts");
  EXPECT_THAT(cold.at(2), HasSubstr("\n/usr/bin/esbuild /workspace/main.ts '--bundle' "));
  EXPECT_THAT(cold.at(2), HasSubstr(")(\"/workspace/main.ts\");' || exit 1\n"));
  EXPECT_THAT(waiting.at(2), HasSubstr("/usr/bin/esbuild \"--service="));
  request.language = Language::javascript;
  const auto javascript = waiting_arguments_of(request);
  EXPECT_THAT(std::vector(javascript.begin(), javascript.begin() + 3),
              ElementsAre("/usr/bin/env", "-C", "/"));
  EXPECT_EQ(std::vector(javascript.begin() + 3, javascript.end()), arguments_of(request));
  // The same node waits for both kinds of modules.
  request.code = "import 'node:fs'";
  EXPECT_EQ(waiting_arguments_of(request).back(), "/workspace/main.js");
  EXPECT_EQ(arguments_of(request).back(), "/workspace/main.mjs");
}

TEST(Language, AnEsbuildThatWaitsGetsTheOptionsOfACommandLine) {
  const auto options = module_options_for("/workspace/main.ts");
  RunRequest request;
  request.language = Language::typescript;
  for (const std::string& option : options) {
    EXPECT_THAT(arguments_of(request).at(2), HasSubstr(" '" + option + "' "));
  }
  EXPECT_THAT(options, Contains("--outfile=/tmp/main.mjs"));
  EXPECT_THAT(waiting_module().text, HasSubstr("\"--bundle\",\"--platform=node\""));
  EXPECT_THAT(waiting_module().text, HasSubstr("const typescript = \"/workspace/main.ts\";"));
}

TEST(Language, ANodeThatWaitsHasAsManyBytesOfVariablesAsAnother) {
  const std::vector<std::string> shown = environment_of(RunRequest{});
  const std::vector<std::string> at_start = env_of_waiting_node(shown);
  const auto bytes_of = [](const std::vector<std::string>& env) {
    std::size_t bytes = 0;
    for (const std::string& variable : env) bytes += variable.size() + 1;
    return bytes;
  };
  EXPECT_EQ(bytes_of(at_start), bytes_of(shown));
  EXPECT_THAT(at_start, Contains(StartsWith("NODE_OPTIONS=-r " + waiting_module().target + " ")));
  for (const std::string& variable : shown) {
    EXPECT_THAT(waiting_module().text,
                HasSubstr("[\"" + variable.substr(0, variable.find('=')) + "\",\""));
  }
}

TEST(Language, AFileMayBeAnywhere) {
  EXPECT_THAT(arguments_for(Language::python, "/tmp/a.py", 64, {"x"}),
              ElementsAre("/usr/bin/python3", "/tmp/a.py", "x"));
  EXPECT_THAT(arguments_for(Language::javascript, "/a.js", 64, {}),
              ElementsAre("/usr/bin/node", "--max-old-space-size=64", "/a.js"));
  const auto typescript = arguments_for(Language::typescript, "/workspace/b/.c-1.ts", 64, {});
  EXPECT_EQ(typescript.back(), "/tmp/.c-1.mjs");
  EXPECT_EQ(module_of_typescript("/workspace/b/.c-1.ts"), "/tmp/.c-1.mjs");
  const std::string& script = typescript.at(2);
  for (const char* part :
       {"esbuild /workspace/b/.c-1.ts ", "--outfile=/tmp/.c-1.mjs' ", "file:///workspace/b/.c-1.ts",
        "__dirname: \"/workspace/b\"", "(\"/workspace/b/.c-1.ts\")"}) {
    EXPECT_THAT(script, HasSubstr(part));
  }
  EXPECT_THAT(script, Not(HasSubstr("main.")));
}

TEST(Language, AProgramMayHaveAFileNameOfItsOwn) {
  RunRequest request;
  request.file_name = "script.py";
  EXPECT_EQ(arguments_of(request).at(1), "/workspace/script.py");
  request.language = Language::bash;
  request.file_name = "tool";
  EXPECT_THAT(arguments_of(request), ElementsAre("/usr/bin/bash", "/workspace/tool"));
  request.language = Language::javascript;
  EXPECT_EQ(program_file_of(request), "main.js") << "no name that node knows";
  request.file_name = "a.b.js";
  EXPECT_EQ(program_file_of(request), "a.b.js");
  request.code = "import fs from 'fs'";
  EXPECT_EQ(program_file_of(request), "a.b.mjs");
  request.file_name = "a.cjs";
  EXPECT_EQ(program_file_of(request), "a.cjs");
  request.language = Language::typescript;
  request.file_name = "a.ts";
  EXPECT_EQ(program_file_of(request), "main.ts");
}

TEST(Language, NamesAndFileEndings) {
  for (const Language language : all_languages) {
    EXPECT_EQ(language_named(name_of(language)), language);
    EXPECT_FALSE(programs_of(language).empty());
  }
  EXPECT_EQ(language_named("Python"), std::nullopt);
  EXPECT_EQ(language_named(""), std::nullopt);
  EXPECT_EQ(language_of_file("a.py"), Language::python);
  EXPECT_EQ(language_of_file("a.bash"), Language::bash);
  EXPECT_EQ(language_of_file("dir.py/a.mjs"), Language::javascript);
  EXPECT_EQ(language_of_file("a.ts"), Language::typescript);
  EXPECT_EQ(language_of_file("a.txt"), std::nullopt);
  EXPECT_EQ(language_of_file(""), std::nullopt);
}

TEST(Language, IsToldByTheFirstLine) {
  EXPECT_EQ(language_of_first_line("#!/usr/bin/python3\nputs"), Language::python);
  EXPECT_EQ(language_of_first_line("#!/usr/bin/env python3.11"), Language::python);
  EXPECT_EQ(language_of_first_line("#! /bin/sh -e\n"), Language::bash);
  EXPECT_EQ(language_of_first_line("#!/usr/bin/env -S A=1 bash -x\r\n"), Language::bash);
  EXPECT_EQ(language_of_first_line("#!/usr/bin/env node\n"), Language::javascript);
  for (const char* code : {"", "#", "#!", "#!\n", "#!/usr/bin/env", "#!/usr/bin/env -",
                           "#!/usr/bin/ruby", "print(1)\n#!/bin/bash", " #!/bin/bash"}) {
    EXPECT_EQ(language_of_first_line(code), std::nullopt) << code;
  }
}

TEST(Language, CallersVariablesWin) {
  RunRequest request;
  request.env = {{"HOME", "/workspace"}, {"NEW", "1"}};
  const auto environment = environment_of(request);
  EXPECT_THAT(environment, Contains("HOME=/workspace"));
  EXPECT_THAT(environment, Contains("NEW=1"));
  EXPECT_THAT(environment, Not(Contains("HOME=/tmp")));
  EXPECT_THAT(environment, Contains("PATH=/usr/bin:/bin"));
  EXPECT_THAT(environment, Contains("PIP_BREAK_SYSTEM_PACKAGES=1"));
}

}  // namespace
}  // namespace runtime
