#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

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
// The skeleton of a root holds names and small files. What is free on / can be asked: every root
// has the same bounds, as long as they are enough.
constexpr std::uint64_t root_bytes = 16u << 20;
constexpr std::uint64_t root_inodes = 16384;
constexpr std::uint64_t most_inodes_a_path = 4;
constexpr std::uint64_t page_bytes = 4096;

constexpr char place_of_new_root[] = "/tmp";

// In a template's host.
constexpr char shelf_place[] = "/run";
constexpr char shelf_root[] = "/run/root";
constexpr char shelf_empty[] = "/run/empty";

struct MountOption {
  std::string key;
  std::string value;
};

class MountWriter {
 public:
  explicit MountWriter(Builder& builder) : builder_(builder) {}

  // A mount that is attached nowhere yet.
  SlotRef make(const std::string& type, const std::vector<MountOption>& options,
               std::uint64_t attributes, const std::string& of = "") {
    const std::string what = of.empty() ? type : type + " of " + of;
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
                                        "mount " + what);
    builder_.close(context, type);
    return mount;
  }

  // A view of `directory` whose inodes are this mount's own: a lock on one of them is seen by
  // nobody else, while their pages are shared. Without a writable layer two are needed; `empty` is
  // the path of a directory with nothing in it. By the current directory, since the kernel shows
  // the text of a layer's path in mountinfo, and takes no more than 255 bytes of it.
  SlotRef overlay(SlotRef directory, const std::string& empty, const std::string& name) {
    builder_.call(JAIL_CALL(fchdir), {Builder::slot(directory)}, "enter " + name);
    return make("overlay", {{"lowerdir", ".:" + empty}}, restricted | MOUNT_ATTR_RDONLY, name);
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

  void file(const std::string& path, const std::string& text,
            const std::optional<timespec>& modified = std::nullopt) {
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
      // Python reads the age of a source file before it believes a compiled one.
      const timespec times[] = {*modified, *modified};
      builder_.call(JAIL_CALL(utimensat),
                    {Builder::slot(file), Builder::value(0),
                     Builder::address(builder_.store(times)), Builder::value(0)},
                    "date " + path);
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

  // All files by one slot, one after the other.
  SlotRef open_new(const std::string& path) {
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

  Builder& builder_;
  SlotRef root_;
  std::optional<SlotRef> file_;
  std::set<std::string> made_;
};

std::vector<MountOption> tmpfs_options(std::uint64_t bytes, std::uint64_t inodes,
                                       const std::string& mode) {
  return {{"size", std::to_string(bytes)}, {"nr_inodes", std::to_string(inodes)}, {"mode", mode}};
}

// Of a tmpfs that holds the names and the small files of `root`.
std::vector<MountOption> skeleton_options(const Root& root) {
  std::uint64_t bytes = 0;
  for (const TextFile& file : root.files) {
    bytes += (file.text.size() + page_bytes - 1) / page_bytes * page_bytes;
  }
  const std::uint64_t paths = root.binds.size() + root.files.size() + root.links.size();
  return tmpfs_options(std::max(root_bytes, 2 * bytes),
                       std::max(root_inodes, most_inodes_a_path * paths), "0755");
}

// Everything in a root but what is mounted on it.
void lay_out(Skeleton& skeleton, const Root& root) {
  for (const ReadOnlyBind& bind : root.binds) {
    if (bind.kind == NodeKind::directory) {
      skeleton.directory(bind.target);
    } else {
      skeleton.file(bind.target, "");
    }
  }
  for (const TextFile& file : root.files) {
    skeleton.file(file.target, file.text, file.modified);
  }
  for (const Link& link : root.links) skeleton.link(link.target, link.points_to);
  for (const char* device : devices) skeleton.file(path_of_device(device), "");
  skeleton.link("/dev/fd", "/proc/self/fd");
  skeleton.link("/dev/stdin", "/proc/self/fd/0");
  skeleton.link("/dev/stdout", "/proc/self/fd/1");
  skeleton.link("/dev/stderr", "/proc/self/fd/2");
  // POSIX shared memory then counts against the same bound as /tmp.
  skeleton.link("/dev/shm", "/tmp");
  skeleton.directory("/workspace");
  skeleton.directory("/tmp");
  skeleton.directory("/proc", 0555);
}

// To stand in or to look up from; `name` is the whole path.
SlotRef open_directory(Builder& builder, Argument above, const std::string& path,
                       const std::string& name) {
  return builder.open(JAIL_CALL(openat),
                      {above, builder.text(path), Builder::value(O_PATH | O_DIRECTORY | O_CLOEXEC)},
                      "open " + name);
}

// What a root shows of the host, opened before the new root covers a part of it. Directories are
// shown by overlays where there is an `empty` one for them, else as mounts of the host's.
class Sources {
 public:
  Sources(Builder& builder, MountWriter& mounts, const Root& root, std::optional<std::string> empty)
      : builder_(builder), mounts_(mounts), root_(root), empty_(std::move(empty)) {
    for (const char* device : devices) {
      devices_.push_back(mounts.take(path_of_device(device),
                                     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
    }
    for (const ReadOnlyBind& bind : root.binds) {
      opened_.push_back(
          is_overlaid(bind)
              ? open_directory(builder, Builder::value(AT_FDCWD), bind.source, bind.source)
              : mounts.take(bind.source, restricted | MOUNT_ATTR_RDONLY));
    }
  }

  void attach_to(SlotRef root) {
    for (std::size_t i = 0; i < opened_.size(); ++i) {
      const ReadOnlyBind& bind = root_.binds[i];
      SlotRef mount = opened_[i];
      if (is_overlaid(bind)) {
        mount = mounts_.overlay(opened_[i], *empty_, bind.source);
        builder_.close(opened_[i], bind.source);
      }
      attach(mount, root, bind.target);
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      attach(devices_[i], root, path_of_device(devices[i]));
    }
  }

 private:
  bool is_overlaid(const ReadOnlyBind& bind) const {
    return empty_ && bind.kind == NodeKind::directory;
  }
  void attach(SlotRef mount, SlotRef root, const std::string& target) {
    mounts_.attach(mount, Builder::slot(root), target.substr(1), target);
    builder_.close(mount, target);
  }

  Builder& builder_;
  MountWriter& mounts_;
  const Root& root_;
  std::optional<std::string> empty_;
  std::vector<SlotRef> devices_;
  std::vector<SlotRef> opened_;
};

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

void attach_writables(Builder& builder, MountWriter& mounts, SlotRef root, const Limits& limits) {
  attach_writable(builder, mounts, root, "/workspace", wire::slot_workspace,
                  tmpfs_options(limits.workspace_bytes, limits.workspace_inodes, "0755"));
  attach_writable(builder, mounts, root, "/tmp", wire::slot_tmp,
                  tmpfs_options(limits.tmp_bytes, limits.tmp_inodes, "1777"));
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

// A template's host and the jails in it write their own id maps there.
void attach_proc_of_host(Builder& builder, MountWriter& mounts, SlotRef root) {
  const SlotRef shown = mounts.make("proc", {{"subset", "pid"}}, sealed);
  mounts.attach(shown, Builder::slot(root), "proc", "/proc");
  builder.close(shown, "/proc");
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

// The old root stays below, where no path of a process leads that has its root here, and is not
// shown to it: taking it off waits until every processor has let go of it, a grace period of RCU
// for each jail. Only for a root whose mounts are a jail's own and not the machine's.
void cover_root(Builder& builder, SlotRef root) {
  builder.call(JAIL_CALL(fchdir), {Builder::slot(root)}, "enter the new root");
  builder.call(JAIL_CALL(chroot), {builder.text(".")}, "make it this process's root");
  builder.call(JAIL_CALL(chdir), {builder.text("/")}, "change to /");
  builder.close(root, "the root");
}

void make_mounts_private(Builder& builder) {
  mount_attr unshared{};
  unshared.propagation = MS_PRIVATE;
  builder.call(JAIL_CALL(mount_setattr),
               {Builder::value(AT_FDCWD), builder.text("/"), Builder::value(AT_RECURSIVE),
                Builder::address(builder.store(unshared)), Builder::value(sizeof unshared)},
               "make every mount private");
}

// A tmpfs at a mount point of the jail's own mount namespace only.
SlotRef attach_new_root(MountWriter& mounts, const Root& root) {
  const SlotRef made = mounts.make("tmpfs", skeleton_options(root), restricted);
  mounts.attach(made, Builder::value(AT_FDCWD), place_of_new_root, "the new root");
  return made;
}

// What the roots of all jails of a template are a view of: below the host's root, where no jail
// has a path to it.
void put_up_shelf(Builder& builder, MountWriter& mounts, SlotRef host_root, const Root& root) {
  const SlotRef shelf = mounts.make("tmpfs", skeleton_options(root), restricted);
  builder.call(JAIL_CALL(mkdirat),
               {Builder::slot(shelf), builder.text("empty"), Builder::value(0555)},
               std::string("make directory ") + shelf_empty);
  builder.call(JAIL_CALL(mkdirat),
               {Builder::slot(shelf), builder.text("root"), Builder::value(0755)},
               std::string("make directory ") + shelf_root);
  const SlotRef top = open_directory(builder, Builder::slot(shelf), "root", shelf_root);
  Skeleton skeleton(builder, top);
  lay_out(skeleton, root);
  builder.close(top, shelf_root);
  mounts.set_attributes(shelf, MOUNT_ATTR_RDONLY, 0,
                        std::string("make ") + shelf_place + " read-only");
  mounts.attach(shelf, Builder::slot(host_root), std::string(shelf_place).substr(1), shelf_place);
  builder.close(shelf, shelf_place);
}

}  // namespace

void add_mounts(Builder& builder, const JailSpec& spec) {
  MountWriter mounts(builder);
  make_mounts_private(builder);
  // Nothing is in the new root's /workspace, and nothing will be: a tmpfs covers it, and the root
  // becomes read-only.
  Sources sources(builder, mounts, spec.root, std::string(place_of_new_root) + "/workspace");
  const SlotRef root = attach_new_root(mounts, spec.root);
  Skeleton skeleton(builder, root);
  lay_out(skeleton, spec.root);
  sources.attach_to(root);
  attach_writables(builder, mounts, root, spec.limits);
  attach_proc(builder, mounts, root);
  mounts.set_attributes(root, MOUNT_ATTR_RDONLY, 0, "make / read-only");
  enter_root(builder, root);
}

void add_mounts_of_host(Builder& builder, const JailSpec& spec) {
  MountWriter mounts(builder);
  make_mounts_private(builder);
  // Not by overlays, since those of its jails stand on them: the kernel stacks no more than two.
  Sources sources(builder, mounts, spec.root, std::nullopt);
  const SlotRef root = attach_new_root(mounts, spec.root);
  Skeleton skeleton(builder, root);
  lay_out(skeleton, spec.root);
  skeleton.directory(shelf_place);
  sources.attach_to(root);
  attach_writables(builder, mounts, root, spec.limits);
  put_up_shelf(builder, mounts, root, spec.root);
  attach_proc_of_host(builder, mounts, root);
  mounts.set_attributes(root, MOUNT_ATTR_RDONLY, 0, "make / read-only");
  enter_root(builder, root);
}

void add_mounts_in_host(Builder& builder, const JailSpec& spec) {
  MountWriter mounts(builder);
  make_mounts_private(builder);
  Sources sources(builder, mounts, spec.root, shelf_empty);
  const SlotRef shelf = open_directory(builder, Builder::value(AT_FDCWD), shelf_root, shelf_root);
  const SlotRef root = mounts.overlay(shelf, shelf_empty, "the template's root");
  builder.close(shelf, shelf_root);
  mounts.attach(root, Builder::value(AT_FDCWD), "/", "the new root");
  sources.attach_to(root);
  attach_writables(builder, mounts, root, spec.limits);
  attach_proc(builder, mounts, root);
  cover_root(builder, root);
}

}  // namespace jail
