// The messages between parent, launcher and init: plain structs over memory and sockets of one
// machine, read by a build of the same version. Freestanding: no libc, no C++ library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jail::wire {

// A plan is one block of memory, built by the parent in a memfd and mapped by the launcher:
// PlanHeader, then the calls of init, the calls of the guest, the relocations, the bytes.
inline constexpr std::uint32_t plan_magic = 0x4e414c50;
inline constexpr std::size_t slot_count = 128;

// Slots that are filled before the first call. The plan fills the others by Call::result_slot.
enum Slot : std::uint8_t {
  slot_control = 0,  // report socket of init
  slot_stdin = 1,    // the guest's standard streams
  slot_stdout = 2,
  slot_stderr = 3,
  slot_workspace = 4,    // the working directory; handed to the parent with `ready`
  slot_tmp = 5,          // directory of /tmp; init asks it for usage
  slot_proc = 6,         // a proc mount of init's own, attached nowhere
  slot_cgroup = 7,       // directory of the jail's cgroup, where it has one
  slot_invocation = 8,   // of a forked guest with arguments of its own: see Invocation below
  slot_zygote = 9,       // for a forked guest with arguments of its own: see Invocation below
  slot_library = 10,     // for the zygote only: what is preloaded into its interpreter
  slot_setup = 11,       // for the zygote only: see ZygoteSetup below
  slot_guest_plan = 12,  // for the zygote only: the plan whose guest list its forks run
  slot_egress = 13,      // where the jail's listening socket goes, where it has one (egress.h)
  slot_first_free = 14,
  slot_none = 0xff,
  // These belong to a process that is spawned into a living jail, and the first one to a guest too.
  // The plan of such a jail and the plan of a template's host are never the same one, so they share
  // numbers with the slots of a zygote.
  slot_terminal = slot_invocation,  // its controlling terminal, where it has one
  slot_program_path = slot_zygote,  // these four are addresses, see Command
  slot_arguments = slot_library,
  slot_variables = slot_setup,
  slot_start_directory = slot_guest_plan,
  // The contexts of the tmpfs mounts of a living jail whose limits can be changed, by which its
  // owner changes their sizes. Init has handed them over before a process has its arguments there.
  slot_workspace_context = slot_library,
  slot_tmp_context = slot_setup,
  // The init of a jail with terminals makes them here. It has let go of its cgroup's directory by
  // then; one of a template, which a zygote forks into, keeps that and has no terminals.
  slot_terminals = slot_cgroup,
};

enum ArgumentKind : std::uint8_t {
  argument_value = 0,
  argument_slot = 1,     // the content of slot number `argument`
  argument_address = 2,  // `argument` is an offset into the plan
};

// Not a system call: fails with the errno whose negative is stored as an int32 at argument 0. That
// is how a netlink acknowledgement is read.
inline constexpr std::int32_t check_acknowledged = -1;
// Not a system call: writes the value of argument 1 as an int32 at argument 0. That is how a
// descriptor gets into the control message that hands it on.
inline constexpr std::int32_t store_value = -2;

struct Call {
  std::int32_t number;  // system call number, check_acknowledged or store_value
  std::uint8_t result_slot;
  std::uint8_t reserved[3];
  std::int32_t tolerated_errno;  // this one failure counts as success; 0 for none
  std::uint8_t kind[6];
  std::uint8_t padding[2];
  std::int64_t argument[6];
  std::int64_t at_least;  // a smaller result is a failure (a short write): EIO

  bool operator==(const Call&) const = default;
};

// The process that runs a plan, and the way in which its guest list ends.
enum PlanKind : std::uint32_t {
  plan_cold = 0,  // a jail; execve
  plan_host =
      1,  // a template's host, a launcher inside namespaces of its own; execve of its zygote
  plan_forked = 2,   // a jail made by a host; returns into the interpreter that was forked
  plan_started = 3,  // a jail whose guest is executed at once and waits for its program; execve
  plan_living = 4,   // a jail that processes are spawned into; its guest list runs for each of them
};

struct PlanHeader {
  std::uint32_t magic;
  PlanKind kind;
  std::uint32_t init_calls;
  std::uint32_t guest_calls;
  std::uint32_t relocations;  // each an offset whose 8 bytes hold an offset, to become an address
  std::uint32_t workspace_is_on_disk;  // 1: what is in it is no memory
  std::uint64_t calls_offset;
  std::uint64_t relocations_offset;
  std::uint64_t size;
  std::uint64_t clone_flags;
  std::uint64_t page_bytes;
  std::uint64_t max_mappings;  // that the kernel gives one process
  // Pairs of soft and hard limit in the plan's bytes that an order to start fills in: the first two
  // of every jail, all four of a living one.
  std::uint64_t data_limit_offset;
  std::uint64_t cpu_limit_offset;
  std::uint64_t processes_limit_offset;
  std::uint64_t file_limit_offset;
  std::uint64_t program_offset;  // of plan_started: the program's name in the working directory
  // TemplateSpec::jail's variables, in a plan_started whose guest is executed with others.
  std::uint64_t shown_variables_offset;
  std::uint64_t shown_variables_bytes;  // 0: it is not
  // Where jails have ids of the host of their own; else 0. Of a jail the id_digits in the maps that
  // it writes which LaunchRequest::ids goes to; of a host the maps that its launcher writes for it.
  std::uint64_t uid_map_offset;
  std::uint64_t gid_map_offset;
};

