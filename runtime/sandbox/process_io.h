// The standard streams of one program: writes its input and reads its outputs, on an Asio executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jail/fd.h"
#include "runtime/sandbox/output_gate.h"
#include "runtime/sandbox/stream.h"

namespace runtime {

// Must be used on its executor, which must run one handler at a time. All pipes are non-blocking.
// SIGPIPE must be ignored in this process: a program may close its input at any time.
class ProcessIo : public std::enable_shared_from_this<ProcessIo> {
 public:
  struct Options {
    // The number of bytes that are kept of each output, from its beginning; nullopt: none are kept.
    std::optional<std::size_t> output_cap = std::nullopt;
    // Called with every byte as it comes, past the cap too. Empty: nobody listens.
    std::function<void(Stream, std::string_view)> on_output = {};
    // While it is closed, outputs are not read.
    OutputGate gate = {};
    std::string input = {};  // the program's first input
    // A descriptor that supplies further input until its end; -1: none. It is not owned and its
    // flags are not changed; it must stay open until stop() or the destructor.
    int input_fd = -1;
    // Called with what came from it, and may change it. Empty: nothing is changed.
    std::function<void(std::string&)> edit_input = {};
  };
  // The kept part of one output.
  struct Kept {
    std::string bytes;
    bool truncated = false;  // there was more than was kept; false without a cap
  };

  ProcessIo(const boost::asio::any_io_executor& executor, Options options);

  // Writes as much of the input as the pipe takes, before the program starts, so that the program
  // finds it. Closes `pipe` where Options names no input. Where the program is tried again in
  // another jail, it is called with the new pipe, and Options::input is sent from its beginning.
  void offer_input(jail::Fd pipe);

  // Reads the outputs from now on, and feeds the rest of the input. `standard_error` need not be
  // valid: a terminal has one output.
  void start(jail::Fd standard_output, jail::Fd standard_error);

  // As start(), but leaves the outputs in their pipes until watch_outputs() or drain().
  void start_unwatched(jail::Fd standard_output, jail::Fd standard_error);
  void watch_outputs();

  // Must be called when the program and all who hold its pipes are dead: reads what the pipes still
  // hold, whatever the gate says. A pipe holds at most 1 MiB.
  void drain();

  // The program's streams are not read, written or told to anybody after this call.
  void fall_silent();

  // Falls silent and closes the pipes.
  void stop();

  Kept take_kept(Stream stream);

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;

  // An output of the program, read until its end.
  struct Output {
    Output(const boost::asio::any_io_executor& executor, Stream which)
        : stream(which), descriptor(executor) {}
    const Stream stream;
    int fd() { return unwatched.valid() ? unwatched.get() : descriptor.native_handle(); }
    bool is_open() const { return unwatched.valid() || descriptor.is_open(); }
    void close();

    jail::Fd unwatched;  // until it is in `descriptor`
    Descriptor descriptor;
    Kept kept;
    bool paused = false;  // until the gate opens
  };

  bool is_gate_closed();
  void watch_output(Output& output);
  void read_output(Output& output);
  void keep(Output& output, std::string_view bytes) const;
  void resume_outputs();
  void watch_input_source();
  bool write_input();
  void feed_input();
  void refill_input();
  void read_input_source();

  const boost::asio::any_io_executor executor_;
  const Options options_;
  std::optional<OutputGate::Listener> on_gate_open_;  // set since the gate was first seen closed
  Output out_;
  Output err_;
  Descriptor input_;         // the write end of the program's standard input
  Descriptor input_waiter_;  // an epoll instance that watches Options::input_fd
  std::string from_source_;
  std::string_view pending_input_;  // a view into Options::input or from_source_
  bool input_source_open_ = false;
  bool draining_ = false;
  bool stopped_ = false;
};

}  // namespace runtime
