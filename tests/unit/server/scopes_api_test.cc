// The requests that a key allows, at every door of the API.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/config/scope.h"
#include "tests/unit/server/api_fixture.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A key for each scope, with the scope's name.
ApiOptions options_with_a_key_of_each_scope() {
  runtime::Config config;
  for (const Scope scope : runtime::all_scopes) {
    config.api_keys.emplace_back(std::string(name_of(scope)));
    config.api_key_scopes.push_back({scope});
  }
  return api_options(config, full_root(), runtime::shipped_templates(), "1.2.3");
}

TEST_F(ApiTest, EveryRouteIsForTheScopeThatItNames) {
  serve(options_with_a_key_of_each_scope());
  std::map<Scope, std::size_t> routes;
  for (const Route& route : api_->routes().all()) {
    if (route.access.scope) ++routes[*route.access.scope];
    for (const Scope scope : runtime::all_scopes) {
      const std::string row = std::string(route.method) + " " + path_of_route(route);
      const Answer answer = exchange(row + " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " +
                                     std::string(name_of(scope)) + "\r\n\r\n");
      const bool is_refused = route.access.scope && *route.access.scope != scope;
      const bool lacks =
          answer.status == 403 && answer.body.find("lacks the scope") != answer.body.npos;
      EXPECT_EQ(lacks, is_refused) << row << ": " << answer.status;
      EXPECT_NE(answer.status, 401) << row;
      if (!is_refused) continue;
      const std::string_view missing = name_of(*route.access.scope);
      EXPECT_THAT(refusal_of(route, answer),
                  HasSubstr("lacks the scope \"" + std::string(missing) + "\""))
          << row;
      if (route.refusals == Route::Refusals::problems) {
        EXPECT_EQ(*object_of(answer).at("code").as_string(), "missing_scope") << row;
        EXPECT_THAT(*object_of(answer).at("remedy").as_string(), HasSubstr("API_KEY_SCOPES"));
      }
    }
  }
  EXPECT_EQ(runner_.started, 0);
  for (const Scope scope : runtime::all_scopes) EXPECT_GE(routes[scope], 2u) << name_of(scope);
}

TEST_F(ApiTest, TemplatesSayWhatIsImportedAndToWhomMeasuresHowManyJailsWait) {
  runtime::Config config;
  for (const char* key : {"reads", "measures"}) config.api_keys.emplace_back(key);
  config.api_key_scopes = {{Scope::read}, {Scope::read, Scope::metrics}};
  runtime::Template science;
  science.name = "science";
  science.imports = {"numpy", "sqlite3"};
  runtime::Template shell;
  shell.name = "shell";
  shell.language = runtime::Language::bash;
  runner_.state_now.pools.emplace_back().name = "science";
  runner_.state_now.pools.back().state.ready = 3;
  serve(api_options(config, full_root(), {science, shell}, "1.2.3"));
  EXPECT_EQ(exchange(get("/v1/templates", "X-API-Key: reads\r\n")).body,
            R"({"templates":[{"name":"science","language":"python","imports":["numpy","sqlite3"]},)"
            R"({"name":"shell","language":"bash","imports":[]}]})");
  EXPECT_EQ(
      exchange(get("/v1/templates", "X-API-Key: measures\r\n")).body,
      R"({"templates":[{"name":"science","language":"python","imports":["numpy","sqlite3"],"ready":3},)"
      R"({"name":"shell","language":"bash","imports":[],"ready":0}]})");
}

TEST_F(ApiTest, AToolOfMcpIsForTheScopeThatItNames) {
  serve(options_with_a_key_of_each_scope());
  const auto call = [&](std::string_view key, std::string_view tool, std::string_view arguments) {
    const std::string message = R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": )"
                                R"({"name": ")" +
                                std::string(tool) + R"(", "arguments": )" + std::string(arguments) +
                                "}}";
    const Answer answer =
        exchange(post("/mcp", message, "X-API-Key: " + std::string(key) + "\r\n"));
    EXPECT_EQ(answer.status, 200);
    return answer.body;
  };
  const std::vector<std::tuple<Scope, std::string_view, std::string_view>> tools = {
      {Scope::execute, "execute_code", R"({"code": "x"})"},
      {Scope::sandboxes, "create_sandbox", "{}"},
      {Scope::sandboxes, "createSandbox", "{}"},
      {Scope::sandboxes, "kill_sandbox", R"({"sandbox": "x"})"},
      {Scope::sandboxes, "deleteSandbox", R"({"name": "x"})"},
      {Scope::sandboxes, "run_command", R"({"sandbox": "x", "command": ["true"]})"},
      {Scope::sandboxes, "run_code", R"({"sandbox": "x", "code": "1"})"},
      {Scope::sandboxes, "write_file", R"({"sandbox": "x", "path": "/x", "content": ""})"},
      {Scope::sandboxes, "sandboxExecutor",
       R"({"sandbox_name": "x", "tool_name": "run_command", "arguments": {"command": ["true"]}})"},
      {Scope::read, "sandboxExecutor",
       R"({"sandbox_name": "x", "tool_name": "read_file", "arguments": {"path": "/x"}})"},
      {Scope::read, "list_sandboxes", "{}"},
      {Scope::read, "listSandbox", "{}"},
      {Scope::read, "get_sandbox", R"({"sandbox": "x"})"},
      {Scope::read, "getSandbox", R"({"name": "x"})"},
      {Scope::read, "read_file", R"({"sandbox": "x", "path": "/x"})"},
      {Scope::read, "list_files", R"({"sandbox": "x"})"}};
  for (const auto& [needed, tool, arguments] : tools) {
    for (const Scope scope : runtime::all_scopes) {
      if (scope == needed && tool.find("reate") != tool.npos) continue;  // it would make a jail
      const auto refusal = HasSubstr("lacks the scope \\\"" + std::string(name_of(needed)));
      const std::string said = call(name_of(scope), tool, arguments);
      if (scope == needed) {
        EXPECT_THAT(said, Not(HasSubstr("lacks the scope"))) << tool;
      } else {
        EXPECT_THAT(said, refusal) << tool;
      }
    }
  }
  EXPECT_EQ(runner_.started, 1);
}

}  // namespace
}  // namespace server
