// Errors as values. No exception crosses a public header of libjail, save std::bad_alloc.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace jail {

// The kind of an error. It alone decides what a caller can do about it.
enum class ErrorKind {
  invalid,      // what the caller asked for cannot be expressed or is out of range
  refused,      // the host or a rule of this library forbids it
  unsupported,  // the kernel lacks what is needed
  exhausted,    // a limit of the host is reached (descriptors, processes), or a place is taken
  kernel,       // a system call failed for another reason
  closed,       // the other side (launcher, jail) is gone
  timed_out,    // the caller's time limit passed; what was waited for goes on
};

// A failure as a value: made once, copied freely, with nothing that must be released.
struct Error {
  ErrorKind kind = ErrorKind::kernel;
  std::string doing;  // what was attempted: "mount /usr read-only (step 9 of 22)"
  int sys_errno = 0;  // 0 when no system call was involved
  std::string hint;   // what the reader can do about it; may be empty

  // "mount /usr read-only (step 9 of 22): Operation not permitted. Hint: ..."
  std::string message() const;
};

// The error for a request that cannot be expressed or is out of range.
inline Error invalid(std::string doing) { return {ErrorKind::invalid, std::move(doing), 0, {}}; }

// A value or an Error, with the method names of std::expected.
// Reading the side that is not there is a programming error and terminates.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(runtime/explicit)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(runtime/explicit)

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // The value. Must be called only where has_value().
  T& value() & noexcept { return existing(std::get_if<0>(&state_)); }
  const T& value() const& noexcept { return existing(std::get_if<0>(&state_)); }
  T&& value() && noexcept { return std::move(existing(std::get_if<0>(&state_))); }
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }
  T&& operator*() && noexcept { return std::move(*this).value(); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }

  // Must be called only where there is no value.
  const Error& error() const& noexcept { return existing(std::get_if<1>(&state_)); }
  Error&& error() && noexcept { return std::move(existing(std::get_if<1>(&state_))); }

 private:
  template <class Side>
  static Side& existing(Side* side) noexcept {
    if (side == nullptr) std::terminate();
    return *side;
  }

  std::variant<T, Error> state_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(runtime/explicit)

  bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  // Must be called only after a failure.
  const Error& error() const& noexcept {
    if (!error_) std::terminate();
    return *error_;
  }
  Error&& error() && noexcept {
    if (!error_) std::terminate();
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace jail
