#include "server/cli/host_speed.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "jail/fd.h"
#include "runtime/json/writer.h"
#include "server/cli/host_checks.h"

namespace server {
namespace {

using Clock = std::chrono::steady_clock;

// A kind of work is done in batches that are shorter than a turn on the processor, until there are
// enough of them or its time is over: on an emulated processor everything is slower by far.
constexpr std::size_t max_batches = 25;
constexpr std::size_t min_batches = 5;
constexpr std::chrono::milliseconds max_time{100};
constexpr std::size_t pages_a_batch = 32;
constexpr std::size_t round_trips_a_batch = 20;
constexpr std::size_t calls_a_batch = 500;

// Plain, since a child fills it in memory that it shares.
struct Batches {
  std::array<double, max_batches> microseconds;  // for one piece of work
  std::size_t count;

  double median() const {
    std::array<double, max_batches> sorted = microseconds;
    std::sort(sorted.begin(), sorted.begin() + count);
    return sorted[count / 2];
  }
};

double microseconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

// `batch(i)` does `pieces` pieces of work; false where it cannot, which ends the measurement.
template <class Work>
bool measure(Batches& batches, std::size_t pieces, Work batch) {
  const Clock::time_point started = Clock::now();
  for (batches.count = 0; batches.count < max_batches; ++batches.count) {
    const Clock::time_point before = Clock::now();
    if (batches.count >= min_batches && before - started > max_time) break;
    if (!batch(batches.count)) return false;
    batches.microseconds[batches.count] =
        microseconds_between(before, Clock::now()) / static_cast<double>(pieces);
  }
  return true;
}

jail::Error failed(const char* doing) {
  const int error = errno;
  const bool lacks = error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
  return {.kind = lacks ? jail::ErrorKind::exhausted : jail::ErrorKind::kernel,
          .doing = std::string(doing) + " to measure this host",
          .sys_errno = error,
          .hint = {}};
}

// Anonymous memory, unmapped when it goes.
class Mapping {
 public:
  Mapping(std::size_t bytes, int sharing)
      : bytes_(bytes),
        start_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (valid()) ::munmap(start_, bytes_);
  }

  bool valid() const { return start_ != MAP_FAILED; }
  void* start() const { return start_; }

  // A kernel without large pages does not know the call.
  bool keep_pages_small() const {
    return ::madvise(start_, bytes_, MADV_NOHUGEPAGE) == 0 || errno == EINVAL;
  }

