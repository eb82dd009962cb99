#include "server/cli/sandbox/sandbox_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace server::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Words = std::vector<std::string>;

Command parsed(Words args) {
  args.insert(args.begin(), "sandbox");
  return parse_arguments(std::move(args), "1.2.3");
}

template <class One>
One parsed_as(Words args) {
  auto command = parsed(std::move(args));
  if (const auto* finished = std::get_if<Finished>(&command)) ADD_FAILURE() << finished->error;
  auto* options = std::get_if<Options>(&command);
  auto* one = options == nullptr ? nullptr : std::get_if<One>(options);
  EXPECT_NE(one, nullptr);
  return one == nullptr ? One() : *one;
}

TEST(SandboxArguments, CreateNeedsNothing) {
  const auto options = parsed_as<CreateOptions>({"create"});
  EXPECT_TRUE(options.name.empty() && options.env.empty() && options.allow.empty());
  EXPECT_FALSE(options.limits.memory_mb || options.limits.processes || options.limits.disk_mb ||
               options.limits.cpu || options.timeout_seconds || options.idle_seconds);
  EXPECT_EQ(options.format, Format::text);
}

TEST(SandboxArguments, ShortOptionsAreThoseOfExec) {
  EXPECT_THAT(parsed_as<CreateOptions>({"create", "-e", "A=1"}).env, ElementsAre(Pair("A", "1")));
  EXPECT_THAT(parsed_as<ShellOptions>({"shell", "box", "-e", "A=1"}).env,
              ElementsAre(Pair("A", "1")));
  const auto options =
      parsed_as<ExecOptions>({"exec", "-i", "-eA=1", "box", "-e", "B=2", "--", "x"});
  EXPECT_THAT(options.env, ElementsAre(Pair("A", "1"), Pair("B", "2")));
  EXPECT_EQ(options.id, "box");
  EXPECT_TRUE(options.reads_input);
  EXPECT_TRUE(std::holds_alternative<Finished>(parsed({"exec", "-i", "-n", "box", "--", "x"})));
}

TEST(SandboxArguments, CreateTakesEveryOption) {
  const auto options = parsed_as<CreateOptions>(
      {"create",  "--name",          "box",       "--template",   "python",      "--env",
       "A=b=c",   "--env",           "B=",        "--metadata",   "owner=me",    "--memory",
       "512",     "--processes",     "16",        "--disk",       "32",          "--timeout",
       "60",      "--idle",          "30",        "--on-timeout", "pause",       "--no-auto-resume",
       "--allow", "example.org:443", "--workdir", "/tmp",         "--disk-kind", "directory",
       "--warm",  "--json"});
  EXPECT_EQ(options.name, "box");
  EXPECT_TRUE(options.is_warm);
  EXPECT_EQ(options.template_name, "python");
  EXPECT_THAT(options.env, ElementsAre(Pair("A", "b=c"), Pair("B", "")));
  EXPECT_THAT(options.metadata, ElementsAre(Pair("owner", "me")));
  EXPECT_EQ(options.limits.memory_mb, 512u);
  EXPECT_EQ(options.limits.processes, 16u);
  EXPECT_EQ(options.limits.disk_mb, 32u);
  EXPECT_EQ(options.disk_kind, "directory");
  EXPECT_EQ(options.timeout_seconds, 60u);
  EXPECT_EQ(options.idle_seconds, 30u);
  EXPECT_EQ(options.on_timeout, "pause");
  EXPECT_FALSE(options.auto_resume);
  EXPECT_THAT(options.allow, ElementsAre("example.org:443"));
  EXPECT_EQ(options.working_directory, "/tmp");
  EXPECT_EQ(options.format, Format::json);
}

