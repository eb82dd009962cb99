// Directories of a root that guests see empty (Root::hidden).
#pragma once

#include <string>

#include "jail/spec.h"
#include "plan/builder.h"
#include "plan/mount_writer.h"
#include "plan/skeleton.h"

namespace jail {

// Without what spec.binds shows after all, in either list: the root's own bind shows it then.
JailSpec with_shown_again(JailSpec spec);

// Beneath `place`, the layers of covers_of(), for all binds of the root.
void lay_out_covers(Skeleton& skeleton, const Root& root, const std::string& place);

// The layers of an overlay, ':' between them, that stand above the directory shown at `target`;
// empty where nothing in it is hidden. `place` leads to what lay_out_covers() made.
std::string covers_of(const std::string& target, const Root& root, const std::string& place);

// For a process that sees the binds themselves and may mount: in a mount namespace of its own an
// empty directory covers each. `empty` is the path of one.
void add_covers(Builder& builder, const Root& root, const std::string& empty);

}  // namespace jail
