#include "plan/sources.h"

#include <fcntl.h>

#include <string>
#include <utility>

#include "plan/concerns.h"
#include "plan/hidden.h"

namespace jail {

Sources::Sources(Builder& builder, MountWriter& mounts, const JailSpec& spec,
                 std::optional<Layers> layers)
    : builder_(builder), mounts_(mounts), spec_(spec), layers_(std::move(layers)) {
  if (layers_ && !layers_->devices.empty()) {
    taken_.push_back({mounts_.take_tree(layers_->devices), devices_directory});
  } else {
    take_devices();
  }
  for (const ReadOnlyBind& bind : spec.root.binds) open(bind);
  for (const ReadOnlyBind& bind : spec.binds) open(bind);
  for (const Volume& volume : spec.volumes) take(volume);
}

void Sources::take_devices() {
  for (const char* device : devices) {
    take_device(source_of_device(device), path_of_device(device));
  }
  if (has_terminals(spec_)) {
    const std::string path = path_of_device(terminal_device);
    take_device(path, path);
  }
  for (const Device& device : spec_.devices) take_device(device.path, device.path);
}

// The read-only flag restricts the node's mode and owner only, not what is written to the device
// behind it.
void Sources::take_device(const std::string& source, const std::string& target) {
  taken_.push_back(
      {mounts_.take(source, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, "read-only"),
       target});
}

// The source of an overlay is only looked up here: attach_to() makes the overlay once its other
// layers exist.
void Sources::open(const ReadOnlyBind& bind) {
  binds_.push_back(&bind);
  opened_.push_back(
      is_overlaid(bind)
          ? open_directory(builder_, Builder::value(AT_FDCWD), bind.source, bind.source)
          : mounts_.take(bind.source, restricted | MOUNT_ATTR_RDONLY, "read-only"));
}

void Sources::take(const Volume& volume) {
  const bool runs = volume.programs == Programs::allowed;
  const bool is_read_only = volume.access == VolumeAccess::read_only;
  const std::uint64_t attributes =
      restricted | (runs ? 0 : MOUNT_ATTR_NOEXEC) | (is_read_only ? MOUNT_ATTR_RDONLY : 0);
  taken_.push_back({mounts_.take_directory(volume.source, attributes,
                                           std::string(is_read_only ? "a read-only" : "a") +
                                               " volume" + (runs ? "" : " without programs")),
                    volume.target});
}

void Sources::attach_to(SlotRef root) {
  for (std::size_t i = 0; i < binds_.size(); ++i) {
    const ReadOnlyBind& bind = *binds_[i];
    SlotRef mount = opened_[i];
    if (is_overlaid(bind)) {
      // The kernel makes no overlay of one layer, so a bind that hides nothing has an empty one
      // below.
      const std::string covers = covers_of(bind.target, spec_.root, layers_->covers);
      mount = mounts_.overlay(opened_[i], covers.empty() ? ".:" + layers_->empty : covers + ":.",
                              bind.source);
      builder_.close(opened_[i], bind.source);
    }
    attach(mount, root, bind.target);
  }
  for (const Taken& taken : taken_) attach(taken.mount, root, taken.target);
}

bool Sources::is_overlaid(const ReadOnlyBind& bind) const {
  return layers_ && bind.kind == NodeKind::directory;
}

void Sources::attach(SlotRef mount, SlotRef root, const std::string& target) {
  mounts_.attach(mount, Builder::slot(root), target.substr(1), target);
  builder_.close(mount, target);
}

}  // namespace jail