 private:
  const std::size_t bytes_;
  void* const start_;
};

// A child process, ended and reaped when this goes. It comes without the handlers of fork(), which
// may do anything, and does nothing but plain system calls, on what was there before it.
class Child {
 public:
  template <class Life>
  explicit Child(Life life) : pid_(::_Fork()) {
    if (pid_ != 0) return;
    life();
    ::_exit(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }

  bool valid() const { return pid_ > 0; }

  // Until it has ended. Where SIGCHLD is ignored the kernel reaps it, and there is no status.
  void wait() {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

// The calling thread on the processor where it is, until this goes: a round trip between two
// processors would measure how deeply they sleep.
class OneProcessor {
 public:
  OneProcessor() {
    cpu_set_t here;
    CPU_ZERO(&here);
    const int processor = ::sched_getcpu();
    if (processor < 0 || processor >= CPU_SETSIZE) return;
    CPU_SET(processor, &here);
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    bound_ = ::sched_setaffinity(0, sizeof here, &here) == 0;
  }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;
  ~OneProcessor() {
    if (bound_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

  bool bound() const { return bound_; }

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

void write_to_pages(volatile char* pages, std::size_t page_size, char value) {
  for (std::size_t i = 0; i < pages_a_batch; ++i) pages[i * page_size] = value;
}

std::optional<jail::Error> measure_pages(HostSpeed& speed) {
  const auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t batch_size = pages_a_batch * page_size;
  const Mapping fresh(max_batches * batch_size, MAP_PRIVATE);
  const Mapping shared(sizeof(Batches), MAP_SHARED);
  if (!fresh.valid() || !shared.valid()) return failed("map memory");
  if (!fresh.keep_pages_small()) return failed("ask for small pages");
  auto* const pages = static_cast<char*>(fresh.start());
  Batches touched{};
  measure(touched, pages_a_batch, [&](std::size_t i) {
    write_to_pages(pages + i * batch_size, page_size, 1);
    return true;
  });
  // A page that nobody has written cannot be copied.
  for (std::size_t i = touched.count; i < max_batches; ++i) {
    write_to_pages(pages + i * batch_size, page_size, 1);
  }
  auto* const copied = new (shared.start()) Batches{};
  Child child([&] {
    measure(*copied, pages_a_batch, [&](std::size_t i) {
      write_to_pages(pages + i * batch_size, page_size, 2);
      return true;
    });
  });
  if (!child.valid()) return failed("fork");
  child.wait();
  if (copied->count < min_batches) {
    errno = ECHILD;
    return failed("let a child write to pages");
  }
  speed.page_touched = touched.median();
  speed.page_copied = copied->median();
  return std::nullopt;
}

std::optional<jail::Error> measure_forks(HostSpeed& speed) {
  Batches forks{};
  for (const Clock::time_point started = Clock::now(); forks.count < max_batches; ++forks.count) {
    const Clock::time_point before = Clock::now();
    if (forks.count >= min_batches && before - started > max_time) break;
    const Child child([] {});
    const Clock::time_point after = Clock::now();
    if (!child.valid()) return failed("fork");
    forks.microseconds[forks.count] = microseconds_between(before, after);
  }
  speed.fork = forks.median();
  return std::nullopt;
}

struct Pipe {
  jail::Fd reading;
  jail::Fd writing;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{jail::Fd(ends[0]), jail::Fd(ends[1])};
}

bool moved_a_byte(ssize_t (*move)(int, char*), int fd) {
  char byte = 0;
  ssize_t moved = 0;
  do {
    moved = move(fd, &byte);
  } while (moved < 0 && errno == EINTR);
  return moved == 1;
}

bool send_byte(int fd) {
  return moved_a_byte([](int to, char* byte) { return ::write(to, byte, 1); }, fd);
}

bool receive_byte(int fd) {
  return moved_a_byte([](int from, char* byte) { return ::read(from, byte, 1); }, fd);
}

std::optional<jail::Error> measure_switches(HostSpeed& speed) {
  auto there = make_pipe();
  auto back = make_pipe();
  if (!there || !back) return failed("make a pipe");
  const OneProcessor one;
  if (!one.bound()) return failed("keep to one processor");
  // Its end comes with that of the pipe, should this process be killed.
  Child child([&] {
    ::close(there->writing.get());
    while (receive_byte(there->reading.get()) && send_byte(back->writing.get())) {
    }
  });
  if (!child.valid()) return failed("fork");
  // This process keeps its reading end of the other pipe, so that no write raises SIGPIPE.
  back->writing.reset();
  Batches switches{};
  const bool answered = measure(switches, 2 * round_trips_a_batch, [&](std::size_t) {
    for (std::size_t i = 0; i < round_trips_a_batch; ++i) {
      if (!send_byte(there->writing.get()) || !receive_byte(back->reading.get())) return false;
    }
    return true;
  });
  if (!answered) {
    errno = EPIPE;
    return failed("talk with a child");
  }
  speed.context_switch = switches.median();
  return std::nullopt;
}

void measure_calls(HostSpeed& speed) {
  Batches calls{};
  measure(calls, calls_a_batch, [](std::size_t) {
    // By its number: a library may know the answer.
    for (std::size_t i = 0; i < calls_a_batch; ++i) static_cast<void>(::syscall(SYS_getppid));
    return true;
  });
  speed.system_call = calls.median();
}

// The kernel's work for one warm Python jail that runs print(6*7): its whole life as counted by
// /proc/vmstat and /proc/stat over a thousand of them; system calls by strace, rounded.
double price_of_a_jail(const HostSpeed& speed) {
  constexpr double pages_copied = 300;
  constexpr double pages_touched = 36;
  constexpr double forks = 5;
  constexpr double context_switches = 86;
  constexpr double system_calls = 1500;
  return pages_copied * speed.page_copied + pages_touched * speed.page_touched +
         forks * speed.fork + context_switches * speed.context_switch +
         system_calls * speed.system_call;
}

// Three digits that count, as "580", "13.7" and "1.02".
std::string three_digits(double value) {
  std::array<char, 32> room{};
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(room.data(), room.size(), "%.*f", decimals, value);
  return room.data();
}

// To thousandths: what is less is noise.
double rounded(double value) { return std::round(value * 1000) / 1000; }

}  // namespace

Host this_host() {
  Host host{.processor = "a processor without a name",
            .processors = ::sysconf(_SC_NPROCESSORS_ONLN),
            .kernel = kernel_release()};
  const std::string_view key = "model name\t: ";
  std::ifstream file("/proc/cpuinfo");  // as long as there are processors
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    host.processor = line.substr(key.size());
    break;
  }
  return host;
}

jail::Result<HostSpeed> measure_host_speed() {
  HostSpeed speed;
  if (auto error = measure_pages(speed)) return std::move(*error);
  if (auto error = measure_forks(speed)) return std::move(*error);
  if (auto error = measure_switches(speed)) return std::move(*error);
  measure_calls(speed);
  return speed;
}

double slowness(const HostSpeed& speed) {
  return price_of_a_jail(speed) / price_of_a_jail(reference_speed);
}

std::string describe(const Host& host, const HostSpeed& speed) {
  return host.processor + ", " + std::to_string(host.processors) +
         (host.processors == 1 ? " processor" : " processors") + ", Linux " + host.kernel +
         "; microseconds: page touched " + three_digits(speed.page_touched) + ", page copied " +
         three_digits(speed.page_copied) + ", fork " + three_digits(speed.fork) +
         ", context switch " + three_digits(speed.context_switch) + ", system call " +
         three_digits(speed.system_call) + "; a jail's work takes " +
         three_digits(slowness(speed)) + " times as long as on the reference";
}

std::string describe_json(const Host& host, const HostSpeed& speed) {
  runtime::json::Writer writer;
  writer.begin_object().key("description").string(describe(host, speed));
  writer.key("processor").string(host.processor);
  writer.key("processors").integer(host.processors).key("kernel").string(host.kernel);
  writer.key("microseconds").begin_object();
  writer.key("page_touched").number(rounded(speed.page_touched));
  writer.key("page_copied").number(rounded(speed.page_copied));
  writer.key("fork").number(rounded(speed.fork));
  writer.key("context_switch").number(rounded(speed.context_switch));
  writer.key("system_call").number(rounded(speed.system_call)).end_object();
  writer.key("slowness").number(rounded(slowness(speed))).end_object();
  return std::move(writer).take();
}

}  // namespace server
