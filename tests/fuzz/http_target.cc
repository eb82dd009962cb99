// Bytes of a client through the server's own session, over a socket pair. The handler must see
// exactly what the strictest reading of the same bytes yields, however the bytes were split into
// pieces.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "runtime/json/reader.h"
#include "server/http/session.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/strict_http.h"

namespace fuzz {
namespace {

namespace asio = boost::asio;
using server::RequestHead;
using server::Response;

constexpr std::size_t max_pieces = 6;
constexpr std::size_t longest_input = 16'000;  // what the socket accepts at once

// The server's reaction to one client's bytes.
struct Outcome {
  std::vector<RequestHead> admitted;
  std::vector<std::pair<std::size_t, std::string>> handled;  // indices in `admitted`, bodies
  std::vector<int> reported;  // the status of each answer, as reported to the handler
  bool switched = false;      // the last request left HTTP
  std::string sent;
};

// Echoes requests. /refused is rejected by its head, /switch leaves HTTP, /pieces reads its body in
// small pieces.
class Recorder final : public server::Handler {
 public:
  explicit Recorder(Outcome& outcome) : outcome_(outcome) {}

  server::Admittance admit(const RequestHead& head) const override {
    outcome_.admitted.push_back(head);
    server::Admittance admittance;
    if (head.path == "/refused")
      admittance.refusal = server::problem(server::RefusalCode::no_such_path, "no such path");
    admittance.is_upgrade = head.path == "/switch";
    admittance.reads_body = head.path == "/pieces";
    return admittance;
  }

  asio::awaitable<Response> handle(server::Request request, runtime::Cancel) override {
    if (request.pieces != nullptr) co_return co_await echo(std::move(request));
    outcome_.handled.emplace_back(outcome_.admitted.size() - 1, request.body);
    Response response;
    response.body = std::move(request.body);
    co_return response;
  }

  asio::awaitable<void> upgrade(server::Socket, server::Request, server::BodyBudget&,
                                runtime::Cancel) override {
    outcome_.switched = true;
    co_return;
  }

  void on_response(const RequestHead&, const server::RequestContext*, int status) override {
    outcome_.reported.push_back(status);
  }

 private:
  asio::awaitable<Response> echo(server::Request request) {
    const std::size_t place = outcome_.admitted.size() - 1;
    using State = server::RequestBody::Piece::State;
    std::string body;
    std::array<char, 5> room;
    server::RequestBody::Piece piece;
    do {
      piece = co_await request.pieces->read(room);
      body.append(room.data(), piece.size);
    } while (piece.state == State::more);
    if (piece.state == State::failed) co_return request.pieces->refusal();
    outcome_.handled.emplace_back(place, body);
    Response response;
    response.body = std::move(body);
    co_return response;
  }

  Outcome& outcome_;
};

// Requires one line of JSON for each event, whatever a client calls its path.
void check_log_line(std::string_view line) {
  require(line.find('\n') == line.size() - 1, "a log event is not one line");
  const auto value = runtime::json::parse(line.substr(0, line.size() - 1), "log");
  require(value && value->as_object() != nullptr, "a log line is not a JSON object");
}

class Client {
 public:
  Client(asio::io_context& loop, Outcome& outcome) : loop_(loop), outcome_(outcome) {
    int ends[2];
    const int made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
    require(made == 0, "no socket pair can be made");
    own_.reset(ends[0]);
    others_ = ends[1];
  }

  server::Socket others_end() {
    server::Socket socket(loop_);
    socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), others_);
    return socket;
  }

