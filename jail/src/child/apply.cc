#include "child/apply.h"

#include <errno.h>

#include "child/raw_syscall.h"

namespace jail::child {
namespace {

long argument_of(const wire::Call& call, int i, char* base, const long* slots) {
  switch (call.kind[i]) {
    case wire::argument_slot:
      return slots[call.argument[i]];
    case wire::argument_address:
      return raw::address(base + call.argument[i]);
    default:
      return call.argument[i];
  }
}

}  // namespace

Failure apply(const wire::Call* calls, std::uint32_t count, char* base, long* slots) {
  for (std::uint32_t index = 0; index < count; ++index) {
    const wire::Call& call = calls[index];
    long arguments[6];
    for (int i = 0; i < 6; ++i) arguments[i] = argument_of(call, i, base, slots);

    long result;
    if (call.number == wire::check_acknowledged) {
      result = *reinterpret_cast<const std::int32_t*>(arguments[0]);
    } else if (call.number == wire::store_value) {
      *reinterpret_cast<std::int32_t*>(arguments[0]) = static_cast<std::int32_t>(arguments[1]);
      result = 0;
    } else {
      result = raw::call(call.number, arguments[0], arguments[1], arguments[2], arguments[3],
                         arguments[4], arguments[5]);
    }
    if (result < 0 && -result != call.tolerated_errno) {
      return {static_cast<std::int32_t>(index), static_cast<std::int32_t>(-result)};
    }
    if (result >= 0 && result < call.at_least) return {static_cast<std::int32_t>(index), EIO};
    if (call.result_slot != wire::slot_none) slots[call.result_slot] = result;
  }
  return {};
}

}  // namespace jail::child
