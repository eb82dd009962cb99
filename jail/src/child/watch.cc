#include "child/watch.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child/arithmetic.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {

// A file about a process, and what it calls two sizes of its memory.
struct SizeFile {
  const char* name;
  const char* anonymous;
  const char* other;
};

namespace {

// USER_HZ is 100 on every architecture that this builds for.
constexpr std::uint64_t ns_per_tick = 10'000'000;

// What the kernel keeps for a guest, in bytes, rounded up from the sizes of Linux 6.1 to 6.18.
// A process: its upper page tables and what else it has once. A thread: its kernel stack of 16 KiB
// and its task_struct.
constexpr std::uint64_t bytes_of_a_process = 32u << 10;
constexpr std::uint64_t bytes_of_a_thread = 32u << 10;
// A mapping: vm_area_struct, its lock and its share of a tree's node; and for each process that it
// was inherited through, twice, what leads from a page to its mappings (anon_vma_chain).
constexpr std::uint64_t bytes_of_a_mapping = 320;
constexpr std::uint64_t bytes_of_an_inheritance = 128;
// A page table of the lowest level maps 512 pages of as many bytes as it has itself.
constexpr std::uint64_t mapped_bytes_of_a_table_byte = 512;
// A place for a descriptor, beyond those that every process has: half of a pipe of two pages.
constexpr std::uint64_t bytes_of_a_descriptor = 4u << 10;
constexpr std::uint64_t free_places = 64;
constexpr std::uint64_t most_of_a_kernel = 1u << 30;
// Shared memory of this part of the limit is worth a look whether it is still mapped.
constexpr std::uint64_t worth_a_look = 16;
// An epoll instance may watch every descriptor of its process.
constexpr std::uint64_t bytes_of_a_watch = 224;

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

std::uint64_t bytes_of_descriptors(std::uint64_t places, std::uint64_t epolls) {
  return beyond(places, free_places) * bytes_of_a_descriptor + places * epolls * bytes_of_a_watch;
}

std::uint64_t bytes_of_mappings(std::uint64_t mappings, std::uint64_t generations) {
  return mappings * (bytes_of_a_mapping + generations * bytes_of_an_inheritance);
}

}  // namespace

struct Watch::Process {
  int pid;
  int thread;  // one that has not ended

  Number name() const { return Number(static_cast<std::uint64_t>(thread)); }
};

