// Finds the packages that a Python program imports.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace runtime {

// Bounds on the bytes that are read and the names that are kept: programs import at their top, and
// a client must not decide how long the search takes.
inline constexpr std::size_t max_bytes_searched_for_imports = 64u << 10;
inline constexpr std::size_t max_imports_found = 64;

// Returns the top-level names of the modules in import statements of `program` ("pandas" for `from
// pandas.plotting import table`), wherever the statements are, each name once. Comments and strings
// are skipped; relative imports, __import__() and importlib are not seen. For text that is not
// valid Python the result is arbitrary. The names are views into `program`.
std::vector<std::string_view> python_imports(std::string_view program);

}  // namespace runtime
