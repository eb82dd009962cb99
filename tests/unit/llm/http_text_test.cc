#include "runtime/llm/http_text.h"

#include <gmock/gmock.h>

namespace runtime::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(OriginOf, HoldsNothingSecret) {
  EXPECT_EQ(origin_of("https://api.example.com/v1/chat?key=SECRET"), "https://api.example.com");
  EXPECT_EQ(origin_of("HTTP://user:SECRET@[::1]:8080/x"), "http://[::1]:8080");
  EXPECT_EQ(origin_of("https://h?key=SECRET@x"), "https://h");
  EXPECT_EQ(origin_of("https://h#SECRET"), "https://h");
  EXPECT_EQ(origin_of("key=SECRET"), "a URL");
}

std::string obstacle_of(HttpRequest request) { return obstacle_in(request).value_or("none"); }

HttpRequest with_header(std::string name, std::string value) {
  HttpRequest request;
  request.url = "https://h/";
  request.headers.emplace_back(std::move(name), std::move(value));
  return request;
}

TEST(ObstacleIn, Headers) {
  EXPECT_EQ(obstacle_of(with_header("Authorization", "Bearer abc\tdef \xC3\xBC")), "none");
  for (const char* value : {"SECRET\n", "SECRET\r\nX: y", "SECRET\x01", "SECRET\x7f"}) {
    const std::string text = obstacle_of(with_header("Authorization", value));
    EXPECT_THAT(text, HasSubstr("Authorization"));
    EXPECT_THAT(text, Not(HasSubstr("SECRET")));
  }
  EXPECT_NE(obstacle_of(with_header("X", std::string("a\0b", 3))), "none");
  for (const char* name : {"", "a b", "a:", "a\nb"}) {
    EXPECT_NE(obstacle_of(with_header(name, "x")), "none") << name;
  }
}

TEST(ObstacleIn, MethodsAndSchemes) {
  HttpRequest request;
  for (const char* url : {"", "h/v1", "ftp://h/", "file:///etc/passwd", "//h/", "https:/h"}) {
    request.url = url;
    EXPECT_NE(obstacle_of(request), "none") << url;
  }
  request.url = "HTTPS://h/";
  EXPECT_EQ(obstacle_of(request), "none");
  for (const char* method : {"", "GET /", "GET\r\n"}) {
    request.method = method;
    EXPECT_NE(obstacle_of(request), "none") << method;
  }
}

HeadReader read(std::initializer_list<std::string_view> lines) {
  HeadReader reader;
  for (const std::string_view line : lines) reader.feed(line);
  return reader;
}

TEST(HeadReader, NamesAreLowered) {
  auto reader =
      read({"HTTP/2 200 \r\n", "X-Request-ID:  a:B \r\n", "Empty:\r\n", "odd\r\n", "\r\n"});
  EXPECT_EQ(reader.status(), 200);
  EXPECT_THAT(reader.headers(), ElementsAre(Pair("x-request-id", "a:B"), Pair("empty", "")));
}

TEST(HeadReader, InterimRepliesAndTrailersAreLeftOut) {
  auto reader =
      read({"HTTP/1.1 103 Early Hints\r\n", "Link: x\r\n", "\r\n", "HTTP/1.1 429 No\r\n",
            "A: 1\r\n", "\r\n", "Trailer: x\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "B: 2\r\n"});
  EXPECT_EQ(reader.status(), 429);
  EXPECT_THAT(reader.headers(), ElementsAre(Pair("a", "1")));
}

TEST(HeadReader, StatusLinesWithoutAStatus) {
  EXPECT_EQ(read({"HTTP/1.1\r\n"}).status(), 0);
  EXPECT_EQ(read({"HTTP/1.1 \r\n"}).status(), 0);
  EXPECT_EQ(read({"HTTP/"}).status(), 0);
  EXPECT_EQ(read({"HTTP/1.1 2000 OK\r\n"}).status(), 200);
}

}  // namespace
}  // namespace runtime::llm
