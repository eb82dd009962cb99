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

// A guest's output, as communicate() of a Jail or a Process read it.
struct Output {
  std::string out;
  std::string err;
  std::uint64_t out_lost_bytes = 0;  // bytes beyond those that were to be kept
  std::uint64_t err_lost_bytes = 0;
};

// What a process of a living jail executes, and what it may use beside the limits that it shares
// with all others in its jail.
struct ProcessSpec {
  std::vector<std::string> argv;       // argv[0] is a path inside the jail; no PATH look-up
  std::vector<std::string> env = {};   // "NAME=value"; nothing is inherited
  std::string working_directory = {};  // empty: JailSpec::working_directory
  // A terminal of the jail's own as its standard streams and as its controlling terminal, in place
  // of three pipes. No other process has it before this one. A jail has up to 64 terminals at a
  // time, each as long as any process has it open; programs in the jail can make none. A shell's
  // job control needs tcsetpgrp(3), which the default policy refuses and jail::terminal_rules()
  // allows.
  std::optional<TerminalSize> terminal = std::nullopt;
  std::optional<std::chrono::milliseconds> wall =
      std::nullopt;  // from spawn() on; nullopt: the jail's
  // The user and system time of this process, without those that it starts; nullopt: the jail's.
  std::optional<std::chrono::milliseconds> cpu = std::nullopt;
  // Only in a jail of Pool::launch_living(): the process is a fork of the template's zygote, which
  // has imported its modules. argv[0] is then the program's file, in the directory of the
  // template's own one; no terminal, no other working directory. RunLimits of the jail apply. Other
  // processes of the jail may have replaced that file, and the modules beside it, by then.
  bool warm = false;
};

// How far a process has come. It only goes forward.
enum class ProcessPhase : std::uint8_t {
  starting,  // being made
  running,   // its program has begun; skipped where the process was ended before that
  ended,     // report() is there; processes that it has started may go on in the jail
};

// A handle: its holder owns the process. The process leads a session and a process group of its
// own; processes that it starts belong to the jail, and end with the jail at the latest.
//
// Processes of one jail have one user and are not isolated from each other: once its program has
// begun, any of them can stop or kill another one, read its memory, read its input and write to its
// output or terminal (/proc/PID/fd). The output of a process may therefore be a sibling's words;
// its report cannot. In a jail of Pool::launch_living() they neither signal nor see each other, but
// share all files. Give programs that do not trust each other jails of their own.
class Process {
 public:
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  Process(const Process&) = delete;
  ~Process();  // kills the process and its process group if it has not ended

  // The phase as of the last call of advance() or wait().
  ProcessPhase phase() const noexcept;

  // Readable (or hung up) when advance() has something to do. Owned by the Process.
  int control_fd() const noexcept;

  // Reads what init reported. An Error means that the process could not be made or that its program
  // could not be started; the message names the step. Every further call returns the same Error.
  Result<ProcessPhase> advance();

  // The process id in the jail's pid namespace; 0 until advance() has learnt it.
  int pid() const noexcept;

  // The owner's ends of its standard streams: pipes, close-on-exec and non-blocking, each of which
  // can be taken once. The Fd is not valid where the process has a terminal. Processes that it has
  // started may hold the other ends after its end. Writing to the input when no process reads it
  // any more raises SIGPIPE: ignore or block that signal where you write.
  Fd take_stdin() noexcept;
  Fd take_stdout() noexcept;
  Fd take_stderr() noexcept;

  // The owner's side of its terminal, close-on-exec and non-blocking. Bytes written to it are the
  // terminal's input, bytes read from it are the output; reading fails with EIO when no process has
  // the terminal open any more. Owned by the Process; -1 where it has none, and until advance() has
  // learnt of it.
  int terminal_fd() const noexcept;

  // Tells the terminal's foreground process group of the new size (SIGWINCH). Errors: invalid
  // (there is no terminal), kernel.
  Result<void> resize(TerminalSize size);

  // Sends a signal to the process, or to its whole process group. It is no error that a process has
  // ended and is not reached, since it may end at any moment. Errors: invalid, closed (its jail is
  // gone).
  Result<void> signal(int number);
  Result<void> signal_group(int number);

  // Only in ProcessPhase::ended. `phases.ran` is 0 if and only if the process was ended before its
  // program began, which others in the jail can do. Ended::cancelled, timed_out and out_of_memory
  // may be the end of the whole jail. `usage` is that of this process and of those that it has
  // waited for; its memory is that of the largest of them. The report says Ended::killed where the
  // whole jail is gone and nobody was left to report; Jail::report() then has the reason.
  const ExitReport& report() const noexcept;

  // Blocks until `phase` is reached or passed, at most 24 days. For owners without an event loop.
  // Does not read the streams. Errors: as advance(), and timed_out, after which the process goes
  // on.
  Result<ProcessPhase> wait(ProcessPhase phase, std::chrono::milliseconds at_most);

  // Gives the process `input`, reads what it writes, and returns when it has ended, with what was
  // written by then. Keeps up to `max_bytes` of each output. Blocks as long as the process may run.
  // Must be called before any stream is taken. Raises no SIGPIPE. Errors: as advance(), invalid.
  Result<Output> communicate(std::string_view input = {}, std::uint64_t max_bytes = 1u << 20);

  struct State;  // the library's own

 private:
  explicit Process(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace jail
