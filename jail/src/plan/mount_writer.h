// Adds calls that make mounts by the kernel's descriptor-based interface, which names no path
// twice.
#pragma once

#include <linux/mount.h>

#include <cstdint>
#include <string>
#include <vector>

#include "plan/builder.h"

namespace jail {

// The attributes of every mount of a jail except the device nodes.
inline constexpr std::uint64_t restricted = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

struct MountOption {
  std::string key;
  std::string value;
};

class MountWriter {
 public:
  explicit MountWriter(Builder& builder) : builder_(builder) {}

  // Makes a mount that is not attached yet. The slot `kept_context` keeps the context, by which
  // options of the file system can be changed afterwards; wire::slot_none: it is closed.
  SlotRef make(const std::string& type, const std::vector<MountOption>& options,
               std::uint64_t attributes, const std::string& of = "",
               std::uint8_t kept_context = wire::slot_none);

  // Makes a view of `directory` whose inodes are this mount's own: nobody else sees a lock on one
  // of them, while their pages are shared. `layers` are at least two, the uppermost first,
  // separated by ':', and "." is that directory: the kernel shows the text of a layer's path in
  // mountinfo, and takes at most 255 bytes of it.
  SlotRef overlay(SlotRef directory, const std::string& layers, const std::string& name);

  // Makes a copy of a part of the host's tree, not attached yet. `view` names the effect of the
  // attributes: "read-only".
  SlotRef take(const std::string& source, std::uint64_t attributes, const std::string& view);

  // The same with all that is mounted below, and with the attributes that each mount has.
  SlotRef take_tree(const std::string& source);

  // The same as take() for a directory alone: the kernel refuses it where something is mounted
  // below. The path must have no symbolic links.
  SlotRef take_directory(const std::string& source, std::uint64_t attributes,
                         const std::string& view);

  void set_attributes(SlotRef mount, std::uint64_t attributes, int recursive,
                      const std::string& purpose);

  void attach(SlotRef mount, Argument directory, const std::string& path,
              const std::string& target);

 private:
  Builder& builder_;
};

// Opens a directory to change into or to look up from; `name` is the whole path.
SlotRef open_directory(Builder& builder, Argument above, const std::string& path,
                       const std::string& name);

}  // namespace jail
