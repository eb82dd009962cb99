// The system calls that the proxy and its look-ups may make: compiled in from policies/egress.json
// and policies/lookup.json.
#pragma once

#include "jail/policy.h"

namespace jail {

const Policy& egress_policy();
const Policy& lookup_policy();

}  // namespace jail
