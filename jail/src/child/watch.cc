#include "child/watch.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child/arithmetic.h"
#include "child/clocks.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"
#include "child/watch_process.h"

namespace jail::child {

namespace {

// A file about a process, and the names of two sizes of its memory in it.
struct SizeFile {
  const char* name;
  const char* anonymous;
  const char* other;
};

// USER_HZ is 100 on every architecture that this builds for.
constexpr std::uint64_t ns_per_tick = 10'000'000;

// The kernel's memory for a guest, in bytes, rounded up from the sizes of Linux 6.1 to 6.18. For a
// process: its upper page tables and what else it has once. For a thread: its kernel stack of 16
// KiB and its task_struct.
constexpr std::uint64_t bytes_of_a_process = 32u << 10;
constexpr std::uint64_t bytes_of_a_thread = 32u << 10;
// For a mapping: vm_area_struct, its lock and its share of a tree's node; and for each process that
// it was inherited through, two links from a page to its mappings (anon_vma_chain).
constexpr std::uint64_t bytes_of_a_mapping = 320;
constexpr std::uint64_t bytes_of_an_inheritance = 128;
// A page table of the lowest level maps 512 pages of its own size.
constexpr std::uint64_t mapped_bytes_of_a_table_byte = 512;
// For a file of a tmpfs: its inode and its entry in a directory, with the longest name.
constexpr std::uint64_t bytes_of_an_inode = 1700;

// A walk ends after this time by the clock, since no look is made meanwhile; the next walk goes on
// there.
constexpr std::uint64_t budget_of_a_walk_ns = 10 * ns_per_ms;
// A call that changes the mappings of a process makes init wait when it reads them, in the worst
// case for as long as it takes to change all page tables of the process. So init reads nothing that
// waits from a process that has more pages (files among them) than the process can have that fills
// its limit twice beside what it has inherited, or more than this.
constexpr std::uint64_t max_that_is_waited_for = 128u << 20;

// The kernel has no larger tables of descriptors.
constexpr std::uint64_t max_of_a_kernel = 1u << 30;

constexpr SizeFile whole = {"/status", "RssAnon:", "RssShmem:"};
constexpr SizeFile proportional = {"/smaps_rollup", "Pss_Anon:", "Pss_Shmem:"};
constexpr SizeFile inheritable = {"/status", "RssAnon:", "VmSwap:"};

struct Sizes {
  std::uint64_t anonymous = 0;
  std::uint64_t other = 0;
};

bool read_sizes(int proc, const char* process, const SizeFile& file, Sizes& out) {
  Text text;
  return read_text(proc, joined({process, file.name}).text, text) &&
         find_size(text.bytes, file.anonymous, out.anonymous) &&
         find_size(text.bytes, file.other, out.other);
}

// A child of vfork() runs in its parent's memory until it executes: that is no second copy.
bool runs_in_memory_of_parent(int thread, const ProcessStat& stat) {
  return stat.parent > 1 && raw::call(SYS_kcmp, thread, stat.parent, KCMP_VM, 0, 0) == 0;
}

std::uint64_t bytes_of_mappings(std::uint64_t mappings, std::uint64_t generations) {
  return mappings * (bytes_of_a_mapping + generations * bytes_of_an_inheritance);
}

}  // namespace

// A summary of the status files of all processes.
struct Watch::Statuses {
  std::uint64_t anonymous = 0;  // bytes, as are all of these
  std::uint64_t other = 0;
  std::uint64_t own = 0;      // of the anonymous bytes, those that are surely not shared
  std::uint64_t largest = 0;  // anonymous size of one process
  std::uint64_t tables = 0;
};

// The result of the first look at all processes.
struct Watch::Scan {
  std::uint64_t ticks = 0;
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  std::uint64_t resident = 0;  // bytes, like the next one
  std::uint64_t mappings_bound = 0;
};

bool Watch::is_thread_of(int thread, int pid) const {
  Text text;
  std::uint64_t process = 0;
  return thread == pid ||
         (read_text(proc_,
                    joined({Number(static_cast<std::uint64_t>(thread)).text, "/status"}).text,
                    text) &&
          find_number(text.bytes, "Tgid:", process) && process == static_cast<std::uint64_t>(pid));
}

bool Watch::exclude(int pid) { return excluded_.add(pid); }

bool Watch::note_starting(int pid) { return starting_.add(pid); }

void Watch::note_started(int pid) {
  is_still_ = false;
  starting_.remove(pid);
  executed_.add(pid);
}

void Watch::note_reaped(int pid) {
  is_still_ = false;
  excluded_.remove(pid);
  starting_.remove(pid);
  executed_.remove(pid);
  joined_.remove(pid);
}

bool Watch::is_excluded(int pid) const { return excluded_.has(pid) || starting_.has(pid); }

// Returns whether the process is a fork of a zygote that is not confined yet: no process of a guest
// is without a filter. Where that cannot be read it counts as a guest's.
bool Watch::is_joining(const Process& process) const {
  Text text;
  std::uint64_t filtered = 1;
  return read_text(proc_, joined({process.name().text, "/status"}).text, text) &&
         find_number(text.bytes, "Seccomp:", filtered) && filtered == 0;
}

// Every process that init started has init or nobody as its parent, as an orphan of a guest has.
KnownProcesses::Origin Watch::origin_of(const Process& process, const ProcessStat& stat) {
  using Origin = KnownProcesses::Origin;
  if (executed_.has(process.pid)) return Origin::executed;
  if (joined_.has(process.pid)) return Origin::of_a_zygote;
  const bool is_new_orphan = stat.parent <= 1 && !known_.knows(process.pid);
  return is_new_orphan && is_joining(process) ? Origin::of_a_zygote : Origin::of_a_guest;
}

bool Watch::is_small(int thread) const {
  constexpr std::uint64_t max_tables = 512u << 10;
  Text text;
  std::uint64_t tables = 0;
  return read_text(proc_, joined({Number(static_cast<std::uint64_t>(thread)).text, "/status"}).text,
                   text) &&
         find_size(text.bytes, "VmPTE:", tables) && tables <= max_tables;
}

void Watch::find_memory(Process& process, ProcessStat& stat) const {
  const Number pid(static_cast<std::uint64_t>(process.pid));
  const long tasks = raw::call(SYS_openat, proc_, raw::address(joined({pid.text, "/task"}).text),
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return;
  NumberedEntries threads(static_cast<int>(tasks));
  const char* name = nullptr;
  std::uint64_t thread = 0;
  while (threads.next(name, thread)) {
    ProcessStat own;
    if (!read_stat(proc_, name, own) || own.has_ended()) continue;
    process.thread = static_cast<int>(thread);
    stat.state = own.state;
    stat.resident_pages = own.resident_pages;
    stat.mapped_bytes = own.mapped_bytes;
    break;
  }
  raw::call(SYS_close, tasks);
}

bool Watch::is_large(const ProcessStat& stat, std::uint64_t memory_limit) const {
  constexpr std::uint64_t max_inherited = 1u << 30;
  return stat.resident_pages * page_bytes_ >
         larger(max_that_is_waited_for, 2 * memory_limit) + smaller(inherited_, max_inherited);
}

std::uint64_t Watch::mappings_bound(const ProcessStat& stat) const {
  return smaller(stat.mapped_bytes / page_bytes_, max_mappings_);
}

// Must be called after a scan(), for the same processes.
Watch::Statuses Watch::read_statuses() {
  Statuses all;
  processes_ = 0;
  each_process([&](const Process& process, const ProcessStat& stat) {
    if (stat.has_ended()) return;
    ++processes_;
    Text text;
    Sizes own;
    // This estimate stands where so many groups precede the line that it is not found.
    std::uint64_t tables = stat.mapped_bytes / mapped_bytes_of_a_table_byte;
    bool is_read = read_text(proc_, joined({process.name().text, whole.name}).text, text);
    if (is_read) {
      find_size(text.bytes, "VmPTE:", tables);
      is_read = find_size(text.bytes, whole.anonymous, own.anonymous) &&
                find_size(text.bytes, whole.other, own.other);
    }
    if (runs_in_memory_of_parent(process.thread, stat)) return;
    all.tables += tables;
    ProcessStat again;
    if (is_read) {
      all.largest = larger(all.largest, own.anonymous);
      all.own += known_.own_memory(process.pid, own.anonymous);
    } else if (read_stat(proc_, process.name().text, again)) {
      // The process has just ended, or made itself unreadable and gets no discount.
      own = {again.resident_pages * page_bytes_, 0};
    }
    all.anonymous += own.anonymous;
    all.other += own.other;
  });
  return all;
}

std::uint64_t Watch::least(const Statuses& all) const {
  return files_ + sockets_now_ + kernel_ + larger(beyond(all.largest, inherited_), all.own);
}

void Watch::note_inherited() {
  each_process([&](const Process& process, const ProcessStat& stat) {
    if (stat.has_ended()) return;
    Sizes own;
    const bool is_read = read_sizes(proc_, process.name().text, inheritable, own);
    inherited_ = is_read ? larger(inherited_, own.anonymous + own.other) : ~std::uint64_t{0};
  });
}

void Watch::note_inherited_by(int pid) {
  is_still_ = false;
  joined_.add(pid);
  Sizes own;
  const Number name(static_cast<std::uint64_t>(pid));
  if (read_sizes(proc_, name.text, inheritable, own)) {
    inherited_ = larger(inherited_, own.anonymous + own.other);
  }
}

void Watch::note_open_files(int pid) {
  std::uint64_t limits[2] = {};
  if (raw::call(SYS_prlimit64, pid, RLIMIT_NOFILE, 0, raw::address(limits)) != 0) return;
  while (max_places_ < limits[0] && max_places_ < max_of_a_kernel) max_places_ *= 2;
}

Watch::Scan Watch::scan(std::uint64_t reaped_ns) {
  Scan all;
  is_still_ = false;
  known_.begin();
  each_process([&](const Process& process, const ProcessStat& stat) {
    known_.see(process.pid, stat, cpu_ns_of(process.pid, clock_sum), origin_of(process, stat));
    all.ticks += stat.own_ticks + stat.children_ticks;
    ++all.processes;
    all.threads += stat.threads;
    all.resident += stat.resident_pages * page_bytes_;
    all.mappings_bound += mappings_bound(stat);
  });
  known_.end(reaped_ns / ns_per_tick);
  all.ticks += known_.lost_ticks();
  return all;
}

std::uint64_t Watch::processor_time(std::uint64_t reaped_ns) {
  return scan(reaped_ns).ticks * ns_per_tick;
}

std::uint64_t Watch::clock_time() const {
  std::uint64_t time = 0;
  each_process([&time](const Process& process, const ProcessStat&) {
    time += cpu_ns_of(process.pid, clock_sum);
  });
  return time;
}

WatchedUsage Watch::glance(std::uint64_t memory_limit, std::uint64_t reaped_ns) {
  WatchedUsage usage;
  usage.cpu_ns = processor_time(reaped_ns);
  if (memory_limit == no_memory_limit) return usage;
  look_at_files();
  sockets_now_ = sockets_.measure(proc_);
  const Statuses all = read_statuses();
  usage.memory.least = least(all);
  usage.memory.pages = usage.memory.least - kernel_ - sockets_now_;
  usage.is_rough = !kernel_is_counted_;
  return usage;
}

WatchedUsage Watch::measure(std::uint64_t memory_limit, std::uint64_t reaped_ns) {
  const Scan all = scan(reaped_ns);
  is_still_ = known_.none_has_moved();
  threads_ = all.threads;
  look_at_files();
  WatchedUsage usage;
  usage.cpu_ns = all.ticks * ns_per_tick;
  usage.memory.pages = all.resident + files_;
  // A cgroup counts all of the following by itself.
  if (memory_limit == no_memory_limit) return usage;
  sockets_now_ = sockets_.measure(proc_);
  const Statuses statuses = read_statuses();
  const std::uint64_t fixed = all.processes * bytes_of_a_process + all.threads * bytes_of_a_thread +
                              inodes_ * bytes_of_an_inode + statuses.tables;
  const std::uint64_t others = least(statuses) - sockets_now_ - files_;
  const std::uint64_t room = beyond(memory_limit, others);
  // What a descriptor can keep has no bound before it was looked at.
  const Kept kept = counted(memory_limit, Counted::descriptors, room);
  const std::uint64_t descriptors = kept.descriptors + kept_for_own_user(kept);
  std::uint64_t mappings = bytes_of_mappings(all.mappings_bound, known_.generations());
  // Mapped files of the tmpfs are in both figures, so the larger one stands for both.
  const std::uint64_t pages = statuses.anonymous + larger(statuses.other, files_);
  const auto most = [&] { return pages + sockets_now_ + fixed + descriptors + mappings; };
  kernel_is_counted_ = most() > memory_limit;
  // Most programs have far fewer mappings than pages in their address space.
  if (kernel_is_counted_) {
    const std::uint64_t counted_ones = counted(memory_limit, Counted::mappings, room).mappings;
    mappings = smaller(mappings, bytes_of_mappings(counted_ones, known_.generations()));
  }
  kernel_ = fixed + descriptors + mappings;
  usage.memory = {least(statuses), most(), pages};
  return usage;
}

// Walks the processes with numbers in this range.
void Watch::walk_from(int first, int last, std::uint64_t memory_limit, const Budget& budget,
                      std::uint64_t& all) {
  each_process([&](const Process& process, const ProcessStat& stat) {
    if (process.pid < first || process.pid > last || stat.has_ended()) return;
    if (runs_in_memory_of_parent(process.thread, stat)) return;
    // Its sizes may stand behind so many groups that they are not found.
    Sizes own;
    const bool is_sized = read_sizes(proc_, process.name().text, whole, own);
    std::uint64_t counted = is_sized ? own.anonymous : stat.resident_pages * page_bytes_;
    if (!is_large(stat, memory_limit) && !is_dear(process.pid)) {
      if (is_sized) counted = known_.own_memory(process.pid, own.anonymous);
      if (!budget.is_spent() && read_sizes(proc_, process.name().text, proportional, own)) {
        counted = own.anonymous;
        if (is_sized) known_.note_own_memory(process.pid, counted);
        walked_until_ = process.pid;
      }
    }
    all += counted;
  });
}

bool Watch::is_dear(int pid) {
  const KnownProcesses::Counts* counts = known_.counts_of(pid);
  return counts != nullptr && counts->is_dear;
}

std::uint64_t Watch::walk(std::uint64_t memory_limit) {
  const Budget budget(budget_of_a_walk_ns, now_ns);
  const int before = walked_until_;
  std::uint64_t all = files_ + sockets_now_ + kernel_;
  walk_from(before + 1, last_process, memory_limit, budget, all);
  walk_from(0, before, memory_limit, budget, all);
  return all;
}

}  // namespace jail::child
