// Objects of the zygote whose reference counts its forks leave alone.
#pragma once

#include "zygote/python_api.h"

namespace jail::zygote {

// CPython 3.12 and 3.13 never write to the count of an object that has the count of an immortal
// one, so a page with nothing but such objects stays shared. This gives it to the objects that
// programs use most and whose end nobody waits for: names, constants, code, functions, descriptors,
// types, and the dictionaries of types and of modules other than `__main__`. All others may be
// freed, resized or replaced, or end in a finaliser, and are left as they are. So are all objects
// of an interpreter that is another version, a debug build or one without a global lock.
//
// Call it between the last import and gc.freeze(); nothing may fail in it. Not thread-safe.
void make_objects_immortal(PythonApi& python);

}  // namespace jail::zygote
