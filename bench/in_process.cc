// What a jail costs a program that is linked with libjail: one thread, one event loop.
//
//   bench_in_process --code CODE --expect TEXT [--cold] [--root host|DIR] [--template NAME]
//                    [--imports A,B] [--warm-up PYTHON] [--after-fork PYTHON] [--rehearsal PYTHON]
//                    [--state-mb N] [--ready N] [--memory-mb N] [--uid N] [--without NAME]...
//                    [--counted]
//
// Started as root it becomes the user --uid first: no jail runs as root.
//
// A request: lease a jail, write main.py, start it, read its output, have the report that it exited
// with 0. Commands on stdin, each answered by a line of JSON with times in microseconds:
//   fill                  waits until as many jails are ready as the pool wants
//   run COUNT PAUSE_MS    one request after the other, each met by a full pool
//   flood COUNT CLIENTS   CLIENTS requests at once until COUNT are done
//   open RATE SECONDS     requests come when they come, on the average RATE a second; a time counts
//                         from the moment that a request was due
//   all COUNT             COUNT jails at once, all of which waited
//   count COUNT           as run, without pauses: page faults, context switches and processor time
//                         of all processes for each request and for making the jail of the next
//                         one; with --counted alone, since counting costs time
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "bench/counters.h"
#include "bench/numbers.h"
#include "bench/request.h"
#include "bench/source.h"

namespace {

using bench::Clock;
using bench::Counters;
using bench::Failure;
using bench::Line;
using bench::max_ms;
using bench::microseconds;
using bench::Phases;
using bench::Program;
using bench::Request;
using bench::Source;
using bench::take;
using bench::Times;

// Lets the pool work until `until`, or until `done` returns true if that is earlier.
template <class Done>
bool serve_pool(Source& source, Clock::time_point until, const Done& done) {
  while (!done()) {
    const auto left = until - Clock::now();
    if (left <= Clock::duration::zero()) return false;
    const timespec pause{.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count(),
                         .tv_nsec = std::chrono::nanoseconds(left).count() % 1'000'000'000};
    pollfd event{source.event_fd(), POLLIN, 0};
    if (::ppoll(&event, 1, &pause, nullptr) > 0) source.advance();
  }
  return true;
}

void fill(Source& source) {
  const auto full = [&] {
    const jail::PoolState state = source.state();
    return state.ready >= state.target;
  };
  if (!serve_pool(source, Clock::now() + std::chrono::milliseconds(max_ms), full)) {
    throw Failure("the pool does not fill up: " + source.state().trouble);
  }
}

void pause(Source& source, double ms) {
  const auto length = std::chrono::duration<double, std::milli>(ms);
  serve_pool(source, Clock::now() + std::chrono::duration_cast<Clock::duration>(length),
             [] { return false; });
}

Line with_state(Line line, const Source& source) {
  const jail::PoolState state = source.state();
  return line.number("ready", state.ready)
      .number("leases", static_cast<double>(state.leases))
      .number("misses", static_cast<double>(state.misses))
      .number("zygotes", static_cast<double>(state.zygotes))
      .number("failures", static_cast<double>(state.failures))
      .word("last_trouble", source.last_trouble());
}

// Polls requests under way together with the pool.
class Crowd {
 public:
  // With `event_fd` -1 the pool makes no jails meanwhile.
  Crowd(Source& source, const Program& program, int event_fd)
      : source_(source), program_(program), event_fd_(event_fd) {}

  std::size_t running() const { return requests_.size(); }
  std::size_t done() const { return phases_.total.size(); }

  // Returns false where there is no jail for it now.
  bool begin(Clock::time_point due) {
    auto request = std::make_unique<Request>(source_, program_, due);
    if (!request->begin()) return false;
    requests_.push_back(std::move(request));
    return true;
  }

  void wait(Clock::duration at_most) {
    polls_.assign(1, {event_fd_, POLLIN, 0});
    for (const auto& request : requests_) request->add_to(polls_);
    const timespec pause{
        .tv_sec = std::chrono::duration_cast<std::chrono::seconds>(at_most).count(),
        .tv_nsec = std::chrono::nanoseconds(at_most).count() % 1'000'000'000};
    if (::ppoll(polls_.data(), polls_.size(), &pause, nullptr) <= 0) return;
    std::vector<std::unique_ptr<Request>> left;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i]->advance(polls_[2 * i + 1].revents, polls_[2 * i + 2].revents)) {
        requests_[i]->note(phases_);
      } else {
        left.push_back(std::move(requests_[i]));
      }
    }
    requests_ = std::move(left);
    if (polls_[0].revents != 0) source_.advance();
  }

