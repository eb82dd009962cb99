#include "server/http/file_answer.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/server/http_fixture.h"

namespace server {
namespace {

using boost::asio::awaitable;

std::string shown(std::string_view value, std::uint64_t size) {
  const auto range = range_of(value, size);
  if (const auto* part = std::get_if<ByteRange>(&range)) {
    return std::to_string(part->first) + "+" + std::to_string(part->count);
  }
  return std::get<NoRange>(range) == NoRange::whole ? "whole" : "unsatisfiable";
}

TEST(ByteRange, IsWhatTheStandardSays) {
  const std::tuple<const char*, std::uint64_t, const char*> cases[] = {
      {"bytes=0-0", 10, "0+1"},
      {"bytes=0-9", 10, "0+10"},
      {"bytes=2-5", 10, "2+4"},
      {"Bytes=2-", 10, "2+8"},
      {"bytes=9-100", 10, "9+1"},
      {"bytes=9-99999999999999999999999", 10, "9+1"},
      {"bytes=-3", 10, "7+3"},
      {"bytes=-100", 10, "0+10"},
      {"bytes=10-", 10, "unsatisfiable"},
      {"bytes=10-20", 10, "unsatisfiable"},
      {"bytes=99999999999999999999999-", 10, "unsatisfiable"},
      {"bytes=-0", 10, "unsatisfiable"},
      {"bytes=0-", 0, "unsatisfiable"},
      {"bytes=-1", 0, "unsatisfiable"},
      {"bytes=5-2", 10, "whole"},
      {"bytes=0-1,3-4", 10, "whole"},
      {"bytes=", 10, "whole"},
      {"bytes=-", 10, "whole"},
      {"bytes=3", 10, "whole"},
      {"bytes=--3", 10, "whole"},
      {"bytes=+1-2", 10, "whole"},
      {"bytes=1-2x", 10, "whole"},
      {"lines=1-2", 10, "whole"},
      {"", 10, "whole"}};
  for (const auto& [value, size, expected] : cases)
    EXPECT_EQ(shown(value, size), expected) << value;
}

class FileAnswerTest : public HttpTest {
 protected:
  // Serves a file in memory with this content.
  void serve(std::string_view content) {
    file_ = jail::Fd(::memfd_create("file", MFD_CLOEXEC));
    ASSERT_EQ(::write(file_.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    handler_.custom = [this](Request request, runtime::Cancel) -> awaitable<Response> {
      FileAnswer answer;
      answer.file = jail::Fd(::dup(file_.get()));
      answer.content_type = "application/octet-stream";
      answer.etag = "\"one\"";
      RequestHead head = request.head;
      co_return co_await send_file(std::move(head), *request.stream, std::move(answer));
    };
    start();
  }

  jail::Fd file_{-1};
};

TEST_F(FileAnswerTest, IsTheFile) {
  serve("0123456789");
  TestClient client = this->client();
  const Answer answer = client.exchange(get("/custom"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "0123456789");
  EXPECT_EQ(answer.headers.at("content-length"), "10");
  EXPECT_EQ(answer.headers.at("accept-ranges"), "bytes");
  EXPECT_EQ(answer.headers.at("etag"), "\"one\"");
  EXPECT_EQ(answer.headers.count("content-range"), 0u);
  EXPECT_EQ(client.exchange(get("/next")).status, 200);
}

TEST_F(FileAnswerTest, IsThePartThatIsAskedFor) {
  serve("0123456789");
  TestClient client = this->client();
  const Answer part = client.exchange(get("/custom", "Range: bytes=2-4\r\n"));
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.headers.at("content-range"), "bytes 2-4/10");
  const Answer none = client.exchange(get("/custom", "Range: bytes=10-\r\n"));
  EXPECT_EQ(none.status, 416);
  EXPECT_EQ(none.headers.at("content-range"), "bytes */10");
  EXPECT_EQ(client.exchange(get("/custom", "Range: bytes=0-1,4-5\r\n")).status, 200);
}

TEST_F(FileAnswerTest, APartOfAnotherFileIsNotSent) {
  serve("0123456789");
  TestClient client = this->client();
  const auto ask = [&](const std::string& condition) {
    return client.exchange(get("/custom", "Range: bytes=2-4\r\nIf-Range: " + condition + "\r\n"));
  };
  EXPECT_EQ(ask("\"one\"").body, "234");
  EXPECT_EQ(ask("\"two\"").body, "0123456789");
  EXPECT_EQ(ask("Wed, 25 Nov 2026 09:00:00 GMT").status, 200);
}

TEST_F(FileAnswerTest, HeadHasTheLengthAlone) {
  serve("0123456789");
  TestClient client = this->client();
  client.send("HEAD /custom HTTP/1.1\r\nHost: a\r\nRange: bytes=2-4\r\n\r\n" + get("/next"));
  const auto head = client.receive("HEAD");
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->status, 206);
  EXPECT_EQ(head->headers.at("content-length"), "3");
  EXPECT_EQ(client.receive()->headers.at("x-path"), "/next");
}

TEST_F(FileAnswerTest, AnEmptyFileIsAnAnswer) {
  serve("");
  const Answer answer = exchange(get("/custom"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-length"), "0");
}

// A hole takes no memory, and neither does its answer: an answer of this size could not be held.
TEST_F(FileAnswerTest, AFileLargerThanAnyAnswerIsSent) {
  constexpr std::uint64_t size = 1ull << 40;
  constexpr std::size_t part = 512u << 20;
  serve("begin");
  ASSERT_EQ(::ftruncate(file_.get(), size), 0);
  ASSERT_EQ(::pwrite(file_.get(), "end", 3, size - 3), 3);
  TestClient client = this->client();
  const Answer end = client.exchange(get("/custom", "Range: bytes=-3\r\n"));
  EXPECT_EQ(end.headers.at("content-range"), "bytes 1099511627773-1099511627775/1099511627776");
  EXPECT_EQ(end.body, "end");
  client.send(get("/custom"));
  EXPECT_EQ(client.receive_head()->headers.at("content-length"), std::to_string(size));
  EXPECT_EQ(client.take(5), "begin");
  std::size_t taken = 0;
  while (taken < part) {
    const std::size_t count = client.take(1u << 20).size();
    ASSERT_GT(count, 0u);
    taken += count;
  }
  client.close();
  EXPECT_TRUE(eventually([&] { return log_lines().size() == 2; }));
}

TEST_F(FileAnswerTest, AFileThatBecomesShorterBreaksTheAnswerOff) {
  serve("");
  ASSERT_EQ(::ftruncate(file_.get(), 1 << 30), 0);
  TestClient client(port_, "127.0.0.1", 16 << 10);
  client.send(get("/custom"));
  ASSERT_TRUE(client.receive_head().has_value());
  ASSERT_EQ(::ftruncate(file_.get(), 1000), 0);
  std::size_t taken = 0;
  while (const std::size_t count = client.take(1u << 20).size()) taken += count;
  EXPECT_LT(taken, 1u << 30);
  EXPECT_TRUE(client.at_end());
}

}  // namespace
}  // namespace server
