// What a dictionary held in the zygote, to tell what a program has put there.
#pragma once

#include <cstddef>

#include "zygote/python_api.h"

namespace jail::zygote {

// Its first entries. Compares the addresses alone, since a look at a thousand names would touch as
// many pages.
template <std::size_t most>
class Entries {
 public:
  void remember(PythonApi& python, PyObject* names, PyObject* left_out = nullptr) {
    long position = 0;
    PyObject* name;
    PyObject* value;
    while (count_ < most && python.PyDict_Next(names, &position, &name, &value) != 0) {
      if (value != left_out) list_[count_] = {name, value};
      ++count_;
    }
  }

  bool has(std::size_t index, PyObject* name, PyObject* value) const {
    return index < count_ && list_[index].name == name && list_[index].value == value;
  }

  // Whether these are all that there are, in the same order.
  bool are_all(PythonApi& python, PyObject* names) const {
    if (python.PyDict_Size(names) != static_cast<long>(count_)) return false;
    long position = 0;
    PyObject* name;
    PyObject* value;
    for (std::size_t i = 0; python.PyDict_Next(names, &position, &name, &value) != 0; ++i) {
      if (!has(i, name, value)) return false;
    }
    return true;
  }

 private:
  struct Entry {
    PyObject* name;
    PyObject* value;
  };

  Entry list_[most] = {};
  std::size_t count_ = 0;
};

}  // namespace jail::zygote
