#include "zygote/known_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "child/raw_syscall.h"
#include "zygote/mappings.h"

namespace jail::zygote {
namespace {

constexpr std::uint64_t page_bytes = 4096;
// Bits of an entry of pagemap(5). A page that a fork has not written to is mapped by its parent
// too.
constexpr std::uint64_t in_memory = 1ULL << 63;
constexpr std::uint64_t of_file = 1ULL << 61;
constexpr std::uint64_t mapped_once = 1ULL << 56;

struct Run {
  std::uint64_t begin;
  std::uint64_t bytes;
};

// What the fork tells.
struct Word {
  Run run;  // no bytes: this was all
  Reach reach;
};

// Static, as nothing here may allocate: that would change what is looked at.
struct Runs {
  static constexpr std::size_t most = 4096;
  Run list[most];
  std::size_t count;
};
Runs known[2];
struct Areas {
  static constexpr std::size_t most = 1024;
  Run list[most];
  std::size_t count;
};
Areas areas;

Runs& runs_of(Reach reach) { return known[static_cast<std::size_t>(reach)]; }

bool note(const Mapping& mapping, void*) {
  if (std::strcmp(mapping.access, "rw-p") != 0) return true;
  if (areas.count == Areas::most) return false;
  areas.list[areas.count++] = {mapping.begin, mapping.end - mapping.begin};
  return true;
}

bool is_own(std::uint64_t entry) {
  return (entry & in_memory) != 0 && (entry & of_file) == 0 && (entry & mapped_once) != 0;
}

class Teller {
 public:
  Teller(int to, Reach reach) : to_(to), reach_(reach) {}

  bool tell_all() {
    const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0) return false;
    bool told = true;
    for (std::size_t i = 0; i < areas.count && told; ++i) told = tell_area(pagemap, areas.list[i]);
    ::close(pagemap);
    return told && (run_.bytes == 0 || tell(run_)) && tell({});
  }

 private:
  bool tell_area(int pagemap, const Run& area) {
    std::uint64_t entries[256];
    const std::uint64_t end = area.begin + area.bytes;
    for (std::uint64_t at = area.begin; at < end;) {
      const std::uint64_t left = (end - at) / page_bytes;
      const std::size_t wanted = left < 256 ? static_cast<std::size_t>(left) : 256;
      const ssize_t got = ::pread(pagemap, entries, wanted * sizeof entries[0],
                                  static_cast<off_t>(at / page_bytes * sizeof entries[0]));
      if (got <= 0) return false;
      const std::size_t count = static_cast<std::size_t>(got) / sizeof entries[0];
      for (std::size_t i = 0; i < count; ++i, at += page_bytes) {
        if (is_own(entries[i]) && !add(at)) return false;
      }
    }
    return true;
  }

  bool add(std::uint64_t page) {
    if (run_.bytes != 0 && page == run_.begin + run_.bytes) {
      run_.bytes += page_bytes;
      return true;
    }
    const Run before = run_;
    run_ = {page, page_bytes};
    return before.bytes == 0 || tell(before);
  }

  bool tell(const Run& run) const {
    const Word word{run, reach_};
    return ::write(to_, &word, sizeof word) == sizeof word;
  }

  int to_;
  Reach reach_;
  Run run_{};  // not told yet
};

// Returns whether the fork told all of it.
bool hear(int from) {
  std::size_t ends = 0;
  Word word{};
  while (::read(from, &word, sizeof word) == sizeof word) {
    Runs& runs = runs_of(word.reach);
    if (word.run.bytes == 0) {
      ++ends;
    } else if (runs.count < Runs::most) {
      runs.list[runs.count++] = word.run;
    }
  }
  return ends == sizeof known / sizeof known[0];
}

[[noreturn]] void do_work(const GuestWork& work, int to) {
  work.renew(work.own);
  bool told = Teller(to, Reach::renewed).tell_all();
  if (told) {
    work.rehearse(work.own);
    told = Teller(to, Reach::rehearsed).tell_all();
  }
  for (;;) raw::call(SYS_exit_group, told ? 0 : 1);
}

}  // namespace

void learn_pages(const GuestWork& work) {
  int ends[2];
  if (visit_mappings(note, nullptr) != 0 || ::pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t fork = ::_Fork();
  if (fork == 0) do_work(work, ends[1]);
  ::close(ends[1]);
  if (!hear(ends[0])) {
    for (Runs& runs : known) runs.count = 0;
  }
  ::close(ends[0]);
  while (fork > 0 && ::waitpid(fork, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void take_known_pages(Reach reach) {
  const Runs& runs = runs_of(reach);
  for (std::size_t i = 0; i < runs.count; ++i) {
    const Run& run = runs.list[i];
    // What is not mapped yet is left to its page faults.
    raw::call(SYS_madvise, static_cast<long>(run.begin), static_cast<long>(run.bytes),
              MADV_POPULATE_WRITE);
  }
}

}  // namespace jail::zygote
