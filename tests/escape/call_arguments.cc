#include "call_arguments.h"

#include <sys/un.h>

#include <cstring>

#include "call_values.h"

namespace sequences {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t arena_bytes = 64 * page;
constexpr std::size_t ground_bytes = 64 * page;
// Large enough for every structure of this file, and for what the kernel writes into a `structure`.
constexpr std::size_t room_bytes = 512;

char* arena = nullptr;   // for arguments; behind it lies a page without access
char* ground = nullptr;  // the memory that calls operate on
std::uint64_t state = 0;

template <class T, std::size_t count>
T any_of(const T (&values)[count]) {
  return values[below(count)];
}

// Returns room for a structure in the arena, sometimes so near to its end that it does not fit.
char* room(std::size_t bytes = room_bytes) {
  if (one_in(24)) return arena + arena_bytes - below(bytes);
  return arena + below((arena_bytes - bytes) / 16) * 16;
}

char* noise(std::size_t bytes) {
  char* at = arena + below((arena_bytes - room_bytes) / 16) * 16;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    const std::uint64_t word = one_in(3) ? next() : below(5);
    std::memcpy(at + i, &word, sizeof word);
  }
  return at;
}

template <class T>
std::uint64_t placed(const T& value) {
  char* at = arena + below((arena_bytes - room_bytes) / 16) * 16;
  std::memcpy(at, &value, sizeof value);
  return address_of(at);
}

std::uint64_t descriptor() {
  if (descriptors.is_empty() || one_in(16)) return one_in(2) ? below(64) : any_of(odd_values);
  return descriptors.any();
}

// Picks a kept descriptor of this kind, and in one of eight cases a descriptor of any kind.
template <class Kept>
std::uint64_t descriptor_of(const Kept& kept) {
  return kept.is_empty() || one_in(8) ? descriptor() : kept.any();
}

std::uint64_t path() {
  if (one_in(16)) return address_of(bait.path);
  if (one_in(40)) {
    char* at = arena + below(2) * page;
    std::memset(at, "/a"[below(2)], 3 * page);
    at[below(3) * page + 300] = '\0';
    return address_of(at);
  }
  return address_of(one_in(2) ? any_of(own_paths) : any_of(paths));
}

std::uint64_t length() {
  constexpr std::uint64_t lengths[] = {0, 1, 8, 16, 100, 255, 1024, 4096, 4097, 16384, 65536};
  return one_in(20) ? any_of(odd_values) : any_of(lengths);
}

std::uint64_t offset() {
  constexpr std::uint64_t offsets[] = {0, 0, 1, 100, 4095, 4096, 65536, 1 << 20};
  return one_in(10) ? any_of(odd_values) : any_of(offsets);
}

std::uint64_t memory() {
  if (one_in(8)) return 0;
  if (!mappings.is_empty() && one_in(2)) return mappings.any() + below(4) * page;
  return address_of(ground) + below(ground_bytes / page) * page;
}

