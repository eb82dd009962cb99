#include "c/boundary.h"
#include "c/handles.h"
#include "jail/egress.h"

namespace jail::c {

Result<Limits> jail_limits_of(const jail_limits* given) {
  const Result<jail_limits> read = read_struct("jail_limits", given);
  if (!read) return read.error();
  if (read->reserved != 0) return invalid("jail_limits.reserved: not 0");
  Limits limits;
  const auto wall = checked_time("jail_limits.wall_ms", read->wall_ms);
  if (!wall) return wall.error();
  const auto cpu = checked_time("jail_limits.cpu_ms", read->cpu_ms);
  if (!cpu) return cpu.error();
  if (wall->count() > 0) limits.wall = *wall;
  if (cpu->count() > 0) limits.cpu = *cpu;
  limits.memory_bytes = or_default(read->memory_bytes, limits.memory_bytes);
  limits.file_bytes = or_default(read->file_bytes, limits.file_bytes);
  limits.stack_bytes = or_default(read->stack_bytes, limits.stack_bytes);
  limits.workspace_bytes = or_default(read->workspace_bytes, limits.workspace_bytes);
  limits.tmp_bytes = or_default(read->tmp_bytes, limits.tmp_bytes);
  limits.cpu_percent = or_default(read->cpu_percent, limits.cpu_percent);
  limits.processes = or_default(read->processes, limits.processes);
  limits.open_files = or_default(read->open_files, limits.open_files);
  limits.workspace_inodes = or_default(read->workspace_inodes, limits.workspace_inodes);
  limits.tmp_inodes = or_default(read->tmp_inodes, limits.tmp_inodes);
  return limits;
}

}  // namespace jail::c

static_assert(static_cast<int>(jail::Programs::refused) == JAIL_PROGRAMS_REFUSED);
static_assert(static_cast<int>(jail::Programs::allowed) == JAIL_PROGRAMS_ALLOWED);
static_assert(static_cast<int>(jail::DeviceAccess::read) == JAIL_DEVICE_READ);
static_assert(static_cast<int>(jail::DeviceAccess::read_write) == JAIL_DEVICE_READ_WRITE);

using jail::DeviceAccess;
using jail::Programs;
using jail::Result;
using jail::c::guarded;

extern "C" {

jail_status jail_spec_new(jail_spec** spec, jail_error* error) {
  return guarded(__func__, {{"spec", spec}}, error, [&]() -> Result<void> {
    *spec = new jail_spec{};
    return {};
  });
}

jail_status jail_spec_copy(const jail_spec* from, jail_spec** spec, jail_error* error) {
  return guarded(__func__, {{"from", from}, {"spec", spec}}, error, [&]() -> Result<void> {
    *spec = new jail_spec(*from);
    return {};
  });
}

void jail_spec_destroy(jail_spec* spec) { delete spec; }

jail_status jail_spec_set_argv(jail_spec* spec, const char* const* argv, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"argv", argv}}, error, [&]() -> Result<void> {
    spec->spec.argv = jail::c::strings_of(argv);
    return {};
  });
}

jail_status jail_spec_set_env(jail_spec* spec, const char* const* env, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"env", env}}, error, [&]() -> Result<void> {
    spec->spec.env = jail::c::strings_of(env);
    return {};
  });
}

jail_status jail_spec_set_working_directory(jail_spec* spec, const char* path, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"path", path}}, error, [&]() -> Result<void> {
    spec->spec.working_directory = path;
    return {};
  });
}

jail_status jail_spec_set_living(jail_spec* spec, jail_error* error) {
  return guarded(__func__, {{"spec", spec}}, error, [&]() -> Result<void> {
    spec->spec.life = jail::Life::until_ended;
    return {};
  });
}

jail_status jail_spec_set_terminal(jail_spec* spec, uint32_t columns, uint32_t rows,
                                   jail_error* error) {
  return guarded(__func__, {{"spec", spec}}, error, [&]() -> Result<void> {
    const auto size = jail::c::terminal_size(columns, rows);
    if (!size) return size.error();
    spec->spec.terminal.reset();
    if (columns != 0 || rows != 0) spec->spec.terminal = *size;
    return {};
  });
}