  Line line(Clock::time_point begun) const {
    const double seconds = microseconds(Clock::now() - begun) / 1e6;
    return with_state(phases_.line(), source_)
        .number("per_second", static_cast<double>(done()) / seconds);
  }

 private:
  Source& source_;
  const Program& program_;
  const int event_fd_;
  Phases phases_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<pollfd> polls_;
};

Line run(Source& source, const Program& program, std::size_t count, double pause_ms) {
  Phases phases;
  Times gone;
  std::size_t on_demand = 0;
  for (std::size_t i = 0; i < count; ++i) {
    fill(source);
    pause(source, pause_ms);
    Request request(source, program, Clock::now());
    if (!request.begin()) throw Failure("a full pool has no jail");
    for (bool done = false; !done;) {
      std::vector<pollfd> polls;
      request.add_to(polls);
      if (::poll(polls.data(), polls.size(), max_ms) <= 0) throw Failure("a request hangs");
      done = request.advance(polls[0].revents, polls[1].revents);
    }
    request.note(phases);
    on_demand += request.made_on_demand() ? 1 : 0;
    gone.push_back(request.wait_until_gone());
  }
  return with_state(phases.line(), source)
      .times("gone", gone)
      .number("made_on_demand", static_cast<double>(on_demand));
}

Line count_requests(Source& source, const Program& program, const Counters& counters,
                    std::size_t count) {
  fill(source);
  const Counters::Values before = counters.now();
  run(source, program, count, 0);
  fill(source);
  const Counters::Values after = counters.now();
  const auto each = [&](double Counters::Values::*value) {
    return (after.*value - before.*value) / static_cast<double>(count);
  };
  Line line;
  line.number("page_faults", each(&Counters::Values::page_faults))
      .number("processor_us", each(&Counters::Values::processor_us));
  if (counters.counts_in_kernel()) {
    line.number("context_switches", each(&Counters::Values::context_switches));
  }
  return line;
}

Line flood(Source& source, const Program& program, std::size_t count, std::size_t clients) {
  Crowd crowd(source, program, source.event_fd());
  const auto begun = Clock::now();
  while (crowd.done() < count) {
    while (crowd.running() < clients && crowd.done() + crowd.running() < count) {
      if (!crowd.begin(Clock::now())) break;
    }
    crowd.wait(std::chrono::milliseconds(10));
    if (Clock::now() - begun > std::chrono::minutes(15)) throw Failure("requests hang");
  }
  return crowd.line(begun);
}

Line all(Source& source, const Program& program, std::size_t count) {
  fill(source);
  Crowd crowd(source, program, -1);
  const auto begun = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    if (!crowd.begin(Clock::now())) throw Failure("only " + std::to_string(i) + " jails waited");
  }
  const auto misses = source.state().misses;
  while (crowd.running() > 0) {
    crowd.wait(std::chrono::milliseconds(10));
    if (Clock::now() - begun > std::chrono::milliseconds(max_ms)) throw Failure("a request hangs");
  }
  return crowd.line(begun).number("answered", static_cast<double>(crowd.done() - misses));
}

Line open(Source& source, const Program& program, double rate, double seconds) {
  constexpr std::size_t max_running = 64;
  std::mt19937 random(1);  // the same seed, for the same arrivals each time
  std::exponential_distribution<double> gap(rate);
  Crowd crowd(source, program, source.event_fd());
  std::deque<Clock::time_point> waiting;
  const auto begun = Clock::now();
  const auto moment = [&](double at) {
    return begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at));
  };
  double next = gap(random);
  while (next < seconds || crowd.running() > 0 || !waiting.empty()) {
    for (; next < seconds && moment(next) <= Clock::now(); next += gap(random)) {
      waiting.push_back(moment(next));
    }
    while (!waiting.empty() && crowd.running() < max_running && crowd.begin(waiting.front())) {
      waiting.pop_front();
    }
    const auto left = next < seconds ? moment(next) - Clock::now() : std::chrono::milliseconds(10);
    crowd.wait(
        std::clamp<Clock::duration>(left, Clock::duration::zero(), std::chrono::milliseconds(10)));
  }
  return crowd.line(begun);
}

