// One process that was spawned into a living jail (Jail::spawn()): its streams or its terminal, its
// limits and the report of how it ended.
//
// A Process is driven like a Jail: control_fd() becomes readable when something happened, and
// advance() takes note of it without blocking. One thread at a time may use a Process; it and its
// Jail may be used by different threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/exit_report.h"
#include "jail/fd.h"
#include "jail/result.h"
#include "jail/spec.h"

namespace jail {

// What a guest wrote, as communicate() of a Jail or a Process read it.
struct Output {
  std::string out;
  std::string err;
  std::uint64_t out_lost_bytes = 0;  // beyond what was to be kept
  std::uint64_t err_lost_bytes = 0;
};

// What a process of a living jail executes, and what it may use beside the limits that it shares
// with all others in its jail.
struct ProcessSpec {
  std::vector<std::string> argv;       // argv[0] is a path inside the jail; no PATH look-up
  std::vector<std::string> env = {};   // "NAME=value"; nothing is inherited
  std::string working_directory = {};  // empty: JailSpec::working_directory
  // A terminal of the jail's own as its standard streams and as its controlling terminal, in place
  // of three pipes. Nobody has it before this process. There are up to 64 at a time, each as long
  // as any process has it open; programs in the jail can make none. A shell's job control takes
  // tcsetpgrp(3), which the default policy refuses: jail::terminal_rules() has it.
  std::optional<TerminalSize> terminal = std::nullopt;
  std::optional<std::chrono::milliseconds> wall =
      std::nullopt;  // from spawn() on; none: the jail's
  // user + system of this process, without those that it starts; none: the jail's.
  std::optional<std::chrono::milliseconds> cpu = std::nullopt;
  // In a jail of Pool::launch_living(): it is a fork of the template's zygote, which has imported
  // its modules. argv[0] is then the program's file, in the directory of the template's own one; no
  // terminal, no other working directory. RunLimits of the jail apply. Others may have replaced
  // that file by then, and the modules beside it.
  bool warm = false;
};

// How far a process has come. It only goes forward.
enum class ProcessPhase : std::uint8_t {
  starting,  // it is being made
  running,   // its program has begun; passed over where it was ended before
  ended,     // report() is there; what it has started itself may go on in the jail
};

// A handle: whoever holds it owns the process. It leads a session and a process group of its own;
// processes that it starts belong to the jail, and end with that at the latest.
//
// Processes of one jail have one user, and are not kept from each other: once its program has begun
// any of them can stop or kill another one, read its memory, and read its input and write to its
// output or terminal (/proc/PID/fd). What a process is said to have written may be a sibling's
// words; its report is not. In a jail of Pool::launch_living() they neither signal nor see each
// other, but share all files. Give programs that do not trust each other jails of their own.
class Process {
 public:
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  Process(const Process&) = delete;
  ~Process();  // kills it and its process group, where it has not ended

  // As of the last call of advance() or wait().
  ProcessPhase phase() const noexcept;

  // Readable (or hung up) when advance() has something to do. Owned by the Process.
  int control_fd() const noexcept;

  // Reads what init reported. An Error means that the process could not be made or its program not
  // be started; the message names the step. The same Error comes whenever it is asked again.
  Result<ProcessPhase> advance();

  // In the jail's pid namespace; 0 until advance() has learnt it.
  int pid() const noexcept;

  // The owner's ends of its standard streams: pipes, close-on-exec and non-blocking, each of which
  // can be taken once. Not valid where the process has a terminal. Processes that it has started
  // may hold the other ends after its end. Writing to the input when no process reads it any more
  // raises SIGPIPE: ignore or block that signal where you write.
  Fd take_stdin() noexcept;
  Fd take_stdout() noexcept;
  Fd take_stderr() noexcept;

  // The owner's side of its terminal, close-on-exec and non-blocking: what is written to it is
  // typed, what is read from it is shown; reading fails with EIO when no process has it open any
  // more. Owned by the Process; -1 where it has none, and until advance() has learnt of it.
  int terminal_fd() const noexcept;

  // Tells the terminal's foreground process group of the new size (SIGWINCH). Errors: invalid
  // (there is no terminal), kernel.
  Result<void> resize(TerminalSize size);

  // Sends a signal: to the process, or to all of its process group. A process that has ended is
  // not reached, and that is no error: it may end at any moment. Errors: invalid, closed (its jail
  // is gone).
  Result<void> signal(int number);
  Result<void> signal_group(int number);

  // Only in ProcessPhase::ended. Where the process was ended before its program began, which others
  // in the jail can do, `phases.ran` is 0, and otherwise it is not. Ended::cancelled, timed_out and
  // out_of_memory may be the jail's end. `usage` is of this process and of those that it has waited
  // for, the memory that of the largest of them. Ended::killed where the whole jail is gone and
  // nobody was left to report: Jail::report() has the reason.
  const ExitReport& report() const noexcept;

  // Blocks until `phase` is reached or passed, at most 24 days. For owners without an event loop.
  // Does not read the streams. Errors: as advance(), and timed_out, after which it goes on.
  Result<ProcessPhase> wait(ProcessPhase phase, std::chrono::milliseconds at_most);

  // Gives the process `input`, reads what it writes, and returns when it has ended, with what was
  // written by then. Keeps up to `max_bytes` of each output. Blocks as long as the process may run.
  // With the streams in their place. Raises no SIGPIPE. Errors: as advance(), invalid.
  Result<Output> communicate(std::string_view input = {}, std::uint64_t max_bytes = 1u << 20);

  struct State;  // the library's own

 private:
  explicit Process(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace jail
