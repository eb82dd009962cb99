#include "policy/syscall_numbers.h"

#include <seccomp.h>

#include <string_view>

namespace jail {
namespace {

struct NewerCall {
  std::string_view name;
  int x86_64;
  int aarch64;
};

constexpr int absent = -1;

// Calls younger than libseccomp 2.5.4. From 403 on the numbers are the same on all architectures;
// below, each architecture has its own.
constexpr NewerCall newer_calls[] = {
    {"uretprobe", 335, absent},      {"uprobe", 336, absent},
    {"cachestat", 451, 451},         {"fchmodat2", 452, 452},
    {"map_shadow_stack", 453, 453},  {"futex_wake", 454, 454},
    {"futex_wait", 455, 455},        {"futex_requeue", 456, 456},
    {"statmount", 457, 457},         {"listmount", 458, 458},
    {"lsm_get_self_attr", 459, 459}, {"lsm_set_self_attr", 460, 460},
    {"lsm_list_modules", 461, 461},  {"mseal", 462, 462},
    {"setxattrat", 463, 463},        {"getxattrat", 464, 464},
    {"listxattrat", 465, 465},       {"removexattrat", 466, 466},
    {"open_tree_attr", 467, 467},    {"file_getattr", 468, 468},
    {"file_setattr", 469, 469},
};

#if defined(__x86_64__)
constexpr int NewerCall::*native_number = &NewerCall::x86_64;
#elif defined(__aarch64__)
constexpr int NewerCall::*native_number = &NewerCall::aarch64;
#else
#error "the system call policy knows x86_64 and aarch64 only"
#endif

}  // namespace

std::optional<int> syscall_number(const std::string& name) {
  const int number = seccomp_syscall_resolve_name(name.c_str());
  if (number != __NR_SCMP_ERROR) return number;
  for (const NewerCall& call : newer_calls) {
    if (call.name == name) return call.*native_number;
  }
  return std::nullopt;
}

}  // namespace jail
