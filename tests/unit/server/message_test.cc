#include "server/http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/json/reader.h"
#include "runtime/observe/uuid.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(Message, PathOfEveryFormOfTarget) {
  EXPECT_EQ(path_of("/health"), "/health");
  EXPECT_EQ(path_of("/health?x=/y#z"), "/health");
  EXPECT_EQ(path_of("http://a:1/b/c?d"), "/b/c");
  EXPECT_EQ(path_of("http://a?d"), "/");
  EXPECT_EQ(path_of("*"), "*");
  EXPECT_EQ(path_of("/a%2Fb"), "/a%2Fb");
  EXPECT_EQ(path_of("?x"), "?x");
}

TEST(Message, ProblemIsRfc9457) {
  const Response response = problem(RefusalCode::bad_request, "timeout_seconds: \"x\"");
  EXPECT_EQ(response.content_type, "application/problem+json");
  const auto value = runtime::json::parse(response.body, "body");
  ASSERT_TRUE(value.has_value());
  const auto& body = *value->as_object();
  EXPECT_EQ(*body.at("type").as_string(), "about:blank");
  EXPECT_EQ(*body.at("title").as_string(), "Bad Request");
  EXPECT_EQ(*body.at("status").as_integer(), 400);
  EXPECT_EQ(*body.at("detail").as_string(), "timeout_seconds: \"x\"");
  EXPECT_EQ(*body.at("code").as_string(), "bad_request");
  EXPECT_FALSE(body.contains("limit"));
}

TEST(Message, AProblemHasWhatProgramsCanActOn) {
  const Response response = problem(
      {.code = RefusalCode::busy, .detail = "full", .limit = 20, .used = 21, .remedy = "wait"});
  EXPECT_EQ(response.body,
            R"({"type":"about:blank","title":"Service Unavailable","status":503,"detail":"full",)"
            R"("code":"busy","limit":20,"used":21,"remedy":"wait"})");
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].name + response.headers[0].value, "Retry-After1");
  const Response later = problem(RefusalCode::stopping, "over", {{"Retry-After", "5"}});
  ASSERT_EQ(later.headers.size(), 1u);
  EXPECT_EQ(later.headers[0].value, "5");
}

TEST(Message, HeadHasWhatEveryResponseHas) {
  Response response;
  response.body = "12345";
  response.headers = {{"Allow", "POST"}};
  const std::string head = render_head(response, "the-id", Connection::close, {.length = 5});
  EXPECT_THAT(head, MatchesRegex("HTTP/1.1 200 OK\r\nDate: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} "
                                 "[0-9]{4} [0-9:]{8} GMT\r\n(.|\r|\n)*\r\n\r\n"));
  for (const char* line :
       {"\r\nContent-Length: 5\r\n", "\r\nX-Request-Id: the-id\r\n", "\r\nConnection: close\r\n",
        "\r\nAllow: POST\r\n", "\r\nContent-Type: application/json\r\n"}) {
    EXPECT_THAT(head, HasSubstr(line));
  }
}

TEST(Message, HeadSaysWhereABodyEnds) {
  Response response;
  using Kind = Framing::Kind;
  const auto head = [&](Framing framing) {
    return render_head(response, "the-id", Connection::close, framing);
  };
  EXPECT_THAT(head({.length = 1ull << 40}), HasSubstr("\r\nContent-Length: 1099511627776\r\n"));
  EXPECT_THAT(head({.kind = Kind::chunked}), HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_THAT(head({.kind = Kind::chunked}), Not(HasSubstr("Content-Length")));
  EXPECT_THAT(head({.kind = Kind::until_close}), Not(HasSubstr("Content-Length")));
  EXPECT_THAT(head({.kind = Kind::until_close}), Not(HasSubstr("Transfer-Encoding")));
  response.status = 204;
  EXPECT_THAT(head({}), HasSubstr("204 No Content"));
  EXPECT_THAT(head({}), Not(HasSubstr("\r\nContent-")));
}

TEST(Message, UuidsAreWellFormedAndDifferent) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string id = runtime::make_uuid();
    EXPECT_TRUE(runtime::is_uuid(id)) << id;
    EXPECT_EQ(id[14], '4');
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
    EXPECT_TRUE(seen.insert(id).second);
  }
}

TEST(Message, OnlyUuidsAreUuids) {
  EXPECT_TRUE(runtime::is_uuid("6BA7B810-9dad-11d1-80b4-00c04fd430c8"));
  for (const char* text :
       {"", "6ba7b810-9dad-11d1-80b4-00c04fd430c", "6ba7b810-9dad-11d1-80b4-00c04fd430c88",
        "6ba7b8109-dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430cg",
        "{6ba7b810-9dad-11d1-80b4-00c04fd430}"}) {
    EXPECT_FALSE(runtime::is_uuid(text)) << text;
  }
}

}  // namespace
}  // namespace server
