// Checks the parts of a jail beside its root: targets that are taken, reasons that are missing.
#include <algorithm>

#include "plan/check_spec.h"
#include "plan/path_rules.h"

namespace jail {
namespace {

Error wrong(ErrorKind kind, const std::string& field, const std::string& what,
            std::string hint = {}) {
  return {kind, field + ": " + what, 0, std::move(hint)};
}

Result<void> check_why(const std::string& why, const std::string& entry) {
  if (is_one_line(why)) return {};
  return wrong(ErrorKind::invalid, entry + ".why", "not a line of text",
               "each loosening states its reason");
}

// The places of a jail that are taken. /run is where a template's host keeps the roots of its
// jails.
class Places {
 public:
  explicit Places(const Root& root) : root_(root) {
    for (const char* path : {"/proc", "/dev", "/tmp", "/workspace", "/run"})
      taken_.push_back({path, path});
    for (const ReadOnlyBind& bind : root.binds) taken_.push_back({bind.target, "the root's"});
    for (const TextFile& file : root.files) taken_.push_back({file.target, "the root's"});
    for (const Link& link : root.links) taken_.push_back({link.target, "the root's"});
  }

  // Lets an extra have /workspace, unless another one has it already.
  void give_up_workspace() {
    std::erase_if(taken_, [](const Place& place) { return place.whose == "/workspace"; });
  }

  bool is_hidden(const std::string& target) const {
    return std::find(root_.hidden.begin(), root_.hidden.end(), target) != root_.hidden.end();
  }

  Result<void> take(const std::string& target, const std::string& entry) {
    const std::string field = entry + ".target";
    if (!is_plain_path(target)) {
      return wrong(ErrorKind::invalid, field, "\"" + target + "\" is not a plain absolute path");
    }
    for (const Place& place : taken_) {
      if (!is_at_or_below(target, place.path) && !is_at_or_below(place.path, target)) continue;
      return wrong(ErrorKind::refused, field,
                   "\"" + target + "\" would cover or lie in " + place.path +
                       (place.whose == place.path ? ", which is the jail's own"
                                                  : ", which is " + place.whose),
                   "choose a place that nothing else of the jail is at, such as /data");
    }
    taken_.push_back({target, "that of " + entry});
    return {};
  }

 private:
  struct Place {
    std::string path;
    std::string whose;
  };
  const Root& root_;
  std::vector<Place> taken_;
};

// The root has a bind of its own there, so the target can show that directory and nothing else.
Result<void> check_shows_again(const ReadOnlyBind& bind, const std::string& entry) {
  if (bind.source == bind.target && bind.kind == NodeKind::directory) return {};
  return wrong(ErrorKind::refused, entry + ".target",
               "\"" + bind.target + "\" shows the directory " + bind.target + " or nothing",
               "choose a place that nothing else of the jail is at, such as /data");
}

Result<void> check_bind(const ReadOnlyBind& bind, const std::string& entry, Places& places) {
  if (Result<void> why = check_why(bind.why, entry); !why) return why;
  if (!is_plain_path(bind.source)) {
    return wrong(ErrorKind::invalid, entry + ".source",
                 "\"" + bind.source + "\" is not a plain absolute path");
  }
  if (is_kernels_own(bind.source)) {
    return wrong(ErrorKind::refused, entry + ".source", bind.source + " is never shown");
  }
  if (places.is_hidden(bind.target)) return check_shows_again(bind, entry);
  return places.take(bind.target, entry);
}

Result<void> check_volume(const Volume& volume, const std::string& entry, Places& places) {
  if (Result<void> why = check_why(volume.why, entry); !why) return why;
  if (!is_plain_path(volume.source) && volume.source != "/") {
    return wrong(ErrorKind::invalid, entry + ".source",
                 "\"" + volume.source + "\" is not a plain absolute path");
  }
  if (is_kernels_own(volume.source) || is_at_or_below(volume.source, "/etc")) {
    return wrong(ErrorKind::refused, entry + ".source", volume.source + " is never a volume");
  }
  if (volume.target == "/workspace" && volume.access == VolumeAccess::read_only) {
    return wrong(ErrorKind::refused, entry + ".access", "the working directory must be writable");
  }
  return places.take(volume.target, entry);
}

Result<void> check_device(const Device& device, const std::string& entry,
                          const std::vector<Device>& earlier, std::size_t index) {
  if (Result<void> why = check_why(device.why, entry); !why) return why;
  const std::string field = entry + ".path";
  if (!is_plain_path(device.path) || !is_at_or_below(device.path, "/dev") ||
      device.path == "/dev") {
    return wrong(ErrorKind::invalid, field,
                 "\"" + device.path + "\" is not a plain absolute path in /dev");
  }
  for (const char* refused : {"/dev/mem", "/dev/kmem", "/dev/port"}) {
    if (device.path == refused) {
      return wrong(ErrorKind::refused, field, device.path + " is the memory of the host");
    }
  }
  for (const char* own : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
                          "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/shm"}) {
    if (is_at_or_below(device.path, own)) {
      return wrong(ErrorKind::invalid, field, std::string("every jail has ") + own);
    }
  }
  for (std::size_t i = 0; i < index; ++i) {
    if (is_at_or_below(device.path, earlier[i].path) ||
        is_at_or_below(earlier[i].path, device.path)) {
      return wrong(ErrorKind::invalid, field, device.path + " is at or in " + earlier[i].path);
    }
  }
  return {};
}

}  // namespace

Result<void> check_extras(const JailSpec& spec) {
  if (spec.binds.empty() && spec.volumes.empty() && spec.devices.empty()) return {};
  Places places(spec.root);
  for (std::size_t i = 0; i < spec.binds.size(); ++i) {
    Result<void> done = check_bind(spec.binds[i], item("binds", i), places);
    if (!done) return done;
  }
  for (std::size_t i = 0; i < spec.volumes.size(); ++i) {
    const bool is_workspace = spec.volumes[i].target == "/workspace";
    if (is_workspace && spec.life == Life::until_ended) places.give_up_workspace();
    Result<void> done = check_volume(spec.volumes[i], item("volumes", i), places);
    if (!done) return done;
  }
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    Result<void> done = check_device(spec.devices[i], item("devices", i), spec.devices, i);
    if (!done) return done;
  }
  return {};
}

}  // namespace jail