// Work of a fork before it is ready. guest_ends_early: init hears early of its end (notices.h).
// guest_in_company: it is in a living jail, where hostile programs may run already.
enum GuestWork : std::uint32_t { guest_rehearses = 1, guest_ends_early = 2, guest_in_company = 4 };

// A user and a group of the host, as the launcher sees them. 0: the launcher's own.
struct Ids {
  std::uint32_t uid;
  std::uint32_t gid;
};
// Inside of every jail; jail/spec.h has them for its owners.
inline constexpr std::uint32_t guest_uid = 1000;
inline constexpr std::uint32_t guest_gid = 1000;
// As many as any id has.
inline constexpr std::size_t id_digits = 10;

// To a launcher. The descriptors that come along are those whose bit is set, in this order.
enum LaunchFd : std::uint32_t {
  launch_plan = 1u << 0,
  launch_control = 1u << 1,
  launch_stdin = 1u << 2,
  launch_stdout = 1u << 3,
  launch_stderr = 1u << 4,
  launch_cgroup = 1u << 5,       // the directory of the cgroup that this jail starts in
  launch_invocation = 1u << 6,   // for a forked jail
  launch_serve = 1u << 7,        // for a host: where it gets requests like this one
  launch_library = 1u << 8,      // for a host, for its zygote
  launch_setup = 1u << 9,        // the same
  launch_guest_plan = 1u << 10,  // the same
  launch_egress = 1u << 11,      // for a jail: where its listening socket goes
};
inline constexpr std::size_t launch_fd_kinds = 12;
inline constexpr std::uint32_t launch_always =
    launch_plan | launch_control | launch_stdin | launch_stdout | launch_stderr;
struct LaunchRequest {
  std::uint32_t magic;
  std::uint32_t fds;         // LaunchFd bits
  std::uint32_t guest_work;  // GuestWork bits, of a forked jail
  Ids ids;                   // of the jail
};

// The descriptors of a zygote, which do not collide with those that its interpreter opens.
inline constexpr int zygote_requests_fd = 240;
inline constexpr int zygote_library_fd = 241;
inline constexpr int zygote_setup_fd = 242;
inline constexpr int zygote_plan_fd = 243;
inline constexpr int zygote_control_fd = 244;
// No process of a guest gets this number as its first one, so what a library remembers of the
// zygote's process is never taken for the guest's.
inline constexpr int zygote_pid = 32'000;
// The guest's channel to init. It is closed when the guest starts, so that the first descriptor
// that the guest opens is 3 again.
inline constexpr int guest_channel_fd = 3;

// Whether a zygote's memory becomes a file that its forks map.
enum FrozenHeap : std::uint32_t { frozen_if_large = 0, never_frozen = 1, always_frozen = 2 };

// A file for the zygote: this header, then texts of these sizes, one after the other.
struct ZygoteSetup {
  std::uint32_t magic;
  std::uint32_t imports;        // names, each ended by NUL
  std::uint32_t imports_bytes;  // of all of them
  std::uint32_t warm_up_bytes;
  std::uint32_t after_fork_bytes;
  std::uint32_t rehearsal_bytes;
  std::uint32_t program_bytes;     // path of the file that guests run
  std::uint32_t frozen_heap;       // FrozenHeap
  std::uint32_t known_pages;       // not 0: it learns them for its forks
  std::uint32_t immortal_objects;  // not 0: it makes what it can immortal
  std::uint32_t fresh_memory;      // not 0: it leaves no gaps for its forks
};

// A file for a guest: this header, then texts, each ended by NUL: the whole argv, whose second
// element is the program's file, then the whole environment.
struct Invocation {
  std::uint32_t magic;
  std::uint32_t arguments;
  std::uint32_t variables;
  std::uint32_t bytes;  // of all texts
};

// A message from init to its zygote. It carries the pidfd of init, channel, stdin, stdout, stderr,
// then what `fds` (LaunchFd bits) says, then the given number of init's namespaces, in the order in
// which they are to be joined. Without them the zygote joins by the pidfd, which the kernel lets
// nobody do once init is not dumpable.
struct GuestRequest {
  std::uint32_t magic;
  std::uint32_t fds;
  std::uint32_t work;  // GuestWork bits
  std::uint32_t namespaces;
};
inline constexpr std::size_t min_guest_fds = 5;
inline constexpr std::size_t max_namespaces = 7;
inline constexpr std::size_t max_guest_fds = 7 + max_namespaces;

// A message from a guest to init, with the descriptor where init hears of some of its calls
// (notices.h).
struct Listener {
  std::uint32_t magic;
};

// A message from a guest, or from the zygote in its place, to init over the channel: the guest
// waits, or it could not be made. Init answers by one byte when the program is to start.
struct GuestReport {
  std::int32_t index;  // the call that failed; -1: none of the plan's
  std::int32_t error;  // 0: it waits
  std::int32_t pid;
  std::uint32_t reserved;
  std::uint64_t cpu_user_us;  // spent on the way here
  std::uint64_t cpu_system_us;
};

