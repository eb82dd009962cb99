#include "runtime/loader/late_library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace runtime {
namespace {

[[noreturn]] void refuse(const char* advice) {
  const char* const why = ::dlerror();
  throw std::runtime_error(std::string(why != nullptr ? why : "a library is missing") + "; " +
                           advice);
}

}  // namespace

LateLibrary::LateLibrary(const char* name, const char* advice)
    : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)), advice_(advice) {
  if (handle_ == nullptr) refuse(advice_);
}

LateLibrary::Function LateLibrary::function(const char* symbol) const {
  void* const address = ::dlsym(handle_, symbol);
  if (address == nullptr) refuse(advice_);
  return {address};
}

}  // namespace runtime
