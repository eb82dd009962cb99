#include "server/api/encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/json/reader.h"
#include "runtime/json/utc_text.h"
#include "runtime/service/result_json.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using runtime::encode_result;
using runtime::OutputEncoding;
using runtime::json::utc_text;

const runtime::Execution job = {.id = "the-id",
                                .created = std::chrono::system_clock::time_point(1795292160123ms)};

runtime::RunResult finished() {
  runtime::RunResult result;
  result.status = runtime::Status::success;
  result.exit_code = 0;
  result.standard_output = "42\n";
  result.outcome = runtime::outcome_of({}, {.ended = jail::Ended::exited, .exit_code = 0}, 5s, {});
  result.warm = true;
  result.template_name = "python";
  result.timings = {.queued = 3us, .started = 60us, .ran = 250us};
  result.usage = {.cpu_user = 150us, .cpu_system = 50us, .memory_peak_bytes = 9'541'018};
  result.enforcement = {.memory = jail::Enforcer::cgroup,
                        .processes = jail::Enforcer::rlimit,
                        .cpu = jail::Enforcer::watchdog};
  return result;
}

TEST(Encode, ResultIsTheDocumentOfTheInterface) {
  EXPECT_EQ(encode_result(finished(), job, OutputEncoding::utf8),
            R"({"job_id":"the-id","status":"success","success":true,)"
            R"("outcome":{"code":"success","cause":"the program ended with exit status 0",)"
            R"("limit":null,"used":null,"remedy":null},"exit_code":0,"signal":null,)"
            R"("stdout":"42\n","stderr":"","stdout_truncated":false,"stderr_truncated":false,)"
            R"("output_encoding":"utf-8",)"
            R"("execution_time_ms":0.31,"cpu_time_ms":0.2,"memory_peak_mb":9.1,)"
            R"("warm":true,"template":"python","timings_us":{"queued":3,"started":60,"ran":250},)"
            R"("limits":{"memory":"cgroup","pids":"rlimit","cpu":"watchdog"},)"
            R"("artifacts":[],"artifacts_skipped":[],"artifacts_skipped_total":0,"network":[],)"
            R"("network_total":0,)"
            R"("created_at":"2026-11-21T20:16:00.123Z"})");
}

TEST(Encode, FatesHaveTheWordsOfTheInterface) {
  const std::pair<runtime::Status, const char*> words[] = {
      {runtime::Status::success, "success"},     {runtime::Status::error, "error"},
      {runtime::Status::timeout, "timeout"},     {runtime::Status::out_of_memory, "out_of_memory"},
      {runtime::Status::killed, "killed"},       {runtime::Status::violation, "violation"},
      {runtime::Status::cancelled, "cancelled"},
  };
  for (const auto& [status, word] : words) {
    runtime::RunResult result;
    result.status = status;
    if (status == runtime::Status::killed) result.signal = "SIGSEGV";
    const auto value = runtime::json::parse(encode_result(result, job, OutputEncoding::utf8), "r");
    ASSERT_TRUE(value.has_value());
    const auto& body = *value->as_object();
    EXPECT_EQ(*body.at("status").as_string(), word);
    EXPECT_EQ(*body.at("success").as_bool(), status == runtime::Status::success);
    EXPECT_TRUE(body.at("exit_code").is_null());
    EXPECT_EQ(body.at("signal").is_null(), status != runtime::Status::killed);
  }
}

TEST(Encode, ArtifactsCarryTheirBytesAndSkipsTheirReason) {
  runtime::RunResult result = finished();
  result.artifacts.files = {{"out/a.PNG", std::string("\x89\0", 2)}, {"\xFF", "x"}};
  result.artifacts.skipped = {{"l\xFE", jail::SkipReason::not_regular}};
  result.artifacts.skipped_total = 7;
  const std::string text = encode_result(result, job, OutputEncoding::utf8);
  EXPECT_THAT(
      text,
      testing::HasSubstr(
          R"("artifacts":[{"path":"out/a.PNG","size":2,"media_type":"image/png","base64":"iQA="}],)"
          R"("artifacts_skipped":[{"path":"�","reason":"its name is not UTF-8"},)"
          R"({"path":"l�","reason":"not a regular file"}],"artifacts_skipped_total":8,)"));
}

TEST(Encode, OutputThatIsNotUtf8IsRepairedOrUntouchedInBase64) {
  runtime::RunResult result = finished();
  result.standard_output = "a\xFF\xC3";
  result.standard_error = std::string("\0", 1);
  result.stderr_truncated = true;
  auto value = runtime::json::parse(encode_result(result, job, OutputEncoding::utf8), "r");
  ASSERT_TRUE(value.has_value()) << value.error().message();
  EXPECT_EQ(*value->as_object()->at("stdout").as_string(), "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(*value->as_object()->at("stderr").as_string(), std::string("\0", 1));
  EXPECT_TRUE(*value->as_object()->at("stderr_truncated").as_bool());
  value = runtime::json::parse(encode_result(result, job, OutputEncoding::base64), "r");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(*value->as_object()->at("stdout").as_string(), "Yf/D");
  EXPECT_EQ(*value->as_object()->at("stderr").as_string(), "AA==");
}

TEST(Encode, TimesBeforeAndAfterTheEpoch) {
  using Time = std::chrono::system_clock::time_point;
  EXPECT_EQ(utc_text(Time()), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_text(Time(-1ms)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(utc_text(Time(1us)), "1970-01-01T00:00:00.000Z");
}

TEST(Encode, HealthHasThePoolsByTemplate) {
  HealthDetails details{.version = "1.2.3", .uptime = 0ms, .runner = {}, .root = {}};
  jail::PoolState filled;
  filled.ready = 7;
  filled.refilling = 1;
  filled.leased = 3;
  filled.target = 8;
  filled.zygotes = 2;
  filled.misses = 5;
  jail::PoolState empty;
  empty.trouble = "import pandas: ModuleNotFoundError";
  details.runner.pools = {{.name = "python", .state = filled}, {.name = "data", .state = empty}};
  EXPECT_THAT(
      encode_health("ok", details),
      testing::HasSubstr(
          R"("pools":{"python":{"warm":7,"leased":3,"refilling":1,"target":8,"zygotes":2,"misses":5},)"
          R"("data":{"warm":0,"leased":0,"refilling":0,"target":0,"zygotes":0,"misses":0,)"
          R"("trouble":"import pandas: ModuleNotFoundError"}})"));
}

TEST(Encode, HealthWithAndWithoutDetails) {
  EXPECT_EQ(encode_health("ok", std::nullopt), R"({"status":"ok"})");
  HealthDetails details{.version = "1.2.3", .uptime = 1500ms, .runner = {}, .root = {}};
  details.root.kind = runtime::ProgramRoot::Kind::built;
  details.root.versions = {{"python3", "3.13.5"}, {"node", ""}};
  details.runner.running = 1;
  details.runner.queued = 2;
  details.runner.total = 3;
  details.runner.enforcement.memory = jail::Enforcer::watchdog;
  details.runner.landlock = 7;
  EXPECT_EQ(
      encode_health("ok", details),
      R"({"status":"ok","version":"1.2.3","uptime_seconds":1.5,"pools":{},)"
      R"("runs":{"running":1,"queued":2,"total":3},)"
      R"("limits":{"memory":"watchdog","pids":"none","cpu":"none"},"users":"shared","landlock":7,)"
      R"("root":{"kind":"built","node":null,"python":"3.13.5"}})");
}

}  // namespace
}  // namespace server
