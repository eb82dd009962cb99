#include "zygote/program.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "child/notices.h"
#include "zygote/rehearsal_texts.h"

namespace jail::zygote {
namespace {

constexpr int raw_text = 1;  // Py_PRINT_RAW

// Those that hold others come first.
constexpr const char* buffered_types[] = {"TextIOWrapper", "BufferedWriter", "BufferedRandom"};

// How many were loaded into this process ever.
unsigned long long libraries_loaded() {
  unsigned long long count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* place) {
        *static_cast<unsigned long long*>(place) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

}  // namespace

bool has_other_threads() {
  struct stat tasks {};
  // Two links are the directory's own.
  return ::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > 3;
}

PyObject* import_unseen(PythonApi& python, const char* name) {
  PyObject* modules = python.PyImport_GetModuleDict();
  const bool known = python.PyDict_GetItemString(modules, name) != nullptr;
  PyObject* module = python.PyImport_ImportModule(name);
  if (!known && module != nullptr) python.PyDict_DelItemString(modules, name);
  return module;
}

void Program::remember_preloaded() {
  keep_names();
  PyObject* modules = python_.PyImport_GetModuleDict();
  if (PyObject* atexit = import_unseen(python_, "atexit")) {
    run_exit_functions_ = python_.PyObject_GetAttrString(atexit, "_run_exitfuncs");
    count_exit_functions_ = python_.PyObject_GetAttrString(atexit, "_ncallbacks");
  }
  if (PyObject* collector = import_unseen(python_, "gc")) {
    collect_ = python_.PyObject_GetAttrString(collector, "collect");
    collector_callbacks_ = python_.PyObject_GetAttrString(collector, "callbacks");
    get_objects_ = python_.PyObject_GetAttrString(collector, "get_objects");
  }
  if (PyObject* signals = import_unseen(python_, "_signal")) {
    get_handler_ = python_.PyObject_GetAttrString(signals, "getsignal");
    set_handler_ = python_.PyObject_GetAttrString(signals, "signal");
  }
  if (PyObject* io = import_unseen(python_, "io")) {
    PyObject** type = buffered_types_.begin();
    for (const char* name : buffered_types) {
      *type++ = python_.PyObject_GetAttrString(io, name);
    }
  }
  if (PyObject* importer = python_.PyDict_GetItemString(modules, "_frozen_importlib_external")) {
    loader_type_ = python_.PyObject_GetAttrString(importer, "SourceFileLoader");
  }
  error_modules_.keep();
  preloaded_ = python_.PyDict_Copy(modules);
  libraries_before_ = libraries_loaded();
  builtins_ = python_.PyDict_Copy(python_.PyEval_GetBuiltins());
  builtin_entries_.remember(python_, python_.PyEval_GetBuiltins());
  PyObject* names = fresh_names(python_);
  PyObject* code =
      python_.Py_CompileString("def is_finalizing(): return True\n", "<is_finalizing>", file_input);
  if (evaluate(python_, code, names)) {
    is_finalizing_ = python_.PyDict_GetItemString(names, "is_finalizing");
  }
  // Kept for good: taking them apart would touch every page that they are on.
  for (const char* name : {"path_importer_cache", "path_hooks", "meta_path", "path"}) {
    if (PyObject* kept = python_.PySys_GetObject(name)) python_.Py_IncRef(kept);
  }
}

// The collector looks at nothing that was there when it was frozen, and a program's names are often
// in a cycle with its functions.
void Program::renew_main() {
  PyObject* modules = python_.PyImport_GetModuleDict();
  PyObject* old = python_.PyModule_GetDict(python_.PyImport_AddModule("__main__"));
  PyObject* main = python_.PyModule_New("__main__");
  PyObject* names = python_.PyModule_GetDict(main);
  long position = 0;
  PyObject* key;
  PyObject* value;
  while (python_.PyDict_Next(old, &position, &key, &value) != 0) {
    python_.PyDict_SetItem(names, key, value);
  }
  if (python_.PyDict_GetItemString(old, "__annotations__") != nullptr) {
    PyObject* annotations = python_.PyDict_New();
    python_.PyDict_SetItemString(names, "__annotations__", annotations);
    python_.Py_DecRef(annotations);
  }
  python_.PyDict_SetItem(modules, names_.main, main);
  python_.PyDict_SetItem(preloaded_, names_.main, main);
  python_.Py_DecRef(main);
  modules_.remember(python_, modules, main);
}

void Program::rehearse() {
  PyObject* globals = python_.PyDict_New();
  for (const char* text : rehearsals) {
    std::FILE* file = ::fmemopen(const_cast<char*>(text), std::strlen(text), "r");
    if (file == nullptr) break;
    PyObject* done =
        python_.PyRun_FileExFlags(file, "<rehearsal>", file_input, globals, globals, 1, nullptr);
    if (done == nullptr) drop_error();
    if (done != nullptr) python_.Py_DecRef(done);
  }
  python_.Py_DecRef(globals);
  // What the zygote has left in a buffer would be written by every fork.
  flush_streams();
  // What the end will write to, with what is there already.
  for (PyObject* name : special_names_) set_again(name, name);
  for (const Restored& stream : streams_) set_again(stream.name, stream.name);
  if (!has_exit_functions()) run_exit_functions();
  python_.PyGC_Collect();
}

// Whether there is something under `from`.
bool Program::set_again(PyObject* name, PyObject* from) {
  PyObject* value = from == nullptr ? nullptr : python_.PyDict_GetItem(sys_names_, from);
  if (value != nullptr && python_.PyDict_SetItem(sys_names_, name, value) != 0) drop_error();
  return value != nullptr;
}

void Program::run(const char* path) {
  PyObject* main = python_.PyImport_AddModule("__main__");
  int status = execute(path, python_.PyModule_GetDict(main));
  let_replaced_main_go();
  tear_down(status);
  end(status);
}

void Program::run_to_end() {
  const int output = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int file = ::memfd_create("program", MFD_CLOEXEC);
  const std::size_t size = std::strlen(printing);
  if (output < 0 || ::dup2(output, STDOUT_FILENO) < 0 || file < 0 ||
      ::write(file, printing, size) != static_cast<ssize_t>(size)) {
    return;
  }
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  PyObject* names = python_.PyModule_GetDict(python_.PyImport_AddModule("__main__"));
  python_.PyDict_Copy(names);  // what a template has put there is not finalised
  int status = execute(path, names);
  take_apart(status);
}

// As the interpreter runs `python3 FILE`.
int Program::execute(const char* path, PyObject* globals) {
  std::FILE* file = std::fopen(path, "rbe");
  if (file == nullptr) {
    std::fprintf(stderr, "python3: can't open file '%s'\n", path);
    return 2;
  }
  PyObject* name = python_.PyUnicode_DecodeFSDefault(path);
  python_.PyDict_SetItem(globals, names_.file, name);
  python_.PyDict_SetItem(globals, names_.cached, python_.None);
  if (PyObject* loader = python_.PyObject_CallFunction(loader_type_, "OO", names_.main, name)) {
    python_.PyDict_SetItem(globals, names_.loader, loader);
    python_.Py_DecRef(loader);
  }
  python_.Py_DecRef(name);
  PyObject* done = python_.PyRun_FileExFlags(file, path, file_input, globals, globals, 1, nullptr);
  // What is printed comes before what is said about an error.
  PyObject* type;
  PyObject* value;
  PyObject* traceback;
  python_.PyErr_Fetch(&type, &value, &traceback);
  for (const Stream stream : {Stream::error, Stream::output}) flush_whatever_it_says(stream);
  python_.PyErr_Restore(type, value, traceback);
  int status = 0;
  if (done != nullptr) {
    python_.Py_DecRef(done);
  } else if (python_.PyErr_ExceptionMatches(*python_.SystemExit) != 0) {
    return status_of_system_exit();
  } else {
    // The class itself: the interpreter takes no subclass for an interrupt.
    interrupted_ = python_.PyErr_Occurred() == *python_.KeyboardInterrupt;
    print_error();
    status = 1;
  }
  for (PyObject* own : {names_.file, names_.cached}) {
    if (python_.PyDict_DelItem(globals, own) != 0) drop_error();
  }
  return status;
}

void Program::print_error() {
  PyObject* type;
  PyObject* value;
  PyObject* traceback;
  python_.PyErr_Fetch(&type, &value, &traceback);
  error_modules_.show(preloaded_);
  python_.PyErr_Restore(type, value, traceback);
  python_.PyErr_Print();
}

int Program::status_of_system_exit() {
  std::fflush(stdout);
  PyObject* type;
  PyObject* value;
  PyObject* traceback;
  python_.PyErr_Fetch(&type, &value, &traceback);
  int status = 0;
  if (value == nullptr) {
    python_.Py_IncRef(python_.None);
    value = python_.None;
  }
  // What was raised from C may be the bare argument still.
  if (python_.PyObject_IsInstance(value, *python_.BaseException) == 1) {
    if (PyObject* code = python_.PyObject_GetAttrString(value, "code")) {
      python_.Py_DecRef(value);
      value = code;
    } else {
      drop_error();
    }
  }
  if (python_.PyObject_IsInstance(value, python_.long_type) == 1) {
    status = static_cast<int>(python_.PyLong_AsLong(value));
    drop_error();  // too large a number is -1
  } else if (value != python_.None) {
    PyObject* stream = python_.PySys_GetObject("stderr");
    if (stream != nullptr && stream != python_.None) {
      if (python_.PyFile_WriteObject(value, stream, raw_text) != 0) drop_error();
    } else {
      if (python_.PyObject_Print(value, stderr, raw_text) != 0) drop_error();
      std::fflush(stderr);
    }
    python_.PySys_WriteStderr("\n");
    status = 1;
  }
  python_.PyErr_Restore(type, value, traceback);
  drop_error();
  return status;
}

void Program::shut_threads_down() {
  PyObject* threading = python_.PyDict_GetItem(python_.PyImport_GetModuleDict(), names_.threading);
  if (threading == nullptr || threading == python_.None) return;
  if (PyObject* done = python_.PyObject_CallMethod(threading, "_shutdown", nullptr)) {
    python_.Py_DecRef(done);
  } else {
    tell_ignored(threading, "Exception ignored on threading shutdown");
  }
}

// An interpreter that has a text for it names the occasion, an older one the object.
void Program::tell_ignored(PyObject* object, const char* text) {
  if (python_.PyErr_FormatUnraisable != nullptr) {
    python_.PyErr_FormatUnraisable(text);
  } else {
    python_.PyErr_WriteUnraisable(object);
  }
}

PyObject* Program::current(Stream which) const {
  PyObject* name = streams_[static_cast<std::size_t>(which)].name;
  PyObject* stream = name == nullptr ? nullptr : python_.PyDict_GetItem(sys_names_, name);
  return stream == python_.None ? nullptr : stream;
}

// As when a file has run: a stream of the program's own is not asked whether it is closed.
void Program::flush_whatever_it_says(Stream which) {
  PyObject* stream = current(which);
  if (stream == nullptr) return;
  PyObject* done = python_.PyObject_CallMethodObjArgs(stream, names_.flush, nullptr);
  if (done != nullptr) python_.Py_DecRef(done);
  drop_error();
}

// False, with an error set, where the stream is there, open and does not take what it was given.
bool Program::flush(Stream which) {
  PyObject* stream = current(which);
  if (stream == nullptr) return true;
  PyObject* closed = python_.PyObject_GetAttr(stream, names_.closed);
  if (closed == nullptr) {
    drop_error();
  } else {
    const int is_closed = python_.PyObject_IsTrue(closed);
    python_.Py_DecRef(closed);
    if (is_closed > 0) return true;
    if (is_closed < 0) drop_error();
  }
  PyObject* done = python_.PyObject_CallMethodObjArgs(stream, names_.flush, nullptr);
  if (done == nullptr) return false;
  python_.Py_DecRef(done);
  return true;
}

bool Program::flush_streams() {
  bool all = true;
  if (!flush(Stream::output)) {
    tell_ignored(python_.PySys_GetObject("stdout"), "Exception ignored on flushing sys.stdout");
    all = false;
  }
  if (!flush(Stream::error)) {
    drop_error();
    all = false;
  }
  return all;
}

void Program::end(int status) {
  if (interrupted_) {
    std::signal(SIGINT, SIG_DFL);
    ::kill(::getpid(), SIGINT);
    status = SIGINT + 128;  // it is blocked
  }
  // What libraries of the zygote would tidy up at the end is memory; a library of the program's own
  // gets the chance to.
  std::fflush(nullptr);  // before what libraries have registered, as the interpreter does
  if (libraries_loaded() != libraries_before_) std::exit(status);
  child::end_heard(status);
}

}  // namespace jail::zygote