// To init. A living jail is started without a program; each order to spawn then brings the
// process's control socket, its Command and, unless it gets a terminal, its three streams.
// One to fork brings, in the place of the Command, an Invocation. One for a socket of the jail's
// network brings the descriptor that the answer is sent on. An order to pause is answered by
// message_paused, unless one to resume overtakes the answer. One to change the limits of a living
// jail is answered by message_limits once they hold. One to signal is for a jail with a program of
// its own that was started.
enum OrderType : std::uint32_t {
  order_start = 1,
  order_cancel = 2,
  order_spawn = 3,
  order_fork = 4,
  order_socket_ipv4 = 5,
  order_socket_ipv6 = 6,
  order_pause = 7,
  order_resume = 8,
  order_signal = 9,
  order_limits = 10
};
struct Order {
  OrderType type;
  std::int32_t serial;    // of an order to pause or to change limits, by which its answer is known
  std::int32_t signal;    // of an order to signal, to the guest's process group
  std::uint16_t columns;  // of the terminal of a spawned process or of a guest; 0: it has none
  std::uint16_t rows;
  std::uint64_t wall_ns;
  std::uint64_t cpu_ns;
  std::uint64_t memory_bytes;
  std::uint64_t data_limit;  // RLIMIT_DATA and RLIMIT_CPU of the guest
  std::uint64_t cpu_limit_s;
  // RLIMIT_NPROC and RLIMIT_FSIZE of a process of a living jail, in orders to spawn, to fork and to
  // change limits.
  std::uint64_t processes_limit;
  std::uint64_t file_limit;
};

inline constexpr std::size_t socket_fds = 1;
inline constexpr std::size_t spawn_fds_with_terminal = 2;
inline constexpr std::size_t spawn_fds_with_streams = 5;

// A file that says what a spawned process executes: this header, then texts and lists. Places are
// offsets from the beginning of the file; a list is one place of 8 bytes for each text, and a 0.
struct Command {
  std::uint32_t magic;
  std::uint32_t reserved;
  std::uint64_t size;  // of the whole file
  std::uint64_t path;
  std::uint64_t start_directory;
  std::uint64_t arguments;
  std::uint64_t variables;
};

// A message to init, on the control socket of a process. The socket's end kills the process.
enum ProcessOrderType : std::uint32_t { signal_process = 1, signal_group = 2 };
struct ProcessOrder {
  ProcessOrderType type;
  std::int32_t signal;
};

// A message to the parent, on the control socket of the jail or of a process in it.
enum MessageType : std::uint32_t {
  message_launched = 1,  // from the launcher; `error` set: clone3 failed. Carries the pidfd of init
  message_ready = 2,     // from init, with the directory of the working tmpfs; from a zygote, with
                         // its pidfd
  message_failed = 3,    // call `index` of the init (phase 0) or guest (phase 1) list failed
  message_ended = 4,
  message_ending = 5,   // from init: what message_ended will say, as far as it is known, while the
                        // kernel takes apart the killed processes
  message_root = 6,     // from init of a living jail, before message_ready: its root directory
  message_spawned = 7,  // from init, about a process: it was made, and has this `pid`; with the
                        // owner's side of its terminal, where it has one
  message_running = 8,  // from init, of a process: execve has succeeded
  message_socket = 9,   // from init, to order_socket_*: the socket comes along
  message_paused = 10,  // from init of a living jail, of the order whose serial is `index`:
                        // nothing runs; `error` set: its processes could not be stopped, and go on
  message_terminal = 11,  // from init, to order_start: the owner's side of the guest's terminal
  message_context = 12,   // from init of a living jail, before message_ready: the context of the
                          // tmpfs that `index` (FileSystem) names
  message_limits = 13,    // from init of a living jail, to the order whose serial is `index`: its
                          // limits hold for every process
};

// The values of `index` in message_context.
enum FileSystem : std::int32_t { file_system_workspace = 0, file_system_tmp = 1 };

// The values of `index` in message_failed for a process that could not be made, where no call of a
// plan failed.
enum SpawnFailure : std::int32_t {
  refused_by_kernel = -1,
  no_place_for_process = -2,   // too many processes have not ended
  no_place_for_listener = -3,  // too many processes live, or have left a living one behind
  no_terminal = -4,            // all terminals are open
  no_zygote = -5,              // the zygote has ended
  no_start_in_time = -6,       // it has not come to its program within the time for that
};

// The reason for which init ended the jail, where it did.
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
  std::int32_t pid;          // number of a spawned process, in the jail's pid namespace
  std::uint32_t processes;   // with cause_memory: how many held the memory together
  std::uint32_t unused;
  std::uint64_t cpu_user_us;
  std::uint64_t cpu_system_us;
  std::uint64_t memory_peak_bytes;
  std::uint64_t started_ns;  // order_start to execve
  std::uint64_t ran_ns;
  std::uint64_t ended_ns;
};

}  // namespace jail::wire
