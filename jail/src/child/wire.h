// What parent, launcher and init say to each other: plain structs over memory and sockets of one
// machine, read by a build of the same version. Freestanding: no libc, no C++ library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jail::wire {

// A plan is one block of memory, built by the parent in a memfd and mapped by the launcher:
// PlanHeader, then the calls of init, the calls of the guest, the relocations, the bytes.
inline constexpr std::uint32_t plan_magic = 0x4e414c50;
inline constexpr std::size_t slot_count = 64;

// Slots that are filled before the first call. The plan fills the others by Call::result_slot.
enum Slot : std::uint8_t {
  slot_control = 0,  // report socket of init
  slot_stdin = 1,    // the guest's standard streams
  slot_stdout = 2,
  slot_stderr = 3,
  slot_workspace = 4,  // directory of the working tmpfs; handed to the parent with `ready`
  slot_tmp = 5,        // directory of /tmp; init asks it for usage
  slot_proc = 6,       // a proc mount of init's own, attached nowhere
  slot_first_free = 7,
  slot_none = 0xff,
};

enum ArgumentKind : std::uint8_t {
  argument_value = 0,
  argument_slot = 1,     // the content of slot number `argument`
  argument_address = 2,  // `argument` is an offset into the plan
};

// Not a system call: fails with the errno whose negative stands as an int32 at argument 0. That is
// how a netlink acknowledgement is read.
inline constexpr std::int32_t check_acknowledged = -1;

struct Call {
  std::int32_t number;  // system call number, or check_acknowledged
  std::uint16_t step;   // jail::Step, for the text of an error
  std::uint8_t result_slot;
  std::uint8_t reserved;
  std::int32_t tolerated_errno;  // this one failure counts as success; 0 for none
  std::uint8_t kind[6];
  std::uint8_t padding[2];
  std::int64_t argument[6];
  std::int64_t at_least;  // a result below is a failure (a short write): EIO
};

struct PlanHeader {
  std::uint32_t magic;
  std::uint32_t init_calls;
  std::uint32_t guest_calls;
  std::uint32_t relocations;  // each an offset whose 8 bytes hold an offset, to become an address
  std::uint64_t calls_offset;
  std::uint64_t relocations_offset;
  std::uint64_t size;
  std::uint64_t clone_flags;
  std::uint64_t page_bytes;
};

// To the launcher, with the descriptors plan, control, stdin, stdout, stderr and, where jails have
// one, the directory of the cgroup that this jail starts in.
struct LaunchRequest {
  std::uint32_t magic;
};
inline constexpr std::size_t least_launch_fds = 5;
inline constexpr std::size_t most_launch_fds = 6;

// To init.
enum OrderType : std::uint32_t { order_start = 1, order_cancel = 2 };
struct Order {
  OrderType type;
  std::uint32_t reserved;
  std::uint64_t wall_ns;
  std::uint64_t cpu_ns;
  std::uint64_t memory_bytes;
};

// To the parent, on the control socket of the jail.
enum MessageType : std::uint32_t {
  message_launched = 1,  // from the launcher; `error` set: clone3 failed. Carries the pidfd of init
  message_ready = 2,     // from init. Carries the directory of the working tmpfs
  message_failed = 3,    // call `index` of the init (phase 0) or guest (phase 1) list failed
  message_ended = 4,
};

// Why init ended the jail, when it did.
enum Cause : std::uint32_t {
  cause_none = 0,  // the guest ended by itself
  cause_deadline = 1,
  cause_cpu = 2,
  cause_memory = 3,
  cause_cancelled = 4,
};

struct Message {
  MessageType type;
  std::uint32_t phase;
  std::int32_t index;
  std::int32_t error;
  Cause cause;
  std::int32_t wait_code;    // si_code of the guest (CLD_EXITED, CLD_KILLED, ...)
  std::int32_t wait_status;  // si_status
  std::uint32_t reserved;
  std::uint64_t cpu_user_us;
  std::uint64_t cpu_system_us;
  std::uint64_t memory_peak_bytes;
  std::uint64_t started_ns;  // order_start to execve
  std::uint64_t ran_ns;
  std::uint64_t ended_ns;
};

}  // namespace jail::wire
