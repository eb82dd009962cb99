#include "server/cli/sandbox/attached_process.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"

namespace server::client {
namespace {

namespace json = runtime::json;
namespace llm = runtime::llm;

// The most bytes of input that one request carries.
constexpr std::size_t max_input_bytes = 96u << 10;

std::string input_request(std::string_view bytes, bool is_last) {
  json::Writer writer;
  writer.begin_object().key("data").base64(bytes).key("encoding").string("base64");
  if (is_last) writer.key("close").boolean(true);
  writer.end_object();
  return std::move(writer).take();
}

// Whether a refusal means that the process has ended or has closed its input, which is no failure
// of the writer. `input_busy` is one: somebody else writes, and our input was not taken.
bool means_that_nobody_reads(const llm::PolledCall& call) {
  const auto* const reply = std::get_if<llm::HttpReply>(call.outcome());
  if (reply == nullptr || (reply->status != 409 && reply->status != 404)) return false;
  return problem_of(*reply).code != "input_busy";
}

}  // namespace

AttachedProcess::AttachedProcess(ServerClient& client, AttachedOptions options)
    : client_(client),
      options_(std::move(options)),
      events_(options_.encoding, options_.listener),
      unsent_(options_.first_input) {
  if (options_.passes_signal) signal_.emplace(client_, PassedSignal::To::group);
}

AttachedProcess::~AttachedProcess() = default;

std::string AttachedProcess::process_path() const {
  return sandbox_path(options_.id) + "/processes/" + std::to_string(events_.pid());
}

bool AttachedProcess::wants_input() const {
  const bool is_running = events_.pid() != 0 && events_.ended() == nullptr;
  return options_.input_fd >= 0 && is_running && !input_ended_ && !input_over_ &&
         unsent_.size() < max_input_bytes;
}

void AttachedProcess::read_input() {
  std::array<char, 64u << 10> bytes;
  const ssize_t count = ::read(options_.input_fd, bytes.data(), bytes.size());
  if (count > 0) {
    unsent_.append(bytes.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
    input_ended_ = true;
  }
}

jail::Result<void> AttachedProcess::pass_input() {
  if (input_call_ != nullptr) {
    if (input_call_->outcome() == nullptr) return {};
    const Call ended = std::move(input_call_);
    if (means_that_nobody_reads(*ended)) {
      input_over_ = true;
    } else if (auto answer = client_.answer_of(*ended); !answer) {
      return std::move(answer).error();
    }
  }
  const bool has_some = !unsent_.empty() || input_ended_;
  if (options_.input_fd < 0 || input_over_ || events_.pid() == 0 || !has_some) return {};
  input_over_ = input_ended_;
  input_call_ = client_.begin({.method = "POST",
                               .path = process_path() + "/stdin",
                               .body = input_request(std::exchange(unsent_, {}), input_ended_)});
  return {};
}

jail::Result<void> AttachedProcess::pass_size() {
  if (size_call_ != nullptr) {
    if (size_call_->outcome() == nullptr) return {};
    const Call ended = std::move(size_call_);
    if (!means_that_nobody_reads(*ended)) {
      if (auto answer = client_.answer_of(*ended); !answer) return std::move(answer).error();
    }
  }
  if (!options_.size || events_.pid() == 0 || !client_.signals().take_resized()) return {};
  size_call_ = client_.begin(
      {.method = "POST", .path = process_path() + "/resize", .body = options_.size()});
  return {};
}

jail::Result<json::Value> AttachedProcess::run() {
  const Call output =
      client_.begin({.method = "POST",
                     .path = sandbox_path(options_.id) + "/processes",
                     .body = options_.request,
                     .accept = "application/x-ndjson"},
                    {.on_body = [this](std::string_view bytes) { return events_.feed(bytes); }});
  while (output->outcome() == nullptr && client_.signals().ending() == 0) {
    std::array<pollfd, 1> input{{{.fd = options_.input_fd, .events = POLLIN, .revents = 0}}};
    client_.wait(wants_input() ? std::span<pollfd>(input) : std::span<pollfd>());
    if (input[0].revents != 0) read_input();
    // What the end of the process did to them does not matter any more.
    if (output->outcome() != nullptr || events_.ended() != nullptr) continue;
    if (auto passed = pass_input(); !passed) return std::move(passed).error();
    if (auto passed = pass_size(); !passed) return std::move(passed).error();
    if (signal_ && events_.pid() != 0) signal_->pass(process_path() + "/signal");
  }
  if (events_.ended() != nullptr) return *events_.ended();
  if (!events_.error().empty()) {
    return jail::Error{jail::ErrorKind::closed, events_.error(), 0, {}};
  }
  if (output->outcome() == nullptr) {
    return jail::Error{jail::ErrorKind::timed_out, "a signal came", 0, {}};
  }
  if (const auto* const reply = std::get_if<llm::HttpReply>(output->outcome())) {
    if (reply->status / 100 != 2) problem_ = problem_of(*reply);
  }
  auto answer = client_.answer_of(*output);
  if (!answer) return std::move(answer).error();
  return jail::Error{jail::ErrorKind::closed, "the server ended before the process did", 0, {}};
}

}  // namespace server::client
