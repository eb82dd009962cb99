// The versions of the host's interpreters, which only these tell.
#pragma once

#include <string>
#include <string_view>

#include "runtime/sandbox/program_root.h"

namespace server {

// Where programs see the host's own root: runs those of its programs whose version nothing else
// says, with --version, all at once, and notes what they print. They are the host's, run as this
// process's user with an empty environment, and have two seconds. One that says nothing stays
// without a version.
void ask_host_versions(runtime::ProgramRoot& root);

// The first number with a dot in it, "5.2.15" of "GNU bash, version 5.2.15(1)-release"; empty:
// there is none.
std::string version_in(std::string_view text);

}  // namespace server
