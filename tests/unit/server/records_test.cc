#include "runtime/service/records.h"

#include <gmock/gmock.h>

#include <cstring>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/service/kept_answer.h"
#include "runtime/service/old_answers.h"
#include "runtime/service/result_json.h"
#include "runtime/service/task_json.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const Execution job = {.id = "the-id",
                       .created = std::chrono::system_clock::time_point(1795292160123ms)};

RunResult full_result() {
  RunResult result;
  result.status = Status::timeout;
  result.outcome = {.code = "timeout_cpu",
                    .cause = "the program used up the 2.5 s of processor time that it may use",
                    .met = RequestLimit::time,
                    .limit = 2.5,
                    .used = 2.501,
                    .asked = 5,
                    .ceiling = 300};
  result.exit_code = -3;
  result.signal = "SIGKILL";
  result.standard_output = std::string("\0\xff\n", 3);
  result.standard_error = "no";
  result.stderr_truncated = true;
  result.warm = true;
  result.template_name = "data";
  result.artifacts.files = {{"a/b.txt", std::string("x\0y", 3)}, {"c", ""}};
  result.artifacts.skipped = {{"d", jail::SkipReason::too_large}};
  result.artifacts.skipped_total = 300;
  result.timings = {.queued = 3us, .started = 60us, .ran = 2'501'000us};
  result.usage = {.cpu_user = 150us, .cpu_system = 50us, .memory_peak_bytes = 9'541'018};
  result.enforcement = {.memory = jail::Enforcer::cgroup,
                        .processes = jail::Enforcer::rlimit,
                        .cpu = jail::Enforcer::watchdog};
  result.network.decisions = {{NetworkDecision::Kind::refused, "a.test:80", "no rule names it", 2},
                              {NetworkDecision::Kind::allowed, "b.test:443", "*.test:443", 1}};
  result.network.total = 7;
  return result;
}

agent::Attempt full_attempt() {
  agent::Attempt attempt;
  attempt.number = 2;
  attempt.candidate = 1;
  attempt.code = "print(1)\n";
  attempt.reasoning = "because";
  attempt.dependencies = {"numpy", "pandas"};
  attempt.result = full_result();
  attempt.critique = agent::Critique{"d", "f", false, 0.5};
  attempt.votes = {{"critic", true, 0.25, {"x", ""}}};
  attempt.usage = {7, 8};
  attempt.verification = agent::Verification::passed;
  return attempt;
}

agent::TaskResult full_task() {
  agent::TaskResult task;
  task.status = agent::TaskStatus::cancelled;
  task.output = "out";
  task.code = "code";
  task.dependencies = {"x"};
  task.reasoning = "r";
  task.history = {full_attempt(), {}};
  task.attempts = 2;
  task.usage = {{"groq", {1, 2}}, {"ollama", {3, 4}}};
  task.execution_time = 1500ms;
  task.error = "e";
  task.provider_status = 401;
  task.artifacts.files = {{"plot.png", std::string("\x89P\0", 3)}};
  task.artifacts.skipped_total = 2;
  return task;
}

// Every byte of an answer comes from a field of the record, so equal answers mean equal fields.
std::string text_of(const RunResult& result) {
  return encode_result(result, job, OutputEncoding::base64);
}

TEST(Records, AProgramComesBack) {
  const auto back =
      decode_program(encode_record(ProgramRecord{full_result(), OutputEncoding::base64}));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->encoding, OutputEncoding::base64);
  EXPECT_EQ(text_of(back->result), text_of(full_result()));
  EXPECT_EQ(back->result.outcome.asked, 5);
  const auto least = decode_program(encode_record(ProgramRecord{}));
  ASSERT_TRUE(least.has_value());
  EXPECT_EQ(text_of(least->result), text_of(RunResult()));
}

TEST(Records, ATaskComesBack) {
  const auto back = decode_task(encode_record(full_task()));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(encode_task(*back, job, job.created), encode_task(full_task(), job, job.created));
  EXPECT_EQ(back->history.at(0).verification, agent::Verification::passed);
}

TEST(Records, WhatMayNameAPathOfTheHostIsNotKept) {
  agent::TaskResult task = full_task();
  task.host_error = "/srv/secret";
  EXPECT_THAT(encode_record(task), Not(HasSubstr("secret")));
}

