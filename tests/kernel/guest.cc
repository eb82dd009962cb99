#include "guest.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>

namespace kernel_ring {

using namespace jail;
using std::chrono::milliseconds;

const Launcher& launcher() {
  static const Result<Launcher> started = Launcher::start();
  if (!started) {
    ADD_FAILURE() << started.error().message();
    std::abort();
  }
  return *started;
}

JailSpec spec_for(std::vector<std::string> program) {
  static const Result<FilterProgram> filter = compile_policy(default_policy());
  EXPECT_TRUE(filter) << filter.error().message();
  JailSpec spec;
  spec.argv = std::move(program);
  spec.env = {"PATH=/usr/bin:/bin", "HOME=/workspace", "LANG=C.UTF-8"};
  spec.root = host_root();
  spec.filter = *filter;
  return spec;
}

namespace {

// False at the end of the stream.
bool read_some(int fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

Outcome collect(Jail& jail) {
  Outcome outcome;
  Fd out = jail.take_stdout();
  Fd err = jail.take_stderr();
  while (out.valid() || err.valid() || jail.phase() != Phase::ended) {
    pollfd watched[3] = {{out.get(), POLLIN, 0},
                         {err.get(), POLLIN, 0},
                         {jail.phase() == Phase::ended ? -1 : jail.control_fd(), POLLIN, 0}};
    if (::poll(watched, 3, 60000) <= 0) {
      ADD_FAILURE() << "a jail said nothing for a minute";
      return outcome;
    }
    if (watched[0].revents != 0 && !read_some(out.get(), outcome.out)) out.reset();
    if (watched[1].revents != 0 && !read_some(err.get(), outcome.err)) err.reset();
    if (watched[2].revents != 0) {
      if (const auto phase = jail.advance(); !phase) {
        ADD_FAILURE() << phase.error().message();
        return outcome;
      }
    }
  }
  outcome.report = jail.report();
  return outcome;
}

Outcome run(const JailSpec& spec, const std::string& input) {
  auto jail = launcher().launch(spec);
  if (!jail) {
    ADD_FAILURE() << jail.error().message();
    return {};
  }
  if (const auto ready = jail->wait(Phase::ready, milliseconds(10000)); !ready) {
    ADD_FAILURE() << ready.error().message();
    return {};
  }
  Fd in = jail->take_stdin();
  if (const auto started = jail->start(); !started) ADD_FAILURE() << started.error().message();
  EXPECT_EQ(::write(in.get(), input.data(), input.size()), static_cast<ssize_t>(input.size()));
  in.reset();
  return collect(*jail);
}

Outcome run_python(const std::string& code, const Change& change) {
  JailSpec spec = spec_for({"/usr/bin/python3", "-c", code});
  if (change) change(spec);
  return run(spec);
}

Outcome run_shell(const std::string& script, const Change& change) {
  JailSpec spec = spec_for({"/usr/bin/bash", "-c", script});
  if (change) change(spec);
  return run(spec);
}

}  // namespace kernel_ring