TEST(SandboxArguments, SecretsComeFromFilesAndVariables) {
  const auto options = parsed_as<CreateOptions>(
      {"create", "--allow", "a.org:443", "--secret", "A.org:Authorization=@dir/a=b", "--secret",
       "[::1]:8443:X-Key=env:KEY", "--secret", "a.org:Cookie=@-"});
  ASSERT_EQ(options.secrets.size(), 3u);
  EXPECT_EQ(options.secrets[0].name.destination(), "a.org:443");
  EXPECT_EQ(options.secrets[0].name.header, "Authorization");
  EXPECT_EQ(options.secrets[0].file, "dir/a=b");
  EXPECT_EQ(options.secrets[1].name.destination(), "[::1]:8443");
  EXPECT_EQ(options.secrets[1].variable, "KEY");
  EXPECT_EQ(options.secrets[2].file, "-");
  EXPECT_EQ(parsed_as<ChangeOptions>(
                {"change", "box", "--allow", "a.org:443", "--secret", "a.org:A=env:B"})
                .secrets.size(),
            1u);
}

TEST(SandboxArguments, SecretsAreNotWrittenOnTheCommandLine) {
  for (const char* const text :
       {"a.org:Authorization=TheValue", "a.org:Authorization=", "a.org:Authorization=@",
        "a.org:Authorization=env:", "a.org=TheValue", "Authorization=@TheValue", "TheValue", "",
        "a.org:0:A=@TheValue", "a.org:x:A=@TheValue", "*.org:A=@TheValue",
        "a.org:Host=@TheValue"}) {
    const jail::Result<SecretOption> parsed = parse_secret_option(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message(), testing::Not(testing::HasSubstr("TheValue")));
  }
}

TEST(SandboxArguments, VolumesHaveAPlaceAndMayBeReadOnly) {
  const auto options = parsed_as<CreateOptions>(
      {"create", "--volume", "data:/data", "--volume", "models:/mnt/models:ro"});
  EXPECT_EQ(options.volumes,
            (std::vector<runtime::VolumeMount>{
                {.volume = "data", .path = "/data"},
                {.volume = "models", .path = "/mnt/models", .is_read_only = true}}));
}

TEST(SandboxArguments, PortsMayRepeat) {
  const auto options = parsed_as<CreateOptions>({"create", "--port", "8000", "--port", "9000"});
  EXPECT_EQ(options.ports, (std::vector<std::uint32_t>{8000, 9000}));
}

TEST(SandboxArguments, TimesAndSizesMayHaveUnits) {
  const auto options = parsed_as<CreateOptions>(
      {"create", "--memory", "1g", "--disk", "128m", "--timeout", "2h", "--idle", "90s"});
  EXPECT_EQ(options.limits.memory_mb, 1024u);
  EXPECT_EQ(options.limits.disk_mb, 128u);
  EXPECT_EQ(options.timeout_seconds, 7200u);
  EXPECT_EQ(options.idle_seconds, 90u);
  // A million and more is written without an exponent.
  EXPECT_EQ(parsed_as<CreateOptions>({"create", "--timeout", "30d"}).timeout_seconds, 2'592'000u);
  EXPECT_EQ(parsed_as<CreateOptions>({"create", "--memory", "1000g"}).limits.memory_mb, 1'024'000u);
  EXPECT_EQ(
      parsed_as<ExecOptions>({"exec", "box", "--timeout", "500ms", "--", "true"}).timeout_seconds,
      0.5);
}

TEST(SandboxArguments, ListAndGet) {
  const auto list =
      parsed_as<ListOptions>({"list", "--state", "ended", "--metadata", "a=b=c", "--json"});
  EXPECT_EQ(list.state, "ended");
  EXPECT_EQ(list.metadata, std::pair(std::string("a"), std::string("b=c")));
  EXPECT_EQ(list.format, Format::json);
  EXPECT_FALSE(parsed_as<ListOptions>({"list"}).metadata.has_value());
  EXPECT_EQ(parsed_as<GetOptions>({"get", "box"}).id, "box");
}

