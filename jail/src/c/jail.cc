#include <string_view>

#include "c/boundary.h"
#include "c/handles.h"
#include "c/report.h"

namespace jail::c {
namespace {

static_assert(static_cast<int>(Phase::launching) == JAIL_PHASE_LAUNCHING);
static_assert(static_cast<int>(Phase::ready) == JAIL_PHASE_READY);
static_assert(static_cast<int>(Phase::running) == JAIL_PHASE_RUNNING);
static_assert(static_cast<int>(Phase::ended) == JAIL_PHASE_ENDED);
static_assert(static_cast<int>(Ended::exited) == JAIL_ENDED_EXITED);
static_assert(static_cast<int>(Ended::signaled) == JAIL_ENDED_SIGNALED);
static_assert(static_cast<int>(Ended::timed_out) == JAIL_ENDED_TIMED_OUT);
static_assert(static_cast<int>(Ended::out_of_memory) == JAIL_ENDED_OUT_OF_MEMORY);
static_assert(static_cast<int>(Ended::violation) == JAIL_ENDED_VIOLATION);
static_assert(static_cast<int>(Ended::killed) == JAIL_ENDED_KILLED);
static_assert(static_cast<int>(Ended::cancelled) == JAIL_ENDED_CANCELLED);
static_assert(static_cast<int>(Activity::paused) == JAIL_ACTIVITY_PAUSED);
static_assert(static_cast<int>(Enforcer::none) == JAIL_ENFORCER_NONE);
static_assert(static_cast<int>(Enforcer::rlimit) == JAIL_ENFORCER_RLIMIT);
static_assert(static_cast<int>(Enforcer::watchdog) == JAIL_ENFORCER_WATCHDOG);
static_assert(static_cast<int>(Enforcer::cgroup) == JAIL_ENFORCER_CGROUP);

Result<RunLimits> limits_of(const jail_run_limits* given) {
  const Result<jail_run_limits> read = read_struct("jail_run_limits", given);
  if (!read) return read.error();
  const auto wall = checked_time("jail_run_limits.wall_ms", read->wall_ms);
  if (!wall) return wall.error();
  const auto cpu = checked_time("jail_run_limits.cpu_ms", read->cpu_ms);
  if (!cpu) return cpu.error();
  RunLimits limits;
  if (wall->count() > 0) limits.wall = *wall;
  if (cpu->count() > 0) limits.cpu = *cpu;
  if (read->memory_bytes > 0) limits.memory_bytes = read->memory_bytes;
  return limits;
}

Result<LimitChange> change_of(const jail_limit_change* given) {
  const Result<jail_limit_change> read = read_struct("jail_limit_change", given);
  if (!read) return read.error();
  LimitChange change;
  if (read->memory_bytes > 0) change.memory_bytes = read->memory_bytes;
  if (read->file_bytes > 0) change.file_bytes = read->file_bytes;
  if (read->workspace_bytes > 0) change.workspace_bytes = read->workspace_bytes;
  if (read->tmp_bytes > 0) change.tmp_bytes = read->tmp_bytes;
  if (read->processes > 0) change.processes = read->processes;
  if (read->cpu_percent > 0) change.cpu_percent = read->cpu_percent;
  return change;
}

// The names come from the C++ interface; all of them are literals.
template <class To, class From>
const char* name_of(const From& value, To last) {
  const int number = number_of(value);
  if (number < 0 || number > static_cast<int>(last)) return "unknown";
  return to_string(static_cast<To>(number)).data();
}

const char* text_and_length(const std::string& text, std::size_t* length) {
  if (length != nullptr) *length = text.size();
  return text.c_str();
}

}  // namespace
}  // namespace jail::c

using jail::Phase;
using jail::Result;
using jail::c::guarded;