std::uint64_t process() {
  if (!processes.is_empty() && one_in(3)) return processes.any();
  if (one_in(12)) return static_cast<std::uint64_t>(bait.pid);
  const std::uint64_t self = static_cast<std::uint64_t>(::syscall(SYS_getpid));
  const std::uint64_t numbers[] = {0, self, self, 0 - self, 1, 400'000, 0x7fffffff};
  return any_of(numbers);
}

std::uint64_t signal_set() {
  const std::uint64_t sets[] = {0, ~std::uint64_t{0}, next(), 1u << (SIGALRM - 1),
                                1u << (SIGCHLD - 1)};
  return placed(any_of(sets));
}

SocketOption last_option{SOL_SOCKET, SO_REUSEADDR};
std::uint64_t last_socket = 0;
std::uint64_t size_of_last_address = 0;

sockaddr_un local_address() {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  // An abstract name begins with NUL.
  constexpr const char* names[] = {"own", "socket", "/tmp/socket"};
  const bool is_abstract = one_in(2);
  const char* name = is_abstract && one_in(2) ? bait.name : any_of(names);
  std::strncpy(local.sun_path + (is_abstract ? 1 : 0), name, sizeof local.sun_path - 2);
  return local;
}

// Usually of the family of the socket that the call uses.
std::uint64_t socket_address(std::uint64_t& size) {
  sockaddr_un own{};
  socklen_t room_for_own = sizeof own;
  constexpr sa_family_t families[] = {AF_UNIX, AF_INET, AF_INET6};
  const bool is_known = ::getsockname(static_cast<int>(last_socket),
                                      reinterpret_cast<sockaddr*>(&own), &room_for_own) == 0;
  const sa_family_t family = is_known && !one_in(8) ? own.sun_family : any_of(families);
  const std::uint16_t ports[] = {bait.port, bait.port, bait.port, 8080, 0, 1};
  if (family == AF_UNIX) {
    const sockaddr_un local = local_address();
    size = offsetof(sockaddr_un, sun_path) + 1 + std::strlen(local.sun_path + 1);
    return placed(local);
  }
  if (family == AF_INET6) {
    sockaddr_in6 internet{};
    internet.sin6_family = AF_INET6;
    internet.sin6_port = __builtin_bswap16(any_of(ports));
    internet.sin6_addr.s6_addr[15] = 1;
    size = sizeof internet;
    return placed(internet);
  }
  sockaddr_in internet{};
  internet.sin_family = AF_INET;
  internet.sin_port = __builtin_bswap16(any_of(ports));
  constexpr std::uint32_t hosts[] = {0x7f000001, 0x7f000001, 0x7f000001, 0x7f000001, 0,
                                     0xffffffff, 0xa9fea9fe, 0x7f000101, 0x0a000001};
  internet.sin_addr.s_addr = __builtin_bswap32(any_of(hosts));
  size = sizeof internet;
  return placed(internet);
}

std::uint64_t vectors() {
  iovec parts[8] = {};
  for (iovec& part : parts) part = {room(), length()};
  return placed(parts);
}

// A message that carries descriptors, or room for some.
msghdr message() {
  msghdr header{};
  if (one_in(2)) {
    std::uint64_t size = 0;
    header.msg_name = reinterpret_cast<void*>(socket_address(size));
    header.msg_namelen = static_cast<socklen_t>(size);
  }
  header.msg_iov = reinterpret_cast<iovec*>(vectors());
  header.msg_iovlen = below(4);
  if (one_in(2)) {
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    const std::size_t carried = below(4);
    auto* rights = reinterpret_cast<cmsghdr*>(control);
    rights->cmsg_len = one_in(8) ? below(200) : CMSG_LEN(carried * sizeof(int));
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = one_in(4) ? SCM_CREDENTIALS : SCM_RIGHTS;
    for (std::size_t i = 0; i < carried; ++i) {
      const int passed = static_cast<int>(descriptor());
      std::memcpy(CMSG_DATA(rights) + i * sizeof passed, &passed, sizeof passed);
    }
    header.msg_control = reinterpret_cast<void*>(placed(control));
    header.msg_controllen = one_in(8) ? below(4096) : CMSG_SPACE(carried * sizeof(int));
  }
  return header;
}

extern "C" [[noreturn]] void give_back();
asm(".text\n.type give_back, @function\ngive_back:\n  mov $15, %eax\n  syscall\n");

std::uint64_t action() {
  struct {
    std::uint64_t handler, flags, restorer, mask;
  } own{};
  const std::uint64_t handlers[] = {0, 1, address_of(reinterpret_cast<void*>(wake)),
                                    address_of(ground)};
  own.handler = any_of(handlers);
  constexpr std::uint64_t flags[] = {0,          SA_RESTART, SA_NOCLDWAIT, SA_ONSTACK,
                                     SA_NODEFER, SA_SIGINFO, SA_RESETHAND};
  own.flags = 0x04000000 | any_of(flags) | any_of(flags);  // SA_RESTORER
  own.restorer = address_of(reinterpret_cast<void*>(give_back));
  own.mask = one_in(4) ? next() : 0;
  return placed(own);
}

std::uint64_t some_of(const Argument& argument) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < argument.count; ++i) {
    if (one_in(argument.count / 2 + 1)) value |= argument.values[i];
  }
  return value;
}