TEST(SandboxArguments, WhatFollowsTheDashesIsTheCommands) {
  const auto options =
      parsed_as<ExecOptions>({"exec", "box", "--env", "A=1", "--workdir", "/tmp", "--timeout",
                              "0.5", "--background", "--json", "--", "sh", "-c", "--", "--json"});
  EXPECT_EQ(options.id, "box");
  EXPECT_THAT(options.command, ElementsAre("sh", "-c", "--", "--json"));
  EXPECT_THAT(options.env, ElementsAre(Pair("A", "1")));
  EXPECT_EQ(options.working_directory, "/tmp");
  EXPECT_EQ(options.timeout_seconds, 0.5);
  EXPECT_TRUE(options.background);
  EXPECT_EQ(options.format, Format::json);
}

TEST(SandboxArguments, CodeTakesThePlaceOfACommand) {
  const auto options = parsed_as<ExecOptions>(
      {"exec", "box", "-c", "print(1)", "--language", "bash", "--", "one", "-c"});
  EXPECT_EQ(options.code, "print(1)");
  EXPECT_EQ(options.language, "bash");
  EXPECT_THAT(options.command, ElementsAre("one", "-c"));
  EXPECT_FALSE(parsed_as<ExecOptions>({"exec", "box", "--", "x"}).code.has_value());
  EXPECT_TRUE(parsed_as<ExecOptions>({"exec", "box", "-c", "print(1)"}).command.empty());
}

TEST(SandboxArguments, AShellIsBashUnlessSaid) {
  EXPECT_THAT(parsed_as<ShellOptions>({"shell", "box"}).command, ElementsAre("bash"));
  EXPECT_THAT(parsed_as<ShellOptions>({"shell", "box", "--", "python3", "-q"}).command,
              ElementsAre("python3", "-q"));
}

TEST(SandboxArguments, OneSideOfACopyIsInASandbox) {
  auto options = parsed_as<CopyOptions>({"cp", "a.txt", "box:/workspace/"});
  EXPECT_EQ(options.direction, CopyOptions::Direction::into_sandbox);
  EXPECT_EQ(options.id, "box");
  EXPECT_EQ(options.inside, "/workspace/");
  EXPECT_EQ(options.outside, "a.txt");
  options = parsed_as<CopyOptions>({"cp", "box:/a:b", "./c:/d"});
  EXPECT_EQ(options.direction, CopyOptions::Direction::out_of_sandbox);
  EXPECT_EQ(options.inside, "/a:b");
  EXPECT_EQ(options.outside, "./c:/d");
  EXPECT_FALSE(options.recursive);
  EXPECT_EQ(parsed_as<CopyOptions>({"cp", "box:/a", "-"}).outside, "-");
  EXPECT_TRUE(parsed_as<CopyOptions>({"cp", "-r", "a", "box:/a"}).recursive);
}

