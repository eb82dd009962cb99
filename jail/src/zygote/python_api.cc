#include "zygote/python_api.h"

#include <dlfcn.h>

namespace jail::zygote {

const char* load(PythonApi& python) {
// NOLINTBEGIN(bugprone-macro-parentheses)
#define JAIL_LOAD(result, name, parameters)                                         \
  python.name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_DEFAULT, #name)); \
  if (python.name == nullptr) return #name;
  JAIL_PYTHON_FUNCTIONS(JAIL_LOAD)
#undef JAIL_LOAD
  // NOLINTEND(bugprone-macro-parentheses)
  const struct {
    const char* name;
    void** place;
  } variables[] = {{"_Py_NoneStruct", reinterpret_cast<void**>(&python.None)},
                   {"PyExc_BaseException", reinterpret_cast<void**>(&python.BaseException)},
                   {"PyExc_SystemExit", reinterpret_cast<void**>(&python.SystemExit)},
                   {"PyExc_KeyboardInterrupt", reinterpret_cast<void**>(&python.KeyboardInterrupt)},
                   {"PyLong_Type", reinterpret_cast<void**>(&python.long_type)},
                   {"PyModule_Type", reinterpret_cast<void**>(&python.module_type)}};
  for (const auto& variable : variables) {
    *variable.place = dlsym(RTLD_DEFAULT, variable.name);
    if (*variable.place == nullptr) return variable.name;
  }
  python.PyGC_IsEnabled = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGC_IsEnabled"));
  python.PyErr_FormatUnraisable =
      reinterpret_cast<void (*)(const char*, ...)>(dlsym(RTLD_DEFAULT, "PyErr_FormatUnraisable"));
  python.PythonFinalizationError =
      static_cast<PyObject**>(dlsym(RTLD_DEFAULT, "PyExc_PythonFinalizationError"));
  return nullptr;
}

PyObject* fresh_names(PythonApi& python) {
  PyObject* names = python.PyDict_New();
  python.PyDict_SetItemString(names, "__builtins__", python.PyEval_GetBuiltins());
  return names;
}

bool evaluate(PythonApi& python, PyObject* code, PyObject* names) {
  PyObject* done = code == nullptr ? nullptr : python.PyEval_EvalCode(code, names, names);
  if (done != nullptr) python.Py_DecRef(done);
  return done != nullptr;
}

bool evaluate(PythonApi& python, PyObject* code) {
  PyObject* names = fresh_names(python);
  const bool done = evaluate(python, code, names);
  python.Py_DecRef(names);
  return done;
}

}  // namespace jail::zygote
