#include "server/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cli/option_words.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

auto parse(std::vector<std::string> args) { return parse_arguments(std::move(args), "1.2.3"); }

ExecOptions exec_of(std::vector<std::string> args) {
  auto parsed = parse(std::move(args));
  if (const auto* finished = std::get_if<Finished>(&parsed)) ADD_FAILURE() << finished->error;
  auto* options = std::get_if<ExecOptions>(&parsed);
  return options == nullptr ? ExecOptions() : *options;
}

Finished finished_of(std::vector<std::string> args) {
  auto parsed = parse(std::move(args));
  const auto* finished = std::get_if<Finished>(&parsed);
  return finished == nullptr ? Finished{.exit_code = -1, .output = {}, .error = {}} : *finished;
}

TEST(Arguments, ExecTakesCode) {
  const ExecOptions options = exec_of({"exec", "-c", "print(1)"});
  EXPECT_EQ(options.code, "print(1)");
  EXPECT_EQ(options.mode, ExecOptions::Mode::stream);
  EXPECT_FALSE(options.language || options.program.timeout || options.program.memory_limit_mb ||
               options.host.user);
}

TEST(Arguments, ExecTakesEveryOption) {
  const ExecOptions options =
      exec_of({"exec", "--language", "bash", "--timeout", "0.5", "--memory", "64", "--env", "A=b=c",
               "--env", "B=", "--json", "--user", "me", "a.sh", "--", "-x", "--", "--json"});
  EXPECT_FALSE(options.code.has_value());
  EXPECT_EQ(options.file, "a.sh");
  EXPECT_EQ(options.language, runtime::Language::bash);
  EXPECT_EQ(options.program.timeout, 500ms);
  EXPECT_EQ(options.program.memory_limit_mb, 64u);
  const std::vector<std::pair<std::string, std::string>> env = {{"A", "b=c"}, {"B", ""}};
  EXPECT_EQ(options.env, env);
  EXPECT_EQ(options.mode, ExecOptions::Mode::json);
  EXPECT_EQ(options.host.user, "me");
  EXPECT_EQ(options.args, (std::vector<std::string>{"-x", "--", "--json"}));
}

TEST(Arguments, ExecTakesATemplateOrAJailFile) {
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--template", "data"}).template_name, "data");
  EXPECT_EQ(finished_of({"exec", "-c", "x", "--template", "data", "--jail", "j"}).exit_code, 2);
}

TEST(Arguments, ATerminalNeedsNoProgram) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"exec", "-t"}, {"exec", "-it"}, {"exec", "--tty", "-i"}}) {
    const ExecOptions options = exec_of(words);
    EXPECT_TRUE(options.has_terminal && options.file.empty() && !options.code);
  }
  EXPECT_EQ(exec_of({"exec", "-it", "a.py", "--", "-t"}).file, "a.py");
  EXPECT_EQ(exec_of({"exec", "-t", "-c", "1"}).code, "1");
  EXPECT_FALSE(exec_of({"exec", "-i", "a.py"}).has_terminal);
  EXPECT_EQ(finished_of({"exec", "-i"}).exit_code, 2);
  EXPECT_THAT(finished_of({"exec", "-t", "-"}).error, HasSubstr("-t: standard input"));
  EXPECT_THAT(finished_of({"exec", "-t", "--json", "a.py"}).error, HasSubstr("--json"));
  EXPECT_THAT(finished_of({"exec", "-t", "--explain", "a.py"}).error, HasSubstr("--explain"));
}

TEST(Arguments, AServerTakesNothingThatIsAboutAJailOnThisHost) {
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--server", "http://a:1"}).server, "http://a:1");
  EXPECT_EQ(exec_of({"exec", "-c", "x"}).server, "");
  EXPECT_THAT(finished_of({"exec", "-c", "x", "--server", ""}).error, HasSubstr("expected a URL"));
  const std::vector<std::string> cases[] = {
      {"--jail", "a"},      {"--explain"},   {"--cgroup", "none"},
      {"--user", "me"},     {"--tty"},       {"--require-cgroup"},
      {"--rootfs", "host"}, {"--disk", "8"}, {"--processes", "8"}};
  for (const auto& words : cases) {
    std::vector<std::string> args = {"exec", "-c", "x", "--server", "http://a:1"};
    args.insert(args.end(), words.begin(), words.end());
    const Finished finished = finished_of(args);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.error, HasSubstr(words[0] + " cannot be used with --server"));
  }
}

