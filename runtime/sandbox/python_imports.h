// The packages that a Python program imports.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace runtime {

// How much of a program is read, in bytes, and how many names are kept: programs import at their
// top, and whoever sends one must not choose how long the search takes.
inline constexpr std::size_t max_bytes_searched_for_imports = 64u << 10;
inline constexpr std::size_t max_imports_found = 64;

// The first names of the modules that import statements of `program` name ("pandas" for
// `from pandas.plotting import table`), wherever the statements stand, each name once. Comments and
// strings are stepped over; relative imports, __import__() and importlib are not seen. Text that is
// no valid Python gives some names or none. The names are parts of `program`.
std::vector<std::string_view> python_imports(std::string_view program);

}  // namespace runtime
