#include "plan/skeleton.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "plan/concerns.h"

namespace jail {
namespace {

// The skeleton of a root holds names and small files. A guest can ask how much is free on /, so
// every root has the same bounds, as long as they are enough.
constexpr std::uint64_t root_bytes = 16u << 20;
constexpr std::uint64_t root_inodes = 16384;
constexpr std::uint64_t max_inodes_per_path = 4;
constexpr std::uint64_t page_bytes = 4096;

void lay_out_bind(Skeleton& skeleton, const ReadOnlyBind& bind) {
  if (bind.kind == NodeKind::directory) {
    skeleton.directory(bind.target);
  } else {
    skeleton.file(bind.target, "");
  }
}

}  // namespace

void Skeleton::directory(const std::string& path, int mode) {
  if (path == "/" || !made_.insert(path).second) return;
  parent(path);
  builder_.call(JAIL_CALL(mkdirat), {Builder::slot(root_), relative(path), Builder::value(mode)},
                "make directory " + path);
}

void Skeleton::file(const std::string& path, const std::string& text,
                    const std::optional<timespec>& modified) {
  if (!made_.insert(path).second) return;
  parent(path);
  const SlotRef file = open_new(path);
  if (!text.empty()) {
    const auto size = static_cast<std::int64_t>(text.size());
    builder_
        .call(JAIL_CALL(write), {Builder::slot(file), builder_.text(text), Builder::value(size)},
              "write " + path)
        .at_least = size;
  }
  if (modified) {
    // The time matters because Python compares a source file's age with that of its compiled one.
    const timespec times[] = {*modified, *modified};
    builder_.call(JAIL_CALL(utimensat),
                  {Builder::slot(file), Builder::value(0), Builder::address(builder_.store(times)),
                   Builder::value(0)},
                  "date " + path);
  }
  builder_.close(file, path);
}

void Skeleton::link(const std::string& path, const std::string& points_to) {
  if (!made_.insert(path).second) return;
  parent(path);
  builder_.call(JAIL_CALL(symlinkat),
                {builder_.text(points_to), Builder::slot(root_), relative(path)},
                "link " + path + " to " + points_to);
}

void Skeleton::whiteout(const std::string& path) {
  if (!made_.insert(path).second) return;
  parent(path);
  // A whiteout is the one device node that anybody may make.
  builder_.call(JAIL_CALL(mknodat),
                {Builder::slot(root_), relative(path), Builder::value(S_IFCHR), Builder::value(0)},
                "make whiteout " + path);
}

void Skeleton::parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash != 0 && slash != std::string::npos) directory(path.substr(0, slash));
}

// All files use one slot, one after the other.
SlotRef Skeleton::open_new(const std::string& path) {
  const std::initializer_list<Argument> arguments = {
      Builder::slot(root_), relative(path),
      Builder::value(O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC), Builder::value(0444)};
  const std::string purpose = "make file " + path;
  if (file_) {
    builder_.call(JAIL_CALL(openat), arguments, purpose).result_slot = file_->number;
  } else {
    file_ = builder_.open(JAIL_CALL(openat), arguments, purpose);
  }
  return *file_;
}

std::vector<MountOption> tmpfs_options(std::uint64_t bytes, std::uint64_t inodes,
                                       const std::string& mode) {
  return {{"size", std::to_string(bytes)}, {"nr_inodes", std::to_string(inodes)}, {"mode", mode}};
}

std::vector<MountOption> skeleton_options(const JailSpec& spec) {
  const Root& root = spec.root;
  std::uint64_t bytes = 0;
  for (const TextFile& file : root.files) {
    bytes += (file.text.size() + page_bytes - 1) / page_bytes * page_bytes;
  }
  const std::uint64_t paths = root.binds.size() + root.files.size() + root.links.size() +
                              spec.binds.size() + spec.volumes.size() + spec.devices.size();
  return tmpfs_options(std::max(root_bytes, 2 * bytes),
                       std::max(root_inodes, max_inodes_per_path * paths), "0755");
}

void lay_out(Skeleton& skeleton, const JailSpec& spec) {
  const Root& root = spec.root;
  for (const ReadOnlyBind& bind : root.binds) lay_out_bind(skeleton, bind);
  for (const ReadOnlyBind& bind : spec.binds) lay_out_bind(skeleton, bind);
  for (const Volume& volume : spec.volumes) skeleton.directory(volume.target);
  for (const TextFile& file : root.files) {
    skeleton.file(file.target, file.text, file.modified);
  }
  for (const Link& link : root.links) skeleton.link(link.target, link.points_to);
  skeleton.directory(devices_directory);
  skeleton.directory("/workspace");
  skeleton.directory("/tmp");
  skeleton.directory("/proc", 0555);
}

void lay_out_devices(Skeleton& skeleton, const JailSpec& spec) {
  for (const char* device : devices) skeleton.file(path_of_device(device), "");
  for (const Device& device : spec.devices) skeleton.file(device.path, "");
  if (has_terminals(spec)) {
    skeleton.file(path_of_device(terminal_device), "");
    skeleton.directory("/dev/pts");
  }
  skeleton.link("/dev/fd", "/proc/self/fd");
  skeleton.link("/dev/stdin", "/proc/self/fd/0");
  skeleton.link("/dev/stdout", "/proc/self/fd/1");
  skeleton.link("/dev/stderr", "/proc/self/fd/2");
  // With this link POSIX shared memory counts against the same bound as /tmp.
  skeleton.link("/dev/shm", "/tmp");
}

}  // namespace jail
