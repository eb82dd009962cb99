#include "server/api/routes.h"

#include <gtest/gtest.h>

#include "server/api/guard.h"

namespace server {
namespace {

TEST(Routes, Paths) {
  const std::pair<std::string_view, Route> cases[] = {
      {"/execute", Route::execute},
      {"/api/v1/execute", Route::execute},
      {"/health", Route::health},
      {"/jobs", Route::jobs},
      {"/api/v1/jobs", Route::jobs},
      {"/jobs/x", Route::job},
      {"/api/v1/jobs/x", Route::job},
      {"/stats", Route::stats},
      {"/metrics", Route::metrics},
      {"/openapi.json", Route::openapi},
      {"/stream", Route::stream},
      {"/ws/stream", Route::stream},
      {"/api/v1/stream", Route::stream},
      {"/benchmark", Route::benchmark},
      {"/api/v1/benchmark", Route::benchmark},
      {"/lessons", Route::lessons},
      {"/api/v1/lessons", Route::lessons},
      {"/lessons/x", Route::lesson},
      {"/api/v1/lessons/x", Route::lesson},
  };
  for (const auto& [path, route] : cases) {
    const auto match = match_route(path);
    ASSERT_TRUE(match.has_value()) << path;
    EXPECT_EQ(match->route, route) << path;
  }
  EXPECT_EQ(match_route("/jobs/an-id")->id, "an-id");
  EXPECT_EQ(match_route("/api/v1/jobs/an-id")->label, "/jobs/{id}");
  EXPECT_EQ(match_route("/lessons/an-id")->id, "an-id");
  EXPECT_EQ(match_route("/lessons/an-id")->label, "/lessons/{id}");
  EXPECT_EQ(match_route("/lessons/an-id")->methods, "DELETE");
}

TEST(Routes, QueriesAreApart) {
  EXPECT_EQ(query_of("/jobs?limit=2&x#frag?no"), "limit=2&x");
  EXPECT_EQ(query_of("/jobs"), "");
  EXPECT_EQ(query_of("/jobs?"), "");
  EXPECT_EQ(query_of("/jobs#a?b"), "");
}

TEST(Routes, WhatIsNone) {
  for (const char* path : {"", "/", "/jobs/", "/jobs/a/b", "/lessons/", "/lessons/a/b",
                           "/benchmark/x", "/execute/", "/api/v1", "/api/v1/", "/api/v1/metrics",
                           "/api/v1/ws/stream", "/api/v1/api/v1/jobs", "/Jobs"}) {
    EXPECT_FALSE(match_route(path).has_value()) << path;
  }
}

TEST(Routes, Methods) {
  EXPECT_TRUE(is_allowed_method("GET, HEAD, DELETE", "DELETE"));
  EXPECT_TRUE(is_allowed_method("GET", "GET"));
  for (const char* method : {"", "GE", "GETS", "get", "HEAD, DELETE", ","}) {
    EXPECT_FALSE(is_allowed_method("GET, HEAD, DELETE", method)) << method;
  }
}

TEST(Guard, Origins) {
  const auto own = [](const char* origin) {
    RequestHead head;
    head.headers = {{"Host", "box.example:8000"}, {"Origin", origin}};
    return is_own_origin(head, {"proxy.example"});
  };
  for (const char* origin : {"https://proxy.example", "http://proxy.example:3000",
                             "http://box.example:8000", "https://BOX.example:8000"}) {
    EXPECT_TRUE(own(origin)) << origin;
  }
  for (const char* origin : {"null",
                             "",
                             "http://",
                             "http://evil.example",
                             "localhost",
                             "http://localhost.evil.example",
                             "http://evil.example/localhost",
                             "http://localhost",
                             "http://localhost:8000",
                             "http://127.0.0.1:8000",
                             "http://[::1]:3000",
                             "http://box.example",
                             "http://box.example:80",
                             "http://box.example:8000:x.evil.example",
                             "http://box.example:8000.evil.example",
                             "http://box.example:8000/",
                             "http://user@box.example:8000",
                             "file://box.example:8000",
                             "http://box.example:8000,evil",
                             "http://proxy.example:x.evil.example"}) {
    EXPECT_FALSE(own(origin)) << origin;
  }
  EXPECT_TRUE(is_own_origin(RequestHead(), {}));
}

TEST(Guard, OriginsOnThePortThatTheirSchemeHas) {
  const auto own = [](const char* host, const char* origin) {
    RequestHead head;
    head.headers = {{"Host", host}, {"Origin", origin}};
    return is_own_origin(head, {});
  };
  EXPECT_TRUE(own("box.example", "http://box.example"));
  EXPECT_TRUE(own("box.example", "https://box.example"));
  EXPECT_TRUE(own("box.example:443", "https://box.example"));
  EXPECT_TRUE(own("[::1]:8000", "http://[::1]:8000"));
  EXPECT_TRUE(own("localhost:8000", "http://localhost:8000"));
  EXPECT_FALSE(own("localhost:8000", "http://localhost:8001"));
  EXPECT_FALSE(own("localhost:8000", "http://127.0.0.1:8000"));
  EXPECT_FALSE(own("box.example:443", "http://box.example"));
  EXPECT_FALSE(own("localhost:8000,evil", "http://localhost:8000"));
}

TEST(Guard, WhichKeyIsShown) {
  std::vector<runtime::Secret> keys;
  keys.emplace_back("one");
  keys.emplace_back("two");
  RequestHead head;
  EXPECT_EQ(key_shown(head, keys), std::nullopt);
  head.headers = {{"X-API-Key", "two"}};
  EXPECT_EQ(key_shown(head, keys), 1u);
  head.headers = {{"Authorization", "Bearer one"}, {"X-API-Key", "two"}};
  EXPECT_EQ(key_shown(head, keys), 0u);
  head.headers = {{"X-API-Key", "three"}};
  EXPECT_EQ(key_shown(head, keys), std::nullopt);
}

}  // namespace
}  // namespace server
