// The names in a root, on a tmpfs: directories, links, small files, and mount points.
#pragma once

#include <ctime>
#include <optional>
#include <set>
#include <string>

#include "jail/spec.h"
#include "plan/builder.h"
#include "plan/mount_writer.h"

namespace jail {

// Makes each name once, parents first. Paths are absolute in the jail.
class Skeleton {
 public:
  Skeleton(Builder& builder, SlotRef root) : builder_(builder), root_(root) {}

  void directory(const std::string& path, int mode = 0755);
  void file(const std::string& path, const std::string& text,
            const std::optional<timespec>& modified = std::nullopt);
  void link(const std::string& path, const std::string& points_to);
  // Takes a name out of the layers below, where this is a layer of an overlay.
  void whiteout(const std::string& path);

 private:
  Argument relative(const std::string& path) { return builder_.text(path.substr(1)); }
  void parent(const std::string& path);
  SlotRef open_new(const std::string& path);

  Builder& builder_;
  SlotRef root_;
  std::optional<SlotRef> file_;
  std::set<std::string> made_;
};

// Makes everything in the root of `spec`'s jail except what is in /dev and what is mounted on it.
void lay_out(Skeleton& skeleton, const JailSpec& spec);
// Makes what is in /dev: links, and files for devices to be mounted on.
void lay_out_devices(Skeleton& skeleton, const JailSpec& spec);

// The options of a tmpfs that is large enough for lay_out().
std::vector<MountOption> skeleton_options(const JailSpec& spec);

std::vector<MountOption> tmpfs_options(std::uint64_t bytes, std::uint64_t inodes,
                                       const std::string& mode);

}  // namespace jail
