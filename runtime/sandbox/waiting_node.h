// A node that is started before its program comes: what it runs until then.
#pragma once

#include <string>
#include <vector>

#include "jail/spec.h"

namespace runtime {

// The module that such a node waits in, as a file of its root. A cold program's root has it as
// well, so that both look alike, and a thread of a waiting node's program loads it once more.
jail::TextFile waiting_module();

// The variables to execute such a node with in place of `env`, which must be environment_of() a
// request without variables. They take as many bytes.
std::vector<std::string> env_of_waiting_node(std::vector<std::string> env);

}  // namespace runtime
