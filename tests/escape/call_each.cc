// Makes system calls for real, each in a process of its own with a bound on its time, and says what
// came of it. Reads lines "ENTRY NUMBER ARGUMENT*6" (ENTRY: 64, or 80 for int 0x80) and answers
// each by one: "returned", "failed ERRNO", "died SIGNAL", "exited STATUS" or "blocked". A program
// of its own, linked statically, so that it runs in every root.
#if !defined(__x86_64__)
int main() { return 77; }
#else

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int patience_ms = 300;

struct Order {
  int entry;
  unsigned number;
  unsigned long arguments[6];
};

// Shared with the process that makes the call, and out of reach of the call's effects.
struct Outcome {
  volatile bool came_back;
  volatile long result;
};

// Always in line: the child of vfork goes on in its parent's frame.
[[gnu::always_inline]] inline long call_64(unsigned long number, unsigned long a, unsigned long b,
                                           unsigned long c, unsigned long d, unsigned long e,
                                           unsigned long f) {
  register unsigned long r10 asm("r10") = d;
  register unsigned long r8 asm("r8") = e;
  register unsigned long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

[[gnu::always_inline]] inline long call_32(unsigned number) {
  long result;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(number), "b"(-1), "c"(-1), "d"(-1), "S"(-1), "D"(-1)
               : "r8", "r9", "r10", "r11", "memory");
  return static_cast<int>(result);
}

[[noreturn]] [[gnu::noinline]] void make(const Order& order, Outcome& outcome) {
  const long self = call_64(SYS_getpid, 0, 0, 0, 0, 0, 0);
  const unsigned long* a = order.arguments;
  const long result = order.entry == 80 ? call_32(order.number)
                                        : call_64(order.number, a[0], a[1], a[2], a[3], a[4], a[5]);
  // The call may have made another process that returns here as well, in this one's memory or in
  // its own.
  if (call_64(SYS_getpid, 0, 0, 0, 0, 0, 0) != self) {
    for (;;) call_64(SYS_exit_group, 0, 0, 0, 0, 0, 0);
  }
  outcome.result = result;
  outcome.came_back = true;
  for (;;) call_64(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

void tell(const Order& order, Outcome& outcome) {
  outcome.came_back = false;
  const pid_t child = ::fork();
  if (child == 0) make(order, outcome);
  if (child < 0) {
    std::perror("fork");
    std::exit(1);
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  pollfd watched{pidfd, POLLIN, 0};
  const bool ended = ::poll(&watched, 1, patience_ms) > 0;
  if (!ended) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(pidfd);
  if (outcome.came_back && outcome.result >= -4095 && outcome.result < 0) {
    std::printf("failed %ld\n", -outcome.result);
  } else if (outcome.came_back) {
    std::puts("returned");
  } else if (!ended) {
    std::puts("blocked");
  } else if (WIFSIGNALED(status)) {
    std::printf("died %d\n", WTERMSIG(status));
  } else {
    std::printf("exited %d\n", WEXITSTATUS(status));
  }
  std::fflush(stdout);
}

}  // namespace

int main() {
  auto* outcome = static_cast<Outcome*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (outcome == MAP_FAILED) return 1;
  char line[512];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    Order order{};
    char* at = line;
    order.entry = static_cast<int>(std::strtol(at, &at, 0));
    order.number = static_cast<unsigned>(std::strtoul(at, &at, 0));
    for (unsigned long& argument : order.arguments) argument = std::strtoul(at, &at, 0);
    tell(order, *outcome);
  }
  return 0;
}

#endif
