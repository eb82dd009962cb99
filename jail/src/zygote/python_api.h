// What the zygote uses of CPython, found by name in the interpreter that this library is loaded
// into. So it needs no headers of Python's, is one file for all of its versions, and the
// interpreter stays the very program that a cold run executes. Every name here is in the documented
// API or exported since 3.8, but for those that are null in older ones; the C types behind PyObject
// are never looked into.
#pragma once

#include <cstdio>

namespace jail::zygote {

struct PyObject;
using AuditHook = int (*)(const char* event, PyObject* arguments, void* own);

// The parameters of a function come in their own parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define JAIL_PYTHON_FUNCTIONS(F)                                                \
  F(int, PySys_AddAuditHook, (AuditHook, void*))                                \
  F(PyObject*, PyImport_ImportModule, (const char*))                            \
  F(PyObject*, PyImport_AddModule, (const char*))                               \
  F(PyObject*, PyImport_GetModuleDict, ())                                      \
  F(PyObject*, PyModule_GetDict, (PyObject*))                                   \
  F(PyObject*, PyRun_FileExFlags,                                               \
    (std::FILE*, const char*, int, PyObject*, PyObject*, int, void*))           \
  F(PyObject*, PyEval_EvalCode, (PyObject*, PyObject*, PyObject*))              \
  F(PyObject*, PyEval_GetBuiltins, ())                                          \
  F(PyObject*, Py_CompileString, (const char*, const char*, int))               \
  F(PyObject*, PyDict_New, ())                                                  \
  F(PyObject*, PyDict_Copy, (PyObject*))                                        \
  F(void, PyDict_Clear, (PyObject*))                                            \
  F(int, PyDict_Update, (PyObject*, PyObject*))                                 \
  F(PyObject*, PyDict_GetItemString, (PyObject*, const char*))                  \
  F(PyObject*, PyDict_GetItem, (PyObject*, PyObject*))                          \
  F(int, PyDict_SetItemString, (PyObject*, const char*, PyObject*))             \
  F(int, PyDict_SetItem, (PyObject*, PyObject*, PyObject*))                     \
  F(long, PyDict_Size, (PyObject*))                                             \
  F(int, PyDict_DelItem, (PyObject*, PyObject*))                                \
  F(int, PyDict_DelItemString, (PyObject*, const char*))                        \
  F(int, PyDict_Next, (PyObject*, long*, PyObject**, PyObject**))               \
  F(PyObject*, PyList_New, (long))                                              \
  F(int, PyList_Append, (PyObject*, PyObject*))                                 \
  F(long, PyList_Size, (PyObject*))                                             \
  F(PyObject*, PyList_GetItem, (PyObject*, long))                               \
  F(PyObject*, PySys_GetObject, (const char*))                                  \
  F(PyObject*, PyUnicode_DecodeFSDefault, (const char*))                        \
  F(const char*, PyUnicode_AsUTF8, (PyObject*))                                 \
  F(PyObject*, PyUnicode_InternFromString, (const char*))                       \
  F(PyObject*, PyBytes_FromString, (const char*))                               \
  F(PyObject*, PyObject_GetAttr, (PyObject*, PyObject*))                        \
  F(PyObject*, PyObject_GetAttrString, (PyObject*, const char*))                \
  F(PyObject*, PyObject_CallMethod, (PyObject*, const char*, const char*, ...)) \
  F(PyObject*, PyObject_CallMethodObjArgs, (PyObject*, PyObject*, ...))         \
  F(PyObject*, PyObject_CallFunction, (PyObject*, const char*, ...))            \
  F(int, PyObject_IsTrue, (PyObject*))                                          \
  F(int, PyObject_IsInstance, (PyObject*, PyObject*))                           \
  F(PyObject*, PyObject_Type, (PyObject*))                                      \
  F(int, PyType_IsSubtype, (PyObject*, PyObject*))                              \
  F(PyObject*, PyTuple_GetItem, (PyObject*, long))                              \
  F(PyObject*, PyWeakref_NewRef, (PyObject*, PyObject*))                        \
  F(PyObject*, PyWeakref_GetObject, (PyObject*))                                \
  F(int, PyFile_WriteObject, (PyObject*, PyObject*, int))                       \
  F(int, PyObject_Print, (PyObject*, std::FILE*, int))                          \
  F(void, PySys_WriteStderr, (const char*, ...))                                \
  F(PyObject*, PyModule_New, (const char*))                                     \
  F(long, PyLong_AsLong, (PyObject*))                                           \
  F(PyObject*, PyErr_Occurred, ())                                              \
  F(int, PyErr_ExceptionMatches, (PyObject*))                                   \
  F(void, PyErr_Fetch, (PyObject**, PyObject**, PyObject**))                    \
  F(void, PyErr_Restore, (PyObject*, PyObject*, PyObject*))                     \
  F(void, PyErr_Clear, ())                                                      \
  F(void, PyErr_SetString, (PyObject*, const char*))                            \
  F(void, PyErr_Print, ())                                                      \
  F(void, PyErr_WriteUnraisable, (PyObject*))                                   \
  F(long, PyGC_Collect, ())                                                     \
  F(void, PyOS_BeforeFork, ())                                                  \
  F(void, PyOS_AfterFork_Parent, ())                                            \
  F(void, PyOS_AfterFork_Child, ())                                             \
  F(int, Py_FinalizeEx, ())                                                     \
  F(void, Py_IncRef, (PyObject*))                                               \
  F(void, Py_DecRef, (PyObject*))

struct PythonApi {
#define JAIL_DECLARE(result, name, parameters) result(*name) parameters = nullptr;
  JAIL_PYTHON_FUNCTIONS(JAIL_DECLARE)
#undef JAIL_DECLARE
  // NOLINTEND(bugprone-macro-parentheses)
  // Objects, where the API exports variables.
  PyObject* None = nullptr;
  PyObject** BaseException = nullptr;
  PyObject** SystemExit = nullptr;
  PyObject** KeyboardInterrupt = nullptr;
  PyObject* long_type = nullptr;
  PyObject* module_type = nullptr;
  int (*PyGC_IsEnabled)() = nullptr;  // null before 3.10
  // Null before 3.13.
  void (*PyErr_FormatUnraisable)(const char* format, ...) = nullptr;
  PyObject** PythonFinalizationError = nullptr;
};

// The name that this interpreter lacks, or null when all were found.
const char* load(PythonApi& python);

// A dictionary with nothing but the builtins, for code to run in.
PyObject* fresh_names(PythonApi& python);
// False: an exception is set.
bool evaluate(PythonApi& python, PyObject* code, PyObject* names);
bool evaluate(PythonApi& python, PyObject* code);  // in fresh names

// What the grammar's start symbol for a file is called in Py_CompileString() and PyRun_*().
inline constexpr int file_input = 257;

}  // namespace jail::zygote
