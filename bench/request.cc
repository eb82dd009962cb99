#include "bench/request.h"

#include <unistd.h>

#include <cerrno>

namespace bench {

Line Phases::line() const {
  return Line()
      .times("total", total)
      .times("lease", lease)
      .times("made", made)
      .times("write", write)
      .times("start", start)
      .times("output", output)
      .times("report", report)
      .times("init_set_up", set_up)
      .times("init_started", started)
      .times("init_ran", ran)
      .times("init_ended", ended);
}

bool Request::begin() {
  begun_ = Clock::now();
  auto jail = source_.lease();
  if (!jail && jail.error().kind == jail::ErrorKind::exhausted) return false;
  jail_ = take(std::move(jail));
  leased_ = ready_ = Clock::now();
  if (jail_->phase() == jail::Phase::ready) start();
  return true;
}

void Request::add_to(std::vector<pollfd>& polls) const {
  polls.push_back({jail_->control_fd(), POLLIN, 0});
  polls.push_back({output_.get(), POLLIN, 0});  // poll() ignores -1
}

bool Request::advance(short control, short output) {
  if (output != 0) read_output();
  if (control == 0) return false;
  const jail::Phase phase = take(jail_->advance());
  if (phase == jail::Phase::ready && !running_) {
    ready_ = Clock::now();
    start();
  }
  if (phase != jail::Phase::ended) return false;
  read_output();  // reads what is still in the pipe
  check();
  reported_ = Clock::now();
  return true;
}

void Request::start() {
  running_ = true;
  output_ = jail_->take_stdout();
  jail_->take_stdin();
  take(jail_->write_file("main.py", program_.code, 0644));
  written_ = Clock::now();
  take(source_.start(*jail_));
  started_ = answered_ = Clock::now();
}

void Request::read_output() {
  while (output_.valid()) {
    char block[4096];
    const ssize_t got = ::read(output_.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got == 0) {
      output_.reset();
      return;
    }
    if (text_.empty()) answered_ = Clock::now();
    text_.append(block, static_cast<std::size_t>(got));
  }
}

void Request::check() const {
  const jail::ExitReport& report = jail_->report();
  if (report.ended == jail::Ended::exited && report.exit_code == 0 && text_ == program_.expected) {
    return;
  }
  throw Failure("a program " + std::string(jail::to_string(report.ended)) + " with " +
                std::to_string(report.exit_code) + " and printed: " + text_.substr(0, 200));
}

void Request::note(Phases& phases) const {
  const auto add = [](Times& to, Clock::time_point from, Clock::time_point until) {
    to.push_back(microseconds(until - from));
  };
  add(phases.total, due_, reported_);
  add(phases.lease, begun_, leased_);
  add(phases.made, leased_, ready_);
  add(phases.write, ready_, written_);
  add(phases.start, written_, started_);
  add(phases.output, started_, answered_);
  add(phases.report, answered_, reported_);
  const jail::Phases& seen = jail_->report().phases;
  phases.set_up.push_back(static_cast<double>(seen.set_up.count()));
  phases.started.push_back(static_cast<double>(seen.started.count()));
  phases.ran.push_back(static_cast<double>(seen.ran.count()));
  phases.ended.push_back(static_cast<double>(seen.ended.count()));
}

double Request::wait_until_gone() {
  pollfd init{jail_->process_fd(), POLLIN, 0};
  if (::poll(&init, 1, max_ms) != 1) throw Failure("a jail did not die");
  jail_.reset();
  return microseconds(Clock::now() - reported_);
}

}  // namespace bench
