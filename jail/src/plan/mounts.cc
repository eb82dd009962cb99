#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "plan/concerns.h"

// <sys/mount.h> declares the same names as <linux/mount.h>; these few values are the kernel's ABI.
#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif
#ifndef MS_PRIVATE
#define MS_PRIVATE (1 << 18)
#endif

namespace jail {
namespace {

constexpr std::int64_t attach_by_descriptor = MOVE_MOUNT_F_EMPTY_PATH;
// Every mount of a jail but the device nodes.
constexpr std::uint64_t restricted = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// The skeleton of the root holds names only; 1 MiB is far more than it takes.
constexpr std::uint64_t root_bytes = 1u << 20;
constexpr std::uint64_t root_inodes = 1024;

constexpr const char* devices[] = {"null", "zero", "full", "random", "urandom"};

struct MountOption {
  std::string key;
  std::string value;
};

class MountWriter {
 public:
  explicit MountWriter(Builder& builder) : builder_(builder) {}

  // A mount that is attached nowhere yet.
  SlotRef make(const std::string& type, const std::vector<MountOption>& options,
               std::uint64_t attributes) {
    const SlotRef context = builder_.open(
        JAIL_CALL(fsopen), {builder_.text(type), Builder::value(FSOPEN_CLOEXEC)}, "open " + type);
    for (const MountOption& option : options) {
      builder_.call(JAIL_CALL(fsconfig),
                    {Builder::slot(context), Builder::value(FSCONFIG_SET_STRING),
                     builder_.text(option.key), builder_.text(option.value), Builder::value(0)},
                    "set " + type + " " + option.key + "=" + option.value);
    }
    builder_.call(JAIL_CALL(fsconfig),
                  {Builder::slot(context), Builder::value(FSCONFIG_CMD_CREATE), Builder::value(0),
                   Builder::value(0), Builder::value(0)},
                  "create " + type);
    const SlotRef mount = builder_.open(JAIL_CALL(fsmount),
                                        {Builder::slot(context), Builder::value(FSMOUNT_CLOEXEC),
                                         Builder::value(static_cast<std::int64_t>(attributes))},
                                        "mount " + type);
    builder_.close(context, type);
    return mount;
  }

  // A copy of a part of the host's tree, attached nowhere yet.
  SlotRef take(const std::string& source, std::uint64_t attributes) {
    const SlotRef tree =
        builder_.open(JAIL_CALL(open_tree),
                      {Builder::value(AT_FDCWD), builder_.text(source),
                       Builder::value(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)},
                      "take " + source);
    set_attributes(tree, attributes, AT_RECURSIVE, "make " + source + " read-only");
    return tree;
  }

  void set_attributes(SlotRef mount, std::uint64_t attributes, int recursive,
                      const std::string& purpose) {
    mount_attr change{};
    change.attr_set = attributes;
    builder_.call(
        JAIL_CALL(mount_setattr),
        {Builder::slot(mount), builder_.text(""), Builder::value(AT_EMPTY_PATH | recursive),
         Builder::address(builder_.store(change)), Builder::value(sizeof change)},
        purpose);
  }

  void attach(SlotRef mount, Argument directory, const std::string& path,
              const std::string& target) {
    builder_.call(JAIL_CALL(move_mount),
                  {Builder::slot(mount), builder_.text(""), directory, builder_.text(path),
                   Builder::value(attach_by_descriptor)},
                  "attach " + target);
  }

 private:
  Builder& builder_;
};

// The names in the new root, each made once, parents first.
class Skeleton {
 public:
  Skeleton(Builder& builder, SlotRef root) : builder_(builder), root_(root) {}

  // Paths are absolute in the jail.
  void directory(const std::string& path, int mode = 0755) {
    if (path == "/" || !made_.insert(path).second) return;
    parent(path);
    builder_.call(JAIL_CALL(mkdirat), {Builder::slot(root_), relative(path), Builder::value(mode)},
                  "make directory " + path);
  }

  void file(const std::string& path, const std::string& text) {
    if (!made_.insert(path).second) return;
    parent(path);
    const SlotRef file =
        builder_.open(JAIL_CALL(openat),
                      {Builder::slot(root_), relative(path),
                       Builder::value(O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC),
                       Builder::value(0444)},
                      "make file " + path);
    if (!text.empty()) {
      const auto size = static_cast<std::int64_t>(text.size());
      builder_
          .call(JAIL_CALL(write), {Builder::slot(file), builder_.text(text), Builder::value(size)},
                "write " + path)
          .at_least = size;
    }
    builder_.close(file, path);
  }

