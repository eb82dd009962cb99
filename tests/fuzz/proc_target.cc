// Init's reading of /proc about the processes of a jail, which choose parts of it: the names of
// processes and mappings, their number, and their usage. The files are written as the kernel writes
// them. What is read must be what was written, whatever a name looks like; sums must lie within
// what their parts allow.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "child/proc_files.h"
#include "child/watch.h"
#include "jail/fd.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

using jail::child::Mappings;
using jail::child::Number;
using jail::child::ProcessStat;
using jail::child::Text;
using jail::child::Watch;

// Beyond the largest number of a process of the host, since some processes are looked up by number.
constexpr std::uint64_t first_pid = 5'000'000;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t mappings_bound = 65'530;

jail::wire::PlanHeader watched_plan() {
  jail::wire::PlanHeader plan{};
  plan.page_bytes = page_bytes;
  plan.max_mappings = mappings_bound;
  return plan;
}
constexpr std::uint64_t ns_per_tick = 10'000'000;
constexpr std::size_t max_lines = 40;
constexpr std::size_t longest_name = 15;
// The bound keeps every sum over an input within 64 bits.
constexpr std::uint64_t largest_number = std::uint64_t{1} << 32;

struct Mapping {
  bool is_shared = false;
  std::string name;
};

struct Process {
  std::string name;
  char state = 'S';
  std::uint64_t parent = 1;
  std::uint64_t own_ticks = 0;
  std::uint64_t children_ticks = 0;
  std::uint64_t threads = 1;
  std::uint64_t mapped_pages = 0;
  std::uint64_t resident_pages = 0;
  std::vector<Mapping> mappings;
  bool is_as_written = true;  // no file of it was replaced by other bytes
};

// The numbers and the text of which a line is made.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  std::uint64_t number() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return error == std::errc() ? value % largest_number : 0;
  }
  // Returns the rest, with `|` standing for a line's end.
  std::string text(std::size_t most) {
    if (rest_.starts_with(' ')) rest_.remove_prefix(1);
    std::string text(rest_.substr(0, most));
    text.resize(std::min(text.find('\0'), text.size()));
    for (char& c : text) c = c == '|' ? '\n' : c;
    return text;
  }

 private:
  std::string_view rest_;
};

// Escapes a name among others as the kernel does: seq_path(), string_escape_str().
std::string escaped(std::string_view name, std::string_view line_end) {
  std::string text;
  for (const char c : name) {
    if (c == '\n') {
      text += line_end;
    } else if (c == '\\') {
      text += "\\\\";
    } else {
      text += c;
    }
  }
  return text;
}

std::string stat_of(std::uint64_t pid, const Process& process) {
  std::string name = '(' + process.name + ')';
  if (is_planted()) {
    // The planted fault takes the first closing bracket for the end of the name.
    const std::size_t first = name.find(')');
    std::string rest = name.substr(first + 1);
    if (!rest.empty()) rest.pop_back();
    name = name.substr(0, first + 1) + rest;
  }
  const auto number = [](std::uint64_t value) { return std::to_string(value) + ' '; };
  return number(pid) + name + ' ' + process.state + ' ' + number(process.parent) +
         "1 1 0 -1 4194304 20 7 0 0 " + number(process.own_ticks / 2) +
         number(process.own_ticks - process.own_ticks / 2) + number(process.children_ticks) +
         "0 20 -5 " + number(process.threads) + "0 12345 " +
         number(process.mapped_pages * page_bytes) + number(process.resident_pages) + "0 1 2 3\n";
}

std::string status_of(std::uint64_t pid, const Process& process) {
  return "Name:\t" + escaped(process.name, "\\n") + "\nUmask:\t0022\nState:\t" + process.state +
         " (sleeping)\nTgid:\t" + std::to_string(pid) +
         "\nFDSize:\t64\nGroups:\t0 \nVmPTE:\t      40 kB\n" + "VmHWM:\t     100 kB\nRssAnon:\t  " +
         std::to_string(process.resident_pages) + " kB\nRssShmem:\t 3 kB\nThreads:\t" +
         std::to_string(process.threads) + '\n';
}

std::string maps_of(const Process& process) {
  std::string text;
  for (const Mapping& mapping : process.mappings) {
    text += "7f0000000000-7f0000001000 rw-";
    text += mapping.is_shared ? 's' : 'p';
    text += " 00000000 00:01 1025";
    text += mapping.name.empty() ? "" : "                       " + escaped(mapping.name, "\\012");
    text += '\n';
  }
  return text;
}

