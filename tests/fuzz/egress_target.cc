// A program's messages to the proxy of named egress, through the proxy's own reader. At once and in
// pieces the result must be the same; an allowed host must be a name or an address in its one
// spelling; and the head that is passed on must be one request to it, in whole lines.
#include <algorithm>
#include <string>
#include <string_view>

#include "egress/answer.h"
#include "egress/request.h"
#include "egress/rule.h"
#include "egress/wire.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

using jail::egress::Destination;
using jail::egress::Protocol;
using jail::egress::Reading;
using jail::egress::RequestReader;
using State = Reading::State;

struct Outcome {
  Reading reading;
  Protocol protocol = Protocol::unknown;
  std::string reply;
};

// `hash` says where the bytes are split; 0: nowhere. What follows the head stays as it came.
Outcome read(std::string_view bytes, std::uint64_t hash) {
  RequestReader reader;
  Outcome outcome;
  while (!bytes.empty()) {
    const std::size_t size =
        hash == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 1 + hash % 7);
    hash = hash == 0 ? 0 : (hash >> 3 | hash << 61);
    reader.feed(bytes.substr(0, size));
    outcome.reply += reader.take_reply();
    if (reader.reading().state != State::more) {
      outcome.reading = reader.take();
      if (outcome.reading.state == State::complete) {
        outcome.reading.request.first_bytes += bytes.substr(size);
      }
      break;
    }
    bytes.remove_prefix(size);
  }
  outcome.protocol = reader.protocol();
  return outcome;
}

void require_same(const Outcome& whole, const Outcome& pieces) {
  const Reading& a = whole.reading;
  const Reading& b = pieces.reading;
  require(a.state == b.state, "another outcome in pieces");
  require(whole.reply == pieces.reply, "another reply in pieces");
  require(a.asked == b.asked || a.state == State::refused, "another destination in pieces");
  require(a.request.destination.text() == b.request.destination.text(),
          "another destination in pieces");
  require(a.request.first_bytes == b.request.first_bytes, "other bytes passed on in pieces");
  require(a.state != State::refused || a.refusal.reason == b.refusal.reason,
          "another reason in pieces");
}

// The messages between the proxy and the look-ups, where one of the two processes has been taken
// over.
void check_messages(std::string_view bytes) {
  if (const auto answer = jail::egress::parse_answer(bytes)) {
    const auto again = jail::egress::parse_answer(jail::egress::to_datagram(*answer));
    require(again && again->slot == answer->slot &&
                again->found.addresses == answer->found.addresses &&
                again->found.trouble == answer->found.trouble,
            "an answer that reads differently when it is read again");
  }
  if (const auto question = jail::egress::parse_question(bytes)) {
    const auto again = jail::egress::parse_question(jail::egress::to_datagram(*question));
    require(again && again->slot == question->slot && again->name == question->name,
            "a question that reads differently when it is read again");
  }
}

void check_destination(const Destination& to) {
  require(to.port != 0, "port 0");
  const bool plain = std::all_of(to.host.begin(), to.host.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           (to.address && c == ':');
  });
  require(plain && !to.host.empty() && to.host.size() <= 253, "a host of other characters");
  const auto again = jail::egress::destination_of(to.host, to.port);
  require(again && again->text() == to.text() && again->address == to.address,
          "a host that reads differently when it is read again");
  if (to.address) return;
  const std::string_view last = std::string_view(to.host).substr(to.host.rfind('.') + 1);
  const bool number =
      std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; });
  require(!number && !last.starts_with("0x"), "a name that could be a number");
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

