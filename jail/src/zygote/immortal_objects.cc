#include "zygote/immortal_objects.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace jail::zygote {
namespace {

// How every object begins in the versions that can_be_immortal() lets pass.
struct Head {
  std::uint64_t count;
  PyObject* type;
};
constexpr std::uint64_t immortal_count = 0xffff'ffff;
constexpr unsigned long first_version = 0x030c;
constexpr unsigned long last_version = 0x030d;

constexpr int traverse_slot = 71;                  // Py_tp_traverse
constexpr unsigned long is_type_flag = 1UL << 31;  // Py_TPFLAGS_TYPE_SUBCLASS

// Only these types themselves: a subclass may have a finaliser.
constexpr const char* immortal_types[] = {
    "PyUnicode_Type",      "PyBytes_Type",       "PyLong_Type",        "PyFloat_Type",
    "PyComplex_Type",      "PyTuple_Type",       "PyCode_Type",        "PyFunction_Type",
    "PyCell_Type",         "PyCFunction_Type",   "PyMethodDescr_Type", "PyClassMethodDescr_Type",
    "PyWrapperDescr_Type", "PyGetSetDescr_Type", "PyMemberDescr_Type", "PyProperty_Type",
    "PyStaticMethod_Type", "PyClassMethod_Type"};

// What a code object holds, which the collector does not know of.
constexpr const char* parts_of_code[] = {"co_consts", "co_names", "co_name", "co_qualname"};

Head& head_of(PyObject* object) { return *reinterpret_cast<Head*>(object); }
// As the interpreter asks.
bool is_immortal(PyObject* object) { return static_cast<std::int32_t>(head_of(object).count) < 0; }
void make_immortal(PyObject* object) { head_of(object).count = immortal_count; }

using Visit = int (*)(PyObject* object, void* own);

// What the other parts of the zygote do not need, and earlier versions do not all have.
struct CollectorApi {
  const unsigned long* Py_Version = nullptr;
  void (*PyUnstable_GC_VisitObjects)(Visit visit, void* own) = nullptr;
  int (*PyObject_GC_IsTracked)(PyObject* object) = nullptr;
  int (*PyObject_IS_GC)(PyObject* object) = nullptr;
  void* (*PyType_GetSlot)(PyObject* type, int slot) = nullptr;
  unsigned long (*PyType_GetFlags)(PyObject* type) = nullptr;
  PyObject* dict_type = nullptr;
  PyObject* code_type = nullptr;
};

template <class Pointer>
bool find(Pointer& place, const char* name) {
  place = reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
  return place != nullptr;
}

bool load(CollectorApi& api) {
  return find(api.Py_Version, "Py_Version") &&
         find(api.PyUnstable_GC_VisitObjects, "PyUnstable_GC_VisitObjects") &&
         find(api.PyObject_GC_IsTracked, "PyObject_GC_IsTracked") &&
         find(api.PyObject_IS_GC, "PyObject_IS_GC") && find(api.PyType_GetSlot, "PyType_GetSlot") &&
         find(api.PyType_GetFlags, "PyType_GetFlags") && find(api.dict_type, "PyDict_Type") &&
         find(api.code_type, "PyCode_Type");
}

// Builds for debugging and without a global lock have other heads, and a letter each for it.
bool can_be_immortal(PythonApi& python, const CollectorApi& api) {
  const unsigned long version = *api.Py_Version >> 16;
  if (version < first_version || version > last_version) return false;
  PyObject* letters = python.PySys_GetObject("abiflags");
  const char* text = letters == nullptr ? nullptr : python.PyUnicode_AsUTF8(letters);
  if (text == nullptr || *text != '\0') {
    python.PyErr_Clear();
    return false;
  }
  if (python.PySys_GetObject("gettotalrefcount") != nullptr) return false;
  PyObject* list = python.PyList_New(0);
  const bool counts = list != nullptr && head_of(list).count == 1;
  if (list != nullptr) python.Py_DecRef(list);
  return counts && head_of(python.None).count == immortal_count;
}

class Walk {
 public:
  Walk(PythonApi& python, const CollectorApi& api) : python_(python), api_(api) {
    for (const char* name : immortal_types) {
      if (find(types_[type_count_], name)) ++type_count_;
    }
    main_names_ = python.PyModule_GetDict(python.PyImport_AddModule("__main__"));
  }

  void run() { api_.PyUnstable_GC_VisitObjects(visit_tracked, this); }

 private:
  static int visit_tracked(PyObject* object, void* own) {
    auto* walk = static_cast<Walk*>(own);
    walk->visit(object);
    walk->traverse(object, visit_referent);
    if (walk->is_type(object)) {
      walk->traverse(object, visit_names);
    } else if (head_of(object).type == walk->python_.module_type) {
      visit_names(walk->python_.PyModule_GetDict(object), walk);
    }
    return 1;  // to go on
  }

  static int visit_referent(PyObject* object, void* own) {
    static_cast<Walk*>(own)->visit(object);
    return 0;
  }

  static int visit_names(PyObject* object, void* own) {
    const auto* walk = static_cast<Walk*>(own);
    const bool is_names = head_of(object).type == walk->api_.dict_type;
    if (is_names && object != walk->main_names_ && !is_immortal(object)) make_immortal(object);
    return 0;
  }

  // What the collector does not track it does not visit either.
  void visit(PyObject* object) {
    if (is_immortal(object) || !becomes_immortal(object)) return;
    make_immortal(object);
    if (head_of(object).type == api_.code_type) {
      visit_parts(object);
    } else if (api_.PyObject_IS_GC(object) != 0 && api_.PyObject_GC_IsTracked(object) == 0) {
      traverse(object, visit_referent);
    }
  }

  void visit_parts(PyObject* code) {
    for (const char* name : parts_of_code) {
      PyObject* part = python_.PyObject_GetAttrString(code, name);
      if (part == nullptr) {
        python_.PyErr_Clear();
        continue;
      }
      visit(part);
      python_.Py_DecRef(part);
    }
  }

  void traverse(PyObject* object, Visit meet) {
    using Traverse = int (*)(PyObject * object, Visit visit, void* own);
    void* slot = api_.PyType_GetSlot(head_of(object).type, traverse_slot);
    if (slot != nullptr) reinterpret_cast<Traverse>(slot)(object, meet, this);
  }

  bool is_type(PyObject* object) const {
    return (api_.PyType_GetFlags(head_of(object).type) & is_type_flag) != 0;
  }

  bool becomes_immortal(PyObject* object) const {
    for (std::size_t i = 0; i < type_count_; ++i) {
      if (types_[i] == head_of(object).type) return true;
    }
    return is_type(object);
  }

  PythonApi& python_;
  const CollectorApi& api_;
  PyObject* types_[sizeof immortal_types / sizeof immortal_types[0]] = {};
  std::size_t type_count_ = 0;
  PyObject* main_names_ = nullptr;
};

}  // namespace

void make_objects_immortal(PythonApi& python) {
  CollectorApi api;
  if (load(api) && can_be_immortal(python, api)) Walk(python, api).run();
}

}  // namespace jail::zygote
