// Calls that make mounts by the kernel's descriptor-based interface, which names no path twice.
#pragma once

#include <linux/mount.h>

#include <cstdint>
#include <string>
#include <vector>

#include "plan/builder.h"

namespace jail {

// Every mount of a jail but the device nodes.
inline constexpr std::uint64_t restricted = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

struct MountOption {
  std::string key;
  std::string value;
};

class MountWriter {
 public:
  explicit MountWriter(Builder& builder) : builder_(builder) {}

  // A mount that is attached nowhere yet.
  SlotRef make(const std::string& type, const std::vector<MountOption>& options,
               std::uint64_t attributes, const std::string& of = "");

  // A view of `directory` whose inodes are this mount's own: a lock on one of them is seen by
  // nobody else, while their pages are shared. `layers` are at least two, the uppermost first, with
  // ':' between them, and "." is that directory: the kernel shows the text of a layer's path in
  // mountinfo, and takes no more than 255 bytes of it.
  SlotRef overlay(SlotRef directory, const std::string& layers, const std::string& name);

  // A copy of a part of the host's tree, attached nowhere yet. `view` names what the attributes
  // make of it: "read-only".
  SlotRef take(const std::string& source, std::uint64_t attributes, const std::string& view);

  // The same of a directory alone, without what is mounted below it, which is refused by the
  // kernel; by a path without symbolic links.
  SlotRef take_directory(const std::string& source, std::uint64_t attributes,
                         const std::string& view);

  void set_attributes(SlotRef mount, std::uint64_t attributes, int recursive,
                      const std::string& purpose);

  void attach(SlotRef mount, Argument directory, const std::string& path,
              const std::string& target);

 private:
  Builder& builder_;
};

// To stand in or to look up from; `name` is the whole path.
SlotRef open_directory(Builder& builder, Argument above, const std::string& path,
                       const std::string& name);

}  // namespace jail
