#include "runtime/store/job_place.h"

#include <algorithm>

#include "runtime/store/database_place.h"

namespace runtime {
namespace {

using jail::Result;

// The bound is small, since nobody chose to spend memory on jobs.
constexpr std::uint64_t max_bytes_in_memory = 32ull << 20;

Result<JobTable> open_file(const std::string& path, JobBounds bounds,
                           const ReadOldAnswer& read_old_answer) {
  if (auto made = make_private_file(path); !made) return made.error();
  return JobTable::open(path, bounds, read_old_answer);
}

jail::Error about(const std::string& path, jail::Error error) {
  error.doing = "jobs in " + path + ": " + error.doing;
  if (error.kind == jail::ErrorKind::refused) {
    error.hint = "another server keeps its jobs there; give this one another JOBS_PATH";
  } else if (error.kind == jail::ErrorKind::invalid) {
    error.hint = "move the file away, or set JOBS_PATH to another";
  } else {
    error.hint = "set JOBS_PATH to a file that this user may write, or to :memory:";
  }
  return error;
}

Result<JobTable> open_usual(const std::string& path, JobBounds bounds,
                            const ReadOldAnswer& read_old_answer, Logger& logger) {
  make_private_directory(path);
  auto table = open_file(path, bounds, read_old_answer);
  if (table || table.error().kind != jail::ErrorKind::invalid) return table;
  if (auto moved = set_aside(path); !moved) return moved.error();
  logger.warning("the file of jobs is damaged and was set aside",
                 {{"path", path + ".damaged"}, {"error", table.error().message()}});
  return open_file(path, bounds, read_old_answer);
}

}  // namespace

std::optional<std::string> usual_jobs_path(const Environment& environment) {
  const auto value = [&](std::string_view name) -> std::string {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  // systemd separates several directories by colons; the first one is ours.
  const std::string state = value("STATE_DIRECTORY");
  if (!state.empty()) return state.substr(0, state.find(':')) + "/jobs.sqlite";
  std::string base = value("XDG_STATE_HOME");
  if (!base.starts_with('/')) {
    base = value("HOME");
    if (!base.starts_with('/')) return std::nullopt;
    base += "/.local/state";
  }
  return base + "/agent-sandbox/jobs.sqlite";
}

Result<JobTable> open_job_table(const std::optional<std::string>& configured,
                                const std::optional<std::string>& usual, JobBounds bounds,
                                const ReadOldAnswer& read_old_answer, Logger& logger) {
  if (configured) {
    auto table = open_file(*configured, bounds, read_old_answer);
    if (!table) return about(*configured, table.error());
    return table;
  }
  if (usual) {
    auto table = open_usual(*usual, bounds, read_old_answer, logger);
    if (table) return table;
    logger.warning("jobs are kept in memory and end with this server",
                   {{"reason", about(*usual, table.error()).message()}});
  } else {
    logger.warning("jobs are kept in memory and end with this server",
                   {{"reason", "neither STATE_DIRECTORY nor HOME is set"}});
  }
  bounds.max_bytes = std::min(bounds.max_bytes, max_bytes_in_memory);
  return open_file(in_memory, bounds, read_old_answer);
}

}  // namespace runtime
