// Tasks over a real socket, solved by a cassette, with a runner that makes no jails.
#include <gmock/gmock.h>

#include "runtime/json/reader.h"
#include "runtime/lessons/sqlite_lessons.h"
#include "runtime/llm/replay_provider.h"
#include "runtime/store/job_place.h"
#include "server/api/api.h"
#include "tests/unit/server/fake_runner.h"
#include "tests/unit/server/http_fixture.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using runtime::json::Object;
using ::testing::HasSubstr;

constexpr std::string_view cassette =
    R"x({"task": "Add 1 and 1", "answers": ["print(1+1)"]})x"
    "\n"
    R"x({"task": "Never", "answers": ["a", "b", "c"], "roles": {"critic": [{"diagnosis": "d",)x"
    R"x( "fix": "f", "should_retry": true, "confidence": 0.5}]}})x"
    "\n";

class TaskApiTest : public HttpTest {
 protected:
  void serve(std::vector<std::string> keys = {}) {
    runtime::Config config;
    config.replay_cassette = "in memory";
    for (std::string& key : keys) config.api_keys.emplace_back(std::move(key));
    runtime::agent::AgentParts parts;
    parts.runner = &runner_;
    parts.providers = {provider_.get()};
    agent_ = std::make_unique<runtime::agent::AgentRuntime>(parts);
    runtime::Services services{runner_, jobs_, metrics_, logger_, agent_.get(), &lessons_};
    api_ = std::make_unique<Api>(
        api_options(config, full_root(), runtime::shipped_templates(), "1.2.3", {"replay"}),
        services);
    server_ = std::make_unique<HttpServer>(executors(pool_), HttpOptions{}, *api_, logger_);
    listen();
  }

  ~TaskApiTest() override {
    if (server_) stop(0ms);
    server_.reset();
  }

  void the_program(runtime::Status status) {
    runtime::RunResult result;
    result.status = status;
    result.exit_code = status == runtime::Status::success ? 0 : 1;
    result.standard_output = "2\n";
    runner_.answer = result;
  }

  static Object object_of(const Answer& answer) {
    auto value = runtime::json::parse(answer.body, "answer");
    EXPECT_TRUE(value.has_value()) << answer.body;
    if (!value || value->as_object() == nullptr) return {};
    return *value->as_object();
  }

  std::unique_ptr<runtime::llm::ReplayProvider> provider_ =
      std::move(*runtime::llm::ReplayProvider::parse(cassette, "cassette"));
  FakeRunner runner_;
  runtime::Jobs jobs_{*runtime::JobTable::open(runtime::in_memory, {}), logger_};
  runtime::lessons::SqliteLessons lessons_{
      std::move(*runtime::lessons::LessonTable::open(runtime::in_memory, {}))};
  runtime::Metrics metrics_;
  std::unique_ptr<runtime::agent::AgentRuntime> agent_;
  std::unique_ptr<Api> api_;
};

