#include "plan/mount_writer.h"

#include <fcntl.h>
#include <linux/openat2.h>

namespace jail {
namespace {

constexpr std::int64_t attach_by_descriptor = MOVE_MOUNT_F_EMPTY_PATH;

}  // namespace

SlotRef MountWriter::make(const std::string& type, const std::vector<MountOption>& options,
                          std::uint64_t attributes, const std::string& of,
                          std::uint8_t kept_context) {
  const std::string what = of.empty() ? type : type + " of " + of;
  const bool is_kept = kept_context != wire::slot_none;
  const auto opened = {builder_.text(type), Builder::value(FSOPEN_CLOEXEC)};
  SlotRef context{kept_context};
  if (is_kept) {
    builder_.call(JAIL_CALL(fsopen), opened, "open " + type).result_slot = kept_context;
  } else {
    context = builder_.open(JAIL_CALL(fsopen), opened, "open " + type);
  }
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
  if (!is_kept) builder_.close(context, type);
  return mount;
}

SlotRef MountWriter::overlay(SlotRef directory, const std::string& layers,
                             const std::string& name) {
  builder_.call(JAIL_CALL(fchdir), {Builder::slot(directory)}, "enter " + name);
  return make("overlay", {{"lowerdir", layers}}, restricted | MOUNT_ATTR_RDONLY, name);
}

SlotRef MountWriter::take_tree(const std::string& source) {
  return builder_.open(JAIL_CALL(open_tree),
                       {Builder::value(AT_FDCWD), builder_.text(source),
                        Builder::value(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)},
                       "take " + source);
}

SlotRef MountWriter::take(const std::string& source, std::uint64_t attributes,
                          const std::string& view) {
  const SlotRef tree = take_tree(source);
  set_attributes(tree, attributes, AT_RECURSIVE, "make " + source + " " + view);
  return tree;
}

SlotRef MountWriter::take_directory(const std::string& source, std::uint64_t attributes,
                                    const std::string& view) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const SlotRef directory =
      builder_.open(JAIL_CALL(openat2),
                    {Builder::value(AT_FDCWD), builder_.text(source),
                     Builder::address(builder_.store(how)), Builder::value(sizeof how)},
                    "open " + source + " by a path without links");
  const SlotRef tree =
      builder_.open(JAIL_CALL(open_tree),
                    {Builder::slot(directory), builder_.text(""),
                     Builder::value(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)},
                    "take " + source);
  builder_.close(directory, source);
  set_attributes(tree, attributes, 0, "make " + source + " " + view);
  return tree;
}

void MountWriter::set_attributes(SlotRef mount, std::uint64_t attributes, int recursive,
                                 const std::string& purpose) {
  mount_attr change{};
  change.attr_set = attributes;
  builder_.call(JAIL_CALL(mount_setattr),
                {Builder::slot(mount), builder_.text(""), Builder::value(AT_EMPTY_PATH | recursive),
                 Builder::address(builder_.store(change)), Builder::value(sizeof change)},
                purpose);
}

void MountWriter::attach(SlotRef mount, Argument directory, const std::string& path,
                         const std::string& target) {
  builder_.call(JAIL_CALL(move_mount),
                {Builder::slot(mount), builder_.text(""), directory, builder_.text(path),
                 Builder::value(attach_by_descriptor)},
                "attach " + target);
}

SlotRef open_directory(Builder& builder, Argument above, const std::string& path,
                       const std::string& name) {
  return builder.open(JAIL_CALL(openat),
                      {above, builder.text(path), Builder::value(O_PATH | O_DIRECTORY | O_CLOEXEC)},
                      "open " + name);
}

}  // namespace jail
