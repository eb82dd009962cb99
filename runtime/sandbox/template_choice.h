// Chooses a template for a program that names none.
#pragma once

#include <vector>

#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/template.h"

namespace runtime {

// Returns the template that has imported most of the packages that the request's Python program
// imports; among equals the first. Returns null where no template has imported any, where the
// request names a template, and where a module in the request's own files could be meant instead of
// the template's. Considers only templates that differ from the language's own one by nothing but
// their imports: `automatic`, with the server's root and policy.
const Template* template_by_imports(const std::vector<Template>& templates,
                                    const RunRequest& request);

}  // namespace runtime
