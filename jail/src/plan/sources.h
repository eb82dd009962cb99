// What a jail sees of the host: the binds of its root, its additional binds, volumes and device
// nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jail/spec.h"
#include "plan/builder.h"
#include "plan/mount_writer.h"

namespace jail {

// Paths of directories that are layers of a jail's overlays.
struct Layers {
  std::string empty;   // has nothing in it
  std::string covers;  // holds what lay_out_covers() made
  // Where a template's host has all devices of its jails, which are taken together. Empty: each
  // device is taken by itself.
  std::string devices;
};

// Opens its sources when it is made, before the new root covers a part of them. Directories are
// shown by overlays where there are `layers` for them, else as mounts of the host's. `spec` must
// outlive it.
class Sources {
 public:
  Sources(Builder& builder, MountWriter& mounts, const JailSpec& spec,
          std::optional<Layers> layers);

  void attach_to(SlotRef root);

 private:
  // A mount that waits for its place.
  struct Taken {
    SlotRef mount;
    std::string target;
  };

  void open(const ReadOnlyBind& bind);
  void take(const Volume& volume);
  void take_devices();
  void take_device(const std::string& source, const std::string& target);
  bool is_overlaid(const ReadOnlyBind& bind) const;
  void attach(SlotRef mount, SlotRef root, const std::string& target);

  Builder& builder_;
  MountWriter& mounts_;
  const JailSpec& spec_;
  std::optional<Layers> layers_;
  std::vector<const ReadOnlyBind*> binds_;
  std::vector<SlotRef> opened_;  // one for each of binds_
  std::vector<Taken> taken_;
};

}  // namespace jail
