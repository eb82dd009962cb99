#include "server/cli/sandbox/passed_signal.h"

#include <utility>
#include <variant>

#include "runtime/json/writer.h"

namespace server::client {
namespace {

namespace llm = runtime::llm;

// An end that the server tells of in a moment is no refusal.
bool was_refused(const llm::HttpOutcome& outcome) {
  const auto* const reply = std::get_if<llm::HttpReply>(&outcome);
  if (reply == nullptr) return true;
  if (reply->status / 100 == 2) return false;
  const std::string code = problem_of(*reply).code;
  return !code.ends_with("_ended") && code != "no_such_process";
}

}  // namespace

PassedSignal::PassedSignal(ServerClient& client, To to) : client_(client), to_(to) {
  client_.signals().lend_first();
}

void PassedSignal::pass(const std::string& path) {
  Signals& signals = client_.signals();
  if (call_ == nullptr) {
    const int number = signals.take_lent();
    if (number == 0) return;
    runtime::json::Writer writer;
    writer.begin_object().key("signal").integer(number);
    if (to_ == To::group) writer.key("group").boolean(true);
    writer.end_object();
    call_ = client_.begin({.method = "POST", .path = path, .body = std::move(writer).take()});
  } else if (call_->outcome() != nullptr && was_refused(*call_->outcome())) {
    signals.return_lent();
  }
}

}  // namespace server::client
