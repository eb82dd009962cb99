#include <fcntl.h>
#include <sys/prctl.h>

#include "plan/concerns.h"

namespace jail {
namespace {

void write_proc_file(Builder& builder, const std::string& path, const std::string& text,
                     const std::string& purpose) {
  const SlotRef file = builder.open(
      JAIL_CALL(openat),
      {Builder::value(AT_FDCWD), builder.text(path), Builder::value(O_WRONLY | O_CLOEXEC)},
      "open " + path);
  const auto size = static_cast<std::int64_t>(text.size());
  builder
      .call(JAIL_CALL(write), {Builder::slot(file), builder.text(text), Builder::value(size)},
            purpose)
      .at_least = size;
  builder.close(file, path);
}

std::string one_id_map(std::uint32_t inside, std::uint32_t outside) {
  return std::to_string(inside) + " " + std::to_string(outside) + " 1";
}

}  // namespace

void add_identity(Builder& builder, const HostFacts& host) {
  // The kernel lets an unprivileged process map its group only after it gave up setgroups(), with
  // which it could leave a group that a file's mode shuts out.
  write_proc_file(builder, "/proc/self/setgroups", "deny", "give up setgroups");
  write_proc_file(builder, "/proc/self/gid_map", one_id_map(guest_gid, host.gid), "map the group");
  write_proc_file(builder, "/proc/self/uid_map", one_id_map(guest_uid, host.uid), "map the user");
}

void add_oom_score(Builder& builder) {
  // When the host runs out of memory, a jail goes before the server does.
  write_proc_file(builder, "/proc/self/oom_score_adj", "1000", "offer the jail to the OOM killer");
}

void add_session(Builder& builder, const JailSpec& spec) {
  builder.call(JAIL_CALL(setsid), {}, "start a session of init's own");
  builder.call(JAIL_CALL(umask), {Builder::value(0)}, "let modes be what the plan says");
  // A caller that runs with randomisation off, under a debugger say, does not hand that on.
  builder.call(JAIL_CALL(personality), {Builder::value(0)}, "reset the personality");
  builder.call(JAIL_CALL(sethostname),
               {builder.text(spec.hostname),
                Builder::value(static_cast<std::int64_t>(spec.hostname.size()))},
               "set the host name " + spec.hostname);
}

}  // namespace jail