TEST(SandboxArguments, FilesAndProcesses) {
  EXPECT_EQ(parsed_as<ListFilesOptions>({"ls", "box"}).path, "");
  EXPECT_EQ(parsed_as<ListFilesOptions>({"ls", "box", "/tmp"}).path, "/tmp");
  EXPECT_TRUE(parsed_as<RemoveFileOptions>({"rm", "-r", "box", "/tmp/a"}).recursive);
  const auto url = parsed_as<FileUrlOptions>({"url", "box", "/a"});
  EXPECT_EQ(url.path, "/a");
  EXPECT_FALSE(url.writes || url.expires_seconds);
  EXPECT_TRUE(parsed_as<FileUrlOptions>({"url", "box", "/a", "--write"}).writes);
  EXPECT_EQ(parsed_as<FileUrlOptions>({"url", "box", "/a", "--expires", "9"}).expires_seconds, 9u);
  const auto watch = parsed_as<WatchOptions>({"watch", "box"});
  EXPECT_EQ(watch.path, "");
  EXPECT_FALSE(watch.recursive);
  EXPECT_EQ(parsed_as<WatchOptions>({"watch", "box", "/tmp"}).path, "/tmp");
  EXPECT_TRUE(parsed_as<WatchOptions>({"watch", "box", "-r"}).recursive);
  EXPECT_EQ(parsed_as<ProcessesOptions>({"ps", "box"}).id, "box");
  EXPECT_EQ(parsed_as<LogsOptions>({"logs", "box", "7"}).pid, 7u);
  EXPECT_TRUE(parsed_as<LogsOptions>({"logs", "box", "7", "--follow"}).follow);
  EXPECT_EQ(parsed_as<LogsOptions>({"logs", "box", "-f", "--tail", "3"}).pid, 0u);
  EXPECT_EQ(parsed_as<LogsOptions>({"logs", "box", "7", "--tail", "0"}).tail, 0u);
  EXPECT_EQ(parsed_as<LogsOptions>({"logs", "box"}).tail, std::nullopt);
  EXPECT_EQ(parsed_as<MetricsOptions>({"metrics", "box", "--json"}).format, Format::json);
  EXPECT_EQ(parsed_as<EventsOptions>({"events", "box", "--json"}).format, Format::json);
  EXPECT_FALSE(parsed_as<EventsOptions>({"events", "box"}).follow);
  EXPECT_TRUE(parsed_as<EventsOptions>({"events", "box", "-f"}).follow);
  EXPECT_EQ(parsed_as<RenewOptions>({"renew", "box", "60"}).seconds, 60u);
  EXPECT_EQ(parsed_as<PortOptions>({"port", "box", "8000"}).port, 8000u);
  EXPECT_FALSE(parsed_as<PortOptions>({"port", "box", "8000"}).listen);
  const auto listens =
      parsed_as<PortOptions>({"port", "box", "8000", "--listen", "[::1]:0"}).listen;
  ASSERT_TRUE(listens);
  EXPECT_EQ(listens->address, "::1");
  EXPECT_EQ(listens->port, 0);
  EXPECT_EQ(parsed_as<TokenOptions>({"token", "box"}).id, "box");
  EXPECT_THAT(parsed_as<PauseOptions>({"pause", "a", "b"}).ids, ElementsAre("a", "b"));
  EXPECT_THAT(parsed_as<ResumeOptions>({"resume", "a"}).ids, ElementsAre("a"));
  EXPECT_THAT(parsed_as<DeleteOptions>({"delete", "a", "b"}).ids, ElementsAre("a", "b"));
}

TEST(SandboxArguments, Change) {
  auto options =
      parsed_as<ChangeOptions>({"change", "box", "--allow", "a.org:1", "--allow", "b:2"});
  EXPECT_EQ(options.id, "box");
  EXPECT_THAT(*options.allow, ElementsAre("a.org:1", "b:2"));
  EXPECT_FALSE(options.timeout_seconds || options.idle_seconds);
  options = parsed_as<ChangeOptions>({"change", "box", "--no-network", "--timeout", "5"});
  EXPECT_TRUE(options.allow && options.allow->empty());
  EXPECT_EQ(options.timeout_seconds, 5u);
  EXPECT_FALSE(parsed_as<ChangeOptions>({"change", "box", "--idle", "5"}).allow);
}

TEST(SandboxArguments, Limits) {
  const std::vector<std::string> limits = {"--memory", "1g", "--processes", "16",
                                           "--disk",   "32", "--cpu",       "0.5"};
  for (const std::vector<std::string>& before :
       {std::vector<std::string>{"resize", "box"}, std::vector<std::string>{"change", "box"}}) {
    std::vector<std::string> words = before;
    words.insert(words.end(), limits.begin(), limits.end());
    const auto options = parsed_as<ChangeOptions>(words);
    EXPECT_EQ(options.id, "box");
    EXPECT_EQ(options.limits.memory_mb, 1024u);
    EXPECT_EQ(options.limits.processes, 16u);
    EXPECT_EQ(options.limits.disk_mb, 32u);
    EXPECT_EQ(options.limits.cpu, 0.5);
    EXPECT_FALSE(options.allow || options.timeout_seconds || options.idle_seconds);
  }
  EXPECT_EQ(parsed_as<CreateOptions>({"create", "--cpu", "2"}).limits.cpu, 2.0);
}