void check_forwarded(const Outcome& outcome) {
  const auto& request = outcome.reading.request;
  const std::size_t end = request.first_bytes.find("\r\n\r\n");
  require(end != std::string::npos, "a head without an end");
  std::string head = request.first_bytes.substr(0, end + 4);
  int hosts = 0;
  int connections = 0;
  std::size_t at = head.find("\r\n") + 2;
  for (std::size_t next; at + 2 < head.size(); at = next + 2) {
    next = head.find("\r\n", at);
    const std::string_view line = std::string_view(head).substr(at, next - at);
    require(line.find_first_of(std::string_view("\r\n\0", 3)) == line.npos, "a line in a line");
    const std::string name = lower(line.substr(0, line.find(':')));
    require(line.find(':') != line.npos && name.find_first_of(" \t") == name.npos,
            "what is no header was passed on");
    require(!name.starts_with("proxy-"), "a header for the proxy was passed on");
    if (name == "connection")
      require(++connections == 1 && line.ends_with(": close"), "not closed");
    if (name == "host") {
      const std::string whole = request.destination.text();
      const std::string expected =
          request.destination.port == 80 ? whole.substr(0, whole.rfind(':')) : whole;
      require(++hosts == 1 && line == "Host: " + expected, "another host was passed on");
    }
  }
  require(hosts == 1 && connections == 1, "no host or no close was passed on");
  const std::string_view target =
      std::string_view(head).substr(head.find(' ') + 1, head.find("\r\n") - head.find(' ') - 1);
  require(target.starts_with('/') || target.starts_with("* "), "a target that is no path");
}

void check_lines(std::string_view bytes, const Outcome& outcome) {
  const std::size_t end = bytes.find("\r\n\r\n");
  require(end != bytes.npos, "a head without an end was taken");
  for (std::size_t at = bytes.find('\n'); at < end; at = bytes.find('\n', at + 1)) {
    require(at > 0 && bytes[at - 1] == '\r', "a bare line feed was taken");
  }
  if (outcome.protocol == Protocol::http) check_forwarded(outcome);
}

void check(std::string_view bytes) {
  std::string fed(bytes);
  if (is_planted()) {
    // The planted fault takes bare line feeds for ends of lines.
    std::erase(fed, '\r');
    for (std::size_t at = fed.find('\n'); at != fed.npos; at = fed.find('\n', at + 2)) {
      fed.insert(at, 1, '\r');
    }
  }
  const Outcome whole = read(fed, 0);
  require_same(whole, read(fed, hash_of(bytes) | 1));
  for (const char c : whole.reading.asked + whole.reading.refusal.reason) {
    require(c >= 0x20 && c < 0x7f, "a log line with what cannot be printed");
  }
  const std::string answer =
      jail::egress::answer(whole.protocol, whole.reading.refusal, whole.reading.asked);
  require(!answer.empty(), "a refusal without an answer");
  if (whole.reading.state != State::complete) return;
  check_destination(whole.reading.request.destination);
  if (whole.protocol != Protocol::socks) check_lines(bytes, whole);
}

// Reads the same bytes as a rule: a rule must cover itself, and its text must stand for it.
void check_rule(std::string_view bytes) {
  const auto rule = jail::egress::parse_rule(bytes);
  if (!rule) {
    require(!rule.error().doing.empty(), "a rule is refused without a reason");
    return;
  }
  require(jail::egress::covers(*rule, *rule), "a rule that does not cover itself");
  require(rule->port != 0, "a rule with port 0");
  if (rule->kind == jail::egress::RuleKind::addresses) {
    const bool own = rule->allows(rule->prefix.address, rule->port);
    const bool is_public = jail::egress::special_purpose(rule->prefix.address).empty();
    require(own || !is_public, "a network without its first address");
  } else {
    const std::string below = "x." + rule->name;
    require(rule->allows(rule->name, rule->port) == (rule->kind == jail::egress::RuleKind::name),
            "a name that is not what its rule says");
    require(below.size() > 253 ||
                rule->allows(below, rule->port) == (rule->kind == jail::egress::RuleKind::below),
            "what is below a name is not what its rule says");
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::check(fuzz::text_of(bytes, size));
  fuzz::check_rule(fuzz::text_of(bytes, size));
  fuzz::check_messages(fuzz::text_of(bytes, size));
  return 0;
}
