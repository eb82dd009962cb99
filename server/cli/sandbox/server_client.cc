#include "server/cli/sandbox/server_client.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "runtime/llm/http_text.h"
#include "server/api/query.h"
#include "server/cli/exit_codes.h"
#include "server/cli/plain_text.h"
#include "server/cli/sandbox/field_words.h"

namespace server::client {
namespace {

namespace llm = runtime::llm;

constexpr std::size_t max_message_characters = 1000;

// The path of a URL that begins with its origin; empty where it has none.
std::string path_of(const ServerAddress& address) {
  return address.url.substr(std::min(address.url.size(), llm::origin_of(address.url).size()));
}

jail::Error came_a_signal() { return {jail::ErrorKind::timed_out, "a signal came", 0, {}}; }

}  // namespace

std::string sandbox_path(std::string_view id) { return "/v1/sandboxes/" + percent_encoded(id); }

Problem problem_of(const llm::HttpReply& reply) {
  const auto value = runtime::json::parse(reply.body, "answer");
  if (!value) return {};
  return {.detail = runtime::json::text_member(&*value, "detail"),
          .code = runtime::json::text_member(&*value, "code")};
}

ServerClient::ServerClient(ServerAddress address, Signals& signals)
    : address_(std::move(address)),
      signals_(signals),
      http_({.socket_path = address_.socket_path}) {}

std::unique_ptr<llm::PolledCall> ServerClient::begin(ServerRequest request,
                                                     llm::PolledOptions options) {
  llm::HttpRequest http;
  http.method = std::move(request.method);
  http.url = address_.url + request.path;
  http.headers.emplace_back("Accept", std::move(request.accept));
  if (options.next_piece) {
    http.headers.emplace_back("Content-Type", "application/octet-stream");
  } else if (!request.body.empty()) {
    http.headers.emplace_back("Content-Type", "application/json");
  }
  if (!address_.key.empty()) http.headers.emplace_back("Authorization", "Bearer " + address_.key);
  http.body = std::move(request.body);
  return http_.begin(std::move(http), std::move(options));
}

std::unique_ptr<llm::PolledStream> ServerClient::connect() { return http_.connect(address_.url); }

void ServerClient::wait(std::span<pollfd> others) {
  std::vector<pollfd> all(others.begin(), others.end());
  all.push_back({.fd = signals_.fd(), .events = POLLIN, .revents = 0});
  http_.wait(all);
  if (all.back().revents != 0) signals_.read();
  std::copy(all.begin(), all.end() - 1, others.begin());
}

jail::Result<std::string> ServerClient::finish(const llm::PolledCall& call) {
  while (call.outcome() == nullptr) {
    if (signals_.ending() != 0) return came_a_signal();
    wait();
  }
  return answer_of(call);
}

jail::Result<std::string> ServerClient::ask(ServerRequest request) {
  return finish(*begin(std::move(request)));
}

jail::Result<std::string> ServerClient::get(std::string path) {
  return ask({.path = std::move(path)});
}

jail::Result<std::string> ServerClient::answer_of(const llm::PolledCall& call) const {
  if (const auto* const fault = std::get_if<llm::HttpFault>(call.outcome())) {
    return signals_.ending() != 0 ? came_a_signal() : no_answer(*fault);
  }
  const auto& reply = std::get<llm::HttpReply>(*call.outcome());
  if (reply.status / 100 != 2) return refusal_of(reply);
  return reply.body;
}

jail::Error ServerClient::refusal_of(const llm::HttpReply& reply) const {
  const Problem problem = problem_of(reply);
  jail::Error error{jail::ErrorKind::refused, refusal_in_options(problem.detail), 0, {}};
  if (error.doing.empty()) {
    error.doing = address_.shown() + " answered with status " + std::to_string(reply.status) +
                  ", which is no answer of agent-sandbox";
  }
  const std::string path = path_of(address_);
  if (reply.status == 404 && !path.empty() &&
      (problem.code.empty() || problem.code == "no_such_path")) {
    error.hint = address_.named_by + " has the path " + path + "; leave it out";
  }
  if (reply.status == 401) {
    error.doing = address_.key.empty() ? "the server wants a key; put it into AGENT_SANDBOX_KEY"
                                       : "the key in AGENT_SANDBOX_KEY is none of the server's";
  }
  return error;
}

jail::Error ServerClient::no_answer(const llm::HttpFault& fault) const {
  jail::Error error{jail::ErrorKind::closed, {}, 0, {}};
  if (fault.kind == llm::HttpFault::unreachable) {
    error.doing = "no server at " + address_.shown() + ": " + fault.text;
    error.hint = "start one with `agent-sandbox serve`, or say where it is by " + address_.named_by;
    if (fault.text.find("SSL") != fault.text.npos) {
      error.hint = "a server that has no TLS is at http://, as `agent-sandbox serve` itself";
    }
  } else {
    const bool is_broken = fault.kind == llm::HttpFault::interrupted;
    error.doing = is_broken ? "the server at " + address_.shown() +
                                  " ended, or the connection broke, before all of its answer came"
                            : "no answer of " + address_.shown() + ": " + fault.text;
  }
  return error;
}

int fail(const jail::Error& error, const Signals& signals, int refused) {
  if (signals.ending() != 0) return exit_signal_base + signals.ending();
  const bool is_no = error.kind == jail::ErrorKind::refused;
  return server::fail(is_no ? refused : exit_own_failure,
                      plain_line(error.message(), max_message_characters));
}

}  // namespace server::client
