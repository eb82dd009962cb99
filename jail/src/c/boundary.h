// What every function of the C interface does at its border: it checks that required values are
// there, keeps exceptions inside, and turns errors into a number and a text.
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

// Returns an error of the function `name` that names the first of `needed` that is NULL.
Result<void> look_for_null(const char* name, std::initializer_list<Needed> needed);

// Never throws: the text is left out where there is no memory for it.
jail_status tell(const Error& failure, jail_error* error) noexcept;

// Must be called inside of an exception handler; reports the exception that is being handled.
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

// Errors: invalid, where `given` is NULL though `length` is not 0; `name` is that of the argument.
Result<std::string_view> bytes_of(const char* name, const void* given, std::size_t length);

// Copies a list that ends in NULL; NULL stands for an empty list.
std::vector<std::string> strings_of(const char* const* list);

// Copies the text for a caller that gives it back to jail_text_destroy().
char* owned_text(const std::string& text);

// Copies the members that both the caller's structure and this library know. `size`s are in bytes.
// Errors: invalid, where `given` states no size or is not 0 in a member that this library does not
// know.
Result<void> copy_known(const char* type, const void* given, void* known, std::size_t size);

// The structure has no padding, so that a member of a later version never lies where an earlier one
// left a hole.
template <class T>
inline constexpr bool is_sized_struct = std::is_trivially_copyable_v<T>&&
    std::has_unique_object_representations_v<T>&& std::is_same_v<decltype(T::size), std::size_t>;

// Returns what the caller filled in, with 0 in the rest. `given` may be NULL.
template <class T>
Result<T> read_struct(const char* type, const T* given) {
  static_assert(is_sized_struct<T>);
  T known{};
  if (given == nullptr) return known;
  if (auto done = copy_known(type, given, &known, sizeof known); !done) return done.error();
  return known;
}

Result<void> fill_known(const char* type, const void* filled, void* out, std::size_t size);

// Fills as much as the caller's structure has room for; members that this library does not know
// become 0.
template <class T>
Result<void> write_struct(const char* type, const T& filled, T* out) {
  static_assert(is_sized_struct<T>);
  return fill_known(type, &filled, out, sizeof filled);
}

// Reads the value without its enumeration type, since a C caller can put any number there.
template <class E>
int number_of(const E& value) {
  static_assert(std::is_enum_v<E> && sizeof value == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

// "file 3 of 3": `index` counts from 0, and there are `count`.
Error no_such(const char* what, std::size_t index, std::size_t count);

// The enumerator of the C++ interface with the same number; none is above `last`.
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

// Writes how far something has come to `now`, which may be NULL.
template <class From, class To>
Result<void> tell_phase(const Result<From>& phase, To* now) {
  if (!phase) return phase.error();
  if (now != nullptr) *now = static_cast<To>(*phase);
  return {};
}

// Converts the timeout; it is capped at what poll(2) can wait.
inline std::chrono::milliseconds patience_of(std::uint64_t at_most_ms) {
  constexpr std::uint64_t longest = 24ull * 24 * 3600 * 1000;
  return std::chrono::milliseconds(std::min(at_most_ms, longest));
}

// Errors: invalid, for more than a century, so that sums of times do not overflow.
Result<std::chrono::milliseconds> checked_time(const char* name, std::uint64_t milliseconds);

// Errors: invalid, for more than a terminal can have.
Result<TerminalSize> terminal_size(std::uint32_t columns, std::uint32_t rows);

inline std::uint64_t count_us(std::chrono::microseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

}  // namespace jail::c
