// One jail: an isolated process tree, from its launch to the report of how it ended.
//
// A Jail is driven by its owner's event loop: control_fd() becomes readable when something
// happened, and advance() takes note of it without blocking. One thread at a time may use a Jail,
// save for cancel() and open_file(); different jails are independent. Nothing here starts a
// thread, installs a signal handler or reaps a child that the library did not start itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jail/exit_report.h"
#include "jail/fd.h"
#include "jail/process.h"
#include "jail/result.h"
#include "jail/spec.h"

namespace jail {

// The address family of a socket that a jail's init makes.
enum class SocketFamily : std::uint8_t { ipv4, ipv6 };

// How far a jail has come. It only goes forward.
enum class Phase : std::uint8_t {
  launching,  // namespaces and mounts are being made
  ready,      // set up: files may be written, start() may be called
  running,
  ended,  // report() is there and every process of the jail is dead or dying
};

// Whether the processes of a living jail run.
enum class Activity : std::uint8_t {
  active,
  pausing,  // pause() was called; some may run still
  paused,   // none runs
};

// A handle: its holder owns the jail, and gives it up by destroying it.
class Jail {
 public:
  Jail(Jail&&) noexcept;
  Jail& operator=(Jail&&) noexcept;
  Jail(const Jail&) = delete;
  ~Jail();  // kills what still runs

  // The phase as of the last call of advance(), wait(), start() or kill().
  Phase phase() const noexcept;

  // Readable (or hung up) when advance() has something to do. Owned by the Jail.
  int control_fd() const noexcept;

  // Reads what init reported. An Error means that the jail could not be made or its program could
  // not be started; the message names the step. The Jail is of no use afterwards, and every further
  // call returns the same Error: stop watching control_fd(), which may stay readable, and destroy
  // it.
  Result<Phase> advance();

  // Creates a file in the working directory, and the directories above it. Only in Phase::ready.
  // `path` is relative and leads downwards; it must not exist.
  Result<void> write_file(std::string_view path, std::string_view content, std::uint32_t mode);

  // The working directory, for *at(2) calls and collect(). It outlives the guest, since the
  // descriptor keeps its tmpfs. Owned by the Jail; -1 before Phase::ready. What is in there after
  // start() is the guest's doing: never follow it.
  int working_directory_fd() const noexcept;

  // A pidfd of init, readable once every process of the jail is dead: the kernel lets init go last.
  // Owned by the Jail; -1 in Phase::launching, and in Phase::ready until advance() has read the
  // launcher's message about it, since init's may come first.
  int process_fd() const noexcept;

  // Runs the guest; the clock of Limits::wall starts here. Only in Phase::ready. A living jail
  // (Life::until_ended) has no guest of its own: from here on processes can be spawned into it.
  Result<void> start();

  // The same with limits for this run alone, no larger than those that the jail was made for (in a
  // pool: TemplateSpec::max_memory_bytes and max_cpu). Errors: invalid, closed, kernel.
  Result<void> start(const RunLimits& limits);

  // Sends a signal to the guest and to all of its process group, as Ctrl-C at a terminal does:
  // whatever the guest makes of it. Does not wait. One that comes before the guest's program runs
  // is sent when it does. Only for a jail with a guest of its own, from start() on; one that has
  // ended is not reached, and that is no error. Errors: invalid, kernel.
  Result<void> signal(int number);

  // Starts a process in a living jail, in Phase::running; up to 64 that have not ended at a time,
  // and up to 256 that have not ended or have left processes of theirs behind. It is confined as
  // every guest is before it executes anything, even where other processes of the jail are hostile.
  // Does not wait: the Process tells how far it has come. Errors: invalid, naming the field of the
  // spec; closed (the jail has ended); exhausted, kernel.
  Result<Process> spawn(const ProcessSpec& spec) const;

  // Stops every process of a living jail, in Phase::running, until resume(). Does not wait:
  // advance() sets activity() to paused once nothing runs any more, or back to active where
  // processes have kept each other from being stopped for two seconds; then all of them go on.
  // Meanwhile no clock of the jail or of its processes runs, nothing can be spawned, and a signal
  // other than SIGKILL waits until the processes go on. A process that had stopped itself before
  // stays stopped afterwards. The memory stays where it is. Processes are stopped by SIGSTOP,
  // parents first, so a parent that waits for a child with WUNTRACED may see that. Init stops a
  // process that continues by itself (as one with a timer that sends SIGCONT can), and kills it if
  // that goes on. Where a process is killed meanwhile, the kernel ends the process groups that lose
  // their parent by it with SIGHUP, as it does with every stopped group. Has no effect on a jail
  // that is paused. Errors: invalid, closed, kernel.
  Result<void> pause();
  // Lets the processes go on, even those that are yet to be stopped. activity() is active at once.
  // Errors: as pause().
  Result<void> resume();
  // The activity as of the last call of advance(), wait(), pause() or resume().
  Activity activity() const noexcept;

