// The parts of a plan, one kernel concern a file. compile() calls them in this order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/spec.h"
#include "plan/builder.h"

namespace jail {

// The device nodes that a jail shows, the host's own: nobody may make one in a user namespace.
inline constexpr const char* devices[] = {"null", "zero", "full", "random", "urandom"};
inline constexpr char devices_directory[] = "/dev";
// A jail with terminals shows it too: whatever process opens it gets its own controlling terminal.
inline constexpr const char* terminal_device = "tty";
inline bool has_terminals(const JailSpec& spec) {
  return spec.life == Life::until_ended || spec.terminal.has_value();
}
inline std::string path_of_device(const char* name) { return std::string("/dev/") + name; }

// The host's node that a guest sees as this device. /dev/zero is replaced, since memory that is
// mapped from it and shared would be counted nowhere; /dev/full reads as zeros too and cannot be
// mapped.
inline std::string source_of_device(const char* name) {
  return path_of_device(std::string_view(name) == "zero" ? "full" : name);
}

// Returns whether a volume is the working directory.
inline bool has_workspace_on_disk(const JailSpec& spec) {
  return std::any_of(spec.volumes.begin(), spec.volumes.end(),
                     [](const Volume& volume) { return volume.target == "/workspace"; });
}

// Returns whether a jail can use a network namespace that another one had before.
bool fits_reused_network(const Network& network);  // network.cc
// Adds the variables by which programs find the proxy, where there is one, unless they are given.
std::vector<std::string> with_way_out(std::vector<std::string> env,
                                      const Network& network);  // network.cc

// Init's part.
void add_identity(Builder& builder, Plan& plan, const HostFacts& host);  // identity.cc
// The launcher of a host writes its maps where jails in it have ids of their own.
void add_identity_of_host(Builder& builder, Plan& plan, const HostFacts& host);  // identity.cc
void add_oom_score(Builder& builder);                                            // identity.cc
void add_session(Builder& builder, const JailSpec& spec);                        // identity.cc
void add_mounts(Builder& builder, const JailSpec& spec);                         // mounts.cc
void add_mounts_in_host(Builder& builder, const JailSpec& spec);                 // mounts.cc
void add_mounts_of_host(Builder& builder, const JailSpec& spec);                 // mounts.cc
void add_network(Builder& builder, const Network& network);                      // network.cc
void add_init_privileges(Builder& builder, const HostFacts& host);               // privileges.cc
void add_init_privileges_of_forked(Builder& builder);                            // privileges.cc
void add_not_dumpable(Builder& builder);                                         // privileges.cc

// A guest's program: one that it executes itself, or one that its zygote has executed before it.
enum class GuestProgram : std::uint8_t { executed, of_zygote };
// Added to either part, after the root stands; returns std::nullopt where the kernel has no
// Landlock. With GuestProgram::of_zygote the file of each rule stays open until
// add_domain_of_forked(), so the limit of open files must come afterwards.
std::optional<SlotRef> add_ruleset(Builder& builder, const JailSpec& spec, const HostFacts& host,
                                   GuestProgram program);  // landlock.cc

// The calls of the guest's part.
void add_streams(Builder& builder);                              // streams.cc
void add_controlling_terminal(Builder& builder);                 // streams.cc
void add_zygote_mounts(Builder& builder, const JailSpec& spec);  // mounts.cc
void add_zygote_streams(Builder& builder);                       // streams.cc
void add_forked_streams(Builder& builder);                       // streams.cc
// A fork keeps its streams and the channel to init.
void close_all_but_channel(Builder& builder, const char* purpose);  // streams.cc
void add_limits(Builder& builder, Plan& plan, const JailSpec& spec,
                const HostFacts& host);                                                 // limits.cc
void add_zygote_limits(Builder& builder, const JailSpec& spec, const HostFacts& host);  // limits.cc
void add_forked_privileges(Builder& builder, const HostFacts& host);  // privileges.cc
void add_zygote_privileges(Builder& builder, const HostFacts& host);  // privileges.cc
void add_domain(Builder& builder, const std::optional<SlotRef>& ruleset,
                const HostFacts& host);  // landlock.cc
// Closes the files of the ruleset, too.
void add_domain_of_forked(Builder& builder, const std::optional<SlotRef>& ruleset,
                          const HostFacts& host);               // landlock.cc
void add_guest_filter(Builder& builder, const JailSpec& spec);  // privileges.cc

}  // namespace jail
