// A form with files (multipart/form-data), at once and in pieces. An accepted form can be written
// again without a change, and no part contains a delimiter.
#include <string>

#include "tests/form_text.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

using server::ReadForm;
using server::ReadPart;

constexpr std::string_view boundary = "edge";
constexpr std::string_view delimiter = "\r\n--edge";
constexpr std::size_t all_at_once = 1u << 20;
constexpr std::size_t whole_room = 8u << 10;

ReadForm read(std::string_view text, std::size_t piece_bytes, std::size_t room_bytes) {
  server::TextBody body(std::string(text), piece_bytes);
  return server::read_form(body, boundary, room_bytes);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string said_again(const ReadForm& form) {
  std::string text;
  for (const auto& [part, content] : form.parts) {
    text += "--edge\r\nContent-Disposition: form-data; name=" + quoted(part.name);
    if (part.filename) text += "; filename=" + quoted(*part.filename);
    if (!part.content_type.empty()) text += "\r\nContent-Type: " + part.content_type;
    text += "\r\n\r\n" + content + "\r\n";
  }
  return text + "--edge--";
}

void require_same(const ReadForm& one, const ReadForm& other, std::string_view what) {
  require(one.refusal.has_value() == other.refusal.has_value(), what);
  require(!one.refusal || one.refusal->body == other.refusal->body, what);
  require(one.parts.size() == other.parts.size(), what);
  for (std::size_t i = 0; i < one.parts.size(); ++i) {
    const ReadPart& a = one.parts[i];
    const ReadPart& b = other.parts[i];
    require(a.content == b.content && a.part.name == b.part.name &&
                a.part.filename == b.part.filename && a.part.content_type == b.part.content_type,
            what);
  }
}

// Requires that the content of each part occurs in the text as it was read, and in this order.
void require_from_text(const ReadForm& form, std::string_view text) {
  for (const auto& [part, content] : form.parts) {
    const std::size_t place = text.find(content);
    require(place != text.npos, "a part has bytes that were not sent");
    text.remove_prefix(place + content.size());
    require(("\r\n" + content).find(delimiter) == content.npos, "a part has a delimiter in it");
  }
}

void test(std::string_view input) {
  Choices choices(input.substr(0, 2));
  const std::size_t piece_bytes = choices.byte() + 1u;
  const std::size_t room_bytes = choices.byte() + 1u;
  const std::string_view text = input.substr(std::min<std::size_t>(input.size(), 2));
  const ReadForm form = read(text, all_at_once, whole_room);
  ReadForm cut = read(text, piece_bytes, room_bytes);
  if (is_planted()) {
    // The planted fault takes the beginning of a delimiter for a whole one.
    for (ReadPart& each : cut.parts) each.content = each.content.substr(0, each.content.find('\r'));
  }
  require_same(form, cut, "a form that comes in pieces is read otherwise");
  // The last part of a refused form may have been cut short.
  if (form.refusal) return;
  require_from_text(form, text);
  require_same(form, read(said_again(form), all_at_once, whole_room),
               "a form that is said again is another one");
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::test(fuzz::text_of(bytes, size));
  return 0;
}
