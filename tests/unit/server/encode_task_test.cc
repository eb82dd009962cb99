#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/json/reader.h"
#include "runtime/service/records.h"
#include "runtime/service/task_json.h"
#include "server/api/encode_jobs.h"
#include "server/api/encode_lessons.h"

namespace server {
namespace {

using namespace std::chrono_literals;
namespace agent = runtime::agent;
using runtime::encode_attempt;
using runtime::encode_record;
using runtime::encode_task;
using runtime::max_history_output_bytes;
using runtime::json::Object;

Object object_of(const std::string& text) {
  const auto value = runtime::json::parse(text, "answer");
  EXPECT_TRUE(value.has_value() && value->as_object() != nullptr) << text.substr(0, 300);
  return value && value->as_object() != nullptr ? *value->as_object() : Object();
}

const runtime::Execution job{.id = "an-id",
                             .created = std::chrono::system_clock::time_point(1'700'000'000'000ms)};

agent::Attempt failed_attempt() {
  agent::Attempt attempt;
  attempt.number = 2;
  attempt.candidate = 1;
  attempt.code = "print(1)\n";
  attempt.reasoning = "because";
  attempt.dependencies = {"numpy"};
  runtime::RunResult result;
  result.status = runtime::Status::error;
  result.exit_code = 1;
  result.standard_output = "\x1b[2J\xff";
  result.standard_error = std::string(max_history_output_bytes + 10, 'e');
  attempt.result = result;
  attempt.critique =
      agent::Critique{.diagnosis = "d", .fix = "f", .should_retry = true, .confidence = 0.5};
  attempt.votes = {{.role = "critic", .approves = true, .confidence = 0.9, .findings = {"x"}}};
  attempt.usage = {.input_tokens = 7, .output_tokens = 8};
  return attempt;
}

TEST(EncodeTask, AnAttempt) {
  const Object attempt = object_of(encode_attempt(failed_attempt(), job));
  EXPECT_EQ(*attempt.at("attempt").as_integer(), 2);
  EXPECT_EQ(*attempt.at("candidate").as_integer(), 1);
  EXPECT_EQ(*attempt.at("code").as_string(), "print(1)\n");
  EXPECT_EQ(attempt.at("dependencies").as_array()->size(), 1u);
  const Object& result = *attempt.at("execution_result").as_object();
  EXPECT_EQ(*result.at("status").as_string(), "error");
  EXPECT_EQ(*result.at("exit_code").as_integer(), 1);
  EXPECT_EQ(*result.at("job_id").as_string(), "an-id");
  EXPECT_EQ(*result.at("stdout").as_string(), "\x1b[2J\xEF\xBF\xBD");
  EXPECT_FALSE(*result.at("stdout_truncated").as_bool());
  EXPECT_EQ(result.at("stderr").as_string()->size(), max_history_output_bytes);
  EXPECT_TRUE(*result.at("stderr_truncated").as_bool());
  EXPECT_EQ(*attempt.at("critique").as_object()->at("diagnosis").as_string(), "d");
  EXPECT_EQ(*attempt.at("votes").as_array()->at(0).as_object()->at("role").as_string(), "critic");
  EXPECT_EQ(*attempt.at("usage").as_object()->at("input_tokens").as_integer(), 7);
}

TEST(EncodeTask, NoCharacterOfTheOutputIsCutInTwo) {
  runtime::RunResult result;
  result.standard_output.assign(max_history_output_bytes - 1, 'x');
  result.standard_output.append("\xC3\xA9");
  const runtime::RunResult cut = runtime::shortened(std::move(result));
  EXPECT_EQ(cut.standard_output, std::string(max_history_output_bytes - 1, 'x'));
  EXPECT_TRUE(cut.stdout_truncated);
}

TEST(EncodeTask, WhatIsNotThereIsNull) {
  const Object attempt = object_of(encode_attempt({}, job));
  EXPECT_TRUE(attempt.at("execution_result").is_null());
  EXPECT_TRUE(attempt.at("critique").is_null());
  const Object result = object_of(encode_task({}, job, job.created));
  EXPECT_TRUE(result.at("error").is_null());
  EXPECT_TRUE(result.at("provider_status").is_null());
  EXPECT_TRUE(result.at("history").as_array()->empty());
}

TEST(EncodeTask, AResult) {
  agent::TaskResult result;
  result.status = agent::TaskStatus::completed;
  result.output = "42\n";
  result.code = "print(42)";
  result.attempts = 2;
  result.history = {failed_attempt(), {}};
  result.usage["groq"] = {.input_tokens = 1, .output_tokens = 2};
  result.execution_time = 1500ms;
  const Object answer = object_of(encode_task(result, job, job.created + 1500ms));
  EXPECT_EQ(*answer.at("job_id").as_string(), "an-id");
  EXPECT_EQ(*answer.at("status").as_string(), "completed");
  EXPECT_TRUE(*answer.at("success").as_bool());
  EXPECT_EQ(*answer.at("output").as_string(), "42\n");
  EXPECT_EQ(*answer.at("attempts").as_integer(), 2);
  EXPECT_EQ(answer.at("history").as_array()->size(), 2u);
  EXPECT_EQ(
      *answer.at("usage").as_object()->at("groq").as_object()->at("output_tokens").as_integer(), 2);
  EXPECT_EQ(*answer.at("execution_time_ms").as_integer(), 1500);
  EXPECT_EQ(*answer.at("created_at").as_string(), "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(*answer.at("completed_at").as_string(), "2023-11-14T22:13:21.500Z");
}

TEST(EncodeTask, AProvidersFailure) {
  agent::TaskResult result;
  result.error = "groq: 401";
  result.provider_status = 401;
  const Object answer = object_of(encode_task(result, job, job.created));
  EXPECT_EQ(*answer.at("status").as_string(), "failed");
  EXPECT_FALSE(*answer.at("success").as_bool());
  EXPECT_EQ(*answer.at("error").as_string(), "groq: 401");
  EXPECT_EQ(*answer.at("provider_status").as_integer(), 401);
}

TEST(EncodeJobs, ATasksHistoryIsThereAsLongAsThereIsNoResult) {
  runtime::JobRecord record;
  record.summary.id = "t";
  record.summary.kind = runtime::task_job;
  record.checkpoints = {encode_record(failed_attempt()), encode_record(agent::Attempt())};
  const Object running = object_of(*encode_job(record));
  EXPECT_EQ(*running.at("kind").as_string(), "task");
  EXPECT_TRUE(running.at("result").is_null());
  ASSERT_EQ(running.at("history").as_array()->size(), 2u);
  EXPECT_EQ(*running.at("history").as_array()->at(0).as_object()->at("code").as_string(),
            "print(1)\n");
  record.checkpoints.clear();
  EXPECT_TRUE(object_of(*encode_job(record)).at("history").as_array()->empty());
  record.record = encode_record(agent::TaskResult());
  EXPECT_TRUE(object_of(*encode_job(record)).at("history").is_null());
  record.summary.kind = runtime::code_job;
  record.record.clear();
  EXPECT_TRUE(object_of(*encode_job(record)).at("history").is_null());
}

TEST(EncodeJobs, WhatIsDamagedIsAnError) {
  runtime::JobRecord record;
  record.record = encode_record(agent::TaskResult());
  EXPECT_FALSE(encode_job(record).has_value()) << "it is no program's";
  record.record.clear();
  record.summary.kind = runtime::task_job;
  record.checkpoints = {"x"};
  EXPECT_FALSE(encode_job(record).has_value());
}

TEST(EncodeLessons, APage) {
  agent::LessonPage page;
  page.lessons.push_back({.id = "1",
                          .task = "t",
                          .error = "e",
                          .advice = "a",
                          .code = "c",
                          .learnt = job.created,
                          .seen = 3});
  const Object answer = object_of(encode_lessons(page));
  EXPECT_TRUE(answer.at("next_cursor").is_null());
  const Object& lesson = *answer.at("lessons").as_array()->at(0).as_object();
  EXPECT_EQ(*lesson.at("advice").as_string(), "a");
  EXPECT_EQ(*lesson.at("seen").as_integer(), 3);
  EXPECT_EQ(*object_of(encode_erased(4)).at("erased").as_integer(), 4);
}

}  // namespace
}  // namespace server