// What the first look at all processes finds.
struct Watch::Scan {
  std::uint64_t ticks = 0;
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  std::uint64_t resident = 0;  // bytes, like the next
  std::uint64_t mapped = 0;
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

bool Watch::is_alone(int pid, std::uint64_t& memory_peak) const {
  const Number name(static_cast<std::uint64_t>(pid));
  Text text;
  std::uint64_t threads = 0;
  if (!read_text(proc_, joined({name.text, "/status"}).text, text) ||
      !find_number(text.bytes, "Threads:", threads) || threads != 1 ||
      !find_size(text.bytes, "VmHWM:", memory_peak)) {
    return false;
  }
  ProcessStat stat;
  if (!read_stat(proc_, name.text, stat) || stat.faults_of_children != 0) return false;
  // Every other process descends from init or from this one. The file lists the children of its
  // only thread.
  const Path children = joined({name.text, "/task/", name.text, "/children"});
  if (!read_text(proc_, children.text, text) || text.bytes[0] != '\0') return false;
  if (!read_text(proc_, "1/task/1/children", text)) return false;
  const char* p = text.bytes;
  return parse_number(p) == static_cast<std::uint64_t>(pid) && *skip_spaces(p) == '\0';
}

// visit(process, stat). A first thread that left by exit(2) shows no memory, although the others
// still have it.
template <class Visit>
void Watch::each_process(Visit visit) const {
  NumberedEntries processes(proc_);
  const char* name = nullptr;
  std::uint64_t pid = 0;
  while (processes.next(name, pid)) {
    ProcessStat stat;
    if (pid <= 1 || !read_stat(proc_, name, stat)) continue;
    Process process{static_cast<int>(pid), static_cast<int>(pid)};
    if (stat.has_ended() && stat.threads > 1) find_memory(process, stat);
    visit(process, stat);
  }
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

std::uint64_t Watch::tmpfs_bytes() const {
  std::uint64_t bytes = 0;
  const int directories[] = {workspace_, tmp_};
  for (const int directory : directories) {
    struct statfs usage {};
    if (raw::call(SYS_fstatfs, directory, raw::address(&usage)) == 0) {
      bytes += static_cast<std::uint64_t>(usage.f_blocks - usage.f_bfree) *
               static_cast<std::uint64_t>(usage.f_bsize);
    }
  }
  return bytes;
}

std::uint64_t Watch::count_mappings(std::uint64_t most) const {
  std::uint64_t mappings = 0;
  each_process([&](const Process& process, const ProcessStat& stat) {
    if (mappings >= most || stat.has_ended()) return;
    Mappings own;
    const bool is_read = read_mappings(proc_, process.name().text, most, own);
    mappings += is_read ? own.count : stat.mapped_bytes / page_bytes_;
  });
  return mappings;
}

// Only where nothing of the jail can run meanwhile: the thread that asks is its only one.
bool Watch::is_only_thread(int thread) const {
  ProcessStat own;
  if (!read_stat(proc_, Number(static_cast<std::uint64_t>(thread)).text, own) || own.threads != 1) {
    return false;
  }
  NumberedEntries processes(proc_);
  const char* name = nullptr;
  std::uint64_t pid = 0;
  while (processes.next(name, pid)) {
    ProcessStat stat;
    if (pid <= 1 || pid == static_cast<std::uint64_t>(thread)) continue;
    if (read_stat(proc_, name, stat) && !(stat.has_ended() && stat.threads <= 1)) return false;
  }
  return true;
}

// Twice, since a fork with a smaller number than its parent, made while the first look passed, is
// met by the second one.
void Watch::forget_shared_that_is_gone(int thread_that_asks) {
  if (!is_only_thread(thread_that_asks) || !is_only_thread(thread_that_asks)) return;
  Mappings own;
  const Number name(static_cast<std::uint64_t>(thread_that_asks));
  if (!read_mappings(proc_, name.text, ~std::uint64_t{0}, own)) return;
  // Each is a part of what was mapped at once, however little of it is mapped still.
  shared_ = smaller(shared_, own.shared_anonymous * largest_shared_);
  if (shared_ == 0) largest_shared_ = 0;
}

bool Watch::count_shared(std::uint64_t bytes, int thread, std::uint64_t memory_limit) {
  const std::uint64_t whole_pages = (bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  if (whole_pages < bytes) return false;
  // A part of the limit is enough to look whether it is still there, so that a program with other
  // memory is not ended for what is gone.
  if (shared_ > 0 && whole_pages > beyond(memory_limit / worth_a_look, shared_)) {
    forget_shared_that_is_gone(thread);
  }
  if (whole_pages > beyond(memory_limit, shared_)) return false;
  shared_ += whole_pages;
  largest_shared_ = larger(largest_shared_, whole_pages);
  return true;
}

WatchedMemory Watch::without_files(const SizeFile& file) const {
  Sizes all;
  std::uint64_t largest = 0;
  each_process([&](const Process& process, const ProcessStat& stat) {
    // A vfork child runs in its parent's memory until it executes: that is no second copy.
    if (stat.parent > 1 && raw::call(SYS_kcmp, process.thread, stat.parent, KCMP_VM, 0, 0) == 0) {
      return;
    }
    Sizes own;
    const bool is_read = read_sizes(proc_, process.name().text, file, own);
    if (is_read) largest = larger(largest, own.anonymous);
    // It has just ended, or made itself unreadable and gets no discount, or its sizes stand behind
    // so many groups that they are not found.
    ProcessStat again;
    if (!is_read && read_stat(proc_, process.name().text, again)) {
      own = {again.resident_pages * page_bytes_, 0};
    }
    all.anonymous += own.anonymous;
    all.other += own.other;
  });
  // Mapped files of the tmpfs are in both figures, so the larger one stands for both.
  const std::uint64_t pages = all.anonymous + larger(all.other, files_);
  return {files_ + kernel_ + beyond(largest, inherited_), pages + kernel_, pages};
}

void Watch::note_inherited() {
  each_process([&](const Process& process, const ProcessStat& stat) {
    if (stat.has_ended()) return;
    Sizes own;
    const bool is_read = read_sizes(proc_, process.name().text, inheritable, own);
    inherited_ = is_read ? larger(inherited_, own.anonymous + own.other) : ~std::uint64_t{0};
  });
}

void Watch::note_open_files(int pid) {
  std::uint64_t limits[2] = {};
  if (raw::call(SYS_prlimit64, pid, RLIMIT_NOFILE, 0, raw::address(limits)) != 0) return;
  while (most_places_ < limits[0] && most_places_ < most_of_a_kernel) most_places_ *= 2;
}

Watch::Scan Watch::scan(std::uint64_t reaped_ns) {
  Scan all;
  known_.begin();
  each_process([&](const Process& process, const ProcessStat& stat) {
    known_.see(process.pid, stat);
    all.ticks += stat.own_ticks + stat.children_ticks;
    ++all.processes;
    all.threads += stat.threads;
    all.resident += stat.resident_pages * page_bytes_;
    all.mapped += stat.mapped_bytes;
  });
  known_.end(reaped_ns / ns_per_tick);
  all.ticks += known_.lost_ticks();
  return all;
}

// Page tables and places for descriptors, of all processes.
std::uint64_t Watch::bytes_in_status() const {
  std::uint64_t bytes = 0;
  each_process([&](const Process& process, const ProcessStat& stat) {
    if (stat.has_ended()) return;
    Text text;
    // Where so many groups stand before them that they are not found.
    std::uint64_t tables = stat.mapped_bytes / mapped_bytes_of_a_table_byte;
    std::uint64_t places = most_places_;
    if (read_text(proc_, joined({process.name().text, "/status"}).text, text)) {
      find_size(text.bytes, "VmPTE:", tables);
      find_number(text.bytes, "FDSize:", places);
    }
    std::uint64_t epolls = places / 2;
    count_epolls(proc_, process.name().text, epolls);
    bytes += tables + bytes_of_descriptors(places, epolls);
  });
  return bytes;
}

std::uint64_t Watch::processor_time(std::uint64_t reaped_ns) {
  return scan(reaped_ns).ticks * ns_per_tick;
}

WatchedUsage Watch::measure(std::uint64_t memory_limit, std::uint64_t reaped_ns) {
  const Scan all = scan(reaped_ns);
  WatchedUsage usage;
  usage.cpu_ns = all.ticks * ns_per_tick;
  files_ = tmpfs_bytes() + shared_;
  usage.memory.pages = all.resident + files_;
  // A cgroup counts what follows by itself.
  if (memory_limit == no_memory_limit) return usage;
  const std::uint64_t fixed = all.processes * bytes_of_a_process + all.threads * bytes_of_a_thread +
                              sockets_.measure(proc_);
  const std::uint64_t mappings = bytes_of_mappings(all.mapped / page_bytes_, known_.generations());
  kernel_ = fixed + mappings + all.mapped / mapped_bytes_of_a_table_byte +
            all.processes * bytes_of_descriptors(most_places_, most_places_ / 2);
  usage.memory.most = usage.memory.pages + kernel_;
  if (usage.memory.most <= memory_limit) return usage;
  const std::uint64_t without_mappings = fixed + bytes_in_status();
  kernel_ = without_mappings + mappings;
  usage.memory = without_files(whole);
  if (usage.memory.most <= memory_limit) return usage;
  // Most programs have far fewer mappings than their address space has pages.
  const std::uint64_t enough = memory_limit / bytes_of_mappings(1, known_.generations()) + 1;
  const std::uint64_t counted = bytes_of_mappings(count_mappings(enough), known_.generations());
  kernel_ = without_mappings + smaller(counted, mappings);
  usage.memory.least -= beyond(mappings, counted);
  usage.memory.most -= beyond(mappings, counted);
  return usage;
}

std::uint64_t Watch::walk() const { return without_files(proportional).most; }

}  // namespace jail::child
