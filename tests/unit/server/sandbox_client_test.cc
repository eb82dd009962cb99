// The parts of `agent-sandbox sandbox` that need no server.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "jail/fd.h"
#include "runtime/json/reader.h"
#include "server/cli/jobs/jobs_text.h"
#include "server/cli/sandbox/create_request.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/process_events.h"
#include "server/cli/sandbox/run_process.h"
#include "server/cli/sandbox/sandbox_text.h"
#include "server/cli/sandbox/server_address.h"
#include "server/cli/sandbox/table.h"

namespace server::client {
namespace {

namespace json = runtime::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Stream = ProcessEvents::Stream;

json::Value value_of(std::string_view text) {
  auto value = json::parse(text, "test");
  if (!value) ADD_FAILURE() << value.error().message();
  return value ? std::move(*value) : json::Value();
}

TEST(PortUrl, IsBelowTheServerOrAtANameOfItsOwn) {
  const auto by_path = value_of(R"({"id": "abc", "access_token": "t", "domain": null})");
  const auto by_name = value_of(R"({"id": "abc", "access_token": "t", "domain": "example.org"})");
  ServerAddress address{.url = "https://api.example.org:8443/below", .socket_path = {}, .key = {}};
  EXPECT_EQ(port_url(address, by_path, 80),
            "https://api.example.org:8443/below/v1/sandboxes/abc/ports/80/?access_token=t");
  EXPECT_EQ(port_url(address, by_name, 80), "https://80-abc.example.org:8443/?access_token=t");
  address.url = "http://[::1]";
  EXPECT_EQ(port_url(address, by_name, 80), "http://80-abc.example.org/?access_token=t");
}

TEST(ServerAddress, IsThatOfServeUnlessSaid) {
  const auto address = server_address({});
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->url, "http://127.0.0.1:8000");
  EXPECT_EQ(address->socket_path, "");
  EXPECT_EQ(address->key, "");
}

TEST(ServerAddress, MayBeAUrlOrASocket) {
  auto address = server_address(
      {{"AGENT_SANDBOX_URL", "https://u:p@example.org/api/"}, {"AGENT_SANDBOX_KEY", "k-1"}});
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->url, "https://u:p@example.org/api");
  EXPECT_EQ(address->key, "k-1");
  EXPECT_EQ(address->shown(), "https://example.org");
  address = server_address({{"AGENT_SANDBOX_URL", "unix:/run/a.sock"}});
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->socket_path, "/run/a.sock");
  EXPECT_EQ(address->url, "http://localhost");
  EXPECT_EQ(address->shown(), "unix:/run/a.sock");
}

TEST(ServerAddress, WhatIsNoneIsRefusedWithoutRepeatingAKey) {
  for (const char* url : {"127.0.0.1:8000", "ftp://x", "http://", "http://a b", "http://a/?b",
                          "http://a#b", "unix:", "unix:a", "file:///etc/passwd"}) {
    const auto address = server_address({{"AGENT_SANDBOX_URL", url}});
    ASSERT_FALSE(address.has_value()) << url;
    EXPECT_THAT(address.error().message(), HasSubstr("AGENT_SANDBOX_URL")) << url;
  }
  const auto address = server_address({{"AGENT_SANDBOX_KEY", "SECRET\r\nX: y"}});
  ASSERT_FALSE(address.has_value());
  EXPECT_THAT(address.error().message(), HasSubstr("AGENT_SANDBOX_KEY"));
  EXPECT_THAT(address.error().message(), Not(HasSubstr("SECRET")));
}

TEST(CreateRequest, SaysWhatWasSaidAndNothingElse) {
  EXPECT_EQ(request_of(CreateOptions()), "{}");
  CreateOptions options;
  options.name = "box";
  options.env = {{"A", "1"}, {"A", "2"}, {"\"", "\n"}};
  options.limits.memory_mb = 64;
  options.disk_kind = "directory";
  options.idle_seconds = 9;
  options.on_timeout = "pause";
  options.auto_resume = false;
  options.allow = {"example.org:443"};
  EXPECT_EQ(
      request_of(options),
      R"({"name":"box","env":{"\"":"\n","A":"2"},"limits":{"memory_mb":64},"disk_kind":"directory",)"
      R"("idle_seconds":9,"on_timeout":"pause","auto_resume":false,"network":{"allow":["example.org:443"]}})");
}

