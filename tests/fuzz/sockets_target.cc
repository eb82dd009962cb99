// The kernel's answers about the sockets of a jail (sock_diag(7)), whose number and content a guest
// chooses. `u` and `i` are answers about Unix and internet sockets as they come, with the bytes
// behind; `U` and `I` are built as the kernel does it, and their figures must come out as they went
// in.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "child/socket_answers.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

using jail::child::Told;

// The buffer has exactly the datagram's size, so that a read behind its end is detected.
template <class Question>
long read(std::string_view datagram, Told& told) {
  const auto copy = std::make_unique<char[]>(datagram.size());
  std::memcpy(copy.get(), datagram.data(), datagram.size());
  return jail::child::add_answer<Question>(copy.get(), static_cast<long>(datagram.size()), told);
}

template <class T>
T value_at(std::string_view bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

constexpr std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// Reads the figures of one message, by the definition of its attributes.
std::uint64_t figures_in(std::string_view message, std::size_t answer, unsigned short wanted) {
  std::size_t at = aligned(sizeof(nlmsghdr)) + answer;
  while (at + sizeof(rtattr) <= message.size()) {
    const auto attribute = value_at<rtattr>(message, at);
    if (attribute.rta_len < sizeof(rtattr) || at + attribute.rta_len > message.size()) return 0;
    if (attribute.rta_type == wanted && attribute.rta_len >= sizeof(rtattr) + 6 * 4) {
      const auto figure = [&](std::size_t number) -> std::uint64_t {
        return value_at<std::uint32_t>(message, at + sizeof(rtattr) + 4 * number);
      };
      return figure(SK_MEMINFO_RMEM_ALLOC) +
             std::max(figure(SK_MEMINFO_WMEM_ALLOC), figure(SK_MEMINFO_WMEM_QUEUED));
    }
    at += aligned(attribute.rta_len);
  }
  return 0;
}

template <class Question>
void check_raw(std::string_view datagram) {
  Told told;
  const long more = read<Question>(datagram, told);
  Told expected;
  long all = 1;
  std::size_t at = 0;
  while (all > 0 && at + sizeof(nlmsghdr) <= datagram.size()) {
    const auto header = value_at<nlmsghdr>(datagram, at);
    if (header.nlmsg_len < sizeof(nlmsghdr) || at + header.nlmsg_len > datagram.size()) {
      all = -1;
    } else if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
      all = header.nlmsg_type == NLMSG_DONE ? 0 : -1;
    } else {
      ++expected.sockets;
      expected.bytes +=
          figures_in(datagram.substr(at, header.nlmsg_len), Question::answer, Question::attribute);
      at += aligned(header.nlmsg_len);
    }
  }
  require((more > 0) == (all > 0) && (more < 0) == (all < 0), "another end of an answer");
  require(told.sockets == expected.sockets, "another number of sockets");
  require(told.bytes == expected.bytes, "other figures than the answer has");
}

void append(std::string& text, const void* bytes, std::size_t size) {
  text.append(static_cast<const char*>(bytes), size);
  text.resize(aligned(text.size()));
}

template <class Question>
void check_made(std::string_view bytes) {
  Choices choices(bytes);
  std::string datagram;
  Told expected;
  while (!choices.is_empty() && expected.sockets < 100) {
    std::string body(Question::answer, '\0');
    for (int others = choices.byte() % 3; others > 0; --others) {
      const std::string_view content = choices.piece();
      const rtattr other{static_cast<unsigned short>(sizeof(rtattr) + content.size()), 200};
      append(body, &other, sizeof other);
      append(body, content.data(), content.size());
    }
    // Newer kernels add figures at the end.
    std::uint32_t figures[9] = {};
    const std::size_t count = 6 + choices.byte() % 4;
    for (std::size_t i = 0; i < 6; ++i) {
      const std::string_view piece = choices.piece();
      std::memcpy(&figures[i], piece.data(), std::min(piece.size(), sizeof figures[i]));
    }
    const rtattr memory{static_cast<unsigned short>(sizeof(rtattr) + 4 * count),
                        Question::attribute};
    append(body, &memory, sizeof memory);
    append(body, figures, 4 * count);
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + body.size());
    header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    append(datagram, &header, sizeof header);
    append(datagram, body.data(), body.size());
    ++expected.sockets;
    const std::uint64_t sent =
        std::max(figures[SK_MEMINFO_WMEM_ALLOC], figures[SK_MEMINFO_WMEM_QUEUED]);
    expected.bytes += figures[SK_MEMINFO_RMEM_ALLOC] + sent;
    // The planted fault counts sent and queued memory as two things.
    if (is_planted()) {
      expected.bytes += std::min(figures[SK_MEMINFO_WMEM_ALLOC], figures[SK_MEMINFO_WMEM_QUEUED]);
    }
  }
  Told told;
  require(read<Question>(datagram, told) == 1, "an answer was refused");
  require(told.sockets == expected.sockets && told.bytes == expected.bytes,
          "other figures than went in");
  nlmsghdr done{};
  done.nlmsg_len = sizeof done;
  done.nlmsg_type = NLMSG_DONE;
  append(datagram, &done, sizeof done);
  require(read<Question>(datagram, told) == 0, "the end of an answer was missed");
}

void check(std::string_view input) {
  using jail::child::InternetQuestion;
  using jail::child::UnixQuestion;
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  if (input[0] == 'u') check_raw<UnixQuestion>(rest);
  if (input[0] == 'i') check_raw<InternetQuestion>(rest);
  if (input[0] == 'U') check_made<UnixQuestion>(rest);
  if (input[0] == 'I') check_made<InternetQuestion>(rest);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::check(fuzz::text_of(bytes, size));
  return 0;
}
