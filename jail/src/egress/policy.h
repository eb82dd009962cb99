// Which system calls the proxy may make: compiled in from policies/egress.json.
#pragma once

#include "jail/policy.h"

namespace jail {

const Policy& egress_policy();

}  // namespace jail