TEST(Records, ASandboxComesBackAsItWas) {
  SandboxRecord sandbox;
  sandbox.number = 7;
  sandbox.name = "mine";
  sandbox.template_name = "data";
  sandbox.working_directory = "/workspace/a";
  sandbox.metadata = {{"k", "v"}};
  sandbox.memory_mb = 300;
  sandbox.processes = 20;
  sandbox.disk_mb = 10;
  sandbox.network_rules = {"example.com:443"};
  sandbox.idle = 1500ms;
  sandbox.created = 5us;
  sandbox.ends_at = 6us;
  sandbox.enforcement = full_result().enforcement;
  sandbox.outcome = full_result().outcome;
  sandbox.ended = 7us;
  sandbox.volumes = {{.volume = "data", .path = "/data", .is_read_only = true}};
  sandbox.disk = "disk-1";
  sandbox.env = {"A=b=c", "B="};
  sandbox.access_token = "token";
  sandbox.url_key = "key";
  sandbox.secrets = {"example.com:443 Authorization"};
  sandbox.timeout = 8ms;
  sandbox.pauses = 9ms;
  sandbox.paused_since = 10us;
  sandbox.left = 11ms;
  sandbox.ports = {8000, 65'535};
  const auto back = decode_sandbox(encode_record(sandbox));
  ASSERT_TRUE(back.has_value()) << back.error().message();
  // Equal fields give equal bytes.
  EXPECT_EQ(encode_record(*back), encode_record(sandbox));
  EXPECT_NE(encode_record(*back), encode_record(SandboxRecord{}));
  EXPECT_EQ(back->outcome->code, "timeout_cpu");
  EXPECT_EQ(back->volumes, sandbox.volumes);
  EXPECT_EQ(back->env, sandbox.env);
  EXPECT_EQ(back->ports, sandbox.ports);
  EXPECT_EQ(back->paused_since, sandbox.paused_since);
  EXPECT_FALSE(decode_sandbox(encode_record(full_task())).has_value());
}

// Earlier versions had other names for some codes.
TEST(Records, CodesOfOutcomesAreThoseOfToday) {
  const std::pair<const char*, const char*> codes[] = {{"wall_time", "timeout_wall"},
                                                       {"cpu_time", "timeout_cpu"},
                                                       {"system_call", "policy_violation"},
                                                       {"timeout_wall", "timeout_wall"},
                                                       {"disk_full", "disk_full"}};
  for (const auto& [kept, told] : codes) {
    SandboxRecord sandbox;
    sandbox.outcome = full_result().outcome;
    sandbox.outcome->code = kept;
    const auto back = decode_sandbox(encode_record(sandbox));
    ASSERT_TRUE(back.has_value()) << kept;
    EXPECT_EQ(back->outcome->code, told);
    const auto answer = json::parse(
        R"({"status":"timeout","outcome":{"code":")" + std::string(kept) + R"("}})", "answer");
    EXPECT_EQ(result_of_answer(*answer).outcome.code, told);
  }
}

// An older record can still be read: the first fields of a program, and no others.
TEST(Records, OneThatEndsBeforeAFieldHasItsDefault) {
  const auto word = [](std::uint64_t number) {
    std::string bytes(8, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(number & 0xFF);
      number >>= 8;
    }
    return bytes;
  };
  const std::string result = word(3);  // out_of_memory
  const std::string program = word(result.size()) + result;
  const auto back = decode_program("\1p" + word(program.size()) + program);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->result.status, Status::out_of_memory);
  EXPECT_EQ(back->result.outcome.code, "killed");
  EXPECT_EQ(back->encoding, OutputEncoding::utf8);
  // 7 is no valid status, and 2 is no valid boolean.
  const std::string wrong = word(7);
  EXPECT_FALSE(decode_program("\1p" + word(16) + word(8) + wrong).has_value());
}

TEST(Records, EveryOtherTypeAndFormatIsRefused) {
  std::string bytes = encode_record(ProgramRecord{});
  EXPECT_FALSE(decode_task(bytes).has_value());
  EXPECT_FALSE(decode_attempt(bytes).has_value());
  bytes[0] = 2;
  EXPECT_EQ(decode_program(bytes).error().kind, jail::ErrorKind::unsupported);
  bytes[0] = 0;
  EXPECT_EQ(decode_program(bytes).error().kind, jail::ErrorKind::invalid);
  EXPECT_FALSE(decode_program("").has_value());
}

