#include <fcntl.h>
#include <sys/prctl.h>

#include "plan/concerns.h"

namespace jail {
namespace {

static_assert(wire::guest_uid == guest_uid && wire::guest_gid == guest_gid);

void write_proc_file(Builder& builder, const std::string& path, std::uint32_t text,
                     std::size_t length, const std::string& purpose) {
  const SlotRef file = builder.open(
      JAIL_CALL(openat),
      {Builder::value(AT_FDCWD), builder.text(path), Builder::value(O_WRONLY | O_CLOEXEC)},
      "open " + path);
  const auto size = static_cast<std::int64_t>(length);
  builder
      .call(JAIL_CALL(write), {Builder::slot(file), Builder::address(text), Builder::value(size)},
            purpose)
      .at_least = size;
  builder.close(file, path);
}

void write_proc_file(Builder& builder, const std::string& path, const std::string& text,
                     const std::string& purpose) {
  write_proc_file(builder, path, builder.intern(text), text.size(), purpose);
}

std::string one_id_map(std::uint32_t inside, const std::string& outside) {
  return std::to_string(inside) + " " + outside + " 1";
}

// Returns the place of the id, which the launcher fills in.
std::uint32_t write_own_id_map(Builder& builder, Plan& plan, const std::string& path,
                               std::uint32_t inside, const std::string& purpose) {
  const std::string text = one_id_map(inside, std::string(wire::id_digits, '?'));
  const std::uint32_t place = builder.reserve(text.size() + 1);
  plan.bytes.replace(place, text.size(), text);
  write_proc_file(builder, path, place, text.size(), purpose);
  return place + static_cast<std::uint32_t>(text.find('?'));
}

// Init was cloned with real and effective ids of its own, and the launcher's for all else.
void take_own_ids(Builder& builder, Plan& plan) {
  constexpr int unchanged = -1;
  // They also make the ids that count for files the effective ones, which have no number here yet.
  builder.call(JAIL_CALL(setregid), {Builder::value(unchanged), Builder::value(unchanged)},
               "reach files as the jail's own group");
  builder.call(JAIL_CALL(setreuid), {Builder::value(unchanged), Builder::value(unchanged)},
               "reach files as the jail's own user");
  // The change of ids gave init's files in /proc to root. This makes them init's own again.
  builder.call(JAIL_CALL(prctl),
               {Builder::value(PR_SET_DUMPABLE), Builder::value(1), Builder::value(0),
                Builder::value(0), Builder::value(0)},
               "make init's files in /proc its own");
  write_proc_file(builder, "/proc/self/setgroups", "deny", "give up setgroups");
  plan.gid_map = write_own_id_map(builder, plan, "/proc/self/gid_map", guest_gid,
                                  "map a group of the jail's own");
  plan.uid_map = write_own_id_map(builder, plan, "/proc/self/uid_map", guest_uid,
                                  "map a user of the jail's own");
  // The launcher's are left nowhere, not even as saved ones.
  builder.call(JAIL_CALL(setresgid),
               {Builder::value(guest_gid), Builder::value(guest_gid), Builder::value(guest_gid)},
               "be of that group for good");
  builder.call(JAIL_CALL(setresuid),
               {Builder::value(guest_uid), Builder::value(guest_uid), Builder::value(guest_uid)},
               "be that user for good");
}

// The guest's id stands for the launcher's own, and all of a range for themselves.
std::string range_map(std::uint32_t inside, std::uint32_t own, std::uint32_t first,
                      std::uint32_t count) {
  const std::string range = std::to_string(first);
  return one_id_map(inside, std::to_string(own)) + "\n" + range + " " + range + " " +
         std::to_string(count);
}

}  // namespace

void add_identity(Builder& builder, Plan& plan, const HostFacts& host) {
  if (host.ids_of_jails.count > 0) {
    take_own_ids(builder, plan);
    return;
  }
  // The kernel lets an unprivileged process map its group only after it gave up setgroups(), with
  // which it could leave a group that a file's mode shuts out.
  write_proc_file(builder, "/proc/self/setgroups", "deny", "give up setgroups");
  write_proc_file(builder, "/proc/self/gid_map", one_id_map(guest_gid, std::to_string(host.gid)),
                  "map the group");
  write_proc_file(builder, "/proc/self/uid_map", one_id_map(guest_uid, std::to_string(host.uid)),
                  "map the user");
}

void add_identity_of_host(Builder& builder, Plan& plan, const HostFacts& host) {
  const IdsOfJails& ids = host.ids_of_jails;
  if (ids.count == 0) {
    add_identity(builder, plan, host);
    return;
  }
  plan.gid_map = builder.intern(range_map(guest_gid, host.gid, ids.first_gid, ids.count));
  plan.uid_map = builder.intern(range_map(guest_uid, host.uid, ids.first_uid, ids.count));
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