std::uint64_t mapping_flags() {
  constexpr std::uint64_t kinds[] = {MAP_PRIVATE, MAP_SHARED, MAP_SHARED_VALIDATE};
  constexpr std::uint64_t others[] = {0,
                                      0,
                                      MAP_FIXED,
                                      MAP_NORESERVE,
                                      MAP_POPULATE,
                                      MAP_LOCKED,
                                      MAP_GROWSDOWN,
                                      MAP_STACK,
                                      MAP_FIXED_NOREPLACE,
                                      MAP_HUGETLB,
                                      MAP_SYNC,
                                      MAP_NONBLOCK};
  return any_of(kinds) | (one_in(3) ? 0 : MAP_ANONYMOUS) | any_of(others) | any_of(others);
}

std::uint64_t clone_flags() {
  constexpr std::uint64_t kinds[] = {
      SIGCHLD,
      SIGCHLD,
      CLONE_VM | CLONE_VFORK | SIGCHLD,
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
      CLONE_VM | SIGCHLD,
      CLONE_FILES | SIGCHLD,
      0,
      SIGSTOP};
  constexpr std::uint64_t others[] = {0,
                                      0,
                                      CLONE_SETTLS,
                                      CLONE_PARENT_SETTID,
                                      CLONE_CHILD_CLEARTID,
                                      CLONE_CHILD_SETTID,
                                      CLONE_PIDFD,
                                      CLONE_SYSVSEM,
                                      CLONE_PTRACE,
                                      CLONE_UNTRACED,
                                      CLONE_IO,
                                      CLONE_NEWUSER,
                                      CLONE_NEWNET,
                                      CLONE_PARENT};
  return any_of(kinds) | any_of(others) | any_of(others);
}

std::uint64_t sized_structure(Kind kind) {
  switch (kind) {
    case Kind::limits: {
      constexpr std::uint64_t bounds[] = {0, 1, 16, 64, 4096, 1 << 20, 1 << 24, ~std::uint64_t{0}};
      const rlimit own{any_of(bounds), any_of(bounds)};
      return placed(own);
    }
    case Kind::open_how: {
      const std::uint64_t own[3] = {one_in(2) ? 0 : some_of(table::open_flags), 0,
                                    one_in(2) ? 0 : below(64)};
      return placed(own);
    }
    case Kind::scheduling: {
      const std::uint32_t own[14] = {48, static_cast<std::uint32_t>(below(7)),  0,
                                     0,  static_cast<std::uint32_t>(below(40)), 0};
      return placed(own);
    }
    case Kind::words: {
      struct {
        std::uint64_t value, word;
        std::uint32_t flags, reserved;
      } own[3];
      for (auto& each : own)
        each = {below(3), address_of(room(8)) & ~std::uint64_t{3}, one_in(4) ? 130u : 2u, 0};
      return placed(own);
    }
    case Kind::robust_list: {
      const std::uint64_t first = address_of(room(64));
      const std::uint64_t own[3] = {first, static_cast<std::uint64_t>(-16), one_in(2) ? first : 0};
      return placed(own);
    }
    case Kind::event_of_timer: {
      sigevent own{};
      own.sigev_notify = static_cast<int>(below(5));
      own.sigev_signo = static_cast<int>(below(65));
      return one_in(3) ? 0 : placed(own);
    }
    case Kind::signal_stack: {
      const stack_t own{ground, one_in(4) ? SS_DISABLE : 0, one_in(4) ? below(8192) : 4 * page};
      return placed(own);
    }
    case Kind::polls: {
      pollfd own[8];
      for (pollfd& each : own)
        each = {static_cast<int>(descriptor()), static_cast<short>(below(64)), 0};
      return placed(own);
    }
    default: {
      const epoll_event own{static_cast<std::uint32_t>(next()), {.u64 = next()}};
      return placed(own);
    }
  }
}

std::uint64_t control_value() {
  if (one_in(3)) return descriptor();
  if (one_in(2)) return one_in(2) ? below(4096) : address_of(noise(64));
  const struct flock own {
    static_cast<short>(below(4)), static_cast<short>(below(3)), static_cast<off_t>(below(100)),
        static_cast<off_t>(below(100)), 0
  };
  return placed(own);
}

