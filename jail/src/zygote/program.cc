#include "zygote/program.h"

#include <fcntl.h>
#include <link.h>
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

// What the interpreter exits with when its standard streams cannot be flushed.
constexpr int status_of_lost_output = 120;
constexpr int raw_text = 1;  // Py_PRINT_RAW

// What the interpreter forgets first, for what it may keep alive.
constexpr const char* names_before_312[] = {"path",
                                            "argv",
                                            "ps1",
                                            "ps2",
                                            "last_type",
                                            "last_value",
                                            "last_traceback",
                                            "path_hooks",
                                            "path_importer_cache",
                                            "meta_path",
                                            "__interactivehook__"};
constexpr const char* names_since_312[] = {"path_importer_cache",
                                           "path_hooks",
                                           "path",
                                           "argv",
                                           "ps1",
                                           "ps2",
                                           "last_exc",
                                           "last_type",
                                           "last_value",
                                           "last_traceback",
                                           "__interactivehook__",
                                           "meta_path"};
constexpr long version_312 = 0x030c0000;  // as in sys.hexversion
constexpr struct {
  const char* name;
  const char* first;  // what it was when the interpreter started
} streams[] = {{"stdin", "__stdin__"}, {"stdout", "__stdout__"}, {"stderr", "__stderr__"}},
  hooks[] = {{"breakpointhook", "__breakpointhook__"},
             {"displayhook", "__displayhook__"},
             {"excepthook", "__excepthook__"},
             {"unraisablehook", "__unraisablehook__"}};

// What a finaliser does not find among the builtins any more.
constexpr const char* late_builtins[] = {"open",    "exit",    "quit", "copyright",
                                         "credits", "license", "help"};

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
  const bool is_since_312 =
      python_.PyLong_AsLong(python_.PySys_GetObject("hexversion")) >= version_312;
  if (is_since_312) {
    special_names_ = names_since_312;
  } else {
    special_names_ = names_before_312;
  }
  PyObject* modules = python_.PyImport_GetModuleDict();
  atexit_ = import_unseen(python_, "atexit");
  if (PyObject* collector = import_unseen(python_, "gc")) {
    collect_ = python_.PyObject_GetAttrString(collector, "collect");
    collector_callbacks_ = python_.PyObject_GetAttrString(collector, "callbacks");
    get_objects_ = python_.PyObject_GetAttrString(collector, "get_objects");
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
  python_.PyDict_SetItemString(modules, "__main__", main);
  python_.PyDict_SetItemString(preloaded_, "__main__", main);
  python_.Py_DecRef(main);
  remember_modules();
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
  flush_streams();
  // What the end will write to, with what is there already.
  for (const char* name : special_names_) set_again(name, name);
  for (const auto& stream : streams) set_again(stream.name, stream.name);
  python_.PyGC_Collect();
}

// Whether there is something under `from`.
bool Program::set_again(const char* name, const char* from) {
  PyObject* value = python_.PySys_GetObject(from);
  if (value != nullptr) python_.PySys_SetObject(name, value);
  return value != nullptr;
}

void Program::run(const char* path) {
  PyObject* main = python_.PyImport_AddModule("__main__");
  int status = execute(path, python_.PyModule_GetDict(main));
  let_replaced_main_go();
  tear_down(status);
  end(status);
}

