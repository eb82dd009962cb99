
#include "c/boundary.h"
#include "c/handles.h"
#include "c/report.h"

namespace jail::c {
namespace {

static_assert(static_cast<int>(ProcessPhase::starting) == JAIL_PROCESS_STARTING);
static_assert(static_cast<int>(ProcessPhase::running) == JAIL_PROCESS_RUNNING);
static_assert(static_cast<int>(ProcessPhase::ended) == JAIL_PROCESS_ENDED);

Result<ProcessSpec> process_of(const char* const* argv, const char* const* env,
                               const jail_process_options* options) {
  const Result<jail_process_options> read = read_struct("jail_process_options", options);
  if (!read) return read.error();
  const auto wall = checked_time("jail_process_options.wall_ms", read->wall_ms);
  if (!wall) return wall.error();
  const auto cpu = checked_time("jail_process_options.cpu_ms", read->cpu_ms);
  if (!cpu) return cpu.error();
  ProcessSpec spec;
  spec.argv = strings_of(argv);
  spec.env = strings_of(env);
  spec.warm = read->warm != 0;
  if (read->working_directory != nullptr) spec.working_directory = read->working_directory;
  if (wall->count() > 0) spec.wall = *wall;
  if (cpu->count() > 0) spec.cpu = *cpu;
  if (read->terminal_columns != 0 || read->terminal_rows != 0) {
    const auto size = terminal_size(read->terminal_columns, read->terminal_rows);
    if (!size) return size.error();
    spec.terminal = *size;
  }
  return spec;
}

}  // namespace
}  // namespace jail::c

using jail::ProcessPhase;
using jail::Result;
using jail::c::guarded;

extern "C" {

jail_status jail_jail_spawn(const jail_jail* jail, const char* const* argv, const char* const* env,
                            const jail_process_options* options, jail_process** process,
                            jail_error* error) {
  return guarded(__func__, {{"jail", jail}, {"argv", argv}, {"process", process}}, error,
                 [&]() -> Result<void> {
                   const auto spec = jail::c::process_of(argv, env, options);
                   if (!spec) return spec.error();
                   auto made = jail->jail.spawn(*spec);
                   if (!made) return made.error();
                   *process = new jail_process{std::move(*made)};
                   return {};
                 });
}

jail_status jail_jail_open_file(const jail_jail* jail, const char* path, int flags, uint32_t mode,
                                int* fd, jail_error* error) {
  return guarded(__func__, {{"jail", jail}, {"path", path}, {"fd", fd}}, error,
                 [&]() -> Result<void> {
                   auto file = jail->jail.open_file(path, flags, mode);
                   if (!file) return file.error();
                   *fd = file->release();
                   return {};
                 });
}

jail_status jail_jail_request_socket(const jail_jail* jail, int ipv6, int* request,
                                     jail_error* error) {
  return guarded(__func__, {{"jail", jail}, {"request", request}}, error, [&]() -> Result<void> {
    using jail::SocketFamily;
    auto asked = jail->jail.request_socket(ipv6 != 0 ? SocketFamily::ipv6 : SocketFamily::ipv4);
    if (!asked) return asked.error();
    *request = asked->release();
    return {};
  });
}

jail_status jail_take_socket(int request, int* socket, jail_error* error) {
  return guarded(__func__, {{"socket", socket}}, error, [&]() -> Result<void> {
    auto taken = jail::Jail::take_socket(request);
    if (!taken) return taken.error();
    *socket = taken->release();
    return {};
  });
}

void jail_process_destroy(jail_process* process) { delete process; }

jail_process_progress jail_process_phase(const jail_process* process) {
  return process == nullptr ? JAIL_PROCESS_ENDED
                            : static_cast<jail_process_progress>(process->process.phase());
}

int jail_process_control_fd(const jail_process* process) {
  return process == nullptr ? -1 : process->process.control_fd();
}

int jail_process_pid(const jail_process* process) {
  return process == nullptr ? 0 : process->process.pid();
}

int jail_process_terminal_fd(const jail_process* process) {
  return process == nullptr ? -1 : process->process.terminal_fd();
}

int jail_process_take_stdin(jail_process* process) {
  return process == nullptr ? -1 : process->process.take_stdin().release();
}

int jail_process_take_stdout(jail_process* process) {
  return process == nullptr ? -1 : process->process.take_stdout().release();
}

int jail_process_take_stderr(jail_process* process) {
  return process == nullptr ? -1 : process->process.take_stderr().release();
}

jail_status jail_process_advance(jail_process* process, jail_process_progress* now,
                                 jail_error* error) {
  return guarded(__func__, {{"process", process}}, error,
                 [&] { return jail::c::tell_phase(process->process.advance(), now); });
}

jail_status jail_process_wait(jail_process* process, jail_process_progress progress,
                              uint64_t at_most_ms, jail_process_progress* now, jail_error* error) {
  return guarded(__func__, {{"process", process}}, error, [&]() -> Result<void> {
    const auto wanted = jail::c::mirrored("jail_process_progress", progress, ProcessPhase::ended);
    if (!wanted) return wanted.error();
    return jail::c::tell_phase(process->process.wait(*wanted, jail::c::patience_of(at_most_ms)),
                               now);
  });
}

jail_status jail_process_signal(jail_process* process, int number, jail_error* error) {
  return guarded(__func__, {{"process", process}}, error,
                 [&] { return process->process.signal(number); });
}

jail_status jail_process_signal_group(jail_process* process, int number, jail_error* error) {
  return guarded(__func__, {{"process", process}}, error,
                 [&] { return process->process.signal_group(number); });
}

jail_status jail_process_resize(jail_process* process, uint32_t columns, uint32_t rows,
                                jail_error* error) {
  return guarded(__func__, {{"process", process}}, error, [&]() -> Result<void> {
    const auto size = jail::c::terminal_size(columns, rows);
    if (!size) return size.error();
    return process->process.resize(*size);
  });
}

jail_status jail_process_communicate(jail_process* process, const void* input, size_t length,
                                     uint64_t max_bytes, jail_output** output, jail_error* error) {
  return guarded(__func__, {{"process", process}, {"output", output}}, error,
                 [&]() -> Result<void> {
                   const auto bytes = jail::c::bytes_of("input", input, length);
                   if (!bytes) return bytes.error();
                   auto told = max_bytes == 0 ? process->process.communicate(*bytes)
                                              : process->process.communicate(*bytes, max_bytes);
                   if (!told) return told.error();
                   *output = new jail_output{std::move(*told)};
                   return {};
                 });
}

jail_status jail_process_report(const jail_process* process, jail_report* report,
                                jail_error* error) {
  return guarded(__func__, {{"process", process}, {"report", report}}, error,
                 [&]() -> Result<void> {
                   if (process->process.phase() != ProcessPhase::ended)
                     return jail::invalid("report of a process that has not ended");
                   return jail::c::write_struct(
                       "jail_report", jail::c::report_of(process->process.report()), report);
                 });
}

}  // extern "C"