TEST(Arguments, FilesAndArtifactsArePartedAtTheLastColon) {
  const ExecOptions options = exec_of(
      {"exec", "--file", "data/a.csv", "--file", "a:b:in/c", "--artifact", "*:x:out", "p.py"});
  ASSERT_EQ(options.program.files.size(), 2u);
  EXPECT_EQ(options.program.files[0].source, "data/a.csv");
  EXPECT_EQ(options.program.files[0].destination, "a.csv");
  EXPECT_EQ(options.program.files[1].source, "a:b");
  EXPECT_EQ(options.program.files[1].destination, "in/c");
  ASSERT_EQ(options.artifacts.wanted.size(), 1u);
  EXPECT_EQ(options.artifacts.wanted[0].glob, "*:x");
  EXPECT_EQ(options.artifacts.wanted[0].directory, "out");
}

TEST(Arguments, ADirectoryMayBeTypedWithASlash) {
  const ExecOptions options =
      exec_of({"exec", "--file", "a/dir/", "--file", "lib/:x/", "--file", ".", "p.py"});
  ASSERT_EQ(options.program.files.size(), 3u);
  EXPECT_EQ(options.program.files[0].destination, "dir");
  EXPECT_EQ(options.program.files[1].destination, "x");
  EXPECT_EQ(options.program.files[2].destination, ".");
}

TEST(Arguments, ExecTakesLimitsAndLeavesStandardInputAlone) {
  ExecOptions options = exec_of({"exec", "p.py"});
  EXPECT_TRUE(options.reads_input && !options.max_processes && !options.disk_limit_mb);
  options = exec_of({"exec", "-n", "--processes", "8", "--disk", "1g", "p.py"});
  EXPECT_FALSE(options.reads_input);
  EXPECT_EQ(options.max_processes, 8u);
  EXPECT_EQ(options.disk_limit_mb, 1024u);
}

TEST(Arguments, WhatLooksLikeAnOptionCanBeCodeAndTheDashIsAFile) {
  EXPECT_EQ(exec_of({"exec", "-c", "-1"}).code, "-1");
  EXPECT_EQ(exec_of({"exec", "-c", ""}).code, "");
  EXPECT_EQ(exec_of({"exec", "-"}).file, "-");
  EXPECT_EQ(exec_of({"exec", "--env", "A=b", "-"}).file, "-");
  EXPECT_EQ(exec_of({"exec", "--explain", "-"}).mode, ExecOptions::Mode::explain);
  EXPECT_EQ(exec_of({"exec", "--jail", "a.json", "-"}).jail_file, "a.json");
  EXPECT_TRUE(exec_of({"exec", "--stats", "-"}).shows_usage);
}