  void link(const std::string& path, const std::string& points_to) {
    if (!made_.insert(path).second) return;
    parent(path);
    builder_.call(JAIL_CALL(symlinkat),
                  {builder_.text(points_to), Builder::slot(root_), relative(path)},
                  "link " + path + " to " + points_to);
  }

  Argument relative(const std::string& path) { return builder_.text(path.substr(1)); }

 private:
  void parent(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash != 0 && slash != std::string::npos) directory(path.substr(0, slash));
  }

  Builder& builder_;
  SlotRef root_;
  std::set<std::string> made_;
};

std::vector<MountOption> tmpfs_options(std::uint64_t bytes, std::uint64_t inodes,
                                       const std::string& mode) {
  return {{"size", std::to_string(bytes)}, {"nr_inodes", std::to_string(inodes)}, {"mode", mode}};
}

void attach_writable(Builder& builder, MountWriter& mounts, SlotRef root, const std::string& path,
                     std::uint8_t slot, const std::vector<MountOption>& options) {
  const SlotRef mount = mounts.make("tmpfs", options, restricted);
  mounts.attach(mount, Builder::slot(root), path.substr(1), path);
  builder
      .call(JAIL_CALL(openat),
            {Builder::slot(mount), builder.text("."),
             Builder::value(O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
            "open " + path)
      .result_slot = slot;
  builder.close(mount, path);
}

void add_devices(Builder& builder, Skeleton& skeleton, MountWriter& mounts, SlotRef root,
                 const std::vector<SlotRef>& taken) {
  skeleton.directory("/dev");
  for (std::size_t i = 0; i < std::size(devices); ++i) {
    const std::string path = std::string("/dev/") + devices[i];
    skeleton.file(path, "");
    mounts.attach(taken[i], Builder::slot(root), path.substr(1), path);
    builder.close(taken[i], path);
  }
  skeleton.link("/dev/fd", "/proc/self/fd");
  skeleton.link("/dev/stdin", "/proc/self/fd/0");
  skeleton.link("/dev/stdout", "/proc/self/fd/1");
  skeleton.link("/dev/stderr", "/proc/self/fd/2");
  // POSIX shared memory then counts against the same bound as /tmp.
  skeleton.link("/dev/shm", "/tmp");
}

std::vector<MountOption> workspace_options(const Limits& limits) {
  return tmpfs_options(limits.workspace_bytes, limits.workspace_inodes, "0755");
}

std::vector<MountOption> tmp_options(const Limits& limits) {
  return tmpfs_options(limits.tmp_bytes, limits.tmp_inodes, "1777");
}

constexpr std::uint64_t sealed = restricted | MOUNT_ATTR_NOEXEC;

void attach_proc(Builder& builder, MountWriter& mounts, SlotRef root) {
  // Read-only: nothing below /proc/self is for a guest to write, oom_score_adj least of all.
  const SlotRef shown = mounts.make("proc", {{"subset", "pid"}, {"hidepid", "invisible"}},
                                    sealed | MOUNT_ATTR_RDONLY);
  mounts.attach(shown, Builder::slot(root), "proc", "/proc");
  builder.close(shown, "/proc");
  // Init's own view, attached nowhere, where processes that hide from the other are seen.
  const SlotRef own = mounts.make("proc", {{"subset", "pid"}}, sealed | MOUNT_ATTR_RDONLY);
  builder
      .call(JAIL_CALL(openat),
            {Builder::slot(own), builder.text("."),
             Builder::value(O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
            "open init's own proc")
      .result_slot = wire::slot_proc;
}

void enter_root(Builder& builder, SlotRef root) {
  builder.call(JAIL_CALL(fchdir), {Builder::slot(root)}, "enter the new root");
  // The old root ends up on top of the new one, at the same place, and goes from there.
  builder.call(JAIL_CALL(pivot_root), {builder.text("."), builder.text(".")}, "pivot the root");
  builder.call(JAIL_CALL(umount2), {builder.text("."), Builder::value(MNT_DETACH)},
               "let go of the old root");
  builder.call(JAIL_CALL(chdir), {builder.text("/")}, "change to /");
  builder.close(root, "the root");
}

// A template's host and the jails in it write their own id maps there.
void attach_proc_of_host(Builder& builder, MountWriter& mounts, SlotRef root) {
  const SlotRef shown = mounts.make("proc", {{"subset", "pid"}}, sealed);
  mounts.attach(shown, Builder::slot(root), "proc", "/proc");
  builder.close(shown, "/proc");
}

// The old root stays below, where no path of a process leads that has its root here, and is not
// shown to it: taking it off waits until every processor has let go of it, a grace period of RCU
// for each jail. Only for a root whose mounts are a jail's own and not the machine's.
void cover_root(Builder& builder, SlotRef root) {
  builder.call(JAIL_CALL(fchdir), {Builder::slot(root)}, "enter the new root");
  builder.call(JAIL_CALL(chroot), {builder.text(".")}, "make it this process's root");
  builder.call(JAIL_CALL(chdir), {builder.text("/")}, "change to /");
  builder.close(root, "the root");
}

struct RootWay {
  const char* first_place;  // where the new root is attached
  void (*attach_proc)(Builder&, MountWriter&, SlotRef);
  void (*enter)(Builder&, SlotRef);
};

void add_whole_root(Builder& builder, const JailSpec& spec, const RootWay& way) {
  MountWriter mounts(builder);
  mount_attr unshared{};
  unshared.propagation = MS_PRIVATE;
  builder.call(JAIL_CALL(mount_setattr),
               {Builder::value(AT_FDCWD), builder.text("/"), Builder::value(AT_RECURSIVE),
                Builder::address(builder.store(unshared)), Builder::value(sizeof unshared)},
               "make every mount private");

  // Sources are taken before the new root covers one of them.
  std::vector<SlotRef> binds;
  for (const ReadOnlyBind& bind : spec.root.binds) {
    binds.push_back(mounts.take(bind.source, restricted | MOUNT_ATTR_RDONLY));
  }
  std::vector<SlotRef> taken_devices;
  for (const char* device : devices) {
    taken_devices.push_back(mounts.take(std::string("/dev/") + device,
                                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  }

  const SlotRef root =
      mounts.make("tmpfs", tmpfs_options(root_bytes, root_inodes, "0755"), restricted);
  // A mount point of the jail's own mount namespace only.
  mounts.attach(root, Builder::value(AT_FDCWD), way.first_place, "the new root");

  Skeleton skeleton(builder, root);
  for (std::size_t i = 0; i < binds.size(); ++i) {
    const ReadOnlyBind& bind = spec.root.binds[i];
    if (bind.kind == NodeKind::directory) {
      skeleton.directory(bind.target);
    } else {
      skeleton.file(bind.target, "");
    }
    mounts.attach(binds[i], Builder::slot(root), bind.target.substr(1), bind.target);
    builder.close(binds[i], bind.target);
  }
  for (const TextFile& file : spec.root.files) skeleton.file(file.target, file.text);
  for (const Link& link : spec.root.links) skeleton.link(link.target, link.points_to);
  add_devices(builder, skeleton, mounts, root, taken_devices);
  skeleton.directory("/workspace");
  attach_writable(builder, mounts, root, "/workspace", wire::slot_workspace,
                  workspace_options(spec.limits));
  skeleton.directory("/tmp");
  attach_writable(builder, mounts, root, "/tmp", wire::slot_tmp, tmp_options(spec.limits));
  skeleton.directory("/proc", 0555);
  way.attach_proc(builder, mounts, root);
  mounts.set_attributes(root, MOUNT_ATTR_RDONLY, 0, "make / read-only");
  way.enter(builder, root);
}

}  // namespace

void add_mounts(Builder& builder, const JailSpec& spec) {
  add_whole_root(builder, spec, {"/tmp", attach_proc, enter_root});
}

void add_mounts_of_host(Builder& builder, const JailSpec& spec) {
  add_whole_root(builder, spec, {"/tmp", attach_proc_of_host, enter_root});
}

void add_mounts_in_host(Builder& builder, const JailSpec& spec) {
  add_whole_root(builder, spec, {"/", attach_proc, cover_root});
}

}  // namespace jail
