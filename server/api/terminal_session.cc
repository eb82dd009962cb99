#include "server/api/terminal_session.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "runtime/living/bell.h"
#include "runtime/living/living_process.h"
#include "runtime/service/process_output.h"
#include "server/api/sandbox_target.h"

namespace server {

std::string take_type(runtime::json::Object& members) {
  const auto given = members.find("type");
  const std::string* const word = given == members.end() ? nullptr : given->second.as_string();
  std::string type = word == nullptr ? std::string() : *word;
  if (given != members.end()) members.erase(given);
  return type;
}

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::experimental::awaitable_operators::operator&&;
using runtime::Bell;
using runtime::LivingProcess;
using runtime::Refusal;
using runtime::Sandboxes;
using Process = std::shared_ptr<LivingProcess>;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds silence_before_a_ping{15};
// How long a program has to end after a hang-up signal.
constexpr std::chrono::seconds grace_after_a_hang_up{5};
// The pause between attempts to write, since another request may be writing to the same terminal.
constexpr std::chrono::milliseconds time_between_tries{20};
// The time for the messages that end the connection, where the client does not read.
constexpr std::chrono::seconds patience_with_the_client{5};
constexpr std::size_t output_bytes = 64u << 10;
constexpr std::size_t max_message_bytes = 256u << 10;
// The bound on input that the guest has not read; meanwhile nothing more is read from the client.
constexpr std::size_t max_typed_bytes = 64u << 10;

std::variant<Process, Response> process_to_attach_to(const runtime::Sandbox& sandbox,
                                                     const std::string& pid) {
  const auto found = Sandboxes::find_process(sandbox, pid);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return problem(*refusal);
  const auto& process = std::get<Process>(found);
  if (!process->command().terminal) {
    return problem(RefusalCode::no_terminal, "it has no terminal");
  }
  return process;
}

// Everything except the callback of a cancellation happens on the channel's strand.
class TerminalSession final {
 public:
  TerminalSession(runtime::Services services, Upgrade& upgrade, TerminalWish wish,
                  std::unique_ptr<TerminalDialect> dialect)
      : services_(services),
        dialect_(std::move(dialect)),
        wish_(std::move(wish)),
        call_(std::move(upgrade.call)),
        channel_(
            Channel::create(std::move(upgrade.socket), {.max_message_bytes = max_message_bytes})),
        share_(upgrade.budget),
        over_(call_.gone.child()),
        has_typed_(Bell::create(channel_->executor())),
        has_room_(Bell::create(channel_->executor())),
        ends_(Bell::create(channel_->executor())) {}

  awaitable<void> serve() {
    const bool is_accepted = co_await channel_->accept(call_.head);
    if (!is_accepted) co_return;
    auto found = active_sandbox(services_, call_);
    if (auto* refusal = std::get_if<Response>(&found)) {
      co_await say_goodbye(std::move(*refusal));
      co_return;
    }
    const auto target = std::get<SandboxTarget>(std::move(found));
    sandbox_ = target.sandbox;
    auto refusal = co_await find_process();
    if (refusal) {
      co_await say_goodbye(std::move(*refusal));
      co_return;
    }
    std::optional<runtime::Leash> leash;
    if (is_own_) leash.emplace(process_);
    {
      const runtime::Cancel::Listener on_end(over_,
                                             [typed = has_typed_, room = has_room_, ends = ends_] {
                                               for (const auto& bell : {typed, room, ends})
                                                 Bell::ring(bell);
                                             });
      co_await (tell() && listen() && type() && hurry());
    }
    if (is_own_) co_await hang_up();
  }

 private:
  // Starts the requested process, or finds it where it runs. Returns the problem otherwise.
  awaitable<std::optional<Response>> find_process() {
    if (!wish_.pid.empty()) {
      auto found = process_to_attach_to(*sandbox_, wish_.pid);
      if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
      process_ = std::get<Process>(std::move(found));
      if (wish_.has_size) (void)process_->resize(*wish_.process.terminal);
      co_return std::nullopt;
    }
    is_own_ = true;
    co_return co_await start(std::move(wish_.process));
  }

