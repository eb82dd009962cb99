// Builds the root of a jail: every mount, and then the change into the new root. There are three
// kinds: a jail by itself, the host of a template's jails, and a jail inside of that host.
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <optional>

#include "plan/concerns.h"
#include "plan/hidden.h"
#include "plan/mount_writer.h"
#include "plan/skeleton.h"
#include "plan/sources.h"

// <sys/mount.h> declares the same names as <linux/mount.h>; these few values are the kernel's ABI.
#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif
#ifndef MS_PRIVATE
#define MS_PRIVATE (1 << 18)
#endif

namespace jail {
namespace {

constexpr char place_of_new_root[] = "/tmp";

// The kernel keeps some 10 KB for each terminal, as long as any process has it open.
constexpr char max_terminals[] = "64";

// Places in a template's host.
constexpr char layer_place[] = "/run";
constexpr char layer_root[] = "/run/root";
constexpr char layer_empty[] = "/run/empty";

void attach_writable(Builder& builder, MountWriter& mounts, SlotRef root, const std::string& path,
                     std::uint8_t slot, const std::vector<MountOption>& options,
                     std::uint8_t kept_context) {
  const SlotRef mount = mounts.make("tmpfs", options, restricted, "", kept_context);
  mounts.attach(mount, Builder::slot(root), path.substr(1), path);
  builder
      .call(JAIL_CALL(openat),
            {Builder::slot(mount), builder.text("."),
             Builder::value(O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
            "open " + path)
      .result_slot = slot;
  builder.close(mount, path);
}

void attach_writables(Builder& builder, MountWriter& mounts, SlotRef root, const JailSpec& spec) {
  const Limits& limits = spec.limits;
  const auto kept = [&spec](wire::Slot slot) -> std::uint8_t {
    return spec.max_limits ? slot : wire::slot_none;
  };
  if (has_workspace_on_disk(spec)) {
    // The volume is there already.
    builder
        .call(JAIL_CALL(openat),
              {Builder::slot(root), builder.text("workspace"),
               Builder::value(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)},
              "open /workspace")
        .result_slot = wire::slot_workspace;
  } else {
    attach_writable(builder, mounts, root, "/workspace", wire::slot_workspace,
                    tmpfs_options(limits.workspace_bytes, limits.workspace_inodes, "0755"),
                    kept(wire::slot_workspace_context));
  }
  attach_writable(builder, mounts, root, "/tmp", wire::slot_tmp,
                  tmpfs_options(limits.tmp_bytes, limits.tmp_inodes, "1777"),
                  kept(wire::slot_tmp_context));
}

constexpr std::uint64_t sealed = restricted | MOUNT_ATTR_NOEXEC;

void attach_proc(Builder& builder, MountWriter& mounts, SlotRef root) {
  // The mount is read-only: a guest may write nothing below /proc/self, least of all oom_score_adj.
  const SlotRef shown = mounts.make("proc", {{"subset", "pid"}, {"hidepid", "invisible"}},
                                    sealed | MOUNT_ATTR_RDONLY);
  mounts.attach(shown, Builder::slot(root), "proc", "/proc");
  builder.close(shown, "/proc");
  // Init's own view has no hidepid, so it shows every process of the jail. It is attached nowhere,
  // so that a guest cannot reach it.
  const SlotRef own = mounts.make("proc", {{"subset", "pid"}}, sealed | MOUNT_ATTR_RDONLY);
  builder
      .call(JAIL_CALL(openat),
            {Builder::slot(own), builder.text("."),
             Builder::value(O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
            "open init's own proc")
      .result_slot = wire::slot_proc;
}

// A template's host and the jails in it write their own id maps through this mount.
void attach_proc_of_host(Builder& builder, MountWriter& mounts, SlotRef root) {
  const SlotRef shown = mounts.make("proc", {{"subset", "pid"}}, sealed);
  mounts.attach(shown, Builder::slot(root), "proc", "/proc");
  builder.close(shown, "/proc");
}

// Terminals of the jail's own, to which no other jail and nobody outside has a path. The mount is
// not `nodev`, since terminals are device nodes.
//
// The same file system is mounted twice. Only init can reach the lower mount, in which it makes
// terminals; their names are beneath /dev/pts all the same. The mode of a new terminal lets nobody
// open it until the process that it was made for has it. In the upper mount, which a guest sees,
// the guest can make no terminal and change no mode, though it owns them: that mount is read-only,
// and a device covers its ptmx.
void attach_terminals(Builder& builder, MountWriter& mounts, SlotRef root) {
  const SlotRef own =
      mounts.make("devpts", {{"mode", "0000"}, {"ptmxmode", "0600"}, {"max", max_terminals}},
                  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
  mounts.attach(own, Builder::slot(root), "dev/pts", "init's own /dev/pts");
  builder
      .call(JAIL_CALL(openat),
            {Builder::slot(own), builder.text("."),
             Builder::value(O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
            "open init's own /dev/pts")
      .result_slot = wire::slot_terminals;
  const SlotRef shown =
      builder.open(JAIL_CALL(open_tree),
                   {Builder::slot(own), builder.text(""),
                    Builder::value(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)},
                   "take /dev/pts");
  builder.close(own, "init's own /dev/pts");
  mounts.set_attributes(shown, MOUNT_ATTR_RDONLY, 0, "make /dev/pts read-only");
  mounts.attach(shown, Builder::slot(root), "dev/pts", "/dev/pts");
  builder.close(shown, "/dev/pts");
  const SlotRef cover = mounts.take(
      "/dev/null", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, "read-only");
  mounts.attach(cover, Builder::slot(root), "dev/pts/ptmx", "/dev/pts/ptmx");
  builder.close(cover, "/dev/pts/ptmx");
}

void enter_root(Builder& builder, SlotRef root) {
  builder.call(JAIL_CALL(fchdir), {Builder::slot(root)}, "enter the new root");
  // The old root ends up on top of the new one, at the same place, and is detached from there.
  builder.call(JAIL_CALL(pivot_root), {builder.text("."), builder.text(".")}, "pivot the root");
  builder.call(JAIL_CALL(umount2), {builder.text("."), Builder::value(MNT_DETACH)},
               "let go of the old root");
  builder.call(JAIL_CALL(chdir), {builder.text("/")}, "change to /");
  builder.close(root, "the root");
}

// Changes into the new root and leaves the old one mounted below it. No path of a process whose
// root is the new one leads there. To detach the old root would cost each jail a grace period of
// RCU, since the kernel waits until every processor has let go of it. The old root must be that of
// a template's host, which holds nothing of the machine that a jail may not see.
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

// A tmpfs at a mount point that only the jail's own mount namespace has.
SlotRef attach_new_root(MountWriter& mounts, const JailSpec& spec) {
  const SlotRef made = mounts.make("tmpfs", skeleton_options(spec), restricted);
  mounts.attach(made, Builder::value(AT_FDCWD), place_of_new_root, "the new root");
  return made;
}

// The layer that the roots of all jails of a template are views of. It lies in the host's root, to
// which no jail has a path.
void mount_template_layer(Builder& builder, MountWriter& mounts, SlotRef host_root,
                          const JailSpec& spec) {
  const SlotRef layer = mounts.make("tmpfs", skeleton_options(spec), restricted);
  builder.call(JAIL_CALL(mkdirat),
               {Builder::slot(layer), builder.text("empty"), Builder::value(0555)},
               std::string("make directory ") + layer_empty);
  builder.call(JAIL_CALL(mkdirat),
               {Builder::slot(layer), builder.text("root"), Builder::value(0755)},
               std::string("make directory ") + layer_root);
  const SlotRef top = open_directory(builder, Builder::slot(layer), "root", layer_root);
  Skeleton skeleton(builder, top);
  lay_out(skeleton, spec);
  builder.close(top, layer_root);
  Skeleton beside(builder, layer);
  lay_out_covers(beside, spec.root, "");
  mounts.set_attributes(layer, MOUNT_ATTR_RDONLY, 0,
                        std::string("make ") + layer_place + " read-only");
  mounts.attach(layer, Builder::slot(host_root), std::string(layer_place).substr(1), layer_place);
  builder.close(layer, layer_place);
}

// All jails of a template share the inode of /dev, so a guest could send messages to another jail
// by locking it. A shared lock prevents that, as on device nodes (child/hold_inode.h). The host and
// every init that is cloned from it keep the descriptor, and so the lock.
void hold_devices_directory(Builder& builder, SlotRef root) {
  const std::string path = devices_directory;
  const SlotRef held = builder.open(JAIL_CALL(openat),
                                    {Builder::slot(root), builder.text(path.substr(1)),
                                     Builder::value(O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
                                    "open " + path);
  builder.call(JAIL_CALL(flock), {Builder::slot(held), Builder::value(LOCK_SH | LOCK_NB)},
               "hold " + path + " by a shared lock");
  struct flock whole {};
  whole.l_type = F_RDLCK;
  whole.l_whence = SEEK_SET;
  builder.call(
      JAIL_CALL(fcntl),
      {Builder::slot(held), Builder::value(F_OFD_SETLK), Builder::address(builder.store(whole))},
      "hold " + path + " by a shared record lock");
}

}  // namespace

void add_mounts(Builder& builder, const JailSpec& spec) {
  MountWriter mounts(builder);
  make_mounts_private(builder);
  // /workspace and /tmp of the new root serve as layers: the first is empty, and the second holds
  // only layers. Later a tmpfs covers each, and the root becomes read-only.
  const std::string place = place_of_new_root;
  Sources sources(builder, mounts, spec, Layers{place + "/workspace", place + "/tmp", ""});
  const SlotRef root = attach_new_root(mounts, spec);
  Skeleton skeleton(builder, root);
  lay_out(skeleton, spec);
  lay_out_devices(skeleton, spec);
  lay_out_covers(skeleton, spec.root, "/tmp");
  sources.attach_to(root);
  attach_writables(builder, mounts, root, spec);
  attach_proc(builder, mounts, root);
  if (has_terminals(spec)) attach_terminals(builder, mounts, root);
  mounts.set_attributes(root, MOUNT_ATTR_RDONLY, 0, "make / read-only");
  enter_root(builder, root);
}

void add_mounts_of_host(Builder& builder, const JailSpec& spec) {
  MountWriter mounts(builder);
  make_mounts_private(builder);
  // The host's root has no overlays: the jails put overlays on top of it, and the kernel stacks at
  // most two.
  Sources sources(builder, mounts, spec, std::nullopt);
  const SlotRef root = attach_new_root(mounts, spec);
  Skeleton skeleton(builder, root);
  lay_out(skeleton, spec);
  lay_out_devices(skeleton, spec);
  skeleton.directory(layer_place);
  sources.attach_to(root);
  attach_writables(builder, mounts, root, spec);
  mount_template_layer(builder, mounts, root, spec);
  attach_proc_of_host(builder, mounts, root);
  hold_devices_directory(builder, root);
  mounts.set_attributes(root, MOUNT_ATTR_RDONLY, 0, "make / read-only");
  enter_root(builder, root);
}

// The new mount namespace begins with copies of the host's mounts, which are private and read-only
// already. /dev is shown as it is in the host.
void add_mounts_in_host(Builder& builder, const JailSpec& spec) {
  MountWriter mounts(builder);
  Sources sources(builder, mounts, spec, Layers{layer_empty, layer_place, devices_directory});
  const SlotRef layer = open_directory(builder, Builder::value(AT_FDCWD), layer_root, layer_root);
  const SlotRef root =
      mounts.overlay(layer, std::string(".:") + layer_empty, "the template's root");
  builder.close(layer, layer_root);
  mounts.attach(root, Builder::value(AT_FDCWD), "/", "the new root");
  sources.attach_to(root);
  attach_writables(builder, mounts, root, spec);
  attach_proc(builder, mounts, root);
  cover_root(builder, root);
}

// A zygote sees the binds themselves, and not the overlays of a jail, in which a layer covers each
// hidden directory. So mounts cover them here.
void add_zygote_mounts(Builder& builder, const JailSpec& spec) {
  add_covers(builder, spec.root, layer_empty);
}

}  // namespace jail
