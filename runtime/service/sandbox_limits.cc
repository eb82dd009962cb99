// Sandboxes: changes to the limits of one that lives.
#include <errno.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/sandbox/jail_handle.h"
#include "runtime/sandbox/living_request.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

// A lower limit on memory leaves so much beside what is in use: init counts what the kernel keeps
// for the processes as well, and programs that can get nothing more end at their next step.
constexpr std::uint64_t min_room_bytes = 8u << 20;
constexpr std::uint64_t parts_for_each_of_room = 8;

double mebibytes(std::uint64_t bytes) {
  return std::ceil(static_cast<double>(bytes) / (1u << 20) * 10) / 10;
}

Refusal in_use(std::string detail, double limit, double used) {
  return {.code = RefusalCode::limit_in_use,
          .detail = "limits: " + std::move(detail),
          .limit = limit,
          .used = used};
}

}  // namespace

std::optional<Refusal> Sandboxes::check_cpu(const std::optional<std::uint32_t>& percent) const {
  if (!percent || runner_.state().enforcement.cpu == jail::Enforcer::cgroup) return std::nullopt;
  return Refusal{
      .code = RefusalCode::bad_request,
      .detail =
          "limits: cpu: the sandboxes of this server have no cgroups, and without one nothing "
          "limits the processors that one uses; agent-sandbox doctor says what its host lacks",
      .remedy = "leave it out, or ask the operator for cgroups"};
}

// Checks what depends on the sandbox.
std::optional<Refusal> Sandboxes::check_limits(const Sandbox& sandbox,
                                               const SandboxLimits& wanted) const {
  if (sandbox.request().is_warm) {
    if (auto refusal = check_warm_processes(wanted.processes)) return refusal;
  }
  const bool is_on_disk = sandbox.request().is_on_disk;
  const std::uint32_t most = is_on_disk ? options_.max_directory_mb : max_memory_disk_mb;
  if (wanted.disk_mb <= most || wanted.disk_mb <= sandbox.limits().disk_mb) return std::nullopt;
  return Refusal{.code = RefusalCode::out_of_range,
                 .detail = "limits: disk_mb: expected an integer 1 .. " + std::to_string(most) +
                           " with disk_kind: " + (is_on_disk ? "directory" : "memory")};
}

asio::awaitable<std::optional<Refusal>> Sandboxes::check_in_use(Found sandbox, SandboxLimits before,
                                                                SandboxLimits wanted) {
  const bool is_lower = wanted.memory_mb < before.memory_mb ||
                        wanted.processes < before.processes || wanted.disk_mb < before.disk_mb;
  if (!is_lower) co_return std::nullopt;
  const auto usage = co_await this->usage(sandbox);
  if (!usage) {
    if (usage.error().kind == jail::ErrorKind::closed) co_return co_await ending_refusal(sandbox);
    co_return Refusal{.code = RefusalCode::host_exhausted,
                      .detail = "limits: what the sandbox uses could not be read; try again"};
  }
  if (wanted.memory_mb < before.memory_mb) {
    const std::uint64_t used =
        usage->memory_bytes - std::min(usage->memory_bytes, usage->reclaimable_bytes);
    const std::uint64_t room = min_room_bytes + used / parts_for_each_of_room;
    const std::uint64_t limit = std::uint64_t{wanted.memory_mb} << 20;
    if (used + room > limit) {
      const auto least = static_cast<std::uint64_t>(std::ceil(mebibytes(used + room)));
      co_return in_use(
          "memory_mb: so much is in use that " + std::to_string(least) + " is the least at present",
          wanted.memory_mb, mebibytes(used));
    }
  }
  const std::uint32_t tasks = usage->tasks > 0 ? usage->tasks - 1 : 0;  // without init
  if (wanted.processes < before.processes && tasks > wanted.processes) {
    co_return in_use("processes: as many as " + std::to_string(tasks) + " are there",
                     wanted.processes, tasks);
  }
  // Each tmpfs is at most as large as memory.
  const std::uint64_t disk = std::uint64_t{wanted.disk_mb} << 20;
  const std::uint64_t in_memory = bytes_of_tmpfs(wanted.disk_mb, wanted.memory_mb);
  const std::uint64_t workspace = sandbox->disk_ == nullptr ? in_memory : disk;
  if (usage->workspace.used_bytes > workspace) {
    co_return in_use("disk_mb: more is in /workspace", mebibytes(workspace),
                     mebibytes(usage->workspace.used_bytes));
  }
  if (usage->tmp.used_bytes > in_memory) {
    co_return in_use("disk_mb: more is in /tmp", mebibytes(in_memory),
                     mebibytes(usage->tmp.used_bytes));
  }
  co_return std::nullopt;
}

