// From a fork of the zygote to a guest that waits for its program.
#pragma once

#include "child/wire.h"
#include "zygote/program.h"
#include "zygote/python_api.h"

namespace jail::zygote {

// What every guest of one zygote needs, mapped and compiled once.
struct GuestSetup {
  wire::PlanHeader* plan = nullptr;  // writable, its addresses filled in
  const char* program_path = nullptr;
  PyObject* renew_threading = nullptr;  // code, or null where nothing imported it; as the next
  PyObject* renew_multiprocessing = nullptr;
  PyObject* after_fork = nullptr;  // the template's, as is the next
  PyObject* rehearsal = nullptr;
  bool frees_allocator = false;  // the zygote called keep_allocations_in_heap()
};

// The descriptors of one wire::GuestRequest, in its order.
struct GuestFds {
  int init;
  int channel;
  int streams[3];
  int cgroup;
  int invocation;
};

// What is this guest's own.
struct GuestOrder {
  std::uint32_t work;  // wire::GuestWork bits
  GuestFds fds;
};

// What every fork does to the interpreter, and what one does that nobody waits for. `in_company`:
// the template's own part comes later, see become_guest().
void renew(PythonApi& python, const GuestSetup& setup, bool in_company);
void warm_up(PythonApi& python, Program& program, const GuestSetup& setup);

// Confines this process by the plan, warms it up, waits for init's word and runs the program. What
// goes wrong before is reported to init.
[[noreturn]] void become_guest(PythonApi& python, Program& program, const GuestSetup& setup,
                               const GuestOrder& order);

}  // namespace jail::zygote
