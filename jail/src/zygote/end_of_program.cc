// The end of a program: what the interpreter does in Py_FinalizeEx(), in its order.
#include <fcntl.h>
#include <sys/single_threaded.h>

#include <csignal>
#include <cstring>

#include "zygote/program.h"

namespace jail::zygote {
namespace {

// What the interpreter exits with when its standard streams cannot be flushed.
constexpr int status_of_lost_output = 120;

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
struct RestoredName {
  const char* name;
  const char* first;  // what it was when the interpreter started
};
constexpr RestoredName streams[] = {
    {"stdin", "__stdin__"}, {"stdout", "__stdout__"}, {"stderr", "__stderr__"}};
constexpr RestoredName hooks[] = {{"breakpointhook", "__breakpointhook__"},
                                  {"displayhook", "__displayhook__"},
                                  {"excepthook", "__excepthook__"},
                                  {"unraisablehook", "__unraisablehook__"}};

// What a finaliser does not find among the builtins any more.
constexpr const char* late_builtins[] = {"open",    "exit",    "quit", "copyright",
                                         "credits", "license", "help"};

}  // namespace

// Every call that takes the text of a name makes a string and looks it up among all that the
// interpreter knows.
void Program::keep_names() {
  const auto keep = [this](const char* text) { return python_.PyUnicode_InternFromString(text); };
  names_ = {keep("__main__"),  keep("__file__"),      keep("__cached__"), keep("__loader__"),
            keep("closed"),    keep("flush"),         keep("io"),         keep("traceback"),
            keep("threading"), keep("is_finalizing"), keep("signal")};
  if (PyObject* sys = import_unseen(python_, "sys")) sys_names_ = python_.PyModule_GetDict(sys);
  const auto keep_all = [&keep](const auto& texts, auto& places) {
    auto* place = places.begin();
    for (const char* text : texts) *place++ = keep(text);
  };
  if (python_.PyLong_AsLong(python_.PySys_GetObject("hexversion")) >= version_312) {
    keep_all(names_since_312, special_names_);
  } else {
    keep_all(names_before_312, special_names_);
  }
  keep_all(late_builtins, late_builtins_);
  const auto keep_pairs = [&keep](const auto& texts, auto& places) {
    auto* place = places.begin();
    for (const auto& text : texts) *place++ = {keep(text.name), keep(text.first)};
  };
  keep_pairs(streams, streams_);
  keep_pairs(hooks, hooks_);
}

// The program's own modules go in the interpreter's order: their names first, then those that died
// with them, then what the others hold. Modules of the zygote stay: nobody could see them go, and
// what a finaliser of the program still uses is there.
void Program::drop_own_modules() {
  PyObject* modules = python_.PyImport_GetModuleDict();
  PyObject* main = python_.PyDict_GetItem(preloaded_, names_.main);
  // What the interpreter would show lines of the program with.
  for (PyObject* shows : {names_.io, names_.traceback}) {
    if (python_.PyDict_GetItem(modules, shows) == nullptr) continue;
    python_.PyDict_SetItem(modules, shows, python_.None);
  }
  PyObject* left = python_.PyList_New(0);
  PyObject* gone = python_.PyList_New(0);
  long position = 0;
  PyObject* name;
  PyObject* module;
  for (std::size_t i = 0; python_.PyDict_Next(modules, &position, &name, &module) != 0; ++i) {
    if (module == python_.None || modules_.has(i, name, module)) continue;
    if (module != main && python_.PyDict_GetItem(preloaded_, name) == module) continue;
    if (python_.PyObject_IsInstance(module, python_.module_type) == 1) {
      if (PyObject* weak = python_.PyWeakref_NewRef(module, nullptr)) {
        python_.PyList_Append(left, weak);
        python_.Py_DecRef(weak);
      }
    }
    drop_error();
    // Before the module goes: what goes with it may take the name out of the dictionary.
    python_.PyList_Append(gone, name);
    if (module == main) python_.PyDict_SetItem(preloaded_, name, python_.None);
    python_.PyDict_SetItem(modules, name, python_.None);
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
  for (const Restored& hook : hooks_) set_again(hook.name, hook.first);
}

// A module that the program took out of sys.modules goes with its last name, its files with it.
void Program::let_replaced_main_go() {
  PyObject* modules = python_.PyImport_GetModuleDict();
  PyObject* main = python_.PyDict_GetItem(preloaded_, names_.main);
  if (python_.PyDict_GetItem(modules, names_.main) == main) return;
  python_.PyDict_SetItem(preloaded_, names_.main, python_.None);
}

// As the interpreter does when its modules have gone: also where the program has switched the
// collector off, and without telling those who asked to be told, who stay nevertheless.
void Program::collect_for_good() {
  if (collect_ == nullptr || collector_callbacks_ == nullptr) return;
  if (python_.PyList_Size(collector_callbacks_) != 0) {
    python_.PyObject_CallMethod(collector_callbacks_, "copy", nullptr);
    if (PyObject* done = python_.PyObject_CallMethod(collector_callbacks_, "clear", nullptr)) {
      python_.Py_DecRef(done);
    }
    drop_error();
  }
  // The same collection; the function's own call writes to more pages.
  if (python_.PyGC_IsEnabled != nullptr && python_.PyGC_IsEnabled() != 0) {
    python_.PyGC_Collect();
    return;
  }
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
  PyObject* before = nullptr;
  // To set them again counts references on each of them, most on a page of its own.
  if (!builtin_entries_.are_all(python_, names)) {
    before = python_.PyDict_Copy(names);
    python_.PyDict_Clear(names);
    if (python_.PyDict_Update(names, builtins_) != 0) drop_error();
  }
  for (PyObject* name : late_builtins_) {
    if (python_.PyDict_DelItem(names, name) != 0) drop_error();
  }
  if (before != nullptr) python_.Py_DecRef(before);
}

void Program::forget_special_names() {
  for (PyObject* name : special_names_) {
    if (name != nullptr) python_.PyDict_SetItem(sys_names_, name, python_.None);
  }
  for (const Restored& stream : streams_) {
    if (set_again(stream.name, stream.first)) continue;
    python_.PyDict_SetItem(sys_names_, stream.name, python_.None);
  }
}

// What a handler keeps alive, which may be all names of its module, goes with it, and from here on
// a signal does to the process what it does to any. Nobody has a handler of his own who has not
// imported the module.
void Program::forget_signal_handlers() {
  if (set_handler_ == nullptr) return;
  if (python_.PyDict_GetItem(python_.PyImport_GetModuleDict(), names_.signal) == nullptr) {
    std::signal(SIGINT, SIG_DFL);
    return;
  }
  for (int number = 1; number < NSIG; ++number) {
    PyObject* handler = python_.PyObject_CallFunction(get_handler_, "i", number);
    // A number: the signal is ignored, or has its default.
    const bool is_called = handler != nullptr && handler != python_.None &&
                           python_.PyObject_IsInstance(handler, python_.long_type) == 0;
    if (handler != nullptr) python_.Py_DecRef(handler);
    PyObject* before =
        is_called ? python_.PyObject_CallFunction(set_handler_, "ii", number, 0) : nullptr;
    if (before != nullptr) python_.Py_DecRef(before);
    drop_error();
  }
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

bool Program::has_exit_functions() {
  PyObject* count = python_.PyObject_CallFunction(count_exit_functions_, nullptr);
  const bool has_some = count == nullptr || python_.PyObject_IsTrue(count) != 0;
  if (count != nullptr) python_.Py_DecRef(count);
  drop_error();
  return has_some;
}

void Program::run_exit_functions() {
  PyObject* done = python_.PyObject_CallFunction(run_exit_functions_, nullptr);
  if (done != nullptr) python_.Py_DecRef(done);
  drop_error();
}

// Whether the streams that the interpreter started with take what they were given. It flushes them
// once more and says what is wrong, but ends before it could tell its status.
bool Program::takes_output() {
  bool all = true;
  for (const Stream which : {Stream::output, Stream::error}) {
    const Restored& stream = streams_[static_cast<std::size_t>(which)];
    if (python_.PyDict_GetItem(sys_names_, stream.name) !=
        python_.PyDict_GetItem(sys_names_, stream.first)) {
      continue;
    }
    if (flush(which)) continue;
    drop_error();
    all = false;
  }
  return all;
}

// As Py_FinalizeEx(), without taking apart what the zygote made: that is most of the work, none of
// it can be seen, and every page of it would have to be copied first.
void Program::tear_down(int& status) {
  shut_threads_down();
  run_exit_functions();
  // The C library knows without a call where nobody has started a thread yet.
  if (__libc_single_threaded == 0 && has_other_threads()) {
    // Only the interpreter itself can stop them. It clears the names of modules that outlive their
    // place in sys.modules.
    python_.PyDict_SetItem(preloaded_, names_.main, python_.None);
    finalizing_ = true;
    final_status_ = takes_output() ? status : status_of_lost_output;
    python_.Py_FinalizeEx();
    status = final_status_;
    return;
  }
  take_apart(status);
}

void Program::take_apart(int& status) {
  tearing_down_ = true;
  if (is_finalizing_ != nullptr) {
    python_.PyDict_SetItem(sys_names_, names_.is_finalizing, is_finalizing_);
  }
  if (!flush_streams()) status = status_of_lost_output;
  forget_signal_handlers();
  python_.PyGC_Collect();
  forget_special_names();
  drop_own_modules();
  // What finalisers printed; by now the interpreter has no stream that it would complain about.
  for (const Stream stream : {Stream::output, Stream::error}) {
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

}  // namespace jail::zygote
