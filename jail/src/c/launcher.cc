#include <fcntl.h>

#include "c/boundary.h"
#include "c/handles.h"
#include "parent/cgroup_files.h"

namespace jail::c {
namespace {

Result<LauncherOptions> options_of(const jail_launcher_options* given) {
  const auto read = read_struct("jail_launcher_options", given);
  if (!read) return read.error();
  LauncherOptions options;
  if (read->cgroup_directory != nullptr) {
    Result<CgroupTree> tree = CgroupTree::adopt(read->cgroup_directory);
    if (!tree) return tree.error();
    options.cgroups = std::move(*tree);
  }
  if (read->egress != nullptr) options.egress = read->egress->proxy;
  if (read->ids != nullptr) options.ids = read->ids->range;
  return options;
}

}  // namespace
}  // namespace jail::c

using jail::Result;
using jail::c::guarded;

extern "C" {

jail_status jail_own_cgroup_directory(char** path, jail_error* error) {
  return guarded(__func__, {{"path", path}}, error, [&]() -> Result<void> {
    const jail::Fd self(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto found = jail::own_cgroup_directory(jail::read_cgroup_file(self.get(), "cgroup"),
                                                  jail::read_cgroup_file(self.get(), "mountinfo"));
    if (!found) {
      return jail::Error{jail::ErrorKind::unsupported, "find the cgroup v2 of this process", 0, {}};
    }
    *path = jail::c::owned_text(*found);
    return {};
  });
}

jail_status jail_launcher_start(const jail_launcher_options* options, jail_launcher** launcher,
                                jail_error* error) {
  return guarded(__func__, {{"launcher", launcher}}, error, [&]() -> Result<void> {
    auto read = jail::c::options_of(options);
    if (!read) return read.error();
    Result<jail::Launcher> started = jail::Launcher::start(std::move(*read));
    if (!started) return started.error();
    *launcher = new jail_launcher{std::move(*started)};
    return {};
  });
}

void jail_launcher_destroy(jail_launcher* launcher) { delete launcher; }

jail_status jail_launcher_launch(const jail_launcher* launcher, const jail_spec* spec,
                                 jail_jail** jail, jail_error* error) {
  return guarded(__func__, {{"launcher", launcher}, {"spec", spec}, {"jail", jail}}, error,
                 [&]() -> Result<void> {
                   Result<jail::Jail> launched = launcher->launcher.launch(spec->spec);
                   if (!launched) return launched.error();
                   *jail = new jail_jail{std::move(*launched)};
                   return {};
                 });
}

jail_status jail_launcher_explain(const jail_launcher* launcher, const jail_spec* spec, char** text,
                                  jail_error* error) {
  return guarded(__func__, {{"launcher", launcher}, {"spec", spec}, {"text", text}}, error,
                 [&]() -> Result<void> {
                   const Result<std::string> plan = launcher->launcher.explain(spec->spec);
                   if (!plan) return plan.error();
                   *text = jail::c::owned_text(*plan);
                   return {};
                 });
}

jail_status jail_launcher_enforcement(const jail_launcher* launcher, jail_enforcement* enforcement,
                                      jail_error* error) {
  return guarded(__func__, {{"launcher", launcher}, {"enforcement", enforcement}}, error, [&] {
    const jail::Enforcement held = launcher->launcher.enforcement();
    jail_enforcement told{};
    told.memory_by = static_cast<jail_enforcer>(held.memory);
    told.processes_by = static_cast<jail_enforcer>(held.processes);
    told.cpu_by = static_cast<jail_enforcer>(held.cpu);
    return jail::c::write_struct("jail_enforcement", told, enforcement);
  });
}

int jail_landlock_version(void) { return jail::landlock_reach().version; }

int jail_launcher_landlock_version(const jail_launcher* launcher) {
  return launcher == nullptr ? -1 : launcher->launcher.landlock_version();
}

int jail_launcher_process_fd(const jail_launcher* launcher) {
  return launcher == nullptr ? -1 : launcher->launcher.process_fd();
}

}  // extern "C"
