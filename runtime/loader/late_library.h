// A shared library that is loaded when it is first needed. A command that never needs it waits
// neither for it nor for the libraries that it needs itself.
#pragma once

namespace runtime {

class LateLibrary {
 public:
  // `name` is its soname, and `advice` says what to install. Throws std::runtime_error with both
  // where the library cannot be loaded. It stays loaded when this object is gone.
  LateLibrary(const char* name, const char* advice);

  // Holds the address of a function, and becomes a pointer of the type that the caller names.
  struct Function {
    void* address;
    template <class Type>
    operator Type*() const {
      return reinterpret_cast<Type*>(address);
    }
  };

  // Throws std::runtime_error where the library has no such function.
  Function function(const char* symbol) const;

 private:
  void* const handle_;
  const char* const advice_;  // the caller's
};

}  // namespace runtime