// The directory of the sandbox comes first, since it is the only part that is always put back: the
// guest may keep what it has in it by then, and may add nothing.
asio::awaitable<Sandboxes::ChangeOutcome> Sandboxes::set_limits(Found sandbox, SandboxLimits before,
                                                                SandboxLimits wanted) {
  ChangeOutcome outcome{.is_made = false, .complaint = std::nullopt};
  const std::uint64_t disk = std::uint64_t{wanted.disk_mb} << 20;
  const bool resizes = sandbox->disk_ != nullptr && wanted.disk_mb != before.disk_mb;
  if (resizes) {
    auto resize = [disks = options_.disks, sandbox, disk] {
      return disks->resize(*sandbox->disk_, disk);
    };
    const auto resized = co_await do_file_work(*sandbox, std::move(resize));
    if (!resized) {
      if (resized.error().kind == jail::ErrorKind::closed) {
        outcome.complaint = co_await ending_refusal(sandbox);
      } else {
        outcome.complaint = why_not_resized(resized.error(), *sandbox, wanted.disk_mb);
      }
      co_return outcome;
    }
  }
  jail::LimitChange change{.memory_bytes = std::uint64_t{wanted.memory_mb} << 20,
                           .processes = wanted.processes,
                           .file_bytes = disk,
                           .tmp_bytes = bytes_of_tmpfs(wanted.disk_mb, wanted.memory_mb)};
  if (wanted.cpu_percent != before.cpu_percent) {
    change.cpu_percent = wanted.cpu_percent > 0
                             ? wanted.cpu_percent
                             : static_cast<std::uint32_t>(std::lround(options_.cores * 100));
  }
  if (sandbox->disk_ == nullptr) {
    change.file_bytes = change.workspace_bytes = change.tmp_bytes;
  }
  for (const LivingVolume& volume : living_volumes_of(*sandbox)) {
    change.file_bytes = std::max(*change.file_bytes, volume.max_bytes);
  }
  const auto changed = co_await sandbox->living()->change_limits(change);
  if (changed) {
    outcome.is_made = true;
    co_return outcome;
  }
  const jail::Error& error = changed.error();
  if (error.kind == jail::ErrorKind::timed_out) {
    outcome.is_made = true;
    outcome.complaint = Refusal{
        .code = RefusalCode::too_slow,
        .detail =
            "limits: they are set, but the sandbox has not confirmed in time that processes "
            "that run have them; try again"};
    co_return outcome;
  }
  if (resizes) {
    sandbox->disk_->limit(std::uint64_t{before.disk_mb} << 20, SandboxDisk::Excess::may_stay);
  }
  if (error.kind == jail::ErrorKind::closed) {
    outcome.complaint = co_await ending_refusal(sandbox);
  } else {
    outcome.complaint = why_not_set(error, *sandbox);
  }
  co_return outcome;
}

Refusal Sandboxes::why_not_resized(const jail::Error& error, const Sandbox& sandbox,
                                   std::uint32_t disk_mb) {
  if (error.kind == jail::ErrorKind::refused) {
    return in_use("disk_mb: more is in /workspace", disk_mb, mebibytes(sandbox.disk_->use().bytes));
  }
  if (error.kind == jail::ErrorKind::timed_out) {
    return {.code = RefusalCode::busy,
            .detail =
                "limits: disk_mb: what is in /workspace could not be counted in time; try "
                "again"};
  }
  return {.code = RefusalCode::host_exhausted,
          .detail = "limits: disk_mb: the host's disk has no room for it"};
}

Refusal Sandboxes::why_not_set(const jail::Error& error, const Sandbox& sandbox) const {
  if (error.kind == jail::ErrorKind::refused) {
    return {.code = RefusalCode::limit_in_use,
            .detail = "limits: disk_mb: more came to be in /workspace or /tmp meanwhile"};
  }
  if (error.kind == jail::ErrorKind::unsupported) {
    return {.code = RefusalCode::limit_in_use, .detail = "limits: " + error.message()};
  }
  logger_.error("the limits of a sandbox could not be changed",
                {{"sandbox_id", sandbox.id()}, {"error", error.message()}});
  if (is_shortage(error) || error.kind == jail::ErrorKind::exhausted) {
    return {.code = RefusalCode::host_exhausted,
            .detail = "limits: the host has no room for it; try again"};
  }
  return {.code = RefusalCode::internal_server_error,
          .detail = "limits: they could not be changed; the server's log has the reason"};
}

}  // namespace runtime
