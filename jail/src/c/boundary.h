// What every function of the C interface does at its border: values that are needed are there,
// exceptions stay inside, errors become a number and a text.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "jail/result.h"
#include "jail/spec.h"
#include "jail_c/status.h"

namespace jail::c {

// An argument that must not be NULL.
struct Needed {
  const char* name;
  const void* value;
};

// The first of `needed` that is NULL, as an error of the function `name`.
Result<void> look_for_null(const char* name, std::initializer_list<Needed> needed);

// Never throws: a text that there is no memory for is left out.
jail_status tell(const Error& failure, jail_error* error) noexcept;

// Inside of a handler: the exception that is being handled.
jail_status tell_exception(const char* name, jail_error* error) noexcept;

// Runs `body`, which returns a Result<void>, for the C function `name`.
template <class Body>
jail_status guarded(const char* name, std::initializer_list<Needed> needed, jail_error* error,
                    const Body& body) {
  try {
    Result<void> done = look_for_null(name, needed);
    if (done) done = body();
    return done ? JAIL_OK : tell(done.error(), error);
  } catch (const std::exception&) {
    return tell_exception(name, error);
  }
}

// Errors: invalid, where there are none though `length` says so; `name` is the argument's.
Result<std::string_view> bytes_of(const char* name, const void* given, std::size_t length);

// A list that ends in NULL; NULL is an empty one.
std::vector<std::string> strings_of(const char* const* list);

// For a caller that gives it back to jail_text_destroy().
char* owned_text(const std::string& text);

// Sizes in bytes of what is given and of what this library knows: copies what both know. Errors:
// invalid, where `given` says no size or has something where this library knows nothing.
Result<void> copy_known(const char* type, const void* given, void* known, std::size_t size);

// No padding: a member that a later version adds is never where an earlier one left a hole.
template <class T>
inline constexpr bool is_sized_struct = std::is_trivially_copyable_v<T>&&
    std::has_unique_object_representations_v<T>&& std::is_same_v<decltype(T::size), std::size_t>;

// What the caller filled in, the rest 0. `given` may be NULL.
template <class T>
Result<T> read_struct(const char* type, const T* given) {
  static_assert(is_sized_struct<T>);
  T known{};
  if (given == nullptr) return known;
  if (auto done = copy_known(type, given, &known, sizeof known); !done) return done.error();
  return known;
}

Result<void> fill_known(const char* type, const void* filled, void* out, std::size_t size);

// Fills as much as the caller's structure has room for, and what this library does not know with 0.
template <class T>
Result<void> write_struct(const char* type, const T& filled, T* out) {
  static_assert(is_sized_struct<T>);
  return fill_known(type, &filled, out, sizeof filled);
}

// Without reading it as its type, since a C caller can put any number there.
template <class E>
int number_of(const E& value) {
  static_assert(std::is_enum_v<E> && sizeof value == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

// "file 3 of 3": there are `count`, from 0 on.
Error no_such(const char* what, std::size_t index, std::size_t count);

// The same enumerator of the C++ interface, none of which is above `last`.
template <class To, class From>
Result<To> mirrored(const char* type, const From& value, To last) {
  const int number = number_of(value);
  if (number < 0 || number > static_cast<int>(last)) {
    return invalid(std::string(type) + ": " + std::to_string(number) + " is none of its values");
  }
  return static_cast<To>(number);
}

template <class T>
T or_default(T given, T standard) {
  return given == 0 ? standard : given;
}

// Tells how far something has come; `now` may be NULL.
template <class From, class To>
Result<void> tell_phase(const Result<From>& phase, To* now) {
  if (!phase) return phase.error();
  if (now != nullptr) *now = static_cast<To>(*phase);
  return {};
}

// No longer than poll(2) can wait.
inline std::chrono::milliseconds patience_of(std::uint64_t at_most_ms) {
  constexpr std::uint64_t longest = 24ull * 24 * 3600 * 1000;
  return std::chrono::milliseconds(std::min(at_most_ms, longest));
}

// Errors: invalid, where it is more than a century, so that sums of times stay numbers.
Result<std::chrono::milliseconds> checked_time(const char* name, std::uint64_t milliseconds);

// Errors: invalid, for more than a terminal can have.
Result<TerminalSize> terminal_size(std::uint32_t columns, std::uint32_t rows);

inline std::uint64_t count_us(std::chrono::microseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

}  // namespace jail::c