TEST_F(TaskApiTest, ATaskIsSolvedAndIsAJob) {
  serve();
  the_program(runtime::Status::success);
  const Answer answer = exchange(post("/execute", R"({"task": "Add 1 and 1"})"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Object result = object_of(answer);
  EXPECT_EQ(*result.at("status").as_string(), "completed") << answer.body;
  EXPECT_EQ(*result.at("output").as_string(), "2\n");
  EXPECT_EQ(*result.at("attempts").as_integer(), 1);
  EXPECT_EQ(result.at("history").as_array()->size(), 1u);
  const Object job = object_of(exchange(get("/jobs/" + *result.at("job_id").as_string())));
  EXPECT_EQ(*job.at("kind").as_string(), "task");
  EXPECT_EQ(*job.at("status").as_string(), "completed");
  EXPECT_EQ(*job.at("result").as_object()->at("output").as_string(), "2\n");
  EXPECT_TRUE(job.at("history").is_null());
  EXPECT_THAT(exchange(get("/stats")).body, HasSubstr(R"("tasks":{"completed":1})"));
  EXPECT_THAT(exchange(get("/metrics")).body,
              HasSubstr("agent_sandbox_tasks_total{status=\"completed\"} 1"));
}

TEST_F(TaskApiTest, OneThatIsNotSolvedIsA200WithItsHistory) {
  serve();
  the_program(runtime::Status::error);
  const Answer answer = exchange(post("/execute", R"({"task": "Never", "max_attempts": 2})"));
  ASSERT_EQ(answer.status, 200);
  const Object result = object_of(answer);
  EXPECT_EQ(*result.at("status").as_string(), "failed");
  EXPECT_FALSE(*result.at("success").as_bool());
  EXPECT_EQ(result.at("history").as_array()->size(), 2u) << answer.body;
  EXPECT_FALSE(result.at("error").is_null());
}

TEST_F(TaskApiTest, AProvidersFailureIsA200ThatSaysWhy) {
  serve();
  const Answer answer = exchange(post("/execute", R"({"task": "Nobody recorded this"})"));
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(*object_of(answer).at("status").as_string(), "failed");
  EXPECT_THAT(*object_of(answer).at("error").as_string(), HasSubstr("replay"));
}

TEST_F(TaskApiTest, AClientThatLeavesCancelsItsTask) {
  serve();
  the_program(runtime::Status::success);
  runner_.duration = 20s;
  TestClient leaving = client();
  leaving.send(post("/execute", R"({"task": "Add 1 and 1"})"));
  ASSERT_TRUE(eventually([&] { return runner_.started == 1; }));
  leaving.close();
  EXPECT_TRUE(eventually([&] { return runner_.cancelled == 1; }));
  EXPECT_TRUE(eventually([&] {
    return exchange(get("/jobs?status=cancelled")).body.find("\"task\"") != std::string::npos;
  }));
}

TEST_F(TaskApiTest, ATaskIsOneOfTheProgramsOfItsKey) {
  serve({"key"});
  runner_.admission = std::make_unique<runtime::Admission>(10, 10, 1);
  runner_.duration = 20s;
  const std::string request = post("/execute", R"({"task": "Never"})", "X-API-Key: key\r\n");
  TestClient first = client();
  first.send(request);
  ASSERT_TRUE(eventually([&] { return runner_.started == 1; }));
  EXPECT_EQ(exchange(request).status, 429);
  first.close();
  EXPECT_TRUE(eventually([&] { return runner_.cancelled == 1; }));
}

TEST_F(TaskApiTest, NoTaskIsTakenWhileTheServerStops) {
  serve();
  api_->drain();
  EXPECT_EQ(exchange(post("/execute", R"({"task": "Never"})")).status, 503);
  EXPECT_EQ(exchange(post("/benchmark", "{}")).status, 503);
  EXPECT_EQ(exchange(get("/lessons")).status, 200);
}

TEST_F(TaskApiTest, LessonsAreShownAndForgotten) {
  serve();
  EXPECT_EQ(exchange(get("/lessons")).body, R"({"lessons":[],"next_cursor":null})");
  EXPECT_EQ(exchange("DELETE /lessons HTTP/1.1\r\nHost: localhost\r\n\r\n").body,
            R"({"erased":0})");
  EXPECT_EQ(exchange("DELETE /lessons/7 HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  EXPECT_EQ(exchange(get("/lessons?cursor=x")).status, 400);
}

TEST_F(TaskApiTest, ABenchmarkIsCounted) {
  serve();
  const Answer answer = exchange(post("/benchmark", R"({"suite": "quick", "max_problems": 1})"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Object report = object_of(answer);
  EXPECT_EQ(*report.at("suite").as_string(), "quick");
  EXPECT_EQ(report.at("tasks").as_array()->size(), 1u);
  EXPECT_EQ(*report.at("solved").as_integer(), 0) << "the cassette does not know the task";
  EXPECT_EQ(exchange(post("/benchmark", R"({"suite": "x"})")).status, 400);
}

}  // namespace
}  // namespace server
