#include "server/cli/exec_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "server/cli/sandbox/raw_terminal.h"

namespace server {
namespace {

client::RawTerminal* to_put_back = nullptr;

void put_back() {
  if (to_put_back != nullptr) to_put_back->leave();
}

}  // namespace

struct ExecTerminal::State {
  State(const boost::asio::any_io_executor& executor, client::RawTerminal entered)
      : terminal(std::move(entered)), resized(executor, SIGWINCH) {}

  void wait() {
    resized.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      pass_size_on();
      wait();
    });
  }

  void pass_size_on() {
    const jail::TerminalSize size = own_terminal_size();
    const winsize wanted{size.rows, size.columns, 0, 0};
    const std::lock_guard lock(mutex);
    // The program may be gone already.
    if (of_program.valid()) static_cast<void>(::ioctl(of_program.get(), TIOCSWINSZ, &wanted));
  }

  client::RawTerminal terminal;
  boost::asio::signal_set resized;
  std::mutex mutex;
  jail::Fd of_program;
};

jail::TerminalSize own_terminal_size() {
  const client::TerminalSize size = client::terminal_size(STDIN_FILENO);
  return {.columns = static_cast<std::uint16_t>(size.columns),
          .rows = static_cast<std::uint16_t>(size.rows)};
}

const char* interactive_program(runtime::Language language) {
  switch (language) {
    case runtime::Language::python:
      return "import os\nos.execv('/usr/bin/python3', ['python3', '-q'])\n";
    case runtime::Language::bash:
      return "exec bash -i\n";
    case runtime::Language::javascript:
      return "require('node:repl').start({ useGlobal: true });\n";
    case runtime::Language::typescript:
      break;
  }
  return nullptr;
}

jail::Result<ExecTerminal> ExecTerminal::enter(const boost::asio::any_io_executor& executor) {
  auto terminal = client::RawTerminal::enter(STDIN_FILENO);
  if (!terminal) return std::move(terminal).error();
  auto state = std::make_shared<State>(executor, std::move(*terminal));
  to_put_back = &state->terminal;
  std::at_quick_exit(put_back);
  state->wait();
  return ExecTerminal(std::move(state));
}

ExecTerminal::ExecTerminal(std::shared_ptr<State> state) : state_(std::move(state)) {}
ExecTerminal::ExecTerminal(ExecTerminal&&) noexcept = default;

ExecTerminal::~ExecTerminal() {
  if (state_ == nullptr) return;
  to_put_back = nullptr;
  state_->terminal.leave();
}

std::function<void(jail::Fd)> ExecTerminal::on_terminal() const {
  return [state = state_](jail::Fd terminal) {
    {
      const std::lock_guard lock(state->mutex);
      state->of_program = std::move(terminal);
    }
    // Ours may have another size by now.
    state->pass_size_on();
  };
}

}  // namespace server
