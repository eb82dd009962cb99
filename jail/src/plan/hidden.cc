#include "plan/hidden.h"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>

#include "plan/path_rules.h"

namespace jail {
namespace {

// The first layer has an empty directory, the layer below it a whiteout; without that the two would
// be merged.
constexpr char shown[] = "/shown";
constexpr char taken_out[] = "/hidden";

}  // namespace

JailSpec with_shown_again(JailSpec spec) {
  std::erase_if(spec.binds, [&](const ReadOnlyBind& bind) {
    return std::erase(spec.root.hidden, bind.target) > 0;
  });
  return spec;
}

void lay_out_covers(Skeleton& skeleton, const Root& root, const std::string& place) {
  for (const std::string& path : root.hidden) {
    skeleton.directory(place + shown + path);
    skeleton.whiteout(place + taken_out + path);
  }
}

std::string covers_of(const std::string& target, const Root& root, const std::string& place) {
  const bool any =
      std::any_of(root.hidden.begin(), root.hidden.end(),
                  [&](const std::string& path) { return is_at_or_below(path, target); });
  return any ? place + shown + target + ":" + place + taken_out + target : std::string();
}

void add_covers(Builder& builder, const Root& root, const std::string& empty) {
  if (root.hidden.empty()) return;
  builder.call(JAIL_CALL(unshare), {Builder::value(CLONE_NEWNS)}, "take mounts of its own");
  MountWriter mounts(builder);
  for (const std::string& path : root.hidden) {
    const SlotRef cover = builder.open(JAIL_CALL(open_tree),
                                       {Builder::value(AT_FDCWD), builder.text(empty),
                                        Builder::value(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)},
                                       "take an empty directory for " + path);
    mounts.attach(cover, Builder::value(AT_FDCWD), path, path);
    builder.close(cover, "the cover of " + path);
  }
}

}  // namespace jail
