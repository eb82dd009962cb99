#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/form_text.h"

namespace server {
namespace {

using testing::HasSubstr;

ReadForm read(const std::string& text, std::size_t piece_bytes = 1u << 20,
              std::size_t room_bytes = 1u << 12, TextBody::End end = TextBody::End::whole) {
  TextBody body(text, piece_bytes, end);
  return read_form(body, "edge", room_bytes);
}

std::string part(std::string_view head, std::string_view content) {
  return std::string("--edge\r\n").append(head).append("\r\n\r\n").append(content).append("\r\n");
}

const std::string field = "Content-Disposition: form-data; name=\"a\"";

TEST(FormReader, ReadsFieldsAndFiles) {
  const ReadForm form =
      read(part(field, "1") +
           part("content-disposition:form-data;name=\"file\" ; "
                "filename=\"/home/user/a b.txt\"\r\nContent-Type: text/plain\r\nX-Other: 1",
                "line\r\n--edg\r\n\r\n") +
           part("Content-Disposition: form-data; name=x; filename=\"\"", "") +
           "--edge--\r\nan epilogue");
  ASSERT_FALSE(form.refusal) << form.refusal->body;
  ASSERT_EQ(form.parts.size(), 3u);
  EXPECT_EQ(form.parts[0].part.name, "a");
  EXPECT_FALSE(form.parts[0].part.filename);
  EXPECT_EQ(form.parts[0].content, "1");
  EXPECT_EQ(form.parts[1].part.filename, "/home/user/a b.txt");
  EXPECT_EQ(form.parts[1].part.content_type, "text/plain");
  EXPECT_EQ(form.parts[1].content, "line\r\n--edg\r\n\r\n");
  EXPECT_EQ(form.parts[2].part.filename, "");
  EXPECT_EQ(form.parts[2].content, "");
}

TEST(FormReader, DoesNotMindHowItIsCut) {
  const std::string text = "a preamble\r\n" + part(field, "\r\r\n-\r\n--\r\n--ed--edge\r\n") +
                           "--edge \t\r\n" + field + "\r\n\r\nlast\r\n--edge--";
  const ReadForm whole = read(text);
  ASSERT_FALSE(whole.refusal) << whole.refusal->body;
  ASSERT_EQ(whole.parts.size(), 2u);
  EXPECT_EQ(whole.parts[0].content, "\r\r\n-\r\n--\r\n--ed--edge\r\n");
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    for (const std::size_t room : {1u, 3u, 64u}) {
      const ReadForm cut = read(text, piece, room);
      ASSERT_FALSE(cut.refusal) << piece << ' ' << room << cut.refusal->body;
      ASSERT_EQ(cut.parts.size(), 2u) << piece << ' ' << room;
      EXPECT_EQ(cut.parts[0].content, whole.parts[0].content) << piece << ' ' << room;
      EXPECT_EQ(cut.parts[1].content, "last") << piece << ' ' << room;
    }
  }
}

TEST(FormReader, APartMayEndWithItsHead) {
  const std::string text =
      "--edge\r\n" + field + "\r\n\r\n--edge\r\n" + field + "\r\n\r\n\r\n--edge--";
  for (const std::size_t piece : {1u, 5u, 1u << 20}) {
    const ReadForm form = read(text, piece);
    ASSERT_FALSE(form.refusal) << form.refusal->body;
    ASSERT_EQ(form.parts.size(), 2u);
    EXPECT_EQ(form.parts[0].content + form.parts[1].content, "");
  }
}

TEST(FormReader, NamesAreTheClientsBytes) {
  const ReadForm form = read(
      part(R"(Content-Disposition: form-data; name="say \"x\" \\ \n"; filename="C:\dir\ü.txt")",
           "") +
      "--edge--");
  ASSERT_FALSE(form.refusal) << form.refusal->body;
  ASSERT_EQ(form.parts.size(), 1u);
  EXPECT_EQ(form.parts[0].part.name, R"(say "x" \ \n)");
  EXPECT_EQ(form.parts[0].part.filename, R"(C:\dir\ü.txt)");
}

TEST(FormReader, HoldsLittleOfALargePart) {
  const std::string content(3u << 20, '\r');
  TextBody body(part(field, content) + "--edge--", 1u << 20);
  const ReadForm form = read_form(body, "edge", 100);
  ASSERT_EQ(form.parts.size(), 1u);
  EXPECT_EQ(form.parts[0].content, content);
  EXPECT_LE(body.max_room(), 16u << 10);
}

