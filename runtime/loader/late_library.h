// A shared library that is loaded when it is first needed. A command that never needs it waits
// neither for it nor for the libraries that it needs itself.
#pragma once

namespace runtime {

class LateLibrary {
 public:
  // `name` is its soname, and `advice` says what to install. Throws std::runtime_error with both
  // where the library cannot be loaded. It stays loaded when this object is gone.
  LateLibrary(const char* name, const char* advice);

  // Finds the function `symbol`, which is of the type `Function`. Throws std::runtime_error where
  // the library has none.
  template <class Function>
  void find(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(address_of(symbol));
  }

 private:
  void* address_of(const char* symbol) const;

  void* const handle_;
  const char* const advice_;  // the caller's
};

}  // namespace runtime
