// Makes random sequences of the system calls that a jail has, with arguments that mean something to
// them (call_descriptions.h); descriptors, mappings and processes that a call makes are what later
// ones work on. A guest for call_sequences_test.py, linked statically so that it runs in every
// root.
//
//   call_sequences --list
//   call_sequences --choices SEED NUMBER
//   call_sequences SEED SECONDS STATUS PORT NAME PATH PID [FIRST [COUNT]]
//
// --list prints the names of the calls that are described. --choices prints what episode NUMBER
// would call if no call returned anything, and makes none. Otherwise
// episode after episode is made, each by a child of at most 100 ms that nothing survives, until
// SECONDS are over or COUNT of them are done. An episode makes the same choices for the same SEED
// and number, but they are among what its calls have returned; FIRST is the number of the first.
// PORT of the loopback interface, NAME of an abstract socket, PATH of a file and PID are what the
// host has: sequences try to reach them. Ends with exit status STATUS. To standard error go one
// line for each call, "call NAME made MADE returned RETURNED", and last "episodes NUMBER crashed
// NUMBER held NUMBER calls NUMBER".
#if !defined(__x86_64__)
int main() { return 77; }
#else

#include <dirent.h>
#include <ftw.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "call_arguments.h"

namespace sequences {
namespace {

constexpr int patience_ms = 100;
constexpr std::uint64_t calls_of_a_child = 6;

struct Counts {
  std::uint64_t made[description_count];
  std::uint64_t returned[description_count];
};

// These counts describe one episode. They lie in memory that it shares with the process that
// started it, and its calls may overwrite them.
volatile Counts* counts = nullptr;
// These are the sums over all episodes with plausible counts.
Counts totals{};
constexpr std::uint64_t max_in_an_episode = 10'000;

// --- calls

[[noreturn]] void child_of_a_call();

// A process that the call makes continues at child_of_a_call(), wherever its stack is.
[[gnu::noinline]] long call(long number, const std::uint64_t (&arguments)[6], bool makes_process) {
  register std::uint64_t r10 asm("r10") = arguments[3];
  register std::uint64_t r8 asm("r8") = arguments[4];
  register std::uint64_t r9 asm("r9") = arguments[5];
  long result = 0;
  if (makes_process) {
    r9 = address_of(reinterpret_cast<void*>(child_of_a_call));
    asm volatile(
        "syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\tand $-16, %%rsp\n\tcall *%%r9\n\thlt\n1:"
        : "=a"(result)
        : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(r10), "r"(r8),
          "r"(r9)
        : "rcx", "r11", "memory");
    return result;
  }
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(r10),
                 "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

void keep_result(const Description& made, const std::uint64_t (&arguments)[6],
                 std::uint64_t result) {
  switch (made.makes) {
    case Makes::nothing:
      break;
    case Makes::mapping:
      mappings.add(result);
      break;
    case Makes::process:
      processes.add(result);
      break;
    case Makes::protection_key:
      keys.add(result);
      break;
    default:
      descriptors.add(result);
      if (made.makes == Makes::file) files.add(result);
      if (made.makes == Makes::socket) sockets.add(result);
      if (made.makes == Makes::waiter) waiters.add(result);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    if (made.arguments[i].kind != Kind::descriptor_pair) continue;
    const auto* pair = reinterpret_cast<const int*>(arguments[i]);
    for (int end = 0; end < 2; ++end) {
      const auto made_end = static_cast<std::uint64_t>(pair[end]);
      descriptors.add(made_end);
      if (made.number == SYS_socketpair) sockets.add(made_end);
    }
  }
}

// Contains each description as often as it is to be chosen.
std::uint16_t chances[4 * description_count];
std::size_t chance_count = 0;

void fill_chances() {
  for (std::size_t i = 0; i < description_count; ++i) {
    const int times = descriptions[i].chosen == Chosen::most ? 4 : 1;
    for (int time = 0; time < times; ++time) {
      chances[chance_count++] = static_cast<std::uint16_t>(i);
    }
  }
}

struct Choice {
  std::size_t at;
  std::uint64_t arguments[6];
};

// Returns false where this turn makes no call.
bool choose_one(bool may_make_processes, Choice& choice) {
  choice.at = chances[below(chance_count)];
  const Description& chosen = descriptions[choice.at];
  if (chosen.chosen == Chosen::seldom && !one_in(8)) return false;
  if (chosen.makes == Makes::process && !may_make_processes) return false;
  for (std::size_t i = 0; i < 6; ++i) choice.arguments[i] = argument_for(chosen.arguments[i]);
  return true;
}

void make_one(bool may_make_processes) {
  Choice choice;
  if (!choose_one(may_make_processes, choice)) return;
  const std::size_t at = choice.at;
  const Description& chosen = descriptions[at];
  counts->made[at] = counts->made[at] + 1;
  const long result = call(chosen.number, choice.arguments, chosen.makes == Makes::process);
  if (result < 0 && result >= -4095) return;
  counts->returned[at] = counts->returned[at] + 1;
  keep_result(chosen, choice.arguments, static_cast<std::uint64_t>(result));
}

// A process or a thread, perhaps in the memory of its maker.
void child_of_a_call() {
  for (std::uint64_t i = 0; i < calls_of_a_child; ++i) make_one(false);
  for (;;) ::syscall(SYS_exit, 0);
}

// --- an episode

template <class Kept>
void keep(Kept& kept, int descriptor) {
  if (descriptor < 0) return;
  kept.add(static_cast<std::uint64_t>(descriptor));
  descriptors.add(static_cast<std::uint64_t>(descriptor));
}

// Gives the first calls something to work on.
void make_first_objects() {
  ::mkdir("d", 0700);
  ::mkdir("g", 0700);
  for (const char* name : {"a", "b", "d/e"})
    keep(files, ::open(name, O_RDWR | O_CREAT | O_NONBLOCK, 0600));
  keep(files, ::open("/usr/bin/env", O_RDONLY));
  keep(files, ::open(".", O_RDONLY | O_DIRECTORY));
  if (::symlink("a", "link") != 0) keep(files, -1);
  int pair[2];
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    if (::socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, pair) == 0) {
      keep(sockets, pair[0]);
      keep(sockets, pair[1]);
    }
  }
  if (::pipe2(pair, O_NONBLOCK) == 0) {
    keep(descriptors, pair[0]);
    keep(descriptors, pair[1]);
  }
  for (int i = 0; i < 3; ++i) {
    keep(sockets, ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    keep(sockets, ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
  }
  keep(sockets, ::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0));
  keep(sockets, ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
  keep(sockets, ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (::listen(listening, 4) == 0) keep(sockets, listening);
  sockaddr_in own{};
  socklen_t size = sizeof own;
  const int connected = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (::getsockname(listening, reinterpret_cast<sockaddr*>(&own), &size) == 0) {
    static_cast<void>(!::connect(connected, reinterpret_cast<sockaddr*>(&own), size));
  }
  keep(sockets, connected);
  keep(waiters, ::epoll_create1(0));
  keep(waiters, ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
  keep(descriptors, ::eventfd(0, EFD_NONBLOCK));
  keep(descriptors, STDIN_FILENO);
  keep(descriptors, STDOUT_FILENO);
}

void begin_episode(std::uint64_t seed, std::uint64_t number) {
  begin_chance(seed * 0x9e3779b97f4a7c15 + number * 0xd1342543de82ef95);
}

std::uint64_t length_of_episode() { return 40 + below(160); }

[[noreturn]] void play(std::uint64_t seed, std::uint64_t number) {
  begin_episode(seed, number);
  ::setpgid(0, 0);
  // Only the process that starts episodes writes to standard error.
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDERR_FILENO);
  ::syscall(SYS_close_range, 3, ~0u, 0);
  char folder[64];
  std::snprintf(folder, sizeof folder, one_in(2) ? "/tmp/e%llu" : "/workspace/e%llu",
                static_cast<unsigned long long>(number));
  ::mkdir(folder, 0700);
  if (::chdir(folder) != 0) ::chdir("/tmp");
  make_first_objects();
  struct sigaction own {};
  own.sa_handler = wake;
  ::sigaction(SIGALRM, &own, nullptr);
  const itimerval often{{0, 1'000}, {0, 1'000}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  const std::uint64_t length = length_of_episode();
  for (std::uint64_t i = 0; i < length; ++i) make_one(true);
  for (;;) ::syscall(SYS_exit_group, 0);
}

struct Outcomes {
  std::uint64_t episodes = 0;
  std::uint64_t crashed = 0;
  std::uint64_t held = 0;
};

void remove_leftovers() {
  const auto remove_one = [](const char* name, const struct stat*, int, FTW* where) {
    if (where->level > 0 && std::strstr(name, "call_sequences") == nullptr) {
      static_cast<void>(!::remove(name));
    }
    return 0;
  };
  for (const char* folder : {"/tmp", "/workspace"}) {
    DIR* entries = ::opendir(folder);
    for (const dirent* entry = entries ? ::readdir(entries) : nullptr; entry != nullptr;
         entry = ::readdir(entries)) {
      if (entry->d_name[0] == '.') continue;
      const std::string name = std::string(folder) + "/" + entry->d_name;
      ::chmod(name.c_str(), 0700);
      ::chmod((name + "/d").c_str(), 0700);
    }
    if (entries) ::closedir(entries);
    ::nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  }
}

void add_counts() {
  Counts own;
  bool is_plausible = true;
  for (std::size_t i = 0; i < description_count; ++i) {
    own.made[i] = counts->made[i];
    own.returned[i] = counts->returned[i];
    counts->made[i] = 0;
    counts->returned[i] = 0;
    is_plausible =
        is_plausible && own.made[i] <= max_in_an_episode && own.returned[i] <= own.made[i];
  }
  for (std::size_t i = 0; is_plausible && i < description_count; ++i) {
    totals.made[i] += own.made[i];
    totals.returned[i] += own.returned[i];
  }
}

void watch_one(std::uint64_t seed, std::uint64_t number, Outcomes& outcomes) {
  const pid_t child = ::fork();
  if (child == 0) play(seed, number);
  if (child < 0) {
    ::kill(-1, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    ::usleep(2000);
    return;
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  pollfd watched{pidfd, POLLIN, 0};
  if (::poll(&watched, 1, patience_ms) == 0) ++outcomes.held;
  ::close(pidfd);
  // Kills all processes except init and this one.
  ::kill(-1, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, __WALL) < 0 && errno == EINTR) {
  }
  while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
  }
  add_counts();
  ++outcomes.episodes;
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) ++outcomes.crashed;
  if (number % 16 == 15) remove_leftovers();
}

void prepare() {
  void* memory =
      ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || !map_memory()) {
    std::perror("mmap");
    std::exit(1);
  }
  counts = static_cast<volatile Counts*>(memory);
  fill_chances();
}

double seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void report(const Outcomes& outcomes) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < description_count; ++i) {
    all += totals.made[i];
    std::fprintf(stderr, "call %s made %llu returned %llu\n", descriptions[i].name,
                 static_cast<unsigned long long>(totals.made[i]),
                 static_cast<unsigned long long>(totals.returned[i]));
  }
  std::fprintf(stderr, "episodes %llu crashed %llu held %llu calls %llu\n",
               static_cast<unsigned long long>(outcomes.episodes),
               static_cast<unsigned long long>(outcomes.crashed),
               static_cast<unsigned long long>(outcomes.held),
               static_cast<unsigned long long>(all));
}

int print_choices(std::uint64_t seed, std::uint64_t number) {
  prepare();
  begin_episode(seed, number);
  const std::uint64_t length = length_of_episode();
  for (std::uint64_t i = 0; i < length; ++i) {
    Choice choice;
    if (choose_one(true, choice)) std::puts(descriptions[choice.at].name);
  }
  return 0;
}

int run(int argc, char** argv) {
  const std::uint64_t seed = std::strtoull(argv[1], nullptr, 0);
  const double until = seconds() + std::strtod(argv[2], nullptr);
  bait = {static_cast<std::uint16_t>(std::atoi(argv[4])), argv[5], argv[6], std::atol(argv[7])};
  const std::uint64_t first = argc > 8 ? std::strtoull(argv[8], nullptr, 0) : 0;
  const std::uint64_t count = argc > 9 ? std::strtoull(argv[9], nullptr, 0) : ~std::uint64_t{0};
  prepare();
  Outcomes outcomes;
  for (std::uint64_t i = 0; i < count && seconds() < until; ++i)
    watch_one(seed, first + i, outcomes);
  report(outcomes);
  return std::atoi(argv[3]);
}

}  // namespace
}  // namespace sequences

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const sequences::Description& each : sequences::descriptions) std::puts(each.name);
    return 0;
  }
  if (argc == 4 && std::strcmp(argv[1], "--choices") == 0)
    return sequences::print_choices(std::strtoull(argv[2], nullptr, 0),
                                    std::strtoull(argv[3], nullptr, 0));
  return argc < 8 ? 2 : sequences::run(argc, argv);
}

#endif
