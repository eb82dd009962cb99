#include <gmock/gmock.h>

#include <set>

#include "tests/unit/server/api_fixture.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ApiTest, ExecuteRunsTheProgram) {
  serve();
  runtime::RunResult result;
  result.status = runtime::Status::success;
  result.exit_code = 0;
  result.standard_output = "42\n";
  runner_.answer = result;
  for (const char* path : {"/execute", "/api/v1/execute"}) {
    const Answer answer = exchange(post(path, R"({"code": "exit", "stdin": "in"})"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    EXPECT_EQ(*object_of(answer).at("stdout").as_string(), "42\n");
    EXPECT_EQ(object_of(answer).at("job_id").as_string()->size(), 36u);
  }
  ASSERT_EQ(runner_.requests().size(), 2u);
  EXPECT_EQ(runner_.requests()[1].code, "exit");
  EXPECT_EQ(runner_.requests()[1].standard_input, "in");
  EXPECT_EQ(runner_.requests()[1].timeout, 5s);
}

TEST_F(ApiTest, AProgramThatFailedIsA200) {
  serve();
  runtime::RunResult result;
  result.status = runtime::Status::timeout;
  runner_.answer = result;
  const Answer answer = exchange(post("/execute", R"({"code": "while 1: pass"})"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(*object_of(answer).at("status").as_string(), "timeout");
}

TEST_F(ApiTest, ABadBodyRunsNothing) {
  serve();
  const Answer answer = exchange(post("/execute", R"({"code": "x", "timeout_seconds": 0})"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(detail_of(answer), HasSubstr("timeout_seconds: expected a number 0.05 .. 60"));
  EXPECT_EQ(exchange(post("/execute", "")).status, 400);
  EXPECT_EQ(runner_.started, 0);
}

TEST_F(ApiTest, TasksNameTheVariableToSet) {
  serve();
  const Answer answer = exchange(post("/execute", R"({"task": "t"})"));
  EXPECT_EQ(answer.status, 424);
  EXPECT_THAT(detail_of(answer), HasSubstr("GROQ_API_KEY"));
  EXPECT_THAT(detail_of(answer), HasSubstr("LLM_PROVIDER=ollama"));
}

TEST_F(ApiTest, TasksSayWhichKeyOfTheChosenProviderIsMissing) {
  runtime::Config config;
  config.llm_provider = "openai";
  const auto why = [&] {
    return api_options(config, full_root(), runtime::shipped_templates(), "").execute.why_no_task;
  };
  EXPECT_THAT(why(), HasSubstr("OPENAI_API_KEY"));
  config.providers[4].api_key = runtime::Secret("s3cret");
  EXPECT_EQ(why(), "");
}

TEST_F(ApiTest, WithoutLessonsTheirRoutesSaySo) {
  serve();
  EXPECT_EQ(exchange(get("/lessons")).status, 404);
  EXPECT_THAT(detail_of(exchange(get("/api/v1/lessons"))), HasSubstr("no lessons are kept"));
  EXPECT_EQ(exchange(get("/lessons?limit=0")).status, 400);
}

TEST_F(ApiTest, WrongMethodsSayWhichIsAllowed) {
  serve();
  const std::pair<std::string, std::string> cases[] = {
      {"GET /execute", "POST"},  {"DELETE /api/v1/execute", "POST"}, {"OPTIONS /execute", "POST"},
      {"BREW /execute", "POST"}, {"POST /health", "GET, HEAD"},      {"get /health", "GET, HEAD"},
  };
  for (const auto& [line, allow] : cases) {
    const Answer answer = exchange(line + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(answer.status, 405) << line;
    EXPECT_EQ(answer.headers.at("allow"), allow) << line;
    detail_of(answer);
  }
}

TEST_F(ApiTest, EveryRouteIsOneRow) {
  serve();
  std::set<std::string> rows;
  for (const Route& route : api_->routes().all()) {
    const std::string row = std::string(route.method) + " " + path_of_route(route);
    EXPECT_TRUE(rows.insert(row).second) << row;
  }
  EXPECT_GE(rows.size(), 60u);
}

TEST_F(ApiTest, EveryRouteThatIsNotOpenWantsAKey) {
  serve(std::vector<std::string>{"the-key"});
  std::size_t open = 0;
  for (const Route& route : api_->routes().all()) {
    const std::string path = path_of_route(route);
    const std::string request =
        std::string(route.method) + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const int status = exchange(request).status;
    if (route.access.is_open()) {
      EXPECT_EQ(status, 200) << path;
      ++open;
    } else {
      EXPECT_EQ(status, 401) << path;
    }
  }
  EXPECT_EQ(open, 5u);
  EXPECT_GE(api_->routes().all().size(), 14u);
}

TEST_F(ApiTest, EveryRouteRefusesParametersThatItDoesNotKnow) {
  serve();
  std::size_t knowing = 0;
  for (const Route& route : api_->routes().all()) {
    if (route.leads == Route::Leads::to_port) continue;  // it is all for that server
    const auto ask = [&](std::string_view query) {
      return exchange(std::string(route.method) + " " + path_of_route(route) + "?" +
                      std::string(query) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    };
    const Answer answer = ask("nonsense=1");
    EXPECT_EQ(answer.status, 400) << route.method << " " << route.pattern;
    const std::string detail = refusal_of(route, answer);
    const std::string known =
        route.query.empty() ? "none is known here" : "known are " + std::string(route.query[0]);
    EXPECT_THAT(detail, HasSubstr("\"nonsense\": unknown parameter; " + known)) << route.pattern;
    for (const std::string_view name : route.query) {
      EXPECT_THAT(detail, HasSubstr(name)) << route.pattern;
      // One that ends with a point begins with it.
      const std::string whole = std::string(name) + (name.ends_with('.') ? "x" : "");
      const std::string twice = whole + "=1&" + whole + "=1";
      EXPECT_THAT(refusal_of(route, ask(twice)), HasSubstr("expected once")) << route.pattern;
      ++knowing;
    }
  }
  EXPECT_EQ(runner_.started, 0);
  EXPECT_GE(knowing, 5u);
}

TEST_F(ApiTest, UnknownAndReservedPathsAreNotFound) {
  serve();
  for (const char* path : {"/execute/", "/executes", "//execute", "/v1/chat", "/mcp/x", "/ui",
                           "/sandboxes", "/%65xecute", "/health/x", "/api/v1", "*"}) {
    EXPECT_EQ(exchange(get(path)).status, 404) << path;
    EXPECT_EQ(exchange(post(path, "{}")).status, 404) << path;
  }
}

TEST_F(ApiTest, OnlyPlainJsonBodiesAreRead) {
  serve();
  const std::string body = R"({"code": "x"})";
  const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  const std::string start = "POST /execute HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_EQ(exchange(start + length).status, 415);
  EXPECT_EQ(exchange(start + "Content-Type: text/plain\r\n" + length).status, 415);
  EXPECT_EQ(
      exchange(start + "Content-Type: application/json\r\nContent-Encoding: gzip\r\n" + length)
          .status,
      415);
  EXPECT_EQ(exchange(start + "Content-Type: application/json; charset=utf-8\r\n" + length).status,
            200);
  EXPECT_EQ(runner_.started, 1);
}

TEST_F(ApiTest, APageOfAnotherSiteIsRefused) {
  serve();
  const Answer answer = exchange("GET /health HTTP/1.1\r\nHost: evil.example:8000\r\n\r\n");
  EXPECT_EQ(answer.status, 421);
  EXPECT_FALSE(exchange(get("/health", "Origin: http://evil.example\r\n"))
                   .headers.contains("access-control-allow-origin"));
}

TEST_F(ApiTest, AServerForOthersDoesNotJudgeTheirHostNames) {
  runtime::Config config;
  config.api_host = "0.0.0.0";
  config.api_keys.emplace_back("key");
  serve(api_options(config, full_root(), runtime::shipped_templates(), "1.2.3"));
  EXPECT_EQ(exchange("GET /health HTTP/1.1\r\nHost: sandbox.example\r\n\r\n").status, 200);
}

TEST_F(ApiTest, NoPageReachesAUnixSocketSoAnyHostNameIsFine) {
  runtime::Config config;
  config.api_host = "unix:/run/agent-sandbox.sock";
  serve(api_options(config, full_root(), runtime::shipped_templates(), "1.2.3"));
  EXPECT_EQ(exchange("GET /health HTTP/1.1\r\nHost: sandbox.example\r\n\r\n").status, 200);
}

TEST_F(ApiTest, WithoutAKeyOnlyABareHealthIsSeen) {
  serve({"s3cret", "other"});
  const std::string body = R"({"code": "x"})";
  for (const std::string& request :
       {post("/execute", body), post("/execute", body, "X-API-Key: wrong\r\n"),
        post("/execute", body, "Authorization: Bearer s3cre\r\n"), get("/unknown"),
        get("/execute")}) {
    const Answer answer = exchange(request);
    EXPECT_EQ(answer.status, 401) << request;
    EXPECT_EQ(answer.headers.at("www-authenticate"), "Bearer");
    EXPECT_THAT(answer.body, Not(HasSubstr("s3cret")));
  }
  EXPECT_EQ(exchange(get("/health")).body, R"({"status":"ok"})");
  EXPECT_EQ(runner_.started, 0);
  EXPECT_EQ(exchange(post("/execute", body, "X-API-Key: other\r\n")).status, 200);
  EXPECT_EQ(exchange(post("/execute", body, "Authorization: Bearer s3cret\r\n")).status, 200);
  EXPECT_THAT(exchange(get("/health", "X-API-Key: other\r\n")).body, HasSubstr("version"));
  for (const std::string& line : log_lines()) EXPECT_THAT(line, Not(HasSubstr("s3cret")));
}

TEST_F(ApiTest, HealthSaysWhatRunsAndWhatHoldsTheLimits) {
  serve();
  runner_.state_now.running = 2;
  runner_.state_now.enforcement.memory = jail::Enforcer::watchdog;
  for (const char* path : {"/health", "/api/v1/health"}) {
    const auto body = object_of(exchange(get(path)));
    EXPECT_EQ(*body.at("status").as_string(), "ok");
    EXPECT_EQ(*body.at("version").as_string(), "1.2.3");
    EXPECT_EQ(*body.at("runs").as_object()->at("running").as_integer(), 2);
    EXPECT_EQ(*body.at("limits").as_object()->at("memory").as_string(), "watchdog");
    EXPECT_EQ(*body.at("root").as_object()->at("python").as_string(), "3.13.5");
  }
}

TEST_F(ApiTest, AFullQueueIsA503WithRetryAfter) {
  serve();
  runner_.answer = jail::Error{jail::ErrorKind::exhausted, "queue", 0, {}};
  const Answer answer = exchange(post("/execute", R"({"code": "x"})"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
}

TEST_F(ApiTest, AKeyHasABoundOnItsPrograms) {
  serve({"first", "second"});
  runner_.admission = std::make_unique<runtime::Admission>(10, 10, 1);
  runner_.duration = 10s;
  const auto request = [](const std::string& key) {
    return post("/execute", R"({"code": "x"})", "X-API-Key: " + key + "\r\n");
  };
  TestClient holding = client();
  holding.send(request("first"));
  ASSERT_TRUE(eventually([&] { return runner_.started == 1; }));
  const Answer refused = exchange(request("first"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_THAT(detail_of(refused), HasSubstr("try again"));
  EXPECT_THAT(exchange(get("/stats", "X-API-Key: first\r\n")).body,
              HasSubstr(R"("rejected":{"concurrency":1})"));
  TestClient other = client();
  other.send(request("second"));
  EXPECT_TRUE(eventually([&] { return runner_.started == 2; }));
  holding.close();
  EXPECT_TRUE(eventually([&] { return runner_.cancelled == 1; }));
  TestClient next = client();
  next.send(request("first"));
  EXPECT_TRUE(eventually([&] { return runner_.started == 3; }));
}

// The clock stands still until the test moves it.
class RatedApiTest : public ApiTest {
 protected:
  void serve_rated(std::vector<std::string> keys) {
    runtime::Config config;
    for (std::string& key : keys) config.api_keys.emplace_back(std::move(key));
    config.api_key_rate = {.requests = 30, .time = 60s};
    config.api_key_burst = 2;
    ApiOptions options = api_options(config, full_root(), runtime::shipped_templates(), "1.2.3");
    options.clock = [this] { return RateLimit::Clock::time_point(now_.load()); };
    serve(std::move(options));
  }

  static std::string request(const std::string& key) {
    return post("/execute", R"({"code": "x"})", "X-API-Key: " + key + "\r\n");
  }

  std::atomic<RateLimit::Clock::duration> now_{1000s};
};

TEST_F(RatedApiTest, AKeyThatAsksTooOftenIsToldWhenToComeBack) {
  serve_rated({"first", "second"});
  EXPECT_EQ(exchange(request("first")).status, 200);
  EXPECT_EQ(exchange(request("first")).status, 200);
  Answer refused = exchange(request("first"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "2");
  EXPECT_THAT(detail_of(refused), HasSubstr("try again in 2 s"));
  now_ = now_.load() + 1400ms;
  refused = exchange(request("first"));
  EXPECT_EQ(refused.headers.at("retry-after"), "1") << "0.6 s, in whole seconds";
  EXPECT_EQ(exchange(request("second")).status, 200) << "a key of its own";
  now_ = now_.load() + 600ms;
  EXPECT_EQ(exchange(request("first")).status, 200);
  EXPECT_EQ(exchange(request("first")).status, 429);
  EXPECT_EQ(runner_.started, 4);
  EXPECT_THAT(exchange(get("/stats", "X-API-Key: first\r\n")).body,
              HasSubstr(R"("rejected":{"rate":3})"));
  EXPECT_THAT(exchange(get("/metrics", "X-API-Key: first\r\n")).body,
              HasSubstr("agent_sandbox_rejected_total{reason=\"rate\"} 3\n"));
}

TEST_F(RatedApiTest, JobsAndStreamsCountAndWhatAnOperatorReadsDoesNot) {
  serve_rated({"first"});
  const std::string key = "X-API-Key: first\r\n";
  for (int i = 0; i < 20; ++i) {
    for (const char* path : {"/health", "/stats", "/metrics", "/openapi.json"}) {
      EXPECT_EQ(exchange(get(path, key)).status, 200) << path;
    }
    EXPECT_EQ(exchange(request("wrong")).status, 401);
    EXPECT_EQ(exchange(get("/none", key)).status, 404);
  }
  EXPECT_EQ(exchange(get("/jobs", key)).status, 200);
  EXPECT_EQ(exchange(get("/stream", key)).status, 426) << "counted, though it is no handshake";
  for (const char* path :
       {"/jobs", "/jobs/x", "/stream", "/ws/stream", "/api/v1/jobs", "/api/v1/stream"}) {
    EXPECT_EQ(exchange(get(path, key)).status, 429) << path;
  }
}

TEST_F(RatedApiTest, WithoutKeysAllCallersAreOne) {
  serve_rated({});
  EXPECT_EQ(exchange(request("a")).status, 200);
  EXPECT_EQ(exchange(request("b")).status, 200);
  EXPECT_EQ(exchange(request("c")).status, 429);
}

TEST_F(ApiTest, OurOwnFailureIsLoggedAndNotToldInFull) {
  serve();
  runner_.answer = jail::Error{jail::ErrorKind::kernel, "mount /secret/path", 1, {}};
  const Answer answer = exchange(post("/execute", R"({"code": "x"})"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, Not(HasSubstr("/secret/path")));
  const std::string id = answer.headers.at("x-request-id");
  bool logged = false;
  for (const std::string& line : log_lines()) {
    logged = logged || (line.find("/secret/path") != line.npos && line.find(id) != line.npos);
  }
  EXPECT_TRUE(logged);
}

TEST_F(ApiTest, AClientThatDisconnectsCancelsItsRun) {
  serve();
  runner_.duration = 10s;
  TestClient client = this->client();
  client.send(post("/execute", R"({"code": "x"})"));
  ASSERT_TRUE(eventually([&] { return runner_.started == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return runner_.cancelled == 1; }));
}

TEST_F(ApiTest, PipelinedRunsAreAnsweredInOrder) {
  serve();
  runner_.duration = 10ms;
  TestClient client = this->client();
  client.send(post("/execute", R"({"code": "first"})") + post("/execute", R"({"code": "second"})") +
              get("/health"));
  EXPECT_EQ(client.receive()->status, 200);
  EXPECT_EQ(client.receive()->status, 200);
  EXPECT_THAT(client.receive()->body, HasSubstr("version"));
  ASSERT_EQ(runner_.requests().size(), 2u);
  EXPECT_EQ(runner_.requests()[0].code, "first");
}

}  // namespace
}  // namespace server