Line answer(Source& source, const Program& program, const std::optional<Counters>& counters,
            const std::string& command) {
  std::istringstream words(command);
  std::string verb;
  double first = 0;
  double second = 0;
  words >> verb >> first >> second;
  const auto count = static_cast<std::size_t>(first);
  if (verb == "fill") {
    const auto begun = Clock::now();
    fill(source);
    return with_state(Line().times("total", {microseconds(Clock::now() - begun)}), source);
  }
  if (verb == "run" && count > 0) return run(source, program, count, second);
  if (verb == "flood" && count > 0 && second >= 1) {
    return flood(source, program, count, static_cast<std::size_t>(second));
  }
  if (verb == "all" && count > 0) return all(source, program, count);
  if (verb == "count" && count > 0 && counters) {
    return count_requests(source, program, *counters, count);
  }
  if (verb == "open" && first > 0 && second > 0) return open(source, program, first, second);
  throw Failure("not a command: " + command);
}

// Returns the next line of stdin, and lets the pool work meanwhile. Empty at the end.
std::string next_command(Source& source) {
  std::string line;
  for (;;) {
    pollfd polls[] = {{STDIN_FILENO, POLLIN, 0}, {source.event_fd(), POLLIN, 0}};
    if (::poll(polls, 2, -1) < 0) continue;
    if (polls[1].revents != 0) source.advance();
    if (polls[0].revents == 0) continue;
    char letter = 0;
    if (::read(STDIN_FILENO, &letter, 1) != 1) return {};
    if (letter == '\n') return line;
    line += letter;
  }
}

struct Options {
  bench::SourceOptions source;
  Program program;
  bool cold = false;
  bool counted = false;
  uid_t uid = 60800;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

// Turns an optimization off, so that the same measurement without it shows its worth.
void turn_off(jail::ForkOptimizations& optimizations, const std::string& name) {
  if (name == "rehearsal") {
    optimizations.rehearsal = jail::Optimization::off;
  } else if (name == "early-end") {
    optimizations.early_end = jail::Optimization::off;
  } else if (name == "network-reuse") {
    optimizations.network_reuse = jail::Optimization::off;
  } else if (name == "frozen-heap") {
    optimizations.frozen_heap = jail::FrozenHeap::never;
  } else if (name == "known-pages") {
    optimizations.known_pages = jail::Optimization::off;
  } else if (name == "immortal-objects") {
    optimizations.immortal_objects = jail::Optimization::off;
  } else if (name == "fresh-memory") {
    optimizations.fresh_memory = jail::Optimization::off;
  } else {
    throw Failure("no optimization " + name);
  }
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--cold") {
      options.cold = true;
      continue;
    }
    if (name == "--counted") {
      options.counted = true;
      continue;
    }
    if (i + 1 == arguments.size()) throw Failure(name + " needs a value");
    const std::string& value = arguments[++i];
    const auto number = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (name == "--code") {
      options.program.code = value;
    } else if (name == "--expect") {
      options.program.expected = value;
    } else if (name == "--root") {
      options.source.root = value;
    } else if (name == "--template") {
      options.source.name = value;
    } else if (name == "--imports") {
      options.source.imports = split(value);
    } else if (name == "--warm-up") {
      options.source.warm_up = value;
    } else if (name == "--after-fork") {
      options.source.after_fork = value;
    } else if (name == "--rehearsal") {
      options.source.rehearsal = value;
    } else if (name == "--state-mb") {
      options.source.state_mb = number;
    } else if (name == "--ready") {
      options.source.ready = number;
    } else if (name == "--memory-mb") {
      options.source.memory_mb = number;
    } else if (name == "--uid") {
      options.uid = number;
    } else if (name == "--without") {
      turn_off(options.source.optimizations, value);
    } else {
      throw Failure("no option " + name);
    }
  }
  return options;
}

// Each jail that waits takes descriptors of its owner.
void allow_many_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void drop_root(uid_t uid) {
  if (::geteuid() != 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 ||
      ::setresuid(uid, uid, uid) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) {
    throw Failure("cannot become user " + std::to_string(uid));
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    allow_many_descriptors();
    const Options options = parse({arguments + 1, arguments + count});
    std::optional<Counters> counters;
    if (options.counted) counters = Counters::begin();
    drop_root(options.uid);
    const auto source =
        take(options.cold ? bench::open_cold(options.source) : bench::open_pool(options.source));
    for (std::string command; !(command = next_command(*source)).empty();) {
      try {
        answer(*source, options.program, counters, command).print();
      } catch (const Failure& failure) {
        Line().word("error", failure.what()).print();
      }
    }
  } catch (const Failure& failure) {
    Line().word("error", failure.what()).print();
    return 1;
  }
  return 0;
}