TEST(Arguments, MistakesAreUsageErrorsThatNameTheWord) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "expected a subcommand: exec, "},
      {{"launch"}, "there is no subcommand \"launch\"; expected exec, "},
      {{"exce"}, "did you mean exec?"},
      {{"exce", "-c", "x"}, "there is no subcommand \"exce\"; did you mean exec?"},
      {{"exce", "--help"}, "did you mean exec?"},
      {{"script.py", "exec"}, "a program's file is run by agent-sandbox exec script.py"},
      {{"-c", "x"}, "unknown option -c; write agent-sandbox exec -c\n"},
      {{"--json", "doctor"}, "unknown option --json; write agent-sandbox exec --json\n"},
      {{"sandbox", "exce"}, "did you mean exec?"},
      {{"sandbox", "run", "box", "--", "ls"}, "no subcommand \"run\"; did you mean exec?"},
      {{"sandbox", "lst", "exec"}, "no subcommand \"lst\"; did you mean list?"},
      {{"sandbox", "--name", "x", "create"}, "--name; write agent-sandbox sandbox create --name\n"},
      {{"sandbox", "--env", "A=b", "create"}, "--env; it stands after the subcommand\n"},
      {{"sandbox", "list", "--server", "x"}, "AGENT_SANDBOX_URL says where the server is"},
      {{"jobs", "cancle", "show"}, "no subcommand \"cancle\"; did you mean cancel?"},
      {{"jobs", "rm", "list"}, "no subcommand \"rm\"; did you mean cancel?"},
      {{"lessons", "lst", "erase"}, "did you mean list?"},
      {{"sandbox", "hibernate"}, "expected create, "},
      {{"exec"}, "-c CODE, FILE or -"},
      {{"exec", "--", "x"}, "-c CODE, FILE or -"},
      {{"exec", "-c", "x", "file"}, "-c and the file file exclude each other"},
      {{"exec", "a.py", "b", "c"},
       "unexpected: \"b\" \"c\"; arguments of the program follow after --"},
      {{"exec", "-c"}, "-c: expected CODE\n"},
      {{"exec", "-c", "x", "-c", "y"}, "-c is given more than once\n"},
      {{"exec", "-c", "x", "--memory"}, "--memory: expected MB\n"},
      {{"exec", "-c", "x", "--json=maybe"}, "--json takes no value\n"},
      {{"exec", "-c", "x", "--bad"}, "unknown option --bad\n"},
      {{"exec", "--timout", "3", "-c", "x"}, "unknown option --timout; did you mean --timeout?"},
      {{"exec", "--timout=3", "-c", "x"}, "unknown option --timout; did you mean --timeout?"},
      {{"exec", "-x", "-c", "x"}, "unknown option -x\n"},
      {{"exec", "a.py", "--verbose"},
       "unknown option --verbose; what is the program's follows after --\n"},
      {{"sandbox", "exec", "box", "ls", "-la"},
       "unknown option -la; what is the program's follows after --\n"},
      {{"--jsn", "exec"}, "unknown option --jsn\n"},
      {{"sandbox", "create", "--nam", "x"}, "did you mean --name?"},
      {{"exec", "-c", "x", "--timeout", "0"}, "--timeout"},
      {{"exec", "-c", "x", "--timeout", "nan"}, "--timeout"},
      {{"exec", "-c", "x", "--timeout", "5w"},
       "--timeout: expected a number 0.05 .. 86400 in seconds, or"},
      {{"exec", "-c", "x", "--timeout", "2d"}, "--timeout"},
      {{"exec", "-c", "x", "--timeout", "x"}, "--timeout: expected a number"},
      {{"exec", "-c", "x", "--timeout", ""}, "--timeout: expected a number"},
      {{"exec", "-c", "x", "--memory", "64.5"}, "--memory: expected an integer"},
      {{"exec", "-c", "x", "--memory", "1e99"}, "--memory: expected an integer"},
      {{"exec", "-c", "x", "--memory", "31"}, "--memory"},
      {{"exec", "-c", "x", "--memory", "-1"}, "--memory"},
      {{"exec", "-c", "x", "--memory", "2x"},
       "--memory: expected an integer 32 .. 1048576 in MB, or with"},
      {{"exec", "-c", "x", "--language", "ruby"}, "(or py, sh, js, node, ts), not \"ruby\""},
      {{"exec", "-c", "x", "--language", ""}, "--language"},
      {{"exec", "-c", "x", "--env", ""}, "--env"},
      {{"exec", "-e", "-c", "1"}, "-e: expected NAME[=VALUE], not the option -c\n"},
      {{"exec", "-c", "x", "-e", "A B=1"},
       "--env \"A B=1\": expected NAME=VALUE, or NAME, without"},
      {{"exec", "-c", "x", "--allow", "https://example.org/a"}, "write example.org:443"},
      {{"exec", "-c", "x", "--allow", "http://example.org"}, "write example.org:80"},
      {{"exec", "-c", "x", "--allow", "pypi.org"},
       "--allow pypi.org: a port is missing; write pypi.org:443\n"},
      {{"exec", "-c", "x", "--allow", "https://example.org:8443/"}, "write example.org:8443"},
      {{"exec", "-c", "x", "--env", "=b"}, "--env"},
      {{"exec", "-c", "x", "--file", ":x"}, "SRC:DEST"},
      {{"exec", "-c", "x", "--file", "a:"}, "SRC:DEST"},
      {{"exec", "-c", "x", "--processes", "0"}, "--processes: expected an integer 1 .. "},
      {{"exec", "-c", "x", "--disk", "2g"}, "--disk: expected an integer 1 .. 1024 in MB"},
      {{"exec", "-n", "-"}, "--no-stdin: the program itself comes by standard input"},
      {{"exec", "-n", "-t", "a.py"}, "--tty and --no-stdin exclude each other"},
      {{"exec", "-ni", "a.py"}, "--interactive and --no-stdin exclude each other"},
      {{"exec", "-c", "x", "--artifact", "*.png"}, "GLOB:DIR"},
      {{"exec", "-c", "x", "--artifact", "*.png:"}, "GLOB:DIR"},
      {{"exec", "-c", "x", "--json", "--artifact", "*.png:"}, "GLOB:DIR"},
      {{"exec", "-c", "x", "--artifact", "*.png:-o"}, "a directory, which ./-o would name\n"},
      {{"exec", "-c", "x", "--artifact", "/etc/*:."}, "leave the / out"},
      {{"exec", "-c", "x", "--json", "--explain"}, "--json and --explain exclude each other"},
      {{"exec", "-c", "x", "--json", "--stats"}, "exclude each other"},
      {{"serve", "extra"}, "extra"},
      {{"mcp", "extra"}, "extra"},
      {{"doctor", "extra"}, "extra"},
  };
  for (const auto& [args, word] : cases) {
    const Finished finished = finished_of(args);
    EXPECT_EQ(finished.exit_code, 2) << ::testing::PrintToString(args);
    EXPECT_THAT(finished.error, HasSubstr(word)) << ::testing::PrintToString(args);
    EXPECT_EQ(finished.output, "");
  }
}

