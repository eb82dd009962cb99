// Decides whether JavaScript code is a module. Node decides that by the file's name, but code that
// is sent has no file name.
#pragma once

#include <string_view>

namespace runtime {

// Returns whether the top level has something that only a module may have: an import or export
// declaration, or await. Comments, strings, templates and regular expressions are skipped.
// Undecidable code is not a module, so that node reports its errors as for a main.js.
bool uses_module_syntax(std::string_view javascript) noexcept;

}  // namespace runtime
