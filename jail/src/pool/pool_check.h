// Whether a pool can be made as its owner says.
#pragma once

#include "jail/pool.h"

namespace jail {

// Errors: invalid, with the name of the field.
Result<void> check(const TemplateSpec& spec, const PoolOptions& options);

}  // namespace jail