TEST(Arguments, AMistakeEndsWithWhereToReadMore) {
  EXPECT_THAT(finished_of({"launch"}).error, HasSubstr("\nagent-sandbox --help says more.\n"));
  EXPECT_THAT(finished_of({"exec"}).error, HasSubstr("\nagent-sandbox exec --help says more.\n"));
  EXPECT_THAT(finished_of({"exec", "--bad"}).error,
              HasSubstr("agent-sandbox exec --help says more."));
  EXPECT_THAT(finished_of({"sandbox", "exec"}).error,
              HasSubstr("agent-sandbox sandbox exec --help says more."));
}

TEST(Arguments, ExecTakesUnitsAndShortWords) {
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--timeout", "500ms"}).program.timeout, 500ms);
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--timeout", "2m"}).program.timeout, 2min);
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--timeout", "2min"}).program.timeout, 2min);
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--memory", "256Mi"}).program.memory_limit_mb, 256u);
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--memory", "1Gi"}).program.memory_limit_mb, 1024u);
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--timeout", "1d"}).program.timeout, 24h);
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--memory", "2g"}).program.memory_limit_mb, 2048u);
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--memory", "64MB"}).program.memory_limit_mb, 64u);
  EXPECT_EQ(exec_of({"exec", "-c", "x", "--memory", "1.5g"}).program.memory_limit_mb, 1536u);
  const std::pair<const char*, runtime::Language> words[] = {
      {"py", runtime::Language::python},     {"sh", runtime::Language::bash},
      {"js", runtime::Language::javascript}, {"node", runtime::Language::javascript},
      {"ts", runtime::Language::typescript}, {"typescript", runtime::Language::typescript}};
  for (const auto& [word, language] : words) {
    EXPECT_EQ(exec_of({"exec", "-c", "x", "--language", word}).language, language) << word;
  }
}

TEST(Arguments, AVariableWithoutAValueIsPassedOn) {
  const ExecOptions options = exec_of({"exec", "-e", "HOME", "-e", "A=1", "-c", "-e"});
  EXPECT_EQ(options.passed_env, std::vector<std::string>{"HOME"});
  ASSERT_EQ(options.env.size(), 1u);
  EXPECT_EQ(options.env[0].second, "1");
  EXPECT_EQ(options.code, "-e");
}

TEST(Arguments, ArtifactsReplaceNothingUnlessAsked) {
  EXPECT_FALSE(exec_of({"exec", "-c", "x", "--artifact", "*:out"}).artifacts.overwrite);
  EXPECT_TRUE(
      exec_of({"exec", "-c", "x", "--artifact", "*:out", "--overwrite"}).artifacts.overwrite);
}

TEST(Arguments, AProgramHasAsManyArgumentsAsARequestMayHave) {
  std::vector<std::string> args = {"exec", "-c", "x", "--"};
  args.resize(args.size() + 256, "a");
  EXPECT_EQ(exec_of(args).args.size(), 256u);
  args.emplace_back("a");
  EXPECT_THAT(finished_of(args).error, HasSubstr("a list of at most 256 strings"));
  std::vector<std::string> variables = {"exec", "-c", "x"};
  std::vector<std::string> globs = variables;
  for (int count = 0; count < 257; ++count) variables.insert(variables.end(), {"--env", "A=b"});
  EXPECT_THAT(finished_of(variables).error, HasSubstr("--env: expected a map of at most 256"));
  for (int count = 0; count < 65; ++count) globs.insert(globs.end(), {"--artifact", "*:d"});
  EXPECT_THAT(finished_of(globs).error, HasSubstr("--artifact: expected a list of at most 64"));
}