TEST(CreateRequest, HasTheValuesOfItsSecrets) {
  ChangeOptions options;
  options.allow = {"example.org:443"};
  const std::vector<runtime::NetworkSecret> secrets = {
      {.name = {.host = "example.org", .port = 443, .header = "X-Key"},
       .value = runtime::Secret("a\"b")}};
  EXPECT_EQ(request_of(options, secrets),
            R"({"network":{"allow":["example.org:443"],"secrets":[{"host":"example.org",)"
            R"("port":443,"header":"X-Key","value":"a\"b"}]}})");
}

TEST(ExecRequest, SaysWhatWasSaid) {
  ExecOptions options;
  options.command = {"sh", "-c", "x"};
  EXPECT_EQ(request_of(options, Input::none, Encoding::base64),
            R"({"command":["sh","-c","x"],"output_encoding":"base64"})");
  options.env = {{"A", "1"}};
  options.working_directory = "/tmp";
  options.timeout_seconds = 0.5;
  EXPECT_EQ(request_of(options, Input::stays_open, Encoding::utf8),
            R"({"command":["sh","-c","x"],"env":{"A":"1"},"working_directory":"/tmp",)"
            R"("timeout_seconds":0.5,"keep_stdin_open":true,"output_encoding":"utf-8"})");
}

class ProcessEventsTest : public ::testing::Test {
 protected:
  ProcessEvents events_{Encoding::base64,
                        {.on_output =
                             [this](Stream stream, std::string_view bytes) {
                               (stream == Stream::standard_output ? output_ : errors_) += bytes;
                               return wants_more_;
                             },
                         .on_lost =
                             [this](std::int64_t bytes) {
                               lost_ += bytes;
                               return true;
                             }}};
  std::string output_;
  std::string errors_;
  std::int64_t lost_ = 0;
  bool wants_more_ = true;
};

TEST_F(ProcessEventsTest, LinesMayComeInAnyPieces) {
  const std::string lines =
      "{\"type\":\"started\",\"data\":{\"pid\":7},\"seq\":0}\n\n"
      "{\"type\":\"stdout\",\"data\":\"AP8=\"}\n"
      "{\"type\":\"stderr\",\"data\":\"ZQ==\"}\n"
      "{\"type\":\"lost\",\"data\":12}\n"
      "{\"type\":\"something new\",\"data\":[]}\n"
      "{\"type\":\"exit\",\"data\":{\"exit_code\":3}}\n";
  for (const char byte : lines) EXPECT_TRUE(events_.feed({&byte, 1}));
  EXPECT_EQ(events_.pid(), 7);
  EXPECT_EQ(output_, std::string("\0\xFF", 2));
  EXPECT_EQ(errors_, "e");
  EXPECT_EQ(lost_, 12);
  ASSERT_NE(events_.ended(), nullptr);
  EXPECT_EQ(exit_code_of(*events_.ended()), 3);
}

TEST_F(ProcessEventsTest, WhatIsNoEventIsAnError) {
  EXPECT_FALSE(events_.feed("<html>\n"));
  EXPECT_THAT(events_.error(), HasSubstr("no event"));
}

TEST_F(ProcessEventsTest, WhatIsNoBase64IsAnError) {
  EXPECT_FALSE(events_.feed("{\"type\":\"stdout\",\"data\":\"!\"}\n"));
  EXPECT_THAT(events_.error(), HasSubstr("base64"));
}

TEST_F(ProcessEventsTest, WhoWantsNoMoreIsToldNoMore) {
  wants_more_ = false;
  EXPECT_FALSE(
      events_.feed("{\"type\":\"stdout\",\"data\":\"ZQ==\"}\n"
                   "{\"type\":\"stdout\",\"data\":\"ZQ==\"}\n"));
  EXPECT_EQ(output_, "e");
  EXPECT_EQ(events_.error(), "");
}

int exit_code_for(const char* process) { return exit_code_of(value_of(process)); }