  void send(std::string_view bytes) {
    const ssize_t count = ::send(own_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const bool refused = count < 0 && errno != EAGAIN;  // the server has closed
    require(refused || count == static_cast<ssize_t>(bytes.size()), "the server stopped reading");
    settle();
  }

  void stop_sending() {
    ::shutdown(own_.get(), SHUT_WR);
    settle();
  }

 private:
  // Runs until nothing moves any more; no deadline is that near.
  void settle() {
    for (bool moved = true; moved;) {
      loop_.restart();
      moved = loop_.poll() > 0;
      char room[4096];
      for (ssize_t got = 0; (got = ::recv(own_.get(), room, sizeof room, 0)) > 0; moved = true) {
        outcome_.sent.append(room, static_cast<std::size_t>(got));
      }
    }
  }

  asio::io_context& loop_;
  Outcome& outcome_;
  jail::Fd own_;
  int others_ = -1;
};

// Includes the descriptors that it opens for its first socket.
struct Loop {
  asio::io_context context{1};
  server::Socket first{context};
};

Outcome serve(const std::vector<std::string_view>& pieces) {
  static Loop shared;
  asio::io_context& loop = shared.context;
  static runtime::Logger logger({.level = runtime::LogLevel::debug,
                                 .format = runtime::LogFormat::json,
                                 .write = check_log_line});
  const Descriptors descriptors;
  Outcome outcome;
  server::HttpOptions options;
  options.max_head_bytes = 2048;
  options.max_body_bytes = 512;
  server::BodyBudget budget(options.max_bodies_bytes);
  Recorder handler(outcome);
  bool ended = false;
  {
    Client client(loop, outcome);
    const auto session =
        server::Session::create(client.others_end(), options, budget, handler, logger);
    asio::co_spawn(loop, session->run(), [&ended](const std::exception_ptr& error) {
      require(error == nullptr, "an exception left the session");
      ended = true;
    });
    for (const std::string_view piece : pieces) client.send(piece);
    client.stop_sending();
    require(ended, "the session goes on although its client has said all");
  }
  descriptors.require_as_before();
  return outcome;
}

// The hash of the bytes decides where they are split: behind a head, where the server may send
// something, or anywhere.
std::vector<std::string_view> cut(std::string_view bytes) {
  std::uint64_t hash = hash_of(bytes);
  std::vector<std::string_view> pieces;
  while (pieces.size() < max_pieces && bytes.size() > 1) {
    const std::size_t head = bytes.find("\r\n\r\n");
    const bool behind_head = head != bytes.npos && (hash >> 40 & 1) == 0;
    const std::size_t anywhere = 1 + hash % std::min<std::size_t>(bytes.size(), 96);
    const std::size_t size = behind_head ? head + 4 : anywhere;
    pieces.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
    hash = hash * 6364136223846793005 + 1442695040888963407;
    hash ^= hash >> 29;
  }
  pieces.push_back(bytes);
  return pieces;
}

bool same_head(const RequestHead& seen, const StrictRequest& request) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const auto& header : seen.headers) headers.emplace_back(header.name, header.value);
  auto expected = request.headers;
  // The parser groups headers of one name.
  std::sort(headers.begin(), headers.end());
  std::sort(expected.begin(), expected.end());
  const bool same_path = !request.target.starts_with('/') ||
                         seen.path == request.target.substr(0, request.target.find_first_of("?#"));
  return seen.method == request.method && headers == expected && same_path;
}

void check_requests(const Outcome& outcome, const StrictReading& reading) {
  require(outcome.admitted.size() <= reading.requests.size(),
          "the server saw a request that is none");
  for (std::size_t i = 0; i < outcome.admitted.size(); ++i) {
    require(same_head(outcome.admitted[i], reading.requests[i]), "the server read another head");
  }
  std::size_t next = 0;
  for (const auto& [index, body] : outcome.handled) {
    require(index >= next, "one request was handled twice");
    next = index + 1;
    require(reading.requests[index].body.has_value(), "a request was handled without its end");
    require(*reading.requests[index].body == body, "the server read another body");
  }
}

void check_answers(const Outcome& outcome, const StrictReading& reading) {
  std::vector<bool> to_head;
  for (const RequestHead& head : outcome.admitted) to_head.push_back(head.method == "HEAD");
  const auto answers = read_answers(outcome.sent, to_head);
  require(answers.has_value(), "the answers are not well-formed HTTP");
  std::vector<int> statuses;
  for (const StrictAnswer& answer : *answers) statuses.push_back(answer.status);
  std::vector<int> reported = outcome.reported;
  if (outcome.switched) {
    require(!reported.empty() && reported.back() == 101, "a switch was not reported");
    reported.pop_back();
  }
  require(statuses == reported, "what was answered is not what was reported");
  for (std::size_t i = 0; i < answers->size(); ++i) {
    const StrictAnswer& answer = (*answers)[i];
    const bool admitted = i < outcome.admitted.size();
    require(admitted || (answer.status >= 400 && answer.closes),
            "what is no request was neither refused nor the end");
    const bool asked =
        admitted && !reading.requests[i].http_1_0 && reading.requests[i].has_header("expect");
    require(!answer.continued || asked, "100 Continue for a client that does not know it");
  }
  const bool closed = !answers->empty() && answers->back().closes;
  std::size_t whole = 0;
  while (whole < reading.requests.size() && reading.requests[whole].body) ++whole;
  require(closed || outcome.switched || answers->size() >= whole, "a request was not answered");
  require(answers->size() <= whole + (reading.is_all ? 0 : 1), "a request was answered twice");
  require(closed || answers->size() <= whole, "the connection went on after what is no request");
}

void check(const Outcome& outcome, const StrictReading& reading) {
  check_requests(outcome, reading);
  check_answers(outcome, reading);
}

// The planted fault takes a bare line feed for a line's end, as many servers do.
std::string with_lenient_line_ends(std::string_view bytes) {
  std::string result;
  for (const char c : bytes) {
    if (c == '\n' && !result.ends_with('\r')) result += '\r';
    result += c;
  }
  return result;
}

void try_input(std::string_view bytes) {
  const StrictReading reading = read_strictly(bytes);
  if (is_planted()) {
    const std::string lenient = with_lenient_line_ends(bytes);
    return check(serve({lenient}), reading);
  }
  const Outcome at_once = serve({bytes});
  check(at_once, reading);
  const Outcome in_pieces = serve(cut(bytes));
  check(in_pieces, reading);
  // Data that comes early for a switched protocol is refused, and a piece of it may not have been
  // early.
  if (at_once.switched || in_pieces.switched) return;
  require(at_once.reported == in_pieces.reported && at_once.handled == in_pieces.handled,
          "the pieces that it came in made a difference");
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size <= fuzz::longest_input) fuzz::try_input(fuzz::text_of(bytes, size));
  return 0;
}
