// agent-sandbox lessons: what was learnt from tasks of this user, shown or forgotten.
#pragma once

#include "runtime/config/environment.h"
#include "server/cli/arguments.h"

namespace server {

// Returns the exit status. To be called while there is only one thread.
int lessons(const LessonsOptions& options, runtime::Environment environment);

}  // namespace server