TEST(ProcessExit, CodesAreThoseOfExec) {
  EXPECT_EQ(exit_code_for(R"({"exit_code":0,"outcome":{"code":"success"}})"), 0);
  EXPECT_EQ(exit_code_for(R"({"exit_code":7,"outcome":{"code":"exit_status"}})"), 7);
  EXPECT_EQ(
      exit_code_for(R"({"exit_code":null,"signal":"SIGKILL","outcome":{"code":"timeout_wall"}})"),
      124);
  EXPECT_EQ(
      exit_code_for(R"({"exit_code":null,"signal":"SIGKILL","outcome":{"code":"out_of_memory"}})"),
      137);
  EXPECT_EQ(
      exit_code_for(R"({"exit_code":null,"signal":"SIGKILL","outcome":{"code":"cancelled"}})"),
      143);
  EXPECT_EQ(exit_code_for(R"({"exit_code":null,"signal":"SIGSEGV","outcome":{"code":"signal"}})"),
            128 + SIGSEGV);
  EXPECT_EQ(exit_code_for(R"({"exit_code":null,"signal":null,"outcome":null})"), 125);
  EXPECT_EQ(exit_code_for("{}"), 125);
}

TEST(ProcessExit, AFateIsToldWhereThereIsNoStatus) {
  EXPECT_EQ(fate_of(value_of(R"({"exit_code":1,"outcome":{"cause":"it failed"}})")), "");
  EXPECT_EQ(fate_of(value_of(R"({"exit_code":null,"outcome":{"cause":"too long","remedy":null}})")),
            "too long");
  EXPECT_EQ(
      fate_of(value_of(
          R"({"exit_code":null,"outcome":{"cause":"a","remedy":"raise timeout_seconds, up to 9"}})")),
      "a; raise --timeout, up to 9");
  EXPECT_EQ(fate_of(value_of(R"({"exit_code":null,"outcome":{"cause":"a","remedy":"b"}})")),
            "a; b");
}

TEST(Table, IsAsWideAsItsCells) {
  EXPECT_EQ(table({{.title = "A"}, {.title = "LONG"}}, {{"x", "y"}, {"wide", "zz"}}, 0),
            "A     LONG\n"
            "x     y\n"
            "wide  zz\n");
}

TEST(Table, CutsTheWidestFirstAndThenLeavesColumnsOut) {
  const std::vector<Column> columns = {
      {.title = "ID"}, {.title = "NAME", .min_width = 4}, {.title = "LAST", .min_width = 4}};
  const std::vector<std::vector<std::string>> rows = {{"1234567890", "abcdefgh", "0123456789"}};
  EXPECT_THAT(table(columns, rows, 32), HasSubstr("1234567890  abcdefgh  0123456789\n"));
  EXPECT_THAT(table(columns, rows, 28), HasSubstr("1234567890  abcdef…  012345…\n"));
  EXPECT_THAT(table(columns, rows, 22), HasSubstr("1234567890  abc…  012…\n"));
  EXPECT_EQ(table(columns, rows, 21), "ID          NAME\n1234567890  abcdefgh\n");
  EXPECT_EQ(table(columns, rows, 5), "ID\n1234567890\n");
}

TEST(Table, AWideLetterTakesTwo) {
  const std::string text = table({{.title = "T", .min_width = 4}}, {{"日本日本日本"}}, 8);
  EXPECT_EQ(text, "T\n日本日…\n");
}

TEST(SandboxText, NothingOfAGuestMovesTheCursor) {
  const auto processes = value_of(
      R"([{"pid":"7","state":"ended","outcome":{"code":"success"},"exit_code":0,
           "started_at":"2026-11-25T17:00:00.123Z","cpu_time_ms":1500,
           "command":["sh","-c","\u001b[2J\n\u202e"]}])");
  const std::string text = processes_text(*processes.as_array(), 0);
  EXPECT_THAT(text, HasSubstr("7    success  0       2026-11-25 17:00:00  1.5s  sh -c "));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xAE")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const auto files = value_of(R"([{"name":"\u001bc","type":"link","target":"\u009b2J"}])");
  EXPECT_THAT(files_text(*files.as_array(), 0), Not(HasSubstr("\x1b")));
  EXPECT_THAT(files_text(*files.as_array(), 0), Not(HasSubstr("\xC2\x9B")));
}

TEST(SandboxText, TheTimeOfAProcessMayHaveMicroseconds) {
  const auto processes = value_of(
      R"([{"pid":7,"state":"ended","outcome":{"code":"success"},"exit_code":0,
           "started_at":"2026-11-25T17:00:00.123Z","cpu_time_ms":1.734,"command":["ls"]},
          {"pid":8,"state":"running","started_at":"2026-11-25T17:00:00.123Z","cpu_time_ms":null,
           "command":["cat"]}])");
  const std::string text = processes_text(*processes.as_array(), 0);
  EXPECT_THAT(text, HasSubstr("17:00:00  0.002s  ls"));
  EXPECT_THAT(text, HasSubstr("17:00:00  -       cat"));
}

