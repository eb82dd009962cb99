#include "c/boundary.h"

#include <errno.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace jail::c {
namespace {

// A larger size is one that the caller has not set.
constexpr std::size_t largest_struct = 4096;

jail_status status_of(ErrorKind kind) {
  return static_cast<jail_status>(static_cast<int>(kind) + 1);
}

static_assert(static_cast<int>(ErrorKind::invalid) + 1 == JAIL_INVALID);
static_assert(static_cast<int>(ErrorKind::refused) + 1 == JAIL_REFUSED);
static_assert(static_cast<int>(ErrorKind::unsupported) + 1 == JAIL_UNSUPPORTED);
static_assert(static_cast<int>(ErrorKind::exhausted) + 1 == JAIL_EXHAUSTED);
static_assert(static_cast<int>(ErrorKind::kernel) + 1 == JAIL_KERNEL);
static_assert(static_cast<int>(ErrorKind::closed) + 1 == JAIL_CLOSED);
static_assert(static_cast<int>(ErrorKind::timed_out) + 1 == JAIL_TIMED_OUT);

jail_status write_error(jail_status status, int sys_errno, std::string_view text,
                        jail_error* error) noexcept {
  if (error == nullptr || error->size < sizeof(jail_error)) return status;
  error->status = status;
  error->sys_errno = sys_errno;
  const std::size_t length = std::min(text.size(), sizeof error->text - 1);
  std::copy_n(text.data(), length, error->text);
  error->text[length] = '\0';
  return status;
}

Result<std::size_t> size_of(const char* type, const void* given) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > largest_struct) {
    return invalid(std::string(type) + ".size: " + std::to_string(size) +
                   " is not the size of one");
  }
  return size;
}

}  // namespace

Error no_such(const char* what, std::size_t index, std::size_t count) {
  return invalid(std::string(what) + " " + std::to_string(index) + " of " + std::to_string(count));
}

Result<void> look_for_null(const char* name, std::initializer_list<Needed> needed) {
  for (const Needed& argument : needed) {
    if (argument.value == nullptr) {
      return invalid(std::string(name) + ": " + argument.name + " is NULL");
    }
  }
  return {};
}

jail_status tell(const Error& failure, jail_error* error) noexcept {
  const jail_status status = status_of(failure.kind);
  try {
    return write_error(status, failure.sys_errno, failure.message(), error);
  } catch (const std::exception&) {
    return write_error(status, failure.sys_errno, failure.doing, error);
  }
}

jail_status tell_exception(const char* name, jail_error* error) noexcept {
  char text[sizeof error->text];
  const auto tell_what = [&](jail_status status, int sys_errno, const char* what) {
    std::snprintf(text, sizeof text, "%s: %s", name, what);
    return write_error(status, sys_errno, text, error);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return tell_what(JAIL_EXHAUSTED, ENOMEM, "out of memory");
  } catch (const std::length_error&) {
    return tell_what(JAIL_EXHAUSTED, ENOMEM, "more than memory can hold");
  } catch (const std::exception& unexpected) {
    return tell_what(JAIL_KERNEL, 0, unexpected.what());
  }
}

std::vector<std::string> strings_of(const char* const* list) {
  std::vector<std::string> strings;
  for (; list != nullptr && *list != nullptr; ++list) strings.emplace_back(*list);
  return strings;
}

char* owned_text(const std::string& text) {
  char* copy = new char[text.size() + 1];
  std::copy_n(text.c_str(), text.size() + 1, copy);
  return copy;
}

Result<void> copy_known(const char* type, const void* given, void* known, std::size_t size) {
  const Result<std::size_t> told = size_of(type, given);
  if (!told) return told.error();
  const auto* bytes = static_cast<const unsigned char*>(given);
  const auto is_set = [](unsigned char byte) { return byte != 0; };
  if (*told > size && std::any_of(bytes + size, bytes + *told, is_set)) {
    return invalid(std::string(type) + ": a member that libjail " JAIL_VERSION " does not know");
  }
  std::memcpy(known, given, std::min(*told, size));
  return {};
}

Result<void> fill_known(const char* type, const void* filled, void* out, std::size_t size) {
  const Result<std::size_t> told = size_of(type, out);
  if (!told) return told.error();
  // The size is not filled: it stays the caller's.
  constexpr std::size_t begin = sizeof(std::size_t);
  auto* bytes = static_cast<unsigned char*>(out);
  const std::size_t end = std::min(*told, size);
  std::memcpy(bytes + begin, static_cast<const unsigned char*>(filled) + begin, end - begin);
  std::fill(bytes + end, bytes + *told, static_cast<unsigned char>(0));
  return {};
}

Result<std::string_view> bytes_of(const char* name, const void* given, std::size_t length) {
  if (given == nullptr && length > 0) {
    return invalid(std::string(name) + " is NULL, length is not 0");
  }
  return std::string_view(static_cast<const char*>(given), length);
}

Result<TerminalSize> terminal_size(std::uint32_t columns, std::uint32_t rows) {
  constexpr std::uint32_t most = std::numeric_limits<std::uint16_t>::max();
  if (columns > most || rows > most) return invalid("terminal: more than 65535 columns or rows");
  return TerminalSize{static_cast<std::uint16_t>(columns), static_cast<std::uint16_t>(rows)};
}

Result<std::chrono::milliseconds> checked_time(const char* name, std::uint64_t milliseconds) {
  constexpr std::uint64_t century = 100ull * 366 * 24 * 3600 * 1000;
  if (milliseconds > century) return invalid(std::string(name) + ": more than a century");
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace jail::c

extern "C" {

const char* jail_version() {
  static_assert(std::string_view(JAIL_VERSION) == LIBJAIL_VERSION, "jail_c/status.h says another");
  return JAIL_VERSION;
}

const char* jail_status_text(jail_status status) {
  switch (jail::c::number_of(status)) {
    case JAIL_OK:
      return "ok";
    case JAIL_INVALID:
      return "invalid";
    case JAIL_REFUSED:
      return "refused";
    case JAIL_UNSUPPORTED:
      return "unsupported";
    case JAIL_EXHAUSTED:
      return "exhausted";
    case JAIL_KERNEL:
      return "kernel";
    case JAIL_CLOSED:
      return "closed";
    case JAIL_TIMED_OUT:
      return "timed out";
    default:
      return "unknown";
  }
}

void jail_text_destroy(char* text) { delete[] text; }

}  // extern "C"