TEST(SandboxArguments, ASandboxMayBeCalledAsASubcommandIs) {
  EXPECT_EQ(parsed_as<GetOptions>({"get", "list"}).id, "list");
  EXPECT_THAT(parsed_as<DeleteOptions>({"delete", "exec", "get"}).ids, ElementsAre("exec", "get"));
}

TEST(SandboxArguments, ARelativePathStaysForWhoKnowsWhereProcessesStart) {
  EXPECT_EQ(parsed_as<CopyOptions>({"cp", "a", "box:b/c"}).inside, "b/c");
  EXPECT_EQ(parsed_as<CopyOptions>({"cp", "box:./b", "-"}).inside, "./b");
  EXPECT_EQ(parsed_as<CopyOptions>({"cp", "a", "box:"}).inside, "");
  EXPECT_EQ(parsed_as<CreateOptions>({"create", "--workdir", "app"}).working_directory,
            "/workspace/app");
  EXPECT_EQ(parsed_as<CopyOptions>({"cp", "box:/tmp/b", "-"}).inside, "/tmp/b");
  EXPECT_EQ(parsed_as<ListFilesOptions>({"ls", "box", "src"}).path, "src");
  EXPECT_EQ(parsed_as<ListFilesOptions>({"ls", "box"}).path, "");
  EXPECT_EQ(parsed_as<RemoveFileOptions>({"rm", "box", "a"}).path, "a");
  EXPECT_EQ(parsed_as<FileUrlOptions>({"url", "box", "src/main.py"}).path, "src/main.py");
  EXPECT_EQ(parsed_as<WatchOptions>({"watch", "box", "a"}).path, "a");
}

TEST(SandboxArguments, SignalsByNameAndNumber) {
  EXPECT_EQ(parsed_as<KillOptions>({"kill", "box", "7"}).signal, SIGTERM);
  EXPECT_EQ(parsed_as<KillOptions>({"kill", "box", "7", "--signal", "KILL"}).signal, SIGKILL);
  EXPECT_EQ(parsed_as<KillOptions>({"kill", "box", "7", "--signal", "SIGHUP"}).signal, SIGHUP);
  EXPECT_EQ(parsed_as<KillOptions>({"kill", "box", "7", "--signal", "2"}).signal, SIGINT);
  EXPECT_TRUE(parsed_as<KillOptions>({"kill", "box", "7", "--group"}).group);
}

