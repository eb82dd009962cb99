// Runs a file as the interpreter's main program and ends the process as the interpreter would.
#pragma once

#include <array>
#include <cstdint>

#include "zygote/entries.h"
#include "zygote/error_modules.h"
#include "zygote/python_api.h"

namespace jail::zygote {

// The kernel's count: threads that a library made without telling the interpreter are threads too.
bool has_other_threads();

// A module for this library's own use: a program that looks does not find in sys.modules what it
// would not find in a cold run. Null with an exception set when it cannot be imported.
PyObject* import_unseen(PythonApi& python, const char* name);

class Program {
 public:
  explicit Program(PythonApi& python) : python_(python), error_modules_(python) {}

  // In the zygote, once everything is imported that will be: what is there now is not torn down at
  // the end of a program.
  void remember_preloaded();

  // In the zygote, after the collector was frozen.
  void renew_main();

  // Runs a small program through the same code, so that its pages are the process's own before the
  // real one comes.
  void rehearse();

  [[noreturn]] void run(const char* path);

  // Runs a small program to its end and drops what it prints. What was registered to be called at
  // the end is not called. Nothing of the interpreter is of use afterwards.
  void run_to_end();

  // Tells what the interpreter does while it tears itself down, from its audit hook. -1, with an
  // error set: the interpreter would not do it.
  int on_audit(const char* event, PyObject* arguments);

 private:
  int execute(const char* path, PyObject* globals);
  int status_of_system_exit();
  void shut_threads_down();
  bool has_exit_functions();
  void run_exit_functions();
  int refuse_processes(const char* event);
  void tell_ignored(PyObject* object, const char* text);
  enum class Stream : std::uint8_t { input, output, error };
  // What sys has by the stream's name now, borrowed; null where that is None or gone.
  PyObject* current(Stream which) const;
  void flush_whatever_it_says(Stream which);
  bool flush(Stream which);
  // False where a stream does not take what it was given.
  bool flush_streams();
  bool set_again(PyObject* name, PyObject* from);
  void keep_names();
  void forget_special_names();
  void forget_signal_handlers();
  void drop_own_modules();
  void clear_module(PyObject* module);
  void restore_builtins();
  void let_replaced_main_go();
  void collect_for_good();
  void watch_files(const char* event, PyObject* arguments);
  void flush_files_left();
  bool takes_output();
  void tear_down(int& status);
  void take_apart(int& status);
  [[noreturn]] void end(int status);
  void print_error();
  void drop_error() { python_.PyErr_Clear(); }

  PythonApi& python_;
  ErrorModules error_modules_;

  struct Restored {
    PyObject* name;
    PyObject* first;
  };
  struct {
    PyObject *main, *file, *cached, *loader, *closed, *flush, *io, *traceback, *threading,
        *is_finalizing, *signal;
  } names_ = {};
  PyObject* sys_names_ = nullptr;
  std::array<PyObject*, 12> special_names_ = {};  // null after the last one
  std::array<PyObject*, 7> late_builtins_ = {};
  std::array<Restored, 3> streams_ = {};
  std::array<Restored, 4> hooks_ = {};
  PyObject* preloaded_ = nullptr;  // copy of sys.modules
  Entries<4096> modules_;          // without __main__
  unsigned long long libraries_before_ = 0;
  PyObject* builtins_ = nullptr;  // copy of its names
  Entries<512> builtin_entries_;
  PyObject* is_finalizing_ = nullptr;
  PyObject* run_exit_functions_ = nullptr;
  PyObject* count_exit_functions_ = nullptr;
  PyObject* collect_ = nullptr;
  PyObject* collector_callbacks_ = nullptr;
  PyObject* get_objects_ = nullptr;
  PyObject* get_handler_ = nullptr;
  PyObject* set_handler_ = nullptr;
  std::array<PyObject*, 3> buffered_types_ = {};
  PyObject* loader_type_ = nullptr;
  bool interrupted_ = false;
  bool has_written_files_ = false;
  bool tearing_down_ = false;
  bool finalizing_ = false;
  int final_status_ = 0;
};

}  // namespace jail::zygote
