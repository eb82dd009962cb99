#include "jail/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

#include "parent/cgroup_files.h"
#include "parent/cgroup_state.h"

namespace jail {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t cpu_period_us = 100'000;
constexpr std::uint64_t min_cpu_quota_us = 1'000;  // the kernel refuses less
constexpr milliseconds last_wait{1000};

// A name may be taken by a leaf of a process that had this one's number and was killed.
Result<std::string> make_directory(int tree, std::atomic<std::uint64_t>& made) {
  for (;;) {
    std::string name =
        std::string(leaf_prefix) + std::to_string(::getpid()) + "-" + std::to_string(++made);
    if (::mkdirat(tree, name.c_str(), 0755) == 0) return name;
    if (errno == EEXIST) continue;
    Error error = cgroup_error("make a cgroup", errno);
    if (error.sys_errno == EAGAIN) error.kind = ErrorKind::exhausted;  // cgroup.max.descendants
    return error;
  }
}

std::string cpu_quota(std::uint32_t percent_of_a_core) {
  const std::uint64_t quota = std::max(min_cpu_quota_us, cpu_period_us * percent_of_a_core / 100);
  return std::to_string(quota) + " " + std::to_string(cpu_period_us);
}

}  // namespace

std::size_t CgroupLeaf::Tree::remove_abandoned() {
  const std::lock_guard lock(mutex);
  std::erase_if(abandoned, [this](const std::string& name) {
    return ::unlinkat(directory.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  });
  return abandoned.size();
}

CgroupLeaf::Tree::~Tree() {
  if (owner != ::getpid()) return;
  const auto deadline = std::chrono::steady_clock::now() + last_wait;
  while (remove_abandoned() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

CgroupLeaf::CgroupLeaf(std::shared_ptr<Tree> tree, std::string name, Fd directory) noexcept
    : tree_(std::move(tree)), name_(std::move(name)), directory_(std::move(directory)) {}

CgroupLeaf& CgroupLeaf::operator=(CgroupLeaf&& other) noexcept {
  abandon();
  tree_ = std::move(other.tree_);
  name_ = std::move(other.name_);
  directory_ = std::move(other.directory_);
  return *this;
}

CgroupLeaf::~CgroupLeaf() { abandon(); }

void CgroupLeaf::abandon() noexcept {
  if (tree_ == nullptr || tree_->owner != ::getpid()) return;
  kill();
  {
    const std::lock_guard lock(tree_->mutex);
    tree_->abandoned.push_back(std::move(name_));
  }
  tree_->remove_abandoned();
  tree_.reset();
}

void CgroupLeaf::kill() const noexcept {
  const Fd file(::openat(directory_.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
  if (file.valid() && ::write(file.get(), "1", 1) != 1) return;  // its processes end with init
}

Result<void> CgroupLeaf::set_memory_limit(std::uint64_t bytes) const {
  return write_cgroup_file(directory_.get(), "memory.max", std::to_string(bytes));
}

Result<void> CgroupLeaf::set_process_limit(std::uint32_t processes) const {
  return write_cgroup_file(directory_.get(), "pids.max", std::to_string(processes));
}

Result<void> CgroupLeaf::set_processor_limit(std::uint32_t percent_of_a_core) const {
  return write_cgroup_file(directory_.get(), "cpu.max", cpu_quota(percent_of_a_core));
}

LeafUsage CgroupLeaf::usage() const {
  LeafUsage usage;
  const std::string peak = read_cgroup_file(directory_.get(), "memory.peak");
  std::from_chars(peak.data(), peak.data() + peak.size(), usage.memory_peak_bytes);
  const std::string cpu = read_cgroup_file(directory_.get(), "cpu.stat");
  usage.cpu_user_us = keyed_value(cpu, "user_usec");
  usage.cpu_system_us = keyed_value(cpu, "system_usec");
  const std::string events = read_cgroup_file(directory_.get(), "memory.events");
  usage.out_of_memory = keyed_value(events, "oom_kill") > 0;
  return usage;
}

const std::string& CgroupTree::path() const noexcept { return tree_->path; }

std::size_t CgroupTree::remove_ended() const { return tree_->remove_abandoned(); }

Result<CgroupLeaf> CgroupTree::make_leaf(const LeafLimits& limits) const {
  tree_->remove_abandoned();
  const int directory = tree_->directory.get();
  auto name = make_directory(directory, tree_->made);
  if (!name) return name.error();
  Fd leaf_directory(::openat(directory, name->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CgroupLeaf leaf(tree_, std::move(*name), std::move(leaf_directory));
  if (leaf.directory() < 0) return cgroup_error("open a cgroup", errno);
  const std::pair<const char*, std::string> settings[] = {
      {"memory.max", std::to_string(limits.memory_bytes)},
      {"memory.oom.group", "1"},
      {"pids.max", std::to_string(limits.processes)},
      {"cpu.max", cpu_quota(limits.cpu_percent)},
      {"memory.swap.max", "0"},
  };
  for (const auto& [file, text] : settings) {
    auto written = write_cgroup_file(leaf.directory(), file, text);
    // A kernel without swap accounting has no such file, and with no swap nothing to limit.
    const bool no_swap = std::string_view(file) == "memory.swap.max" && !written &&
                         written.error().sys_errno == ENOENT;
    if (!written && !no_swap) return written.error();
  }
  return leaf;
}

}  // namespace jail