jail_status jail_spec_set_hostname(jail_spec* spec, const char* hostname, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"hostname", hostname}}, error, [&]() -> Result<void> {
    spec->spec.hostname = hostname;
    return {};
  });
}

jail_status jail_spec_set_root(jail_spec* spec, const jail_root* root, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"root", root}}, error, [&]() -> Result<void> {
    spec->spec.root = root->root;
    return {};
  });
}

jail_status jail_spec_add_bind(jail_spec* spec, const char* source, const char* target,
                               jail_node_kind kind, const char* why, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"source", source}, {"target", target}, {"why", why}},
                 error, [&]() -> Result<void> {
                   const auto mirror =
                       jail::c::mirrored("jail_node_kind", kind, jail::NodeKind::file);
                   if (!mirror) return mirror.error();
                   spec->spec.binds.push_back(
                       {.source = source, .target = target, .kind = *mirror, .why = why});
                   return {};
                 });
}

jail_status jail_spec_add_volume(jail_spec* spec, const char* source, const char* target,
                                 jail_programs programs, const char* why, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"source", source}, {"target", target}, {"why", why}},
                 error, [&]() -> Result<void> {
                   const auto mirror =
                       jail::c::mirrored("jail_programs", programs, Programs::allowed);
                   if (!mirror) return mirror.error();
                   spec->spec.volumes.push_back(
                       {.source = source, .target = target, .why = why, .programs = *mirror});
                   return {};
                 });
}

jail_status jail_spec_add_device(jail_spec* spec, const char* path, jail_device_access access,
                                 const char* why, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"path", path}, {"why", why}}, error,
                 [&]() -> Result<void> {
                   const auto mirror =
                       jail::c::mirrored("jail_device_access", access, DeviceAccess::read_write);
                   if (!mirror) return mirror.error();
                   spec->spec.devices.push_back({.path = path, .access = *mirror, .why = why});
                   return {};
                 });
}

jail_status jail_spec_set_network_none(jail_spec* spec, jail_error* error) {
  return guarded(__func__, {{"spec", spec}}, error, [&]() -> Result<void> {
    spec->spec.network = jail::Network::none();
    return {};
  });
}

jail_status jail_spec_set_network_loopback(jail_spec* spec, jail_error* error) {
  return guarded(__func__, {{"spec", spec}}, error, [&]() -> Result<void> {
    spec->spec.network = jail::Network::loopback();
    return {};
  });
}

jail_status jail_spec_allow_network(jail_spec* spec, const char* const* rules, const char* label,
                                    jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"rules", rules}}, error, [&]() -> Result<void> {
    std::vector<std::string> named = jail::c::strings_of(rules);
    for (const std::string& rule : named) {
      if (auto done = jail::check_egress_rule(rule); !done) return done;
    }
    spec->spec.network = jail::Network::allow(std::move(named), label == nullptr ? "" : label);
    return {};
  });
}

jail_status jail_spec_set_policy(jail_spec* spec, const jail_policy* policy, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"policy", policy}}, error, [&]() -> Result<void> {
    Result<jail::FilterProgram> filter = jail::compile_policy(policy->policy);
    if (!filter) return filter.error();
    spec->spec.filter = std::move(*filter);
    return {};
  });
}

jail_status jail_spec_set_limits(jail_spec* spec, const jail_limits* limits, jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"limits", limits}}, error, [&]() -> Result<void> {
    const Result<jail::Limits> read = jail::c::jail_limits_of(limits);
    if (!read) return read.error();
    spec->spec.limits = *read;
    return {};
  });
}

jail_status jail_spec_set_max_limits(jail_spec* spec, const jail_limits* limits,
                                     jail_error* error) {
  return guarded(__func__, {{"spec", spec}, {"limits", limits}}, error, [&]() -> Result<void> {
    const Result<jail::Limits> read = jail::c::jail_limits_of(limits);
    if (!read) return read.error();
    spec->spec.max_limits = *read;
    return {};
  });
}

}  // extern "C"
