#include "runtime/living/memory_return.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "jail/fd.h"
#include "runtime/living/process_files.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;

// The reclaim works in pieces, between which it is checked whether the sandbox has been resumed.
constexpr std::uint64_t reclaimed_at_once = 8u << 20;

// Returns 0, or an error number.
int write_file(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  for (;;) {
    if (::write(file.get(), text.data(), text.size()) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

std::optional<std::uint64_t> number_of(const std::string& path) {
  const auto text = text_of(path);
  return text ? number_in(*text) : std::nullopt;
}

// Lets a cgroup use swap for the lifetime of the object. A kernel without swap accounting has no
// such file.
class SwapAllowed {
 public:
  explicit SwapAllowed(const std::string& directory) : file_(directory + "/memory.swap.max") {
    const auto limit = text_of(directory + "/memory.max");
    if (limit) (void)write_file(file_, limit->substr(0, limit->find('\n')));
  }
  ~SwapAllowed() { (void)write_file(file_, "0"); }
  SwapAllowed(const SwapAllowed&) = delete;
  SwapAllowed& operator=(const SwapAllowed&) = delete;

 private:
  const std::string file_;
};

// A quarter of the swap stays for others. Without any swap, memory of files can still be given
// back.
bool leaves_swap_to_others() {
  const auto memory = text_of("/proc/meminfo");
  const auto total = memory ? number_after(*memory, "SwapTotal:") : std::nullopt;
  const auto left = memory ? number_after(*memory, "SwapFree:") : std::nullopt;
  return total && left && *left >= *total / 4;
}

Error not_given_back(ErrorKind kind, int error) {
  return {kind, "give back the memory of a sandbox", error, {}};
}

}  // namespace

Result<MemoryReturn> give_back_memory(const UsageTarget& target,
                                      const std::function<bool()>& goes_on) {
  // A usage that is not counted by a cgroup means that the process is in the server's own cgroup.
  if (target.source != SandboxUsage::Source::cgroup) {
    return not_given_back(ErrorKind::unsupported, 0);
  }
  const auto process = process_directory(target.init);
  if (!process) return not_given_back(ErrorKind::closed, 0);
  const auto directory = cgroup_directory(*process);
  if (!lives(target.init)) return not_given_back(ErrorKind::closed, 0);
  if (!directory) return not_given_back(ErrorKind::unsupported, 0);
  const auto before = number_of(*directory + "/memory.current");
  if (!before) return not_given_back(ErrorKind::unsupported, 0);
  MemoryReturn given{.before = *before, .after = *before};
  const SwapAllowed swap(*directory);
  // The kernel's count may grow again while it works, so it is asked for no more than there was at
  // first.
  for (std::uint64_t asked = 0;
       asked < given.before && given.after > 0 && goes_on() && leaves_swap_to_others();) {
    const std::uint64_t piece = std::min(reclaimed_at_once, given.after);
    const int error = write_file(*directory + "/memory.reclaim", std::to_string(piece));
    asked += piece;
    given.after = number_of(*directory + "/memory.current").value_or(0);
    given.swapped = number_of(*directory + "/memory.swap.current").value_or(0);
    if (error == EAGAIN) break;  // the kernel found no more
    if (!lives(target.init)) return not_given_back(ErrorKind::closed, 0);
    if (error == ENOENT) return not_given_back(ErrorKind::unsupported, error);
    if (error != 0) return not_given_back(ErrorKind::kernel, error);
  }
  return given;
}

}  // namespace runtime
