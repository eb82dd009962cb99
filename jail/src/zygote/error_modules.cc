#include "zygote/error_modules.h"

#include <cstring>
#include <initializer_list>

namespace jail::zygote {
namespace {

// Leaves show() in its names. What the program may have changed meanwhile is taken beforehand. The
// entries by which a class knows the modules' classes as its own are found by the collector, in the
// dictionaries that __subclasses__() reads; where one is not found, nothing is kept.
constexpr char keep_modules[] = R"py(
import builtins, posix, sys
from _weakref import ref
modules, listdir, importer = sys.modules, posix.listdir, builtins.__import__
path, finders, hooks = sys.path[1:], sys.meta_path[:], sys.path_hooks[:]
excepthook = sys.excepthook
loaded, searched = set(modules), set(sys.path_importer_cache)
import gc

def known_classes():
    known, left = {object}, [object]
    while left:
        found = set(type.__subclasses__(left.pop())) - known
        known |= found
        left.extend(found)
    return known

def hide(classes):
    entries, wanted = [], {ref(each) for each in classes}
    tables = [table for table in gc.get_referrers(*wanted) if type(table) is dict]
    for base in {base for each in classes for base in each.__bases__}:
        own = [each for each in type.__subclasses__(base) if is_hidden_from(base, each, classes)]
        for table in tables:
            if all(id(each) in table and table[id(each)] is ref(each) for each in own):
                taken = [(table, id(each), table.pop(id(each))) for each in own]
                if set(own).isdisjoint(type.__subclasses__(base)):
                    entries += taken
                    break
                show_again(taken)
        else:
            show_again(entries)
            return None
    return entries

# The interpreter makes those of _ast once: a module that is imported again derives from the same.
def is_hidden_from(base, each, classes):
    return each in classes and (base not in classes or is_stated(each) and not is_stated(base))

def is_stated(each):
    return "__firstlineno__" in type.__dict__["__dict__"].__get__(each)

def show_again(entries):
    for table, key, value in entries:
        table[key] = value

# Whether a module is what an import brings, and not what a program has put in its place.
def is_same(module, like):
    if type(module) is not type(sys) or getattr(module, "__spec__", None) is None:
        return False
    return module.__spec__.origin == like.__spec__.origin

def is_shown(each):
    return each is not None and modules.get(each.__module__) is kept[each.__module__]

def show(preloaded):
    if (sys.excepthook is excepthook and sys.stderr is not None and sys.modules is modules
            and sys.meta_path == finders and sys.path_hooks == hooks
            and sys.path[1:] == path and builtins.__import__ is importer
            and "traceback" not in modules and "linecache" not in modules
            and all(is_same(modules.get(name, module), module) for name, module in kept.items())
            and roots.isdisjoint([entry.partition(".")[0] for entry in listdir(sys.path[0])])):
        for name, module in kept.items():
            if modules.setdefault(name, module) is module:
                preloaded[name] = module
        show_again([entry for entry in hidden if is_shown(entry[2]())])

before = known_classes()
import traceback, tokenize, ast
kept = {name: module for name, module in modules.items() if name not in loaded}
for name in kept:
    del modules[name]
for name in set(sys.path_importer_cache) - searched:
    del sys.path_importer_cache[name]
kept.pop("gc", None)
roots = {name.partition(".")[0] for name in kept}
hidden = hide({each for each in known_classes() - before if each.__module__ in kept})
del before
if hidden is None:
    kept.clear()
    del show, traceback, ast, tokenize
    gc.collect()
)py";

}  // namespace

void ErrorModules::keep() {
  if (python_.PyErr_FormatUnraisable == nullptr) return;  // before 3.13
  PyObject* names = fresh_names(python_);
  PyObject* code = python_.Py_CompileString(keep_modules, "<error_modules>", file_input);
  if (evaluate(python_, code, names)) show_ = python_.PyDict_GetItemString(names, "show");
  python_.PyErr_Clear();
}

void ErrorModules::show(PyObject* preloaded) {
  if (show_ == nullptr || is_watched_) return;
  PyObject* done = python_.PyObject_CallFunction(show_, "O", preloaded);
  if (done != nullptr) python_.Py_DecRef(done);
  python_.PyErr_Clear();
}

void ErrorModules::on_audit(const char* event) {
  if (std::strncmp(event, "sys.", 4) != 0) return;
  for (const char* watching :
       {"sys.addaudithook", "sys.settrace", "sys.setprofile", "sys.monitoring.register_callback"}) {
    is_watched_ = is_watched_ || std::strcmp(event, watching) == 0;
  }
}

}  // namespace jail::zygote
