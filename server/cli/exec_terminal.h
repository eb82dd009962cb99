// exec -t: our terminal while a program in a jail has one of its own.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "jail/fd.h"
#include "jail/result.h"
#include "jail/spec.h"
#include "runtime/sandbox/run_request.h"

namespace server {

// That of standard input.
jail::TerminalSize own_terminal_size();

// What runs where no program is named: an interpreter that reads what is typed. Null: that
// language has none.
const char* interactive_program(runtime::Language language);

// Standard input is set up so that every key goes to the program, Ctrl-C among them, and is put
// back when this goes, or by std::quick_exit(). There is one at a time.
class ExecTerminal {
 public:
  // Errors: ErrorKind::kernel.
  static jail::Result<ExecTerminal> enter(const boost::asio::any_io_executor& executor);
  ExecTerminal(ExecTerminal&&) noexcept;
  ~ExecTerminal();

  // For RunOptions::on_terminal: the program's terminal gets every new size of ours.
  std::function<void(jail::Fd)> on_terminal() const;

 private:
  struct State;
  explicit ExecTerminal(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace server
