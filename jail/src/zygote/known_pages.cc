#include "zygote/known_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

// What a process calls itself in place of a pidfd: PIDFD_SELF_THREAD of later kernels.
constexpr long this_process = -10000;
constexpr std::size_t max_at_once = 1024;  // UIO_MAXIOV

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
  iovec list[most];
  std::size_t count;
};
Runs known[3];
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

std::uint64_t begin_of(const iovec& run) { return reinterpret_cast<std::uint64_t>(run.iov_base); }

bool has(const Runs& runs, std::uint64_t page) {
  for (std::size_t i = 0; i < runs.count; ++i) {
    const std::uint64_t begin = begin_of(runs.list[i]);
    if (begin <= page && page < begin + runs.list[i].iov_len) return true;
  }
  return false;
}

void add(Runs& runs, const Run& run) {
  if (runs.count > 0) {
    iovec& last = runs.list[runs.count - 1];
    if (begin_of(last) + last.iov_len == run.begin) {
      last.iov_len += run.bytes;
      return;
    }
  }
  if (runs.count < Runs::most) {
    runs.list[runs.count++] = {reinterpret_cast<void*>(run.begin), run.bytes};
  }
}

// What a guest that rehearses has already when it comes to its end is left out there.
void note(const Word& word) {
  if (word.reach != Reach::ended) return add(runs_of(word.reach), word.run);
  for (std::uint64_t at = 0; at < word.run.bytes; at += page_bytes) {
    const std::uint64_t page = word.run.begin + at;
    if (!has(runs_of(Reach::rehearsed), page)) add(runs_of(Reach::ended), {page, page_bytes});
  }
}

// Returns whether the fork told all of it.
bool hear(int from) {
  std::size_t ends = 0;
  Word word{};
  while (::read(from, &word, sizeof word) == sizeof word) {
    if (word.run.bytes == 0) {
      ++ends;
    } else {
      note(word);
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
  if (told) {
    work.run_to_end(work.own);
    told = Teller(to, Reach::ended).tell_all();
  }
  for (;;) raw::call(SYS_exit_group, told ? 0 : 1);
}

// How many of the first of them are there after one call, or a negative errno. A kernel that does
// not take them all counts the bytes of those that it took.
long take_some(const iovec* runs, std::size_t count) {
  const long done = raw::call(SYS_process_madvise, this_process, raw::address(runs),
                              static_cast<long>(count), MADV_POPULATE_WRITE, 0);
  if (done <= 0) return done;
  auto left = static_cast<std::uint64_t>(done);
  long taken = 0;
  while (left > 0) {
    const std::uint64_t bytes = runs[taken++].iov_len;
    left -= left < bytes ? left : bytes;
  }
  return taken;
}

void take(const Runs& runs) {
  bool takes_many = true;
  for (std::size_t i = 0; i < runs.count;) {
    const std::size_t count = runs.count - i < max_at_once ? runs.count - i : max_at_once;
    const long taken = takes_many ? take_some(runs.list + i, count) : 0;
    if (taken > 0) {
      i += static_cast<std::size_t>(taken);
      continue;
    }
    // What is not mapped yet is left to its page faults.
    takes_many = taken == -ENOMEM;
    if (!takes_many) {
      raw::call(SYS_madvise, raw::address(runs.list[i].iov_base),
                static_cast<long>(runs.list[i].iov_len), MADV_POPULATE_WRITE);
    }
    ++i;
  }
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
  take(runs_of(reach));
  take(runs_of(Reach::ended));
}

}  // namespace jail::zygote
