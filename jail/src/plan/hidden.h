// Directories of a root that are empty to guests (Root::hidden).
#pragma once

#include <string>

#include "jail/spec.h"
#include "plan/builder.h"
#include "plan/mount_writer.h"
#include "plan/skeleton.h"

namespace jail {

// Returns `spec` without the directories that spec.binds shows after all, in either list: the
// root's own bind shows them then.
JailSpec with_shown_again(JailSpec spec);

// Makes the layers of covers_of(), beneath `place`, for all binds of the root.
void lay_out_covers(Skeleton& skeleton, const Root& root, const std::string& place);

// The layers of an overlay, separated by ':', that lie above the directory shown at `target`; empty
// where nothing in it is hidden. `place` leads to what lay_out_covers() made.
std::string covers_of(const std::string& target, const Root& root, const std::string& place);

// For a process that sees the binds themselves and may mount: covers each directory by an empty
// one, in a mount namespace of its own. `empty` is the path of an empty directory.
void add_covers(Builder& builder, const Root& root, const std::string& empty);

}  // namespace jail