  awaitable<std::optional<Response>> start(runtime::ProcessRequest request) {
    const auto& env = sandbox_->request().env;
    const auto names_terminal = [](const auto& variable) { return variable.first == "TERM"; };
    if (std::none_of(env.begin(), env.end(), names_terminal)) {
      request.env.emplace_back("TERM", "xterm-256color");
    }
    const bool is_shell = request.argv.empty();
    if (is_shell) request.argv = {"bash", "-l"};
    runtime::ProcessRequest other = request;
    auto started = co_await services_.sandboxes->start_process(caller_of(call_), sandbox_,
                                                               std::move(request), call_.gone);
    const auto* refusal = std::get_if<Refusal>(&started);
    if (is_shell && refusal != nullptr && refusal->code == RefusalCode::command_not_found) {
      other.argv = {"sh", "-l"};
      started = co_await services_.sandboxes->start_process(caller_of(call_), sandbox_,
                                                            std::move(other), call_.gone);
      refusal = std::get_if<Refusal>(&started);
    }
    if (refusal != nullptr) co_return problem(*refusal);
    process_ = std::get<Process>(std::move(started));
    services_.logger.info("terminal opened", {{"request_id", call_.head.request_id},
                                              {"sandbox_id", sandbox_->id()},
                                              {"pid", std::int64_t{process_->pid()}}});
    co_return std::nullopt;
  }

  // Sends output to the client, until its end or the connection's.
  awaitable<void> tell() {
    std::optional<LivingProcess::Pace> pace;
    if (is_own_) pace.emplace(process_);
    auto first = dialect_->begun();
    const bool is_heard = co_await say(std::move(first));
    bool is_told = false;
    if (is_heard) is_told = co_await tell_output(pace ? &*pace : nullptr);
    if (is_told) {
      co_await Sandboxes::settle(sandbox_, *process_);
      auto last = dialect_->ended(*services_.sandboxes, *sandbox_, *process_);
      co_await say(std::move(last));
    } else if (call_.gone.requested()) {
      failure_ = stopping();
    }
    over_.request();
    if (failure_) {
      co_await say_goodbye(std::move(*failure_));
    } else {
      if (is_goodbye_) {
        auto last = dialect_->parted();
        co_await say(std::move(last));
      }
      co_await channel_->close(CloseCode::normal);
    }
    is_told_ = true;
    Bell::ring(ends_);
  }

  // Ends the connection where the client does not let it end.
  awaitable<void> hurry() {
    while (!over_.requested()) co_await ends_->wait();
    const auto deadline = Steady::now() + patience_with_the_client;
    while (!is_told_ && Steady::now() < deadline) co_await ends_->wait(deadline);
    if (!is_told_) channel_->abort();
  }

  // Returns true where all of it was sent and the process has ended.
  awaitable<bool> tell_output(LivingProcess::Pace* pace) {
    std::uint64_t place = process_->state().output_from;
    for (;;) {
      const auto output = co_await process_->next_output(
          place, output_bytes, Steady::now() + silence_before_a_ping, over_);
      if (over_.requested()) co_return false;
      const bool is_taken = co_await tell_part(output);
      if (!is_taken) co_return false;
      place = output.part.next;
      if (pace != nullptr) pace->set(place);
      if (output.is_over) co_return true;
    }
  }

  awaitable<bool> tell_part(const LivingProcess::Output& output) {
    if (output.part.lost > 0) {
      auto lost = dialect_->lost(output.part.lost);
      const bool is_taken = co_await say(std::move(lost));
      if (!is_taken) co_return false;
    }
    std::string bytes;
    for (const auto& piece : output.part.pieces) bytes += piece.bytes;
    if (!bytes.empty()) {
      auto messages = dialect_->output(std::move(bytes));
      co_return co_await say(std::move(messages));
    }
    if (output.is_over) co_return true;
    co_return co_await channel_->ping();
  }

  // Returns false where the connection is over.
  awaitable<bool> say(TerminalDialect::Messages messages) {
    for (auto& message : messages) {
      bool is_taken = false;
      if (message.is_binary) {
        is_taken = co_await channel_->write_binary(std::move(message.bytes));
      } else {
        is_taken = co_await channel_->write(std::move(message.bytes));
      }
      if (!is_taken) co_return false;
    }
    co_return true;
  }

  // Reads the client's messages, until the end of the connection or the terminal.
  awaitable<void> listen() {
    using Kind = Channel::Message::Kind;
    for (;;) {
      auto message = co_await channel_->read(share_);
      if (over_.requested()) co_return;
      if (message.kind == Kind::too_large) {
        failure_ = problem({.code = RefusalCode::content_too_large,
                            .detail = "a message has at most 262144 bytes",
                            .limit = 262144});
      }
      bool is_over = failure_ || message.kind == Kind::closed;
      if (!is_over) {
        auto order = dialect_->order_of(std::move(message));
        is_over = co_await follow(std::move(order));
      }
      if (is_over) over_.request();
      if (over_.requested()) co_return;
    }
  }