TEST(FormReader, SkipsWhatIsNotRead) {
  TextBody body(part(field, std::string(100'000, 'x')) + part(field, "2") + "--edge--", 1000);
  FormReader form(body, "edge");
  int parts = 0;
  run_to_end([](FormReader& reader, int& count) -> boost::asio::awaitable<void> {
    while (co_await reader.next()) ++count;
  }(form, parts));
  EXPECT_EQ(parts, 2);
  EXPECT_FALSE(form.refusal());
}

TEST(FormReader, RefusesWhatIsNoForm) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "ends in the middle"},
      {"--edge", "ends before its last boundary"},
      {part(field, "1"), "ends in the middle"},
      {part(field, "1") + "--edge", "ends before its last boundary"},
      {part(field, "1") + "--edge-", "ends before its last boundary"},
      {"--edge\r\n" + field + "\r\n", "ends before its last boundary"},
      {part(field, "1\r\n--edges") + "--edge--", "more than its boundary"},
      {"--edge" + std::string(100, ' ') + "\r\n", "more than its boundary"},
      {"--edge\n" + field + "\n\n1\n--edge--", "more than its boundary"},
      {"--edge\r\n\r\n1\r\n--edge--", "Content-Disposition"},
      {part("Content-Type: a", "1"), "Content-Disposition"},
      {part("Content-Disposition: attachment; name=\"a\"", "1"), "Content-Disposition"},
      {part("Content-Disposition: form-data; filename=\"a\"", "1"), "Content-Disposition"},
      {part("Content-Disposition: form-data; name=\"a\"; name=\"b\"", "1"), "Content-Disposition"},
      {part("Content-Disposition: form-data; name=\"a", "1"), "Content-Disposition"},
      {part("Content-Disposition: form-data; name=", "1"), "Content-Disposition"},
      {part("Content-Disposition: form-data; name=\"a\" b", "1"), "Content-Disposition"},
      {part(field + "\r\n" + field, "1"), "not one of MIME"},
      {part(field + "\r\n folded", "1"), "not one of MIME"},
      {part(field + "\r\nX: \x01", "1"), "not one of MIME"},
      {part(field + "\r\nX: a\nb: c", "1"), "not one of MIME"},
      {part(field + "\r\nContent-Transfer-Encoding: base64", "1"), "Content-Transfer-Encoding"},
      {part(field + "\r\nX: " + std::string(9000, 'x'), "1"), "larger than 8192"},
      {part(field + "\r\nX: " + std::string(90'000, 'x'), "1"), "larger than 8192"},
  };
  for (const auto& [text, why] : wrong) {
    for (const std::size_t piece : {1u, 1u << 20}) {
      const ReadForm form = read(text, piece);
      ASSERT_TRUE(form.refusal) << text;
      EXPECT_EQ(form.refusal->status, 400) << text;
      EXPECT_THAT(form.refusal->body, HasSubstr(why)) << text;
    }
  }
}

TEST(FormReader, BoundsTheNumberOfParts) {
  std::string text;
  for (std::size_t i = 0; i < FormReader::max_parts; ++i) text += part(field, "");
  EXPECT_FALSE(read(text + "--edge--").refusal);
  const ReadForm form = read(text + part(field, "") + "--edge--");
  EXPECT_EQ(form.parts.size(), FormReader::max_parts);
  ASSERT_TRUE(form.refusal);
  EXPECT_THAT(form.refusal->body, HasSubstr("more than 1000 parts"));
}

TEST(FormReader, ABodyThatFailsSaysWhy) {
  for (const std::string& text :
       {std::string(), part(field, "1"), std::string("--edge\r\nContent")}) {
    const ReadForm form = read(text, 1u << 20, 64, TextBody::End::failed);
    ASSERT_TRUE(form.refusal);
    EXPECT_EQ(form.refusal->status, 408);
  }
}

TEST(FormReader, BoundaryOfAContentType) {
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=----WebKitFormBoundary7"),
            "----WebKitFormBoundary7");
  EXPECT_EQ(form_boundary("Multipart/Form-Data ; charset=utf-8; Boundary=\"a b:c\""), "a b:c");
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=" + std::string(70, 'x')),
            std::string(70, 'x'));
  for (const std::string& type :
       {std::string("multipart/mixed; boundary=a"), std::string("multipart/form-data"),
        std::string("multipart/form-data; boundary="),
        std::string("multipart/form-data; boundary=\"\""),
        std::string("multipart/form-data; boundary=a; boundary=b"),
        std::string("multipart/form-data; boundary=\"a\r\nb\""),
        std::string("multipart/form-data; boundary=\"a \""),
        std::string("multipart/form-data; boundary=a, multipart/form-data; boundary=b"),
        "multipart/form-data; boundary=" + std::string(71, 'x')}) {
    EXPECT_FALSE(form_boundary(type)) << type;
  }
}

}  // namespace
}  // namespace server
