#include "runtime/living/sandbox_usage.h"

#include <dirent.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/living/process_files.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;

// A guest chooses the number of its processes and threads.
constexpr std::size_t max_tasks = 1024;

Error has_ended() { return {ErrorKind::closed, "the sandbox has ended", 0, {}}; }

SandboxUsage::Disk disk_of_directory(const Fd& directory) {
  struct statfs status {};
  if (!directory.valid() || ::fstatfs(directory.get(), &status) != 0) return {};
  const auto block = static_cast<std::uint64_t>(status.f_bsize);
  return {.used_bytes = (status.f_blocks - status.f_bfree) * block,
          .size_bytes = status.f_blocks * block,
          .files = status.f_files - status.f_ffree,
          .max_files = status.f_files};
}

SandboxUsage::Disk workspace_of(const UsageTarget& target) {
  return target.on_disk ? *target.on_disk : disk_of_directory(target.workspace);
}

// Returns 1 for a full disk.
double fullness_of(const SandboxUsage::Disk& disk) {
  const auto share = [](std::uint64_t used, std::uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(used) / static_cast<double>(all);
  };
  return std::max(share(disk.used_bytes, disk.size_bytes), share(disk.files, disk.max_files));
}

// Reads the usage that the kernel reports in the files of a cgroup.
bool read_cgroup(const std::string& process, SandboxUsage& usage) {
  const auto directory = cgroup_directory(process);
  if (!directory) return false;
  const auto number = [&](const char* name) -> std::optional<std::uint64_t> {
    const auto text = text_of(*directory + "/" + name);
    return text ? number_in(*text) : std::nullopt;
  };
  const auto memory = number("memory.current");
  const auto tasks = number("pids.current");
  const auto cpu = text_of(*directory + "/cpu.stat");
  const auto used = cpu ? number_after(*cpu, "usage_usec") : std::nullopt;
  if (!memory || !tasks || !used) return false;
  usage.memory_bytes = *memory;
  usage.memory_peak_bytes = number("memory.peak").value_or(0);  // exists since Linux 5.19
  if (const auto stat = text_of(*directory + "/memory.stat")) {
    const std::uint64_t files = number_after(*stat, "file ").value_or(0);
    const std::uint64_t of_tmpfs = number_after(*stat, "shmem ").value_or(0);
    usage.reclaimable_bytes = files - std::min(files, of_tmpfs);
  }
  usage.cpu = std::chrono::microseconds(*used);
  usage.tasks = static_cast<std::uint32_t>(*tasks);
  return true;
}

std::vector<std::string> threads_of(const std::string& process) {
  std::vector<std::string> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir((process + "/task").c_str()),
                                                      ::closedir);
  if (directory == nullptr) return threads;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') threads.emplace_back(entry->d_name);
  }
  return threads;
}

// Walks the processes of a jail by way of the threads that made them.
class ProcessWalk {
 public:
  explicit ProcessWalk(std::string first) { left_.push_back(std::move(first)); }

  void run(SandboxUsage& usage) {
    while (!left_.empty()) {
      const std::string process = std::move(left_.back());
      left_.pop_back();
      count(process, usage);
    }
    usage.tasks = static_cast<std::uint32_t>(tasks_);
    usage.is_complete = is_complete_ && tasks_ > 0;
  }

 private:
  void count(const std::string& process, SandboxUsage& usage) {
    add_memory(process, usage);
    add_time(process, usage);
    for (const std::string& thread : threads_of(process)) {
      if (tasks_ >= max_tasks) {
        is_complete_ = false;
        return;
      }
      ++tasks_;
      queue_children(process + "/task/" + thread + "/children");
    }
  }

  static void add_memory(const std::string& process, SandboxUsage& usage) {
    const auto sizes = text_of(process + "/statm");
    if (!sizes) return;
    const std::uint64_t resident = number_in(word_of(*sizes, 1)).value_or(0);
    const std::uint64_t of_files = number_in(word_of(*sizes, 2)).value_or(0);
    usage.memory_bytes += (resident - std::min(resident, of_files)) *
                          static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }

  // Adds its time, and that of the children that it has waited for.
  static void add_time(const std::string& process, SandboxUsage& usage) {
    const auto status = text_of(process + "/stat");
    if (!status) return;
    // Its name, which may contain anything, is in brackets before the rest.
    const std::size_t name_end = status->rfind(") ");
    if (name_end == status->npos) return;
    const std::string_view rest = std::string_view(*status).substr(name_end + 2);
    std::uint64_t ticks = 0;
    for (std::size_t word = 11; word < 15; ++word) {
      ticks += number_in(word_of(rest, word)).value_or(0);
    }
    const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    usage.cpu += std::chrono::microseconds(ticks * 1'000'000 / per_second);
  }

  void queue_children(const std::string& path) {
    const auto numbers = text_of(path);
    // The first process lives, so this kernel does not list children.
    if (!numbers && tasks_ == 1) is_complete_ = false;
    std::string_view left = numbers ? std::string_view(*numbers) : std::string_view();
    while (!left.empty()) {
      const std::string_view number = left.substr(0, left.find(' '));
      left.remove_prefix(std::min(number.size() + 1, left.size()));
      if (!number_in(number)) continue;
      left_.push_back("/proc/" + std::string(number));
    }
  }

  std::vector<std::string> left_;
  std::size_t tasks_ = 0;
  bool is_complete_ = true;
};

}  // namespace

SandboxUsage::Disk fuller_disk(const UsageTarget& target) {
  const SandboxUsage::Disk workspace = workspace_of(target);
  const SandboxUsage::Disk tmp = disk_of_directory(target.tmp);
  return fullness_of(tmp) > fullness_of(workspace) ? tmp : workspace;
}

Result<SandboxUsage> usage_of(const UsageTarget& target) {
  const auto process = process_directory(target.init);
  if (!process) return has_ended();
  SandboxUsage usage;
  // The time is rounded as it will be shown, so that a client can ask by the shown value.
  usage.at = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  usage.source = target.source;
  usage.workspace = workspace_of(target);
  usage.tmp = disk_of_directory(target.tmp);
  const bool is_counted =
      usage.source == SandboxUsage::Source::cgroup && read_cgroup(*process, usage);
  if (!is_counted) {
    usage.source = SandboxUsage::Source::processes;
    usage.memory_bytes = usage.tmp.used_bytes;
    if (!target.on_disk) usage.memory_bytes += usage.workspace.used_bytes;
    ProcessWalk(*process).run(usage);
  }
  // The figures may be another process's.
  if (!lives(target.init)) return has_ended();
  return usage;
}

}  // namespace runtime