TEST(OptionWords, AFieldIsNamedByItsOption) {
  EXPECT_EQ(in_options("files: expected at most 64 files"), "--file: expected at most 64 files");
  EXPECT_EQ(in_options("the operator's text"), "the operator's text");
  EXPECT_EQ(in_options_for_server("memory_limit_mb: expected an integer 32 .. 2048"),
            "--memory: the server expects an integer 32 .. 2048");
  EXPECT_EQ(in_options_for_server("code: expected a string"), "code: expected a string");
}

TEST(Arguments, HelpAndVersionSucceed) {
  EXPECT_EQ(finished_of({"--version"}).output, "agent-sandbox 1.2.3\n");
  EXPECT_EQ(finished_of({"version"}).output, "agent-sandbox 1.2.3\n");
  EXPECT_EQ(finished_of({"--version"}).exit_code, 0);
  EXPECT_EQ(finished_of({"help"}).output, finished_of({"--help"}).output);
  EXPECT_EQ(finished_of({"help", "sandbox", "exec"}).output,
            finished_of({"sandbox", "exec", "--help"}).output);
  EXPECT_EQ(finished_of({"sandbox", "help"}).output, finished_of({"sandbox", "--help"}).output);
  for (const char* command : {"exec", "serve", "mcp", "doctor"}) {
    EXPECT_THAT(finished_of({"--help"}).output, HasSubstr(command));
    const Finished help = finished_of({command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.output, HasSubstr("--user"));
  }
}

TEST(Arguments, ServeTurnsFlagsIntoSettings) {
  const auto parsed = parse({"serve", "--host", "::1", "--port", "0", "--config", "c.json",
                             "--log-level", "debug", "--log-format", "json", "--user", "me"});
  const auto* options = std::get_if<ServeOptions>(&parsed);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->config_path, "c.json");
  EXPECT_EQ(options->host.user, "me");
  ASSERT_EQ(options->host.flags.size(), 4u);
  EXPECT_EQ(options->host.flags[1].name, "API_PORT");
  EXPECT_EQ(options->host.flags[1].value, "0");
  EXPECT_EQ(options->host.flags[1].flag, "--port");
  EXPECT_TRUE(std::get<ServeOptions>(parse({"serve"})).host.flags.empty());
}

TEST(Arguments, TheCgroupIsASettingOfExecToo) {
  const auto check = [](const std::vector<runtime::FlagSetting>& flags) {
    ASSERT_EQ(flags.size(), 2u);
    EXPECT_EQ(flags[0].name, "SANDBOX_CGROUP");
    EXPECT_EQ(flags[0].value, "/sys/fs/cgroup/a");
    EXPECT_EQ(flags[1].name, "SANDBOX_REQUIRE_CGROUP");
    EXPECT_EQ(flags[1].value, "true");
  };
  check(std::get<ServeOptions>(parse({"serve", "--cgroup", "/sys/fs/cgroup/a", "--require-cgroup"}))
            .host.flags);
  check(std::get<ExecOptions>(
            parse({"exec", "--cgroup", "/sys/fs/cgroup/a", "--require-cgroup", "-c", "1"}))
            .host.flags);
  EXPECT_TRUE(std::get<ExecOptions>(parse({"exec", "-c", "1"})).host.flags.empty());
}

TEST(Arguments, DoctorHasTwoFormats) {
  EXPECT_EQ(std::get<DoctorOptions>(parse({"doctor"})).format, DoctorOptions::Format::text);
  EXPECT_EQ(std::get<DoctorOptions>(parse({"doctor", "--json"})).format,
            DoctorOptions::Format::json);
}

TEST(Arguments, DoctorMayOnlyMeasureTheSpeed) {
  EXPECT_EQ(std::get<DoctorOptions>(parse({"doctor"})).extent, DoctorOptions::Extent::everything);
  const auto parsed = parse({"doctor", "--speed", "--json"});
  EXPECT_EQ(std::get<DoctorOptions>(parsed).extent, DoctorOptions::Extent::speed);
  EXPECT_EQ(std::get<DoctorOptions>(parsed).format, DoctorOptions::Format::json);
}

}  // namespace
}  // namespace server
