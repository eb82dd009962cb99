#include "server/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Arguments, FilesAndArtifactsArePartedAtTheLastColon) {
  const ExecOptions options = exec_of(
      {"exec", "--file", "data/a.csv", "--file", "a:b:in/c", "--artifact", "*:x:out", "p.py"});
  ASSERT_EQ(options.program.files.size(), 2u);
  EXPECT_EQ(options.program.files[0].source, "data/a.csv");
  EXPECT_EQ(options.program.files[0].destination, "a.csv");
  EXPECT_EQ(options.program.files[1].source, "a:b");
  EXPECT_EQ(options.program.files[1].destination, "in/c");
  ASSERT_EQ(options.artifacts.size(), 1u);
  EXPECT_EQ(options.artifacts[0].glob, "*:x");
  EXPECT_EQ(options.artifacts[0].directory, "out");
}

TEST(Arguments, WhatLooksLikeAnOptionCanBeCodeAndTheDashIsAFile) {
  EXPECT_EQ(exec_of({"exec", "-c", "-1"}).code, "-1");
  EXPECT_EQ(exec_of({"exec", "-c", ""}).code, "");
  EXPECT_EQ(exec_of({"exec", "-"}).file, "-");
  EXPECT_EQ(exec_of({"exec", "--env", "A=b", "-"}).file, "-");
  EXPECT_EQ(exec_of({"exec", "--explain", "-"}).mode, ExecOptions::Mode::explain);
  EXPECT_EQ(exec_of({"exec", "--jail", "a.json", "-"}).jail_file, "a.json");
}

TEST(Arguments, MistakesAreUsageErrorsThatNameTheWord) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "subcommand"},
      {{"launch"}, "launch"},
      {{"exec"}, "-c CODE, FILE or -"},
      {{"exec", "--", "x"}, "-c CODE, FILE or -"},
      {{"exec", "-c", "x", "file"}, "-c"},
      {{"exec", "a.py", "b"}, "b"},
      {{"exec", "-c"}, "-c"},
      {{"exec", "-c", "x", "--bad"}, "--bad"},
      {{"exec", "-c", "x", "--timeout", "0"}, "--timeout"},
      {{"exec", "-c", "x", "--timeout", "nan"}, "--timeout"},
      {{"exec", "-c", "x", "--timeout", "5s"}, "--timeout"},
      {{"exec", "-c", "x", "--memory", "31"}, "--memory"},
      {{"exec", "-c", "x", "--memory", "-1"}, "--memory"},
      {{"exec", "-c", "x", "--language", "ruby"}, "--language"},
      {{"exec", "-c", "x", "--env", "A"}, "--env"},
      {{"exec", "-c", "x", "--env", "=b"}, "--env"},
      {{"exec", "-c", "x", "--file", ":x"}, "SRC:DEST"},
      {{"exec", "-c", "x", "--file", "dir/"}, "SRC:DEST"},
      {{"exec", "-c", "x", "--artifact", "*.png"}, "GLOB:DIR"},
      {{"exec", "-c", "x", "--artifact", "*.png:"}, "GLOB:DIR"},
      {{"exec", "-c", "x", "--artifact", "/etc/*:."}, "relative"},
      {{"exec", "-c", "x", "--json", "--explain"}, "--json"},
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

TEST(Arguments, HelpAndVersionSucceed) {
  EXPECT_EQ(finished_of({"--version"}).output, "agent-sandbox 1.2.3\n");
  EXPECT_EQ(finished_of({"--version"}).exit_code, 0);
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
