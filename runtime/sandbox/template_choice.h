// Which template fits a program that names none.
#pragma once

#include <vector>

#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/template.h"

namespace runtime {

// The template that has imported most of the packages that the request's Python program imports;
// the first of those that have as many. Null where no template has any, where the request names a
// template, and where a module in the request's own files could be meant instead of the template's.
// Only templates count whose programs differ from those of the language's own by nothing but what
// is imported already: `automatic`, with the server's root and policy.
const Template* template_by_imports(const std::vector<Template>& templates,
                                    const RunRequest& request);

}  // namespace runtime
