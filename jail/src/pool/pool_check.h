// Checks a template and the options of a pool before the pool is made.
#pragma once

#include "jail/pool.h"

namespace jail {

// Returns an error of kind `invalid`, with the name of the field, where a pool cannot be made so.
Result<void> check(const TemplateSpec& spec, const PoolOptions& options);

}  // namespace jail
