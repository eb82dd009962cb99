#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include <cstddef>
#include <memory>

#include "plan/concerns.h"

namespace jail {
namespace {

std::string capability_name(int capability) {
  const std::unique_ptr<char, decltype(&cap_free)> name(
      cap_to_name(static_cast<cap_value_t>(capability)), &cap_free);
  return name == nullptr ? std::to_string(capability) : std::string(name.get());
}

void add_prctl(Builder& builder, int option, std::int64_t argument, std::string purpose) {
  builder.call(JAIL_CALL(prctl),
               {Builder::value(option), Builder::value(argument), Builder::value(0),
                Builder::value(0), Builder::value(0)},
               std::move(purpose));
}

// From here on uid 0 has no special meaning and execve regains no capabilities, for the rest of the
// jail's life.
void lock_secure_bits(Builder& builder) {
  constexpr int bits = SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_CAP_AMBIENT_RAISE;
  add_prctl(builder, PR_SET_SECUREBITS, bits | SECURE_ALL_LOCKS, "lock the secure bits");
}

void empty_bounding_set(Builder& builder, const HostFacts& host) {
  for (int capability = 0; capability <= host.last_capability; ++capability) {
    add_prctl(builder, PR_CAPBSET_DROP, capability,
              "drop " + capability_name(capability) + " from the bounding set");
  }
}

void drop_capabilities(Builder& builder) {
  builder.call(JAIL_CALL(prctl),
               {Builder::value(PR_CAP_AMBIENT), Builder::value(PR_CAP_AMBIENT_CLEAR_ALL),
                Builder::value(0), Builder::value(0), Builder::value(0)},
               "clear the ambient capabilities");
  const __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  builder.call(JAIL_CALL(capset),
               {Builder::address(builder.store(header)), Builder::address(builder.store(none))},
               "drop every capability");
  add_prctl(builder, PR_SET_NO_NEW_PRIVS, 1, "set no_new_privs");
}

// The process that runs this has every capability in the jail's user namespace, and none
// afterwards.
void give_up_privileges(Builder& builder, const HostFacts& host) {
  lock_secure_bits(builder);
  empty_bounding_set(builder, host);
  drop_capabilities(builder);
}

void name_init(Builder& builder) {
  builder.call(JAIL_CALL(prctl), {Builder::value(PR_SET_NAME), builder.text("jail-init")},
               "name init");
}

}  // namespace

void add_init_privileges(Builder& builder, const HostFacts& host) {
  give_up_privileges(builder, host);
  name_init(builder);
}

// The bounding set says what an execve may grant. This init executes nothing, and with no_new_privs
// an execve grants nothing. Its guest empties its own, since it is no child of this init's making.
void add_init_privileges_of_forked(Builder& builder) {
  lock_secure_bits(builder);
  drop_capabilities(builder);
  name_init(builder);
}

void add_not_dumpable(Builder& builder) {
  // Init has the guest's uid, so without this the guest could write to /proc/1/mem.
  add_prctl(builder, PR_SET_DUMPABLE, 0, "make init not dumpable");
}

// A fork joins the jail's user namespace with all its capabilities; init's bounding set does not
// apply to it.
void add_forked_privileges(Builder& builder, const HostFacts& host) {
  give_up_privileges(builder, host);
}

// Its forks join network namespaces that belong to the host's user namespace, which takes a
// capability there, and, where init is another user, another one to join by init's pidfd. They lose
// them with everything else when they join the jail's.
void add_zygote_privileges(Builder& builder, const HostFacts& host) {
  std::vector<int> capabilities = {CAP_SYS_ADMIN};
  if (host.ids_of_jails.count > 0) capabilities.push_back(CAP_SYS_PTRACE);
  const __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {};
  std::string names;
  for (const int capability : capabilities) {
    __user_cap_data_struct& sets = kept[CAP_TO_INDEX(capability)];
    sets.effective |= CAP_TO_MASK(capability);
    sets.permitted = sets.inheritable = sets.effective;
    names += (names.empty() ? "" : " and ") + capability_name(capability);
  }
  builder.call(JAIL_CALL(capset),
               {Builder::address(builder.store(header)), Builder::address(builder.store(kept))},
               "drop every capability but " + names);
  for (const int capability : capabilities) {
    builder.call(JAIL_CALL(prctl),
                 {Builder::value(PR_CAP_AMBIENT), Builder::value(PR_CAP_AMBIENT_RAISE),
                  Builder::value(capability), Builder::value(0), Builder::value(0)},
                 "keep " + capability_name(capability) + " at execve");
  }
  add_prctl(builder, PR_SET_NO_NEW_PRIVS, 1, "set no_new_privs");
}

void add_guest_filter(Builder& builder, const JailSpec& spec) {
  const std::uint64_t no_signals = 0;
  builder.call(JAIL_CALL(rt_sigprocmask),
               {Builder::value(SIG_SETMASK), Builder::address(builder.store(no_signals)),
                Builder::value(0), Builder::value(sizeof no_signals)},
               "unblock the signals");

  const auto& instructions = spec.filter.instructions;
  const std::uint32_t code = builder.intern({reinterpret_cast<const char*>(instructions.data()),
                                             instructions.size() * sizeof(instructions[0])});
  sock_fprog program{};
  program.len = static_cast<unsigned short>(instructions.size());
  const std::uint32_t place = builder.reserve(sizeof program);
  builder.write(place, program);
  builder.point(place + offsetof(sock_fprog, filter), code);
  builder.call(
      JAIL_CALL(seccomp),
      {Builder::value(SECCOMP_SET_MODE_FILTER), Builder::value(0), Builder::address(place)},
      "load the system call filter of " + std::to_string(instructions.size()) + " instructions");
}

}  // namespace jail