TEST(Records, WhatIsDamagedIsRefusedOrAnotherValue) {
  const std::string whole = encode_record(full_task());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_task(whole.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode_task(whole + '\0').has_value());
  for (std::size_t at = 2; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = '\xff';
    // In either case, nothing is read beyond the bytes (which the sanitizers check).
    if (const auto task = decode_task(changed)) encode_task(*task, job, job.created);
  }
}

JobRecord empty_job(const char* kind) {
  JobRecord record;
  record.summary.id = job.id;
  record.summary.kind = kind;
  record.summary.created = job.created;
  return record;
}

TEST(OldAnswers, OfAProgramBecomesARecordThatIsAnsweredTheSame) {
  RunResult result = full_result();
  result.standard_output = "\xC3\xBC\n";
  result.network = {};  // old answers do not contain it
  const std::string answer = encode_result(result, job, OutputEncoding::utf8);
  JobRecord kept = empty_job(code_job);
  kept.record = *record_of_old_answer(OldAnswer::program, answer);
  EXPECT_EQ(**kept_answer(kept), answer);
}

TEST(OldAnswers, OfATaskBecomesARecordThatIsAnsweredTheSame) {
  agent::TaskResult task = full_task();
  task.artifacts = {};  // old answers of tasks have none
  for (agent::Attempt& attempt : task.history) {
    if (!attempt.result) continue;
    attempt.result->standard_output = "out";
    attempt.result->network = {};
  }
  const std::string answer = encode_task(task, job, job.created + 1500ms);
  JobRecord kept = empty_job(task_job);
  kept.summary.finished = job.created + 1500ms;
  kept.record = *record_of_old_answer(OldAnswer::task, answer);
  EXPECT_EQ(**kept_answer(kept), answer);
  kept.record.clear();
  kept.checkpoints = {
      *record_of_old_answer(OldAnswer::attempt, encode_attempt(full_attempt(), job))};
  EXPECT_THAT(**kept_history(kept), HasSubstr(R"("attempt":2)"));
}

TEST(OldAnswers, FromBeforeOutcomesWereTold) {
  const std::pair<const char*, const char*> told[] = {
      {R"({"status":"success","exit_code":0})", "success"},
      {R"({"status":"error","exit_code":3})", "exit_status"},
      {R"({"status":"timeout"})", "timeout_wall"},
      {R"({"status":"out_of_memory"})", "out_of_memory"},
      {R"({"status":"killed","signal":"SIGSEGV"})", "signal"},
      {R"({"status":"killed","signal":null})", "killed"},
      {R"({"status":"violation"})", "policy_violation"},
      {R"({"status":"cancelled"})", "cancelled"}};
  for (const auto& [answer, code] : told) {
    const auto record = decode_program(*record_of_old_answer(OldAnswer::program, answer));
    ASSERT_TRUE(record.has_value()) << answer;
    EXPECT_EQ(record->result.outcome.code, code);
    EXPECT_THAT(record->result.outcome.cause, HasSubstr("the program")) << answer;
    EXPECT_FALSE(record->result.outcome.met.has_value());
  }
}

TEST(OldAnswers, AnAnswerOfThisVersionSaysTheSameWhenItIsReadAgain) {
  const std::string answer = encode_result(full_result(), job, OutputEncoding::utf8);
  const RunResult read = result_of_answer(*json::parse(answer, "answer"));
  EXPECT_EQ(encode_result(read, job, OutputEncoding::utf8), answer);
  EXPECT_EQ(remedy_of(read.outcome, {.time = "--timeout", .memory = "--memory"}),
            remedy_of(full_result().outcome, {.time = "--timeout", .memory = "--memory"}));
}

TEST(OldAnswers, NumbersThatNothingCanHaveAreNone) {
  const auto answer = json::parse(
      R"({"status":"error","exit_code":1e300,"cpu_time_ms":1e308,"memory_peak_mb":-1e300,)"
      R"("network_total":-5,"artifacts_skipped_total":-3})",
      "answer");
  ASSERT_TRUE(answer);
  const RunResult result = result_of_answer(*answer);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.usage.cpu_user.count(), 0);
  EXPECT_EQ(result.usage.memory_peak_bytes, 0u);
  EXPECT_EQ(result.network.total, 0u);
  EXPECT_EQ(result.artifacts.skipped_total, 0u);
}

TEST(OldAnswers, WhatIsNoneIsAnError) {
  for (const char* answer : {"", "[]", "1", "{"}) {
    EXPECT_FALSE(record_of_old_answer(OldAnswer::program, answer).has_value()) << answer;
  }
}

}  // namespace
}  // namespace runtime