TEST(SandboxText, OneCoreIsNotSeveral) {
  const auto text = [](const char* cores) {
    return metrics_text(
        value_of(std::string(R"({"now":{"cpu_seconds":0},"limits":{"cpu":)") + cores + "}}"));
  };
  EXPECT_THAT(text("1"), HasSubstr("  1 core\n"));
  EXPECT_THAT(text("1.5"), HasSubstr("  1.5 cores\n"));
}

TEST(JobsText, AProgramThatEndedInItsOwnWaySaysHow) {
  const auto jobs = value_of(
      R"([{"job_id":"a","kind":"code","status":"timeout","error":null},
          {"job_id":"b","kind":"code","status":"error","error":null},
          {"job_id":"c","kind":"code","status":"failed","error":"the server ended"},
          {"job_id":"d","kind":"code","status":"success","error":null},
          {"job_id":"e","kind":"task","status":"error","error":"no model answered"}])");
  const std::string text = jobs_text(*jobs.as_array(), 0);
  for (const char* const line :
       {"its time was over\n", "its exit status was not 0\n", "the server ended\n",
        "success  -         -              -     -\n", "no model answered\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(SandboxText, AnEndedOneSaysWhy) {
  const std::string text = sandbox_text(value_of(
      R"({"id":"abc","state":"ended","outcome":{"code":"idle","cause":"it was of no use"},
          "metadata":{"a":"b"},"network":{"allow":["x:1","y:2"]},"ended_at":"2026-11-25T17:00:00.1Z",
          "limits":{"memory_mb":64,"processes":8,"disk_mb":4}})"));
  EXPECT_THAT(text, HasSubstr("state: idle\ncause: it was of no use\n"));
  EXPECT_THAT(text, HasSubstr("metadata: a=b\n"));
  EXPECT_THAT(sandbox_text(value_of("{}")), HasSubstr("metadata: -\n"));
  EXPECT_THAT(text, HasSubstr("network: x:1, y:2\n"));
  EXPECT_THAT(text, HasSubstr("ended: 2026-11-25 17:00:00 UTC\n"));
  EXPECT_THAT(text, HasSubstr("limits: 64 MB of memory, 8 processes, 4 MB of disk\n"));
}

TEST(SandboxText, ConnectionsAmongTheEvents) {
  const auto events = value_of(
      R"([{"at":"2026-11-21T20:16:00.123Z","kind":"egress_ended","detail":{"connections":1,)"
      R"("destination":"pypi.org:443","reason":null,"sent_bytes":5,"received_bytes":7}},)"
      R"({"at":"2026-11-21T20:16:01.123Z","kind":"egress_refused","detail":{"connections":812,)"
      R"("destination":null,"reason":null}}])");
  const std::string text = events_text(*events.as_array(), 200);
  EXPECT_THAT(text, HasSubstr("pypi.org:443 sent 5 bytes, received 7"));
  EXPECT_THAT(text, HasSubstr("(812 connections)"));
}

TEST(SandboxText, WhatHappensToAFileIsOneLine) {
  EXPECT_EQ(file_event_line("created", value_of(R"({"path":"/a\u001b[2J\nb","directory":false})")),
            "created     /a\xEF\xBF\xBD[2J b\n");
  EXPECT_EQ(file_event_line("moved", value_of(R"({"path":"/b","directory":true,"from":"/a"})")),
            "moved       /a -> /b/\n");
  EXPECT_THAT(file_event_line("overflow", value_of(R"({"path":"","directory":false})")),
              HasSubstr("events are lost"));
}

TEST(SandboxText, AnEventOnALineOfItsOwn) {
  EXPECT_EQ(event_line(value_of(R"({"at":"2026-11-21T20:16:00.123Z","kind":"file_read",)"
                                R"("detail":{"path":"/a\n","by":"signed_url"}})")),
            "2026-11-21 20:16:00  file_read        /a  by signed_url\n");
  EXPECT_EQ(event_line(value_of(R"({"at":"2026-11-21T20:16:00.123Z","kind":"resumed"})")),
            "2026-11-21 20:16:00  resumed\n");
}

}  // namespace
}  // namespace server::client