// As the interpreter runs `python3 FILE`.
int Program::execute(const char* path, PyObject* globals) {
  std::FILE* file = std::fopen(path, "rbe");
  if (file == nullptr) {
    std::fprintf(stderr, "python3: can't open file '%s'\n", path);
    return 2;
  }
  PyObject* name = python_.PyUnicode_DecodeFSDefault(path);
  python_.PyDict_SetItemString(globals, "__file__", name);
  python_.PyDict_SetItemString(globals, "__cached__", python_.None);
  if (PyObject* loader = python_.PyObject_CallFunction(loader_type_, "sO", "__main__", name)) {
    python_.PyDict_SetItemString(globals, "__loader__", loader);
    python_.Py_DecRef(loader);
  }
  python_.Py_DecRef(name);
  PyObject* done = python_.PyRun_FileExFlags(file, path, file_input, globals, globals, 1, nullptr);
  // What is printed comes before what is said about an error.
  PyObject* type;
  PyObject* value;
  PyObject* traceback;
  python_.PyErr_Fetch(&type, &value, &traceback);
  for (const char* stream : {"stderr", "stdout"}) {
    if (!flush(stream)) drop_error();
  }
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
  for (const char* own : {"__file__", "__cached__"}) {
    if (python_.PyDict_DelItemString(globals, own) != 0) drop_error();
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
  PyObject* threading = python_.PyDict_GetItemString(python_.PyImport_GetModuleDict(), "threading");
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

// False, with an error set, where the stream is there, open and does not take what it was given.
bool Program::flush(const char* name) {
  PyObject* stream = python_.PySys_GetObject(name);
  if (stream == nullptr || stream == python_.None) return true;
  PyObject* closed = python_.PyObject_GetAttrString(stream, "closed");
  if (closed == nullptr) {
    drop_error();
  } else {
    const bool is_closed = python_.PyObject_IsTrue(closed) == 1;
    python_.Py_DecRef(closed);
    if (is_closed) return true;
  }
  PyObject* done = python_.PyObject_CallMethod(stream, "flush", nullptr);
  if (done == nullptr) return false;
  python_.Py_DecRef(done);
  return true;
}

bool Program::flush_streams() {
  bool all = true;
  if (!flush("stdout")) {
    tell_ignored(python_.PySys_GetObject("stdout"), "Exception ignored on flushing sys.stdout");
    all = false;
  }
  if (!flush("stderr")) {
    drop_error();
    all = false;
  }
  return all;
}

void Program::forget_special_names() {
  for (const char* name : special_names_) python_.PySys_SetObject(name, python_.None);
  if (is_finalizing_ != nullptr) python_.PySys_SetObject("is_finalizing", is_finalizing_);
  for (const auto& stream : streams) {
    if (!set_again(stream.name, stream.first)) python_.PySys_SetObject(stream.name, python_.None);
  }
}

// By the addresses alone: a look at a thousand names would touch as many pages.
bool Program::is_of_zygote(std::size_t index, PyObject* name, PyObject* module) const {
  return index < module_count_ && modules_[index].name == name && modules_[index].module == module;
}

void Program::remember_modules() {
  PyObject* modules = python_.PyImport_GetModuleDict();
  PyObject* main = python_.PyDict_GetItemString(modules, "__main__");
  long position = 0;
  PyObject* name;
  PyObject* module;
  while (module_count_ < max_modules &&
         python_.PyDict_Next(modules, &position, &name, &module) != 0) {
    if (module != main) modules_[module_count_] = {name, module};
    ++module_count_;
  }
}

// The program's own modules go in the interpreter's order: their names first, then those that died
// with them, then what the others hold. Modules of the zygote stay: nobody could see them go, and
// what a finaliser of the program still uses is there.
void Program::drop_own_modules() {
  PyObject* modules = python_.PyImport_GetModuleDict();
  PyObject* main = python_.PyDict_GetItemString(preloaded_, "__main__");
  // What the interpreter would show lines of the program with.
  for (const char* name : {"io", "traceback"}) {
    if (python_.PyDict_GetItemString(modules, name) == nullptr) continue;
    python_.PyDict_SetItemString(modules, name, python_.None);
  }
  PyObject* left = python_.PyList_New(0);
  PyObject* gone = python_.PyList_New(0);
  long position = 0;
  PyObject* name;
  PyObject* module;
  for (std::size_t i = 0; python_.PyDict_Next(modules, &position, &name, &module) != 0; ++i) {
    if (module == python_.None || is_of_zygote(i, name, module)) continue;
    if (module != main && python_.PyDict_GetItem(preloaded_, name) == module) continue;
    if (python_.PyObject_IsInstance(module, python_.module_type) == 1) {
      if (PyObject* weak = python_.PyWeakref_NewRef(module, nullptr)) {
        python_.PyList_Append(left, weak);
        python_.Py_DecRef(weak);
      }
    }
    drop_error();
    if (module == main) python_.PyDict_SetItem(preloaded_, name, python_.None);
    python_.PyDict_SetItem(modules, name, python_.None);
    python_.PyList_Append(gone, name);
  }
  // What a finaliser imports now is not halted, it is not found.
  for (long i = python_.PyList_Size(gone); i-- > 0;) {
    if (python_.PyDict_DelItem(modules, python_.PyList_GetItem(gone, i)) != 0) drop_error();
  }
  restore_builtins();
  collect_for_good();
  for (long i = python_.PyList_Size(left); i-- > 0;) {
    PyObject* alive = python_.PyWeakref_GetObject(python_.PyList_GetItem(left, i));
    if (alive == nullptr || alive == python_.None) continue;
    python_.Py_IncRef(alive);
    clear_module(alive);
    python_.Py_DecRef(alive);
  }
  collect_for_good();
  // A program's own ones come before its streams in the order in which sys goes, and what they have
  // written to files with them.
  for (const auto& hook : hooks) set_again(hook.name, hook.first);
}

// A module that the program took out of sys.modules goes with its last name, its files with it.
void Program::let_replaced_main_go() {
  PyObject* modules = python_.PyImport_GetModuleDict();
  PyObject* main = python_.PyDict_GetItemString(preloaded_, "__main__");
  if (python_.PyDict_GetItemString(modules, "__main__") == main) return;
  python_.PyDict_SetItemString(preloaded_, "__main__", python_.None);
}

// As the interpreter does when its modules have gone: also where the program has switched the
// collector off, and without telling those who asked to be told, who stay nevertheless.
void Program::collect_for_good() {
  if (collect_ == nullptr || collector_callbacks_ == nullptr) return;
  python_.PyObject_CallMethod(collector_callbacks_, "copy", nullptr);
  if (PyObject* done = python_.PyObject_CallMethod(collector_callbacks_, "clear", nullptr)) {
    python_.Py_DecRef(done);
  }
  drop_error();
  if (PyObject* done = python_.PyObject_CallFunction(collect_, nullptr)) python_.Py_DecRef(done);
  drop_error();
}

void Program::watch_files(const char* event, PyObject* arguments) {
  if (has_written_files_ || std::strcmp(event, "open") != 0) return;
  constexpr long place_of_flags = 2;
  PyObject* flags = python_.PyTuple_GetItem(arguments, place_of_flags);
  if (flags != nullptr && python_.PyObject_IsInstance(flags, python_.long_type) == 1) {
    has_written_files_ = (python_.PyLong_AsLong(flags) & O_ACCMODE) != O_RDONLY;
  }
  drop_error();
}

// The interpreter's very last collection closes the files of names that something of the zygote
// holds, as a handler of signals does with all names of its module. Nothing of the program runs any
// more. The collector knows of no object that was there when it was frozen.
void Program::flush_files_left() {
  if (!has_written_files_ || get_objects_ == nullptr) return;
  PyObject* objects = python_.PyObject_CallFunction(get_objects_, nullptr);
  for (PyObject* wanted : buffered_types_) {
    if (objects == nullptr || wanted == nullptr) break;
    PyObject* flush = python_.PyObject_GetAttrString(wanted, "flush");
    for (long i = python_.PyList_Size(objects); flush != nullptr && i-- > 0;) {
      PyObject* object = python_.PyList_GetItem(objects, i);
      PyObject* type = python_.PyObject_Type(object);
      if (python_.PyType_IsSubtype(type, wanted) != 0) {
        PyObject* done = python_.PyObject_CallFunction(flush, "O", object);
        if (done != nullptr) python_.Py_DecRef(done);
        drop_error();
      }
      python_.Py_DecRef(type);
    }
  }
  drop_error();
}

// What a program hung onto sys goes later, when nothing could be printed any more. The interpreter
// keeps its builtins before it and site add the last ones, and has those alone in the end.
void Program::restore_builtins() {
  PyObject* names = python_.PyEval_GetBuiltins();
  PyObject* before = python_.PyDict_Copy(names);
  long position = 0;
  PyObject* key;
  PyObject* value;
  while (python_.PyDict_Next(before, &position, &key, &value) != 0) {
    PyObject* first = python_.PyDict_GetItem(builtins_, key);
    if (first == value) continue;
    const int done = first == nullptr ? python_.PyDict_DelItem(names, key)
                                      : python_.PyDict_SetItem(names, key, first);
    if (done != 0) drop_error();
  }
  for (const char* name : late_builtins) {
    if (python_.PyDict_DelItemString(names, name) != 0) drop_error();
  }
  python_.Py_DecRef(before);
}

void Program::clear_module(PyObject* module) {
  PyObject* names = python_.PyModule_GetDict(module);
  for (const bool private_ones : {true, false}) {
    long position = 0;
    PyObject* key;
    PyObject* value;
    while (python_.PyDict_Next(names, &position, &key, &value) != 0) {
      const char* name = value == python_.None ? nullptr : python_.PyUnicode_AsUTF8(key);
      if (name == nullptr) {
        drop_error();
        continue;
      }
      const bool is_private = name[0] == '_' && name[1] != '_';
      if (private_ones ? !is_private : std::strcmp(name, "__builtins__") == 0) continue;
      if (python_.PyDict_SetItem(names, key, python_.None) != 0) drop_error();
    }
  }
}

// As Py_FinalizeEx(), without taking apart what the zygote made: that is most of the work, none of
// it can be seen, and every page of it would have to be copied first.
void Program::tear_down(int& status) {
  shut_threads_down();
  if (PyObject* done = python_.PyObject_CallMethod(atexit_, "_run_exitfuncs", nullptr)) {
    python_.Py_DecRef(done);
  } else {
    drop_error();
  }
  if (has_other_threads()) {
    // Only the interpreter itself can stop them. It clears the names of modules that outlive their
    // place in sys.modules.
    python_.PyDict_SetItemString(preloaded_, "__main__", python_.None);
    finalizing_ = true;
    final_status_ = status;
    python_.Py_FinalizeEx();
    status = final_status_;
    return;
  }
  tearing_down_ = true;
  if (!flush_streams()) status = status_of_lost_output;
  python_.PyGC_Collect();
  forget_special_names();
  drop_own_modules();
  // What finalisers printed; by now the interpreter has no stream that it would complain about.
  for (const char* stream : {"stdout", "stderr"}) {
    if (!flush(stream)) drop_error();
  }
  flush_files_left();
}

int Program::on_audit(const char* event, PyObject* arguments) {
  error_modules_.on_audit(event);
  watch_files(event, arguments);
  if (tearing_down_) return refuse_processes(event);
  if (!finalizing_) return 0;
  // All that a program can see has happened: what follows frees memory that the kernel is about to
  // take back.
  if (std::strcmp(event, "cpython.PyInterpreterState_Clear") == 0) {
    flush_files_left();
    end(final_status_);
  }
  return 0;
}

// An interpreter that has an error for it starts no thread and no fork once it is going down.
int Program::refuse_processes(const char* event) {
  if (python_.PythonFinalizationError == nullptr) return 0;
  constexpr struct {
    const char* event;
    const char* text;
  } refused[] = {
      {"os.fork", "can't fork at interpreter shutdown"},
      {"os.forkpty", "can't fork at interpreter shutdown"},
      {"_thread.start_new_thread", "can't create new thread at interpreter shutdown"},
      {"_thread.start_joinable_thread", "can't create new thread at interpreter shutdown"}};
  for (const auto& each : refused) {
    if (std::strcmp(event, each.event) != 0) continue;
    python_.PyErr_SetString(*python_.PythonFinalizationError, each.text);
    return -1;
  }
  return 0;
}

void Program::end(int status) {
  if (interrupted_) {
    std::signal(SIGINT, SIG_DFL);
    ::kill(::getpid(), SIGINT);
  }
  // What libraries of the zygote would tidy up at the end is memory; a library of the program's own
  // gets the chance to.
  if (libraries_loaded() != libraries_before_) std::exit(status);
  std::fflush(nullptr);
  child::end_heard(status);
}

}  // namespace jail::zygote
