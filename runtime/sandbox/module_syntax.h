// Is a piece of JavaScript a module? Node goes by the file's name; who sends code names no file.
#pragma once

#include <string_view>

namespace runtime {

// Whether something that only a module may have stands at the top level: an import or export
// declaration, or await. Comments, strings, templates and regular expressions are stepped over.
// What is undecided is no module, so that node says what is wrong with it as with a main.js.
bool uses_module_syntax(std::string_view javascript) noexcept;

}  // namespace runtime
