#include "runtime/sandbox/python_imports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace runtime {
namespace {

using Names = std::vector<std::string_view>;

TEST(PythonImports, StatementsNameThem) {
  const std::pair<const char*, Names> cases[] = {
      {"import pandas", {"pandas"}},
      {"import pandas as pd", {"pandas"}},
      {"import numpy.random", {"numpy"}},
      {"import numpy . random as r, pandas.io as io,matplotlib", {"numpy", "pandas", "matplotlib"}},
      {"from matplotlib.pyplot import plot", {"matplotlib"}},
      {"from numpy import (\n  array,\n  zeros)\nimport json", {"numpy", "json"}},
      {"import a; import b;from c import d", {"a", "b", "c"}},
      {"try: import a\nexcept ImportError: import b", {"a", "b"}},
      {"def f():\n\timport pandas\n\n\nclass C:\n  from numpy import array", {"pandas", "numpy"}},
      {"import \\\n  pandas \\\r\n  as pd, numpy", {"pandas", "numpy"}},
      {"\xef\xbb\xbfimport pandas", {"pandas"}},
      {"import os\r\nimport sys\r\n", {"os", "sys"}},
      {"import os\nimport os.path\nfrom os import path", {"os"}},
      {"x = {'a': 1}\nif x: import pandas", {"pandas"}},
      {"'''text\nimport a\n'''\nimport b", {"b"}},
      {"r'\\'; import a", {}},
      {"f(')') ; import a", {"a"}},
      {"import größe", {"größe"}},
  };
  for (const auto& [program, names] : cases) EXPECT_EQ(python_imports(program), names) << program;
}

TEST(PythonImports, OtherTextDoesNot) {
  for (const char* program : {"",
                              "# import pandas",
                              "'import pandas'",
                              "x = '''\nimport pandas\n'''",
                              "x = \"\"\"a \\\"\"\" import b\nimport pandas\"\"\"",
                              "from . import pandas",
                              "from .pandas import x",
                              "from ..a import b",
                              "important = 1",
                              "x.import_ = 2",
                              "imports = [\nimport\n]",
                              "raise ValueError from pandas",
                              "yield from pandas",
                              "__import__('pandas')",
                              "s = 'a\\\nimport pandas'",
                              "import",
                              "from",
                              "import ,",
                              "print('''",
                              "\\"}) {
    EXPECT_EQ(python_imports(program), Names{}) << program;
  }
}

TEST(PythonImports, AreLookedForWithinABound) {
  const std::string late = std::string(max_bytes_searched_for_imports, '\n') + "import pandas";
  EXPECT_EQ(python_imports(late), Names{});
  std::string many;
  for (std::size_t i = 0; i < 2 * max_imports_found; ++i) {
    many += "import m" + std::to_string(i) + "\n";
  }
  EXPECT_EQ(python_imports(many).size(), max_imports_found);
}

}  // namespace
}  // namespace runtime
