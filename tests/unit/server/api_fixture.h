// The API over a real socket, with a runner that makes no jails.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/json/reader.h"
#include "runtime/store/job_place.h"
#include "server/api/api.h"
#include "tests/unit/server/fake_runner.h"
#include "tests/unit/server/http_fixture.h"

namespace server {

class ApiTest : public HttpTest {
 protected:
  void serve(std::vector<std::string> keys = {}) {
    runtime::Config config;
    for (std::string& key : keys) config.api_keys.emplace_back(std::move(key));
    serve(api_options(config, full_root(), runtime::shipped_templates(), "1.2.3"));
  }

  void serve(ApiOptions options) {
    api_ = std::make_unique<Api>(std::move(options), runtime::Services{.runner = runner_,
                                                                       .jobs = jobs_,
                                                                       .metrics = metrics_,
                                                                       .logger = logger_,
                                                                       .sandboxes = &sandboxes_});
    server_ = std::make_unique<HttpServer>(executors(pool_), HttpOptions{}, *api_, logger_);
    listen();
  }

  ~ApiTest() override {
    if (server_) stop(std::chrono::milliseconds(0));
    server_.reset();
  }

  static runtime::json::Object object_of(const Answer& answer) {
    auto value = runtime::json::parse(answer.body, "answer");
    EXPECT_TRUE(value.has_value()) << answer.body;
    if (!value || value->as_object() == nullptr) return {};
    return *value->as_object();
  }

  static std::string detail_of(const Answer& answer) {
    EXPECT_EQ(answer.headers.at("content-type"), "application/problem+json");
    return *object_of(answer).at("detail").as_string();
  }
  // Returns the text in which `route` refuses.
  static std::string refusal_of(const Route& route, const Answer& answer) {
    if (route.refusals == Route::Refusals::problems) return detail_of(answer);
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    return *object_of(answer).at("error").as_string();
  }

  FakeRunner runner_;
  runtime::Jobs jobs_{*runtime::JobTable::open(runtime::in_memory, {}), logger_};
  runtime::Metrics metrics_;
  runtime::SandboxHistory history_{jobs_, 100};
  runtime::Sandboxes sandboxes_{runner_, logger_, history_, {}};
  std::unique_ptr<Api> api_;
};

// Returns a path of the route: every part in braces becomes "x".
inline std::string path_of_route(const Route& route) {
  return std::regex_replace(std::string(route.pattern), std::regex(R"(\{[^}]*\})"), "x");
}

}  // namespace server