extern "C" {

const char* jail_ended_text(jail_ended ended) {
  return jail::c::name_of(ended, jail::Ended::cancelled);
}

const char* jail_enforcer_text(jail_enforcer enforcer) {
  return jail::c::name_of(enforcer, jail::Enforcer::cgroup);
}

void jail_jail_destroy(jail_jail* jail) { delete jail; }

jail_phase jail_jail_phase(const jail_jail* jail) {
  return jail == nullptr ? JAIL_PHASE_ENDED : static_cast<jail_phase>(jail->jail.phase());
}

int jail_jail_control_fd(const jail_jail* jail) {
  return jail == nullptr ? -1 : jail->jail.control_fd();
}

int jail_jail_process_fd(const jail_jail* jail) {
  return jail == nullptr ? -1 : jail->jail.process_fd();
}

int jail_jail_working_directory_fd(const jail_jail* jail) {
  return jail == nullptr ? -1 : jail->jail.working_directory_fd();
}

jail_status jail_jail_advance(jail_jail* jail, jail_phase* now, jail_error* error) {
  return guarded(__func__, {{"jail", jail}}, error,
                 [&] { return jail::c::tell_phase(jail->jail.advance(), now); });
}

jail_status jail_jail_wait(jail_jail* jail, jail_phase phase, uint64_t at_most_ms, jail_phase* now,
                           jail_error* error) {
  return guarded(__func__, {{"jail", jail}}, error, [&]() -> Result<void> {
    const auto wanted = jail::c::mirrored("jail_phase", phase, Phase::ended);
    if (!wanted) return wanted.error();
    return jail::c::tell_phase(jail->jail.wait(*wanted, jail::c::patience_of(at_most_ms)), now);
  });
}

jail_status jail_jail_write_file(jail_jail* jail, const char* path, const void* content,
                                 size_t length, uint32_t mode, jail_error* error) {
  return guarded(__func__, {{"jail", jail}, {"path", path}}, error, [&]() -> Result<void> {
    const auto bytes = jail::c::bytes_of("content", content, length);
    if (!bytes) return bytes.error();
    return jail->jail.write_file(path, *bytes, mode);
  });
}

jail_status jail_jail_start(jail_jail* jail, const jail_run_limits* limits, jail_error* error) {
  return guarded(__func__, {{"jail", jail}}, error, [&]() -> Result<void> {
    const Result<jail::RunLimits> read = jail::c::limits_of(limits);
    if (!read) return read.error();
    return jail->jail.start(*read);
  });
}

jail_status jail_jail_signal(jail_jail* jail, int number, jail_error* error) {
  return guarded(__func__, {{"jail", jail}}, error, [&] { return jail->jail.signal(number); });
}

jail_status jail_jail_pause(jail_jail* jail, jail_error* error) {
  return guarded(__func__, {{"jail", jail}}, error, [&] { return jail->jail.pause(); });
}

jail_status jail_jail_resume(jail_jail* jail, jail_error* error) {
  return guarded(__func__, {{"jail", jail}}, error, [&] { return jail->jail.resume(); });
}

jail_status jail_jail_change_limits(jail_jail* jail, const jail_limit_change* change,
                                    jail_error* error) {
  return guarded(__func__, {{"jail", jail}, {"change", change}}, error, [&]() -> Result<void> {
    const Result<jail::LimitChange> read = jail::c::change_of(change);
    if (!read) return read.error();
    return jail->jail.change_limits(*read);
  });
}

int jail_jail_limits_hold(const jail_jail* jail) {
  return jail == nullptr || jail->jail.limits_hold() ? 1 : 0;
}

jail_activity jail_jail_activity(const jail_jail* jail) {
  return jail == nullptr ? JAIL_ACTIVITY_ACTIVE : static_cast<jail_activity>(jail->jail.activity());
}

void jail_jail_cancel(jail_jail* jail) {
  if (jail != nullptr) jail->jail.cancel();
}

void jail_jail_kill(jail_jail* jail, jail_ended why) {
  if (jail == nullptr) return;
  const auto cause = jail::c::number_of(why);
  const bool known = cause >= JAIL_ENDED_EXITED && cause <= JAIL_ENDED_CANCELLED;
  jail->jail.kill(known ? static_cast<jail::Ended>(cause) : jail::Ended::killed);
}

int jail_jail_terminal_fd(const jail_jail* jail) {
  return jail == nullptr ? -1 : jail->jail.terminal_fd();
}

jail_status jail_jail_resize(jail_jail* jail, uint32_t columns, uint32_t rows, jail_error* error) {
  return guarded(__func__, {{"jail", jail}}, error, [&]() -> Result<void> {
    const auto size = jail::c::terminal_size(columns, rows);
    if (!size) return size.error();
    return jail->jail.resize(*size);
  });
}

int jail_jail_take_stdin(jail_jail* jail) {
  return jail == nullptr ? -1 : jail->jail.take_stdin().release();
}

int jail_jail_take_stdout(jail_jail* jail) {
  return jail == nullptr ? -1 : jail->jail.take_stdout().release();
}

int jail_jail_take_stderr(jail_jail* jail) {
  return jail == nullptr ? -1 : jail->jail.take_stderr().release();
}

jail_status jail_jail_communicate(jail_jail* jail, const void* input, size_t length,
                                  uint64_t max_bytes, jail_output** output, jail_error* error) {
  return guarded(__func__, {{"jail", jail}, {"output", output}}, error, [&]() -> Result<void> {
    const auto bytes = jail::c::bytes_of("input", input, length);
    if (!bytes) return bytes.error();
    auto told =
        max_bytes == 0 ? jail->jail.communicate(*bytes) : jail->jail.communicate(*bytes, max_bytes);
    if (!told) return told.error();
    *output = new jail_output{std::move(*told)};
    return {};
  });
}

void jail_output_destroy(jail_output* output) { delete output; }

const char* jail_output_out(const jail_output* output, size_t* length) {
  return output == nullptr ? nullptr : jail::c::text_and_length(output->output.out, length);
}

const char* jail_output_err(const jail_output* output, size_t* length) {
  return output == nullptr ? nullptr : jail::c::text_and_length(output->output.err, length);
}

uint64_t jail_output_out_lost_bytes(const jail_output* output) {
  return output == nullptr ? 0 : output->output.out_lost_bytes;
}

uint64_t jail_output_err_lost_bytes(const jail_output* output) {
  return output == nullptr ? 0 : output->output.err_lost_bytes;
}

jail_status jail_jail_report(const jail_jail* jail, jail_report* report, jail_error* error) {
  return guarded(__func__, {{"jail", jail}, {"report", report}}, error, [&]() -> Result<void> {
    if (jail->jail.phase() != Phase::ended)
      return jail::invalid("report of a jail that has not ended");
    return jail::c::write_struct("jail_report", jail::c::report_of(jail->jail.report()), report);
  });
}

}  // extern "C"
