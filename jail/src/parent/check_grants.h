// Whether the host lets a user hand out what a spec has beside its root.
#pragma once

#include <cstdint>

#include "jail/result.h"
#include "jail/spec.h"

namespace jail {

// To be called with a spec that compiles, as the user `uid`. Looks at the host now: a volume is
// opened again when its jail is made, by a path without links. Errors: ErrorKind::invalid (it is
// not there, or another kind of file) or refused, naming the field of the spec.
Result<void> check_grants(const JailSpec& spec, std::uint32_t uid);

}  // namespace jail
