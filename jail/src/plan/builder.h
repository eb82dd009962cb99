// Puts calls, the bytes they point to and their texts into a Plan.
#pragma once

#include <sys/syscall.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace jail {

struct SystemCall {
  std::int32_t number;
  const char* name;
};
#define JAIL_CALL(name) \
  ::jail::SystemCall { SYS_##name, #name }

struct Argument {
  wire::ArgumentKind kind;
  std::int64_t value;
};

// A value that an earlier call of the plan returns, such as a descriptor.
struct SlotRef {
  std::uint8_t number;
};

class Builder {
 public:
  explicit Builder(Plan& plan) : plan_(plan), list_(&plan.init) {}

  // Calls added from here on are the guest's, run after init has forked it.
  void begin_guest() { list_ = &plan_.guest; }

  static Argument value(std::int64_t number) { return {wire::argument_value, number}; }
  static Argument slot(SlotRef ref) { return {wire::argument_slot, ref.number}; }
  static Argument address(std::uint32_t offset) {
    return {wire::argument_address, static_cast<std::int64_t>(offset)};
  }
  Argument text(std::string_view text) { return address(intern(text)); }

  // Stores bytes that are only read: terminated by NUL, aligned to 8; the same bytes are stored
  // once, unless they are long.
  std::uint32_t intern(std::string_view bytes);
  template <class T>
  std::uint32_t store(const T& object) {
    return intern({reinterpret_cast<const char*>(&object), sizeof object});
  }
  // Reserves room that a call writes to; nothing else shares it.
  std::uint32_t reserve(std::size_t size);
  template <class T>
  void write(std::uint32_t place, const T& object) {
    std::memcpy(plan_.bytes.data() + place, &object, sizeof object);
  }
  // An array of pointers to the texts, ended by a null pointer.
  std::uint32_t store_pointers(const std::vector<std::string>& texts);
  // Makes the pointer-sized field at `place` point to `target`.
  void point(std::uint32_t place, std::uint32_t target);

  // `purpose` completes "failed to ...".
  wire::Call& call(SystemCall system_call, std::initializer_list<Argument> arguments,
                   std::string purpose);
  // Adds a call whose result later calls use. Slots are never reused.
  SlotRef open(SystemCall system_call, std::initializer_list<Argument> arguments,
               std::string purpose);
  void close(SlotRef ref, std::string_view what);
  void check_acknowledged(std::uint32_t place, std::string purpose);
  void store_value(std::uint32_t place, Argument value, std::string purpose);

  // Returns true when the plan needs more slots than the child has.
  bool out_of_slots() const { return next_slot_ > wire::slot_count; }

 private:
  Plan& plan_;
  CallList* list_;
  std::map<std::string, std::uint32_t, std::less<>> interned_;
  std::size_t next_slot_ = wire::slot_first_free;
};

}  // namespace jail
