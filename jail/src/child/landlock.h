// The kernel's interface of Landlock (landlock(7)): the installed linux/landlock.h may be older
// than the kernel. Each version of it (the ABI) includes the earlier ones.
#pragma once

#include <cstdint>

namespace jail::landlock {

// struct landlock_ruleset_attr. An older kernel accepts a longer structure whose additional part is
// 0.
struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

// struct landlock_path_beneath_attr: 12 bytes.
struct [[gnu::packed]] BeneathRule {
  std::uint64_t rights;
  std::int32_t file;  // a descriptor of the file or directory that the rule is about
};

// The first version cannot rename between directories.
inline constexpr int min_version = 2;

inline constexpr unsigned ask_for_version = 1;  // flag of landlock_create_ruleset(2)
inline constexpr unsigned path_beneath = 1;     // kind of rule of landlock_add_rule(2)
// A flag of landlock_restrict_self(2), from version 7 on: denials are not written to the audit log.
inline constexpr unsigned unlogged = 1;
inline constexpr int first_with_unlogged = 7;

constexpr std::uint64_t bit(int number) { return std::uint64_t{1} << number; }

inline constexpr std::uint64_t execute = bit(0);
inline constexpr std::uint64_t write_file = bit(1);
inline constexpr std::uint64_t read_file = bit(2);
inline constexpr std::uint64_t read_directory = bit(3);
inline constexpr std::uint64_t make_character_device = bit(6);
inline constexpr std::uint64_t make_block_device = bit(11);
inline constexpr std::uint64_t remove_and_make = bit(13) - bit(4);  // includes the two above
inline constexpr std::uint64_t refer = bit(13);  // to rename and link between directories
inline constexpr std::uint64_t truncate = bit(14);
inline constexpr std::uint64_t control_device = bit(15);  // by ioctl(2)
inline constexpr std::uint64_t bind_tcp = bit(0);
inline constexpr std::uint64_t abstract_unix_socket = bit(0);
inline constexpr std::uint64_t signal = bit(1);

// Every right to files that can be handled.
constexpr std::uint64_t known_file_rights(int version) {
  std::uint64_t rights = execute | write_file | read_file | read_directory | remove_and_make;
  if (version >= 2) rights |= refer;
  if (version >= 3) rights |= truncate;
  if (version >= 5) rights |= control_device;
  return rights;
}

constexpr std::uint64_t known_network_rights(int version) { return version >= 4 ? bind_tcp : 0; }

constexpr std::uint64_t known_scopes(int version) {
  return version >= 6 ? abstract_unix_socket | signal : 0;
}

}  // namespace jail::landlock