  // Changes limits of a living jail, in Phase::running, up to JailSpec::max_limits; a paused one
  // stays paused. All that is asked for is changed, or nothing is. Does not wait: lower limits hold
  // for processes that run once limits_hold() says so. All processes stand still for a moment where
  // a limit of theirs is lowered.
  //
  // A jail that uses more memory than a lower limit ends, as it does when it exceeds one. Fewer
  // processes than there are end none. A file system is not made smaller than what is in it.
  // Where a limit is raised, the kernel keeps for each process that runs already the largest
  // private mappings and the largest file that it was started with and, where the jail has no
  // cgroup, the number of processes: only processes that are spawned later can use more.
  //
  // Errors: invalid, naming the limit; refused (a file system has more in it); unsupported
  // (processor time without a cgroup; a working directory on the host's disk; there is no
  // max_limits); closed; exhausted (init has yet to read hundreds of changes, which an owner that
  // waits for limits_hold() after each never meets); kernel.
  Result<void> change_limits(const LimitChange& change);
  // Whether the limits of the last change hold for every process, as of the last call of advance()
  // or wait(). True where there was no change.
  bool limits_hold() const noexcept;

  // Opens a regular file or directory of a living jail, by an absolute path of the jail. Symbolic
  // links and ".." are resolved inside of the jail and lead nowhere else. `flags` and `mode` are
  // those of open(2), except that no file is made through a dangling link (EEXIST); the descriptor
  // is close-on-exec and non-blocking. Anything but a regular file or a directory is refused
  // without having been opened. The owner's process does the work: its own cgroup is charged for
  // the pages of files that it writes, and it waits for file locks that guests hold. May be called
  // from Phase::ready to Phase::ended, from any thread. Errors: invalid; refused (no file or
  // directory, or in /proc); kernel (ENOENT); exhausted.
  //
  // A directory's descriptor is no fence. openat(2) on it follows a guest's link to a file of the
  // host, and opens a device or a FIFO as it is. Ask here for the whole path instead, or use
  // openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS and check by fstat(2) that it is a
  // regular file.
  Result<Fd> open_file(std::string_view path, int flags, std::uint32_t mode = 0644) const;

  // Asks for a TCP socket in the network of a living jail, in Phase::running: the owner connects it
  // to 127.0.0.1 or ::1 of the jail, and no port of the host is opened. Does not wait. The returned
  // descriptor becomes readable when take_socket() has something to do; closing it gives the
  // request up. Errors: invalid; closed (the jail has ended); exhausted, kernel.
  Result<Fd> request_socket(SocketFamily family) const;

  // Takes the socket that was asked for by `request` (of request_socket()): not connected,
  // non-blocking, close-on-exec, and owned by the caller. The Fd is not valid while the socket is
  // not there yet. The caller bounds its buffers (SO_RCVBUF). A network may serve another jail once
  // this one has ended: a connection leads to this jail's server only if process_fd() is not
  // readable after connect(2) has succeeded. Errors: closed (the jail has ended); exhausted,
  // kernel.
  static Result<Fd> take_socket(int request);

  // Asks init to end the jail; the report follows. Does nothing after the end. May be called from
  // any thread, also while another one uses the Jail, as in wait(), but not while it moves or
  // destroys it.
  void cancel() noexcept;

  // Kills init and with it the jail, at once. For an owner that cannot rely on init, such as one
  // whose deadline passed without a report. report() is there at once, with `why` as its ending; an
  // ending that only a program itself can have (exited, signaled, violation) becomes killed. Where
  // init had begun to take the jail apart, the report says what init knew then.
  void kill(Ended why) noexcept;

  // The owner's end of the guest's input, a pipe, close-on-exec and non-blocking. Not valid where
  // the guest has a terminal. Can be taken once; what is not taken is closed with the Jail. Writing
  // to it when no process reads it any more raises SIGPIPE, as with any pipe: ignore or block that
  // signal where you write.
  Fd take_stdin() noexcept;
  // The same for the guest's output: output that is not read in time makes the guest wait, usually
  // at 64 KiB.
  Fd take_stdout() noexcept;
  // The same for the guest's error output.
  Fd take_stderr() noexcept;

  // The owner's side of the guest's terminal (JailSpec::terminal), close-on-exec and non-blocking:
  // what is written to it is typed, what is read from it is shown; reading fails with EIO when no
  // process has it open any more. Owned by the Jail; -1 where the guest has none, and until
  // advance() has learnt of it, after start().
  int terminal_fd() const noexcept;

  // Tells the terminal's foreground process group of the new size (SIGWINCH). Errors: invalid
  // (there is no terminal), kernel.
  Result<void> resize(TerminalSize size);

  // Gives the guest `input`, reads what it writes, and returns when every process of the jail is
  // dead: then phase() is ended and the working directory at rest. Blocks as long as the guest may
  // run (Limits::wall) and, where init reports nothing, ten seconds more, after which the jail is
  // killed as timed_out. Keeps up to `max_bytes` of each output. Must be called after start(),
  // before any stream is taken. Raises no SIGPIPE. Errors: as advance(), invalid, and timed_out
  // where the kernel has not ended a killed jail in ten seconds.
  Result<Output> communicate(std::string_view input = {}, std::uint64_t max_bytes = 1u << 20);

  // Only in Phase::ended.
  const ExitReport& report() const noexcept;

  // Blocks until `phase` is reached or passed, at most 24 days. For owners without an event loop.
  // Does not read the guest's streams: a guest that fills a pipe waits for its reader. Errors: as
  // advance(), and timed_out, after which the jail goes on.
  Result<Phase> wait(Phase phase, std::chrono::milliseconds at_most);

  struct State;  // the library's own

 private:
  explicit Jail(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace jail
