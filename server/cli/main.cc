#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "runtime/config/environment.h"
#include "server/cli/arguments.h"
#include "server/cli/benchmark.h"
#include "server/cli/doctor.h"
#include "server/cli/exec.h"
#include "server/cli/exit_codes.h"
#include "server/cli/jobs/jobs_command.h"
#include "server/cli/lessons.h"
#include "server/cli/mcp.h"
#include "server/cli/run_task.h"
#include "server/cli/sandbox/sandbox_command.h"
#include "server/cli/serve.h"
#include "server/cli/volumes/volumes_command.h"
#include "server/cli/webhooks/webhooks_command.h"
#include "server/cli/write_all.h"

namespace {

// Started with 0, 1 or 2 closed, the next thing opened would take that number, and what is meant
// for a stream would be written into it.
void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

// What a process may have without asking is often 1024, for programs that use select(). A jail that
// waits keeps a dozen descriptors of ours open. And a descriptor can be sent only while no more
// than this are on their way for all processes of the user together, those in jails among them.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Takes from the kernel in one piece what `exec` needs of the heap: pages that are touched one by
// one take several times as long. The heap keeps them until the end, and goes on where a large page
// can begin: taking one costs an eighth of what its small pages cost that the heap fills.
void fill_heap() {
  constexpr std::size_t bytes = 1280u << 10;
  constexpr std::uintptr_t large_page = 2u << 20;
  constexpr std::uintptr_t noted = 16;  // in front of each block, by the heap
  constexpr int never = 1 << 24;
  ::mallopt(M_MMAP_THRESHOLD, never);
  ::mallopt(M_TRIM_THRESHOLD, never);
  // Only the heap's own functions can take a place in it.
  // NOLINTBEGIN(cppcoreguidelines-no-malloc)
  void* const room = std::malloc(2 * large_page);
  if (room == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(room);
  const std::uintptr_t filled = (begin + large_page - 1) & ~(large_page - 1);
  // Where the kernel cannot, pages are small, or come as they are touched.
  ::madvise(reinterpret_cast<void*>(filled), large_page, MADV_HUGEPAGE);
  ::madvise(reinterpret_cast<void*>(filled), bytes, MADV_POPULATE_WRITE);
  // Never given back, so that nothing is taken from there.
  [[maybe_unused]] static void* volatile before;
  before = std::realloc(room, std::max(filled - begin, noted) - noted);
  // NOLINTEND(cppcoreguidelines-no-malloc)
}

int dispatch(std::vector<std::string> args) {
  const std::string version = AGENT_SANDBOX_VERSION;
  if (server::names_exec(args)) fill_heap();
  auto options = server::parse_arguments(std::move(args), version);
  if (auto* exec = std::get_if<server::ExecOptions>(&options)) {
    return server::exec(std::move(*exec), runtime::process_environment());
  }
  if (const auto* serve = std::get_if<server::ServeOptions>(&options)) {
    return server::serve(*serve, runtime::process_environment(), version);
  }
  if (const auto* mcp = std::get_if<server::McpOptions>(&options)) {
    return server::mcp(*mcp, runtime::process_environment(), version);
  }
  if (auto* run = std::get_if<server::RunTaskOptions>(&options)) {
    return server::run_task(std::move(*run), runtime::process_environment());
  }
  if (const auto* benchmark = std::get_if<server::BenchmarkOptions>(&options)) {
    return server::benchmark(*benchmark, runtime::process_environment());
  }
  if (const auto* lessons = std::get_if<server::LessonsOptions>(&options)) {
    return server::lessons(*lessons, runtime::process_environment());
  }
  if (const auto* doctor = std::get_if<server::DoctorOptions>(&options)) {
    return server::doctor(*doctor, runtime::process_environment(), version);
  }
  if (const auto* sandbox = std::get_if<server::client::Options>(&options)) {
    return server::client::sandbox(*sandbox, runtime::process_environment());
  }
  if (const auto* jobs = std::get_if<server::client::JobsOptions>(&options)) {
    return server::client::jobs(*jobs, runtime::process_environment());
  }
  if (const auto* volumes = std::get_if<server::client::VolumesOptions>(&options)) {
    return server::client::volumes(*volumes, runtime::process_environment());
  }
  if (const auto* webhooks = std::get_if<server::client::WebhooksOptions>(&options)) {
    return server::client::webhooks(*webhooks, runtime::process_environment());
  }
  if (const auto* names = std::get_if<server::client::KnownNamesOptions>(&options)) {
    return server::client::known_names(*names, runtime::process_environment());
  }
  const auto& finished = std::get<server::Finished>(options);
  std::fputs(finished.error.c_str(), stderr);
  const int failed = server::print(finished.output);
  return failed != 0 ? failed : finished.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  raise_descriptor_limit();
  // A client or a guest may close its end at any time; the write says so.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return dispatch({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& error) {
    return server::fail(server::exit_own_failure, error.what());
  }
}