TEST(SandboxArguments, MistakesAreUsageErrorsThatNameTheWord) {
  const std::pair<Words, const char*> cases[] = {
      {{}, "create, list"},
      {{"launch"}, "launch"},
      {{"create", "--env", "A"}, "--env"},
      {{"create", "--metadata", "=b"}, "--metadata"},
      {{"create", "--memory", "7"}, "--memory"},
      {{"create", "--processes", "0"}, "--processes"},
      {{"create", "--timeout", "2592001"}, "--timeout"},
      {{"create", "--idle", "-1"}, "--idle"},
      {{"create", "--idle", "1.5"}, "--idle: expected an integer 1 .. 86400 in seconds, or"},
      {{"create", "--memory", "9999999"}, "--memory: expected an integer 32 .. 1048576 in MB"},
      {{"create", "--env", "A B=c"}, "--env \"A B=c\": expected NAME without blanks"},
      {{"create", "--idle", "86401"}, "--idle"},
      {{"create", "--disk", "1048577"}, "--disk"},
      {{"create", "--on-timeout", "end"}, "--on-timeout: expected "},
      {{"create", "--disk-kind", "tape"}, "--disk-kind: expected "},
      {{"renew", "box", "2592001"}, "seconds: "},
      {{"change", "box", "--timeout", "2592001"}, "--timeout"},
      {{"exec", "box", "--timeout", "86401", "--", "x"}, "--timeout"},
      {{"exec", "box", "--language", "python", "--", "x"}, "--language: expected -c"},
      {{"exec", "box", "-c", "1", "--language", "cobol"}, "--language: expected "},
      {{"logs", "box", "--tail", "10001"}, "--tail"},
      {{"create", "--allow", "http://x"}, "--allow"},
      {{"create", "box"}, "box"},
      {{"list", "--state", "dead"}, "--state"},
      {{"list", "--metadata", "a"}, "--metadata"},
      {{"get"}, "ID"},
      {{"get", ""}, "ID"},
      {{"exec", "--", "ls"}, "ID"},
      {{"exec", "box"}, "-- COMMAND"},
      {{"exec", "box", "--"}, "-- COMMAND"},
      {{"exec", "box", "ls", "--", "x"}, "ls"},
      {{"exec", "box", "--", "ls", "\xFF"}, "COMMAND: expected UTF-8"},
      {{"exec", "box", "--env", "A=\xFF", "--", "ls"}, "--env: expected UTF-8"},
      {{"exec", "box", "--timeout", "0", "--", "x"}, "--timeout"},
      {{"shell"}, "ID"},
      {{"cp"}, "SRC and DST"},
      {{"cp", "a", "b"}, "one of SRC and DST"},
      {{"cp", "x:/a", "y:/b"}, "one of SRC and DST"},
      {{"rm", "box"}, "expected the PATH of a file"},
      {{"url", "box"}, "expected the PATH of a file"},
      {{"url", "box", "/a", "--expires", "604801"}, "--expires"},
      {{"logs", "box", "7", "-f", "--tail", "3"}, "no PID"},
      {{"logs", "box", "--tail", "10001"}, "--tail"},
      {{"metrics"}, "ID"},
      {{"token"}, "ID"},
      {{"logs", "box", "x"}, "pid"},
      {{"kill", "box", "0"}, "pid"},
      {{"kill", "box", "7", "--signal", "NOPE"}, "NOPE"},
      {{"kill", "box", "7", "--signal", "0"}, "--signal 0"},
      {{"renew", "box"}, "SECONDS"},
      {{"port", "box"}, "PORT"},
      {{"port", "box", "65536"}, "port"},
      {{"port", "box", "80", "--listen", "a.org:80"}, "--listen \"a.org:80\""},
      {{"port", "box", "80", "--listen"}, "--listen"},
      {{"renew", "box", "0"}, "seconds"},
      {{"change", "box"}, "--no-network"},
      {{"change", "--no-network"}, "ID"},
      {{"resize", "box"}, "--memory, --processes, --disk or --cpu"},
      {{"resize", "--memory", "64"}, "ID"},
      {{"resize", "box", "--cpu", "0"}, "--cpu"},
      {{"resize", "box", "--cpu", "1025"}, "--cpu"},
      {{"resize", "box", "--memory", "31"}, "--memory"},
      {{"change", "box", "--allow", "a:1", "--no-network"}, "one of --allow and --no-network"},
      {{"change", "box", "--allow", "a"}, "--allow a"},
      {{"create", "--secret", "a.org:A=@b"}, "--allow"},
      {{"create", "--allow", "a.org:443", "--secret", "a.org:A=b"}, "--secret"},
      {{"change", "box", "--timeout", "5", "--secret", "a.org:A=@b"}, "--allow"},
      {{"delete"}, "ID"},
      {{"pause"}, "ID"},
      {{"resume", ""}, "ID"},
      {{"create", "--on-timeout", "stop"}, "--on-timeout"},
      {{"delete", "a", ""}, "ID"},
  };
  for (const auto& [args, word] : cases) {
    const auto command = parsed(args);
    const auto* finished = std::get_if<Finished>(&command);
    ASSERT_NE(finished, nullptr) << ::testing::PrintToString(args);
    EXPECT_EQ(finished->exit_code, 2) << ::testing::PrintToString(args);
    EXPECT_THAT(finished->error, HasSubstr(word)) << ::testing::PrintToString(args);
  }
}

}  // namespace
}  // namespace server::client
