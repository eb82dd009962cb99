#pragma once

#include "jail/pool.h"

namespace jail {

// As wire::Invocation says. Errors: invalid (a NUL, a variable without '='), exhausted, kernel.
Result<Fd> invocation_file(const TemplateSpec& spec, const Invocation& invocation);

}  // namespace jail