class ProcDirectory {
 public:
  ProcDirectory() {
    const char* below = std::getenv("TMPDIR");
    path_ = std::string(below ? below : "/tmp") + "/proc." + std::to_string(::getpid());
    const bool made = ::mkdir(path_.c_str(), 0700) == 0;
    directory_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    require(made && directory_.valid(), "there is no room for a tree");
  }
  ProcDirectory(const ProcDirectory&) = delete;
  ProcDirectory& operator=(const ProcDirectory&) = delete;
  ~ProcDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  int get() const { return directory_.get(); }

  void write(std::uint64_t pid, const char* name, std::string_view content) const {
    const std::string folder = path_ + '/' + std::to_string(pid);
    ::mkdir(folder.c_str(), 0700);
    ::mkdir((folder + "/fd").c_str(), 0700);
    const jail::Fd file(::open((folder + '/' + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    require(
        ::write(file.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()),
        "there is no room for a file");
  }
  void write(std::uint64_t pid, const Process& process) const {
    write(pid, "stat", stat_of(pid, process));
    write(pid, "status", status_of(pid, process));
    write(pid, "maps", maps_of(process));
  }
  void remove(std::uint64_t pid) const {
    std::error_code error;
    std::filesystem::remove_all(path_ + '/' + std::to_string(pid), error);
  }

 private:
  std::string path_;
  jail::Fd directory_;
};

class Jail {
 public:
  void take(std::string_view text) {
    if (text.size() < 2) return;
    Line line(text.substr(1));
    const char what = text[0];
    if (what == 'l') {
      if (shared_ == 0) limit_ = line.number();
      return;
    }
    if (what == '.') {
      look(line.number());
      return;
    }
    const std::uint64_t pid = first_pid + line.number() % 16;
    if (what == 'p') {
      born(pid, line);
    } else if (what == 'g') {
      processes_.erase(pid);
      proc_.remove(pid);
    } else if (processes_.contains(pid)) {
      change(what, pid, line);
    }
  }

  void look(std::uint64_t reaped_ticks) {
    for (const auto& [pid, process] : processes_) {
      if (process.is_as_written) check_files(pid, process);
      read_whatever_it_is(pid);
    }
    check_sums(reaped_ticks);
  }

 private:
  void born(std::uint64_t pid, Line& line) {
    Process process;
    const std::uint64_t parent = line.number() % 17;
    process.parent = parent == 16 ? 1 : first_pid + parent;
    process.own_ticks = line.number();
    process.children_ticks = line.number();
    process.threads = 1 + line.number() % 100;
    process.mapped_pages = line.number();
    process.resident_pages = line.number();
    process.state = "SRDZX"[line.number() % 5];
    process.name = line.text(longest_name);
    proc_.write(pid, process);
    processes_[pid] = std::move(process);
  }

  void change(char what, std::uint64_t pid, Line& line) {
    Process& process = processes_[pid];
    if (what == 'm') {
      Mapping mapping{line.number() % 2 == 1, line.text(200)};
      process.mappings.push_back(std::move(mapping));
      if (process.is_as_written) proc_.write(pid, process);
    } else if (what == 'r') {
      constexpr const char* files[] = {"stat", "status", "maps"};
      process.is_as_written = false;
      const char* file = files[line.number() % 3];
      proc_.write(pid, file, line.text(8192));
    } else if (what == 's') {
      share(pid, line.number());
    }
  }

  void share(std::uint64_t pid, std::uint64_t bytes) {
    const bool is_counted = watch_.count_shared(account_, bytes, static_cast<int>(pid), limit_);
    if (is_counted) shared_ += (bytes + page_bytes - 1) / page_bytes * page_bytes;
    require(!is_counted || bytes <= limit_, "more is shared than the limit");
  }

  void check_files(std::uint64_t pid, const Process& process) const {
    const Number name(pid);
    ProcessStat stat;
    require(jail::child::read_stat(proc_.get(), name.text, stat), "a process that is not there");
    require(stat.state == process.state && stat.parent == static_cast<int>(process.parent),
            "another state or parent");
    require(stat.own_ticks == process.own_ticks && stat.children_ticks == process.children_ticks,
            "another processor time");
    require(stat.faults_of_children == 7 && stat.threads == process.threads &&
                stat.mapped_bytes == process.mapped_pages * page_bytes &&
                stat.resident_pages == process.resident_pages,
            "other figures");
    Text text;
    std::uint64_t bytes = 0;
    const std::string file = std::string(name.text) + "/status";
    require(jail::child::read_text(proc_.get(), file.c_str(), text) &&
                jail::child::find_size(text.bytes, "RssAnon:", bytes) &&
                bytes == process.resident_pages * 1024,
            "another size");
    jail::child::Descriptors open{.epolls = 1, .proc_files = 1, .in_flight = 1};
    require(jail::child::read_descriptors(proc_.get(), name.text, {.watches = true, .pipes = true},
                                          ample_, open) &&
                open.epolls + open.proc_files + open.in_flight == 0,
            "a descriptor that is not there");
    std::uint64_t shared = 0;
    for (const Mapping& mapping : process.mappings) {
      // The kernel pads with blanks, so blanks at the start are not part of the name.
      const std::size_t start = std::min(mapping.name.find_first_not_of(' '), mapping.name.size());
      const std::string_view from = std::string_view(mapping.name).substr(start);
      const bool is_anonymous =
          from.starts_with("/dev/zero (deleted)") || from.starts_with("[anon_shmem:");
      shared += mapping.is_shared && is_anonymous ? 1 : 0;
    }
    Mappings found;
    require(jail::child::read_mappings(proc_.get(), name.text, ~std::uint64_t{0}, ample_, found) &&
                found.count == process.mappings.size() && found.shared_anonymous == shared,
            "other mappings");
    require(watch_.is_thread_of(static_cast<int>(pid), static_cast<int>(pid)),
            "a process that is no thread of itself");
  }

  void read_whatever_it_is(std::uint64_t pid) const {
    watch_.is_small(static_cast<int>(pid));
    watch_.is_thread_of(static_cast<int>(pid), static_cast<int>(first_pid));
    Mappings found;
    jail::child::read_mappings(proc_.get(), Number(pid).text, 3, ample_, found);
  }

  void check_sums(std::uint64_t reaped_ticks) {
    reaped_ticks_ = std::max(reaped_ticks_, reaped_ticks);
    bool are_as_written = true;
    std::uint64_t ticks = 0;
    std::uint64_t resident = 0;
    std::uint64_t gone = 0;
    std::map<std::uint64_t, std::uint64_t> seen;
    for (const auto& [pid, process] : processes_) {
      are_as_written = are_as_written && process.is_as_written;
      seen[pid] = process.own_ticks + process.children_ticks;
      ticks += seen[pid];
      resident += process.resident_pages * page_bytes;
    }
    for (const auto& [pid, last] : seen_) gone += seen.contains(pid) ? 0 : last;
    seen_ = std::move(seen);
    gone_ += gone;
    const auto usage = watch_.measure(limit_, reaped_ticks_ * ns_per_tick);
    was_raw_ = was_raw_ || !are_as_written;
    if (was_raw_) return;
    const std::uint64_t counted = usage.cpu_ns / ns_per_tick;
    require(counted >= ticks, "less processor time than is there to be seen");
    require(counted <= ticks + gone_, "more processor time than was ever seen");
    require(counted - ticks >= lost_, "processor time that was lost has come back");
    lost_ = counted - ticks;
    require(usage.memory.least <= usage.memory.most, "the least is more than the most");
    const auto glance = watch_.glance(limit_, reaped_ticks_ * ns_per_tick);
    require(glance.memory.least <= usage.memory.most, "more at a glance than there can be");
    require(watch_.walk(limit_) <= usage.memory.most, "a walk finds more than there can be");
    require(usage.memory.most <= limit_ || usage.memory.pages <= usage.memory.most,
            "more memory than there can be");
    require(usage.memory.most > limit_ || usage.memory.most >= usage.memory.pages,
            "less memory than there is");
    require(usage.memory.pages <= resident + limit_ + processes_.size() * 4096,
            "memory that nobody has");
  }

  ProcDirectory proc_;
  const jail::child::Budget ample_{60'000 * jail::child::ns_per_ms};
  const jail::wire::PlanHeader plan_ = watched_plan();
  Watch watch_{proc_.get(), -1, -1, plan_};
  std::map<std::uint64_t, Process> processes_;
  std::map<std::uint64_t, std::uint64_t> seen_;
  std::uint64_t limit_ = 64 << 20;
  jail::child::SharedMemory account_;
  std::uint64_t shared_ = 0;
  std::uint64_t reaped_ticks_ = 0;
  std::uint64_t gone_ = 0;
  std::uint64_t lost_ = 0;
  bool was_raw_ = false;
};

void check(std::string_view text) {
  Jail jail;
  for (std::size_t count = 0; count < max_lines && !text.empty(); ++count) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    jail.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  jail.look(0);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::Descriptors descriptors;
  fuzz::check(fuzz::text_of(bytes, size));
  descriptors.require_as_before();
  return 0;
}
