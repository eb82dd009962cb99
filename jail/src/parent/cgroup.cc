#include "jail/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <mutex>
#include <utility>
#include <vector>

namespace jail {
namespace {

constexpr std::string_view needed_controllers[] = {"memory", "pids", "cpu"};
constexpr const char* supervisor = "supervisor";
constexpr std::uint64_t cpu_period_us = 100'000;

Error failed(std::string doing, int error, std::string hint = {}) {
  const bool refused = error == EACCES || error == EPERM || error == EROFS;
  return {refused ? ErrorKind::refused : ErrorKind::kernel, std::move(doing), error,
          std::move(hint)};
}

Result<void> write_at(int directory, const std::string& name, const std::string& text) {
  const Fd file(::openat(directory, name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  const std::string doing = "write \"" + text + "\" to " + name + " of a cgroup";
  if (!file.valid()) return failed(doing, errno);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return failed(doing, errno);
  }
  return {};
}

std::string read_at(int directory, const char* name) {
  const Fd file(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t got;
  while (file.valid() && (got = ::read(file.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// The number behind `key` in a flat keyed file such as cpu.stat, 0 where it is not.
std::uint64_t keyed_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      std::uint64_t value = 0;
      std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
      return value;
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return 0;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == ',';
    const bool ends =
        end == text.size() || text[end] == ' ' || text[end] == '\n' || text[end] == ',';
    if (begins && ends) return true;
  }
  return false;
}

// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3') {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

}  // namespace

std::optional<std::string> own_cgroup_directory(std::string_view proc_self_cgroup,
                                                std::string_view proc_self_mountinfo) {
  // "0::/user.slice/..." is the v2 hierarchy, whatever v1 ones stand beside it.
  std::optional<std::string> place;
  while (!proc_self_cgroup.empty() && !place) {
    const std::string_view line = proc_self_cgroup.substr(0, proc_self_cgroup.find('\n'));
    if (line.starts_with("0::/")) place = std::string(line.substr(3));
    proc_self_cgroup.remove_prefix(std::min(line.size() + 1, proc_self_cgroup.size()));
  }
  if (!place || place->starts_with("/..") || place->ends_with(" (deleted)")) return std::nullopt;
  while (!proc_self_mountinfo.empty()) {
    const std::string_view line = proc_self_mountinfo.substr(0, proc_self_mountinfo.find('\n'));
    proc_self_mountinfo.remove_prefix(std::min(line.size() + 1, proc_self_mountinfo.size()));
    // ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS
    const std::vector<std::string_view> words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || dash == words.end() || dash + 1 == words.end() ||
        *(dash + 1) != "cgroup2") {
      continue;
    }
    const std::string root = unescaped(words[3]);
    const std::string mount_point = unescaped(words[4]);
    if (root == "/") return mount_point + (*place == "/" ? "" : *place);
    if (*place == root) return mount_point;
    if (place->starts_with(root + "/")) return mount_point + place->substr(root.size());
  }
  return std::nullopt;
}

// Leaves that still had a process when they were given up are removed when the next one is made.
struct CgroupLeaf::Tree {
  std::string path;
  Fd directory;
  std::atomic<std::uint64_t> made{0};
  std::mutex mutex;
  std::vector<std::string> abandoned;

  void remove_abandoned() {
    const std::lock_guard lock(mutex);
    std::erase_if(abandoned, [this](const std::string& name) {
      return ::unlinkat(directory.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
    });
  }
  ~Tree() { remove_abandoned(); }
};

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
  if (tree_ == nullptr) return;
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

LeafUsage CgroupLeaf::usage() const {
  LeafUsage usage;
  const std::string peak = read_at(directory_.get(), "memory.peak");
  std::from_chars(peak.data(), peak.data() + peak.size(), usage.memory_peak_bytes);
  const std::string cpu = read_at(directory_.get(), "cpu.stat");
  usage.cpu_user_us = keyed_value(cpu, "user_usec");
  usage.cpu_system_us = keyed_value(cpu, "system_usec");
  usage.out_of_memory = keyed_value(read_at(directory_.get(), "memory.events"), "oom_kill") > 0;
  return usage;
}

Result<CgroupTree> CgroupTree::adopt(const std::string& path) {
  auto tree = std::make_shared<CgroupLeaf::Tree>();
  tree->path = path;
  tree->directory = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int directory = tree->directory.get();
  if (directory < 0) return failed("open the cgroup " + path, errno);
  const std::string controllers = read_at(directory, "cgroup.controllers");
  for (const std::string_view controller : needed_controllers) {
    if (has_word(controllers, controller)) continue;
    return Error{
        ErrorKind::unsupported,
        "use the cgroup " + path + ": it has no " + std::string(controller) + " controller", 0,
        "delegate memory, pids and cpu to it (systemd: Delegate=yes)"};
  }
  // No cgroup but the root may have both processes of its own and controllers for its children.
  if (::mkdirat(directory, supervisor, 0755) != 0 && errno != EEXIST) {
    return failed("make a leaf in the cgroup " + path, errno);
  }
  if (auto moved = write_at(directory, std::string(supervisor) + "/cgroup.procs", "0"); !moved) {
    return moved.error();
  }
  for (const std::string_view controller : needed_controllers) {
    auto enabled = write_at(directory, "cgroup.subtree_control", "+" + std::string(controller));
    if (enabled) continue;
    Error error = enabled.error();
    if (error.sys_errno == EBUSY) {
      error.kind = ErrorKind::exhausted;
      error.hint = "other processes are in " + path + ": give the server a cgroup of its own";
    }
    return error;
  }
  return CgroupTree(std::move(tree));
}

const std::string& CgroupTree::path() const noexcept { return tree_->path; }

Result<CgroupLeaf> CgroupTree::make_leaf(const LeafLimits& limits) const {
  tree_->remove_abandoned();
  const int directory = tree_->directory.get();
  std::string name = "jail-" + std::to_string(::getpid()) + "-" + std::to_string(++tree_->made);
  if (::mkdirat(directory, name.c_str(), 0755) != 0) return failed("make a cgroup", errno);
  Fd leaf_directory(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CgroupLeaf leaf(tree_, std::move(name), std::move(leaf_directory));
  if (leaf.directory() < 0) return failed("open a cgroup", errno);
  const std::pair<const char*, std::string> settings[] = {
      {"memory.max", std::to_string(limits.memory_bytes)},
      {"memory.oom.group", "1"},
      {"pids.max", std::to_string(limits.processes)},
      {"cpu.max", std::to_string(cpu_period_us * limits.cpu_percent / 100) + " " +
                      std::to_string(cpu_period_us)},
      {"memory.swap.max", "0"},
  };
  for (const auto& [file, text] : settings) {
    auto written = write_at(leaf.directory(), file, text);
    // A kernel without swap accounting has no such file, and with no swap nothing to limit.
    const bool no_swap = std::string_view(file) == "memory.swap.max" && !written &&
                         written.error().sys_errno == ENOENT;
    if (!written && !no_swap) return written.error();
  }
  return leaf;
}

}  // namespace jail
