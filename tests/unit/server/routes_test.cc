#include "server/api/routes.h"

#include <gtest/gtest.h>

#include "server/api/guard.h"

namespace server {
namespace {

RouteHandler nothing() {
  return [](Call) -> boost::asio::awaitable<Response> { co_return Response(); };
}

// The routes: /a by GET and POST, /a/{id} by DELETE, an upgrade, and one that has no version.
RouteTable table() {
  RouteTable table;
  table.add({"GET", "/a", Access::key(Scope::read), Cost::record, nothing()});
  table.add({"POST", "/a", Access::key(Scope::read), Cost::program, nothing()});
  table.add({"DELETE", "/a/{id}", Access::key(Scope::read), Cost::record, nothing()});
  table.add({"GET", "/a/{id}/b/{name}", Access::open(), Cost::none, nothing()});
  table.add({"GET", "/stream", Access::key(Scope::read), Cost::program, {}});
  table.add({"GET",
             "/ws/stream",
             Access::key(Scope::read),
             Cost::program,
             {},
             QueryNames(),
             Route::Versions::plain,
             "/stream"});
  return table;
}

TEST(Routes, AreFoundByMethodAndPath) {
  const RouteTable routes = table();
  for (const char* path : {"/a", "/api/v1/a"}) {
    const auto found = routes.find("POST", path);
    ASSERT_TRUE(found) << path;
    ASSERT_NE(found->route, nullptr) << path;
    EXPECT_EQ(found->route->cost, Cost::program);
    EXPECT_EQ(found->label, "/a");
    EXPECT_EQ(found->methods, "GET, HEAD, POST");
    EXPECT_FALSE(found->is_open);
  }
  EXPECT_EQ(routes.find("HEAD", "/a")->route->method, "GET");
  const auto alias = routes.find("GET", "/ws/stream");
  ASSERT_TRUE(alias);
  EXPECT_EQ(alias->label, "/stream");
  EXPECT_TRUE(alias->route->is_upgrade());
}

TEST(Routes, TheLastParameterMayTakeAllThatIsLeft) {
  RouteTable routes;
  routes.add({"GET", "/s/{id}/files/{path...}", Access::key(Scope::read), Cost::record, nothing()});
  const auto rest_of = [&](std::string_view path) -> std::optional<std::string> {
    const auto found = routes.find("GET", path);
    if (!found || found->route == nullptr) return std::nullopt;
    Call call;
    call.parameters = found->parameters;
    return call.parameter("id") + "|" + call.parameter("path");
  };
  EXPECT_EQ(rest_of("/s/1/files/a"), "1|a");
  EXPECT_EQ(rest_of("/s/1/files/a/b//c/"), "1|a/b//c/");
  EXPECT_EQ(rest_of("/s/1/files/"), "1|");
  EXPECT_EQ(rest_of("/s/1/files"), std::nullopt);
  EXPECT_EQ(rest_of("/s//files/a"), std::nullopt);
  EXPECT_EQ(rest_of("/s/1/other/a"), std::nullopt);
}

TEST(Routes, ParametersAreDecodedAndWhatIsLeftIsNot) {
  RouteTable routes;
  routes.add({"GET", "/s/{id}/files/{path...}", Access::key(Scope::read), Cost::record, nothing()});
  const auto found = routes.find("GET", "/s/box%3A%2Fa%20b/files/a%20b");
  ASSERT_TRUE(found);
  EXPECT_EQ(parameter_in(found->parameters, "id"), "box:/a b");
  EXPECT_EQ(parameter_in(found->parameters, "path"), "a%20b");
  EXPECT_EQ(parameter_in(routes.find("GET", "/s/a%2/files/")->parameters, "id"), "a%2");
}

TEST(Routes, PatternsHaveParameters) {
  const RouteTable routes = table();
  const auto one = routes.find("DELETE", "/api/v1/a/an-id");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->label, "/a/{id}");
  const auto two = routes.find("GET", "/a/x/b/y");
  ASSERT_TRUE(two);
  EXPECT_TRUE(two->is_open);
  Call call;
  call.parameters = two->parameters;
  EXPECT_EQ(call.parameter("id"), "x");
  EXPECT_EQ(call.parameter("name"), "y");
  EXPECT_EQ(call.parameter("other"), "");
}

TEST(Routes, OtherMethodsAreNoRoute) {
  const RouteTable routes = table();
  for (const char* method : {"", "PUT", "get", "POST, GET"}) {
    const auto found = routes.find(method, "/a");
    ASSERT_TRUE(found) << method;
    EXPECT_EQ(found->route, nullptr) << method;
  }
  const auto upgrade = routes.find("HEAD", "/stream");
  ASSERT_TRUE(upgrade);
  EXPECT_EQ(upgrade->route, nullptr);
  EXPECT_EQ(upgrade->methods, "GET");
}

TEST(Routes, OtherPathsAreUnknown) {
  const RouteTable routes = table();
  for (const char* path : {"", "/", "a", "/a/", "/a//b/y", "/a/x/b", "/a/x/b/", "/a/x/b/y/z", "/A",
                           "/api/v1", "/api/v1/", "/api/v1/ws/stream", "/api/v1/api/v1/a"}) {
    EXPECT_FALSE(routes.find("GET", path)) << path;
  }
}

TEST(Routes, APlainPatternIsTheWholePath) {
  RouteTable routes;
  Route route{"GET", "/api/v1/x/{id}", Access::key(Scope::read), Cost::none, nothing()};
  route.versions = Route::Versions::plain;
  route.refusals = Route::Refusals::envelopes;
  routes.add(std::move(route));
  const auto found = routes.find("GET", "/api/v1/x/y");
  ASSERT_TRUE(found);
  EXPECT_NE(found->route, nullptr);
  EXPECT_FALSE(routes.find("GET", "/x/y"));
  EXPECT_FALSE(routes.find("GET", "/api/v1/api/v1/x/y"));
  const auto other = routes.find("PUT", "/api/v1/x/y");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->route, nullptr);
  EXPECT_EQ(other->refusals, Route::Refusals::envelopes);
}

TEST(Routes, QueriesAreApart) {
  EXPECT_EQ(query_of("/jobs?limit=2&x#frag?no"), "limit=2&x");
  EXPECT_EQ(query_of("/jobs"), "");
  EXPECT_EQ(query_of("/jobs?"), "");
  EXPECT_EQ(query_of("/jobs#a?b"), "");
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

}  // namespace
}  // namespace server
