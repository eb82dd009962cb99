// The modules with which the interpreter prints an error that nobody catches: since 3.13 it imports
// two dozen of them for that, which takes ten times as long as the run of a small program.
#pragma once

#include "zygote/python_api.h"

namespace jail::zygote {

class ErrorModules {
 public:
  explicit ErrorModules(PythonApi& python) : python_(python) {}

  // In the zygote, after all that it imports: a program finds them neither in sys.modules nor, by
  // __subclasses__(), their classes.
  void keep();

  // Before the interpreter prints an error, which must not be set: puts into sys.modules, and into
  // `preloaded`, what it would import now. Nothing where the program could tell the difference:
  // where it took part in imports or has modules of these names.
  void show(PyObject* preloaded);

  // Tells what the program does, from the audit hook.
  void on_audit(const char* event);

 private:
  PythonApi& python_;
  PyObject* show_ = nullptr;
  bool is_watched_ = false;  // by hooks of the program
};

}  // namespace jail::zygote