std::uint64_t plausible(const Argument& argument) {
  switch (argument.kind) {
    case Kind::none:
      return 0;
    case Kind::choice:
      return argument.values[below(argument.count)];
    case Kind::choices:
      return some_of(argument);
    case Kind::descriptor:
      return descriptor();
    case Kind::file:
      return descriptor_of(files);
    case Kind::socket:
      return last_socket = descriptor_of(sockets);
    case Kind::waiter:
      return descriptor_of(waiters);
    case Kind::directory:
      return one_in(3) ? descriptor() : static_cast<std::uint64_t>(AT_FDCWD);
    case Kind::new_descriptor:
      return 3 + below(60);
    case Kind::path:
      return path();
    case Kind::program: {
      constexpr const char* programs[] = {"/usr/bin/true", "/proc/self/exe", "a", "/etc/passwd",
                                          "/usr/bin/env"};
      return address_of(any_of(programs));
    }
    case Kind::arguments: {
      const char* const own[] = {"x", "LD_PRELOAD=/tmp/a", nullptr};
      return placed(own);
    }
    case Kind::length:
    case Kind::address_length:
      return one_in(2) && argument.kind == Kind::address_length ? page * (1 + below(16)) : length();
    case Kind::number:
    case Kind::timer:
      return argument.kind == Kind::timer ? address_of(room(8)) : below(5);
    case Kind::offset:
      return offset();
    case Kind::offset_pointer:
      return one_in(2) ? 0 : placed(offset());
    case Kind::vectors:
      return vectors();
    case Kind::address:
      return memory();
    case Kind::mapping_flags:
      return mapping_flags();
    case Kind::time: {
      const timespec own{0, static_cast<long>(below(300'000))};
      return one_in(8) ? 0 : placed(own);
    }
    case Kind::interval: {
      const std::uint64_t own[4] = {0, below(900'000), one_in(4) ? 1u : 0, below(900'000)};
      return placed(own);
    }
    case Kind::process:
      return process();
    case Kind::signal:
      return one_in(3) ? below(66) : std::uint64_t{SIGUSR1};
    case Kind::signal_set:
      return one_in(8) ? 0 : signal_set();
    case Kind::signal_set_pointer: {
      const std::uint64_t own[2] = {signal_set(), 8};
      return placed(own);
    }
    case Kind::action:
      return action();
    case Kind::set_size:
      return one_in(16) ? below(130) : 8;
    case Kind::socket_address:
      return socket_address(size_of_last_address);
    case Kind::socket_length:
      return one_in(8) ? below(130) : size_of_last_address;
    case Kind::length_pointer:
      return placed(std::uint32_t{128});
    case Kind::message:
      return placed(message());
    case Kind::messages: {
      const mmsghdr own[2] = {{message(), 0}, {message(), 0}};
      return placed(own);
    }
    case Kind::option_level:
      last_option = any_of(socket_options);
      return last_option.level;
    case Kind::option_name:
      return last_option.name;
    case Kind::option: {
      const std::uint64_t own[2] = {below(3), below(3)};
      return placed(own);
    }
    case Kind::descriptor_set: {
      const std::uint64_t own[16] = {next() & next()};
      return one_in(3) ? 0 : placed(own);
    }
    case Kind::word:
      return address_of(room(8)) & ~std::uint64_t{3};
    case Kind::control_value:
      return control_value();
    case Kind::clone_flags:
      return clone_flags();
    case Kind::clone_stack:
      return one_in(3) ? 0 : (address_of(ground) + ground_bytes - 64) & ~std::uint64_t{15};
    case Kind::protection_key:
      return keys.is_empty() || one_in(3) ? below(17) : keys.any();
    case Kind::structure:
      return address_of(noise(128));
    case Kind::buffer:
    case Kind::descriptor_pair:
      return one_in(16) ? 0 : address_of(room(4096));
    default:
      return sized_structure(argument.kind);
  }
}

}  // namespace

void begin_chance(std::uint64_t seed) { state = seed; }

std::uint64_t next() {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

bool map_memory() {
  const auto mapped = [](std::size_t bytes) {
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
  };
  arena = mapped(arena_bytes + page);
  ground = mapped(ground_bytes);
  return arena != nullptr && ground != nullptr &&
         ::mprotect(arena + arena_bytes, page, PROT_NONE) == 0;
}

void wake(int) {}

// Process numbers stay as they are: a signal to the wrong process would kill the one that starts
// episodes.
std::uint64_t argument_for(const Argument& argument) {
  if (argument.kind != Kind::process && argument.kind != Kind::none && one_in(24))
    return any_of(odd_values);
  return plausible(argument);
}

}  // namespace sequences