  awaitable<void> keep_typed(const std::string& bytes) {
    while (typed_.size() >= max_typed_bytes && !over_.requested()) co_await has_room_->wait();
    typed_ += bytes;
    Bell::ring(has_typed_);
  }

  // Writes the client's input to the guest.
  awaitable<void> type() {
    while (!over_.requested()) {
      if (typed_.empty()) {
        co_await has_typed_->wait();
        continue;
      }
      const std::string bytes = std::exchange(typed_, {});
      Bell::ring(has_room_);
      // Input that comes when nobody reads any more is dropped.
      while (!over_.requested()) {
        const auto written = co_await process_->write_input(bytes, false, over_);
        if (written != LivingProcess::Written::busy) break;
        asio::steady_timer pause(channel_->executor(), time_between_tries);
        co_await pause.async_wait(asio::use_awaitable);
      }
    }
  }

  // Returns true where nothing more of the client is needed, or can be read.
  awaitable<bool> follow(std::variant<TerminalDialect::Order, Response> understood) {
    if (auto* refusal = std::get_if<Response>(&understood)) {
      failure_ = std::move(*refusal);
      co_return true;
    }
    const auto& order = std::get<TerminalDialect::Order>(understood);
    // If the sandbox is not resumed on demand, input waits in the terminal.
    if (!order.typed.empty() || order.size || order.signal) {
      (void)sandbox_->living()->resume_on_demand();
    }
    // A process that has ended has no size and takes no signal; its end is reported in a moment.
    if (order.size) {
      (void)process_->resize({static_cast<std::uint16_t>(order.size->columns),
                              static_cast<std::uint16_t>(order.size->rows)});
    }
    if (order.signal) {
      (void)(order.signal->group ? process_->signal_group(order.signal->number)
                                 : process_->signal(order.signal->number));
    }
    if (!order.typed.empty()) co_await keep_typed(order.typed);
    is_goodbye_ = order.is_goodbye;
    co_return is_goodbye_;
  }

  awaitable<void> say_goodbye(Response why) {
    auto last = dialect_->failed(why);
    const bool is_taken = co_await say(std::move(last));
    if (!is_taken) co_return;
    const bool is_end = call_.gone.requested();
    co_await channel_->close(is_end ? CloseCode::going_away : close_code_of(why.status));
  }

  // Sends a hang-up, as ssh does to a program whose client has left, and kills what goes on.
  awaitable<void> hang_up() {
    if (process_->state().has_ended) co_return;
    (void)process_->signal_group(SIGHUP);
    (void)process_->signal_group(SIGCONT);  // wakes stopped processes
    if (!call_.gone.requested()) {
      co_await process_->wait_for_end(Steady::now() + grace_after_a_hang_up);
    }
  }

  const runtime::Services services_;
  const std::unique_ptr<TerminalDialect> dialect_;
  TerminalWish wish_;
  Call call_;
  const std::unique_ptr<Channel> channel_;
  BodyBudget::Share share_;
  const runtime::Cancel over_;  // nobody sends, reads or writes any more
  const std::shared_ptr<Bell> has_typed_;
  const std::shared_ptr<Bell> has_room_;
  const std::shared_ptr<Bell> ends_;
  Sandboxes::Found sandbox_;
  Process process_;
  bool is_own_ = false;      // it was started here, and ends with the connection
  bool is_goodbye_ = false;  // the client has said goodbye
  bool is_told_ = false;     // everything has been sent, to the end of the connection
  std::string typed_;
  std::optional<Response> failure_;
};

}  // namespace

std::optional<Response> why_no_terminal(const runtime::Services& services, const Call& call,
                                        const std::string& pid) {
  auto found = sandbox_target(services, call);
  if (auto* refusal = std::get_if<Response>(&found)) return std::move(*refusal);
  if (pid.empty()) return std::nullopt;
  auto process = process_to_attach_to(*std::get<SandboxTarget>(found).sandbox, pid);
  if (auto* refusal = std::get_if<Response>(&process)) return std::move(*refusal);
  return std::nullopt;
}

awaitable<void> serve_terminal(runtime::Services services, Upgrade upgrade, TerminalWish wish,
                               std::unique_ptr<TerminalDialect> dialect) {
  const auto session =
      std::make_unique<TerminalSession>(services, upgrade, std::move(wish), std::move(dialect));
  co_await session->serve();
}

}  // namespace server
