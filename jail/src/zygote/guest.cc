#include "zygote/guest.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>

#include "child/apply.h"
#include "child/channel.h"
#include "child/notices.h"
#include "child/raw_syscall.h"
#include "zygote/frozen_heap.h"
#include "zygote/known_pages.h"
#include "zygote/process_image.h"

namespace jail::zygote {
namespace {

[[noreturn]] void fail(int channel, std::int32_t index, std::int32_t error) {
  const wire::GuestReport report{index, error, 0, 0, 0, 0};
  child::send_bytes(channel, &report, sizeof report, nullptr, 0);
  ::_exit(127);
}

// A fork of a process that shared its memory starts without the registration that glibc made for
// the zygote, but with its last processor number in memory.
void register_rseq() {
  if (__rseq_size == 0) return;
  char* area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  constexpr unsigned registered_bytes = 32;
  const unsigned bytes = __rseq_size < registered_bytes ? registered_bytes : __rseq_size;
  raw::call(SYS_rseq, raw::address(area), bytes, 0, RSEQ_SIG);
}

// Arguments and variables of this one program, in place of the template's.
class Invocation {
 public:
  // An errno, or 0.
  int read(int file) {
    wire::Invocation head{};
    if (::pread(file, &head, sizeof head, 0) != sizeof head || head.magic != wire::plan_magic) {
      return EINVAL;
    }
    // Anonymous and not the file: the kernel shows it as this process's own memory.
    void* place =
        ::mmap(nullptr, head.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return errno;
    texts_ = static_cast<char*>(place);
    if (::pread(file, texts_, head.bytes, sizeof head) != static_cast<ssize_t>(head.bytes)) {
      return EIO;
    }
    arguments_ = head.arguments;
    variables_ = head.variables;
    environment_ = after(texts_, arguments_);
    return show_arguments(texts_, environment_, environment_, texts_ + head.bytes);
  }

  bool given() const { return texts_ != nullptr; }

  // The file to run.
  const char* program() const { return next(texts_); }

  // For the interpreter and for what reads getenv(). False: an exception is set.
  bool tell(PythonApi& python) const {
    ::clearenv();
    PyObject* arguments = python.PyList_New(0);
    PyObject* variables = python.PyList_New(0);
    const char* at = texts_;
    for (std::uint32_t i = 0; i < arguments_; ++i, at = next(at)) {
      append(python, arguments, python.PyUnicode_DecodeFSDefault(at));
    }
    for (std::uint32_t i = 0; i < variables_; ++i, at = next(at)) {
      ::putenv(const_cast<char*>(at));
      append(python, variables, python.PyBytes_FromString(at));
    }
    PyObject* names = fresh_names(python);
    python.PyDict_SetItemString(names, "arguments", arguments);
    python.PyDict_SetItemString(names, "variables", variables);
    PyObject* code = python.Py_CompileString(tell_interpreter, "<invocation>", file_input);
    const bool told = evaluate(python, code, names);
    for (PyObject* object : {arguments, variables, names, code}) {
      if (object != nullptr) python.Py_DecRef(object);
    }
    return told;
  }

 private:
  // sys.argv starts with the program's file, the process's arguments with the interpreter. The
  // mapping behind os.environ is filled directly: the environment itself is there already.
  static constexpr char tell_interpreter[] = R"py(
import os, posix, sys
sys.orig_argv[:] = arguments
sys.argv[:] = arguments[1:]
pairs = [variable.split(b"=", 1) for variable in variables]
for mapping in (posix.environ, os.environ._data):
    mapping.clear()
    mapping.update(pairs)
)py";

  static const char* next(const char* text) {
    while (*text != '\0') ++text;
    return text + 1;
  }
  static char* after(char* texts, std::uint32_t count) {
    const char* at = texts;
    while (count-- > 0) at = next(at);
    return const_cast<char*>(at);
  }
  static void append(PythonApi& python, PyObject* list, PyObject* item) {
    if (item == nullptr) {
      python.PyErr_Clear();
      return;
    }
    python.PyList_Append(list, item);
    python.Py_DecRef(item);
  }

  char* texts_ = nullptr;
  char* environment_ = nullptr;
  std::uint32_t arguments_ = 0;
  std::uint32_t variables_ = 0;
};

// In company init sets the limits of resources, before the program runs: those of the jail may be
// larger than the template's, which are in this plan.
child::Failure apply_plan(const wire::Call* calls, std::uint32_t count, char* base, long* slots,
                          bool in_company) {
  if (!in_company) return child::apply(calls, count, base, slots);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (calls[i].number == SYS_prlimit64) continue;
    const child::Failure failure = child::apply(calls + i, 1, base, slots);
    if (failure.index >= 0) return {static_cast<std::int32_t>(i), failure.error};
  }
  return {};
}

// Null: there is nothing to run.
void run_code(PythonApi& python, PyObject* code) {
  if (code == nullptr || evaluate(python, code)) return;
  python.PyErr_Print();
  fail(wire::guest_channel_fd, -1, ECANCELED);
}

wire::GuestReport waiting_report() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto microseconds = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
  };
  return {-1, 0, ::getpid(), 0, microseconds(used.ru_utime), microseconds(used.ru_stime)};
}

}  // namespace

void renew(PythonApi& python, const GuestSetup& setup, bool in_company) {
  if (setup.frees_allocator) let_allocations_out();
  python.PyOS_AfterFork_Child();
  run_code(python, setup.renew_threading);
  run_code(python, setup.renew_multiprocessing);
  if (!in_company) run_code(python, setup.after_fork);
}

void warm_up(PythonApi& python, Program& program, const GuestSetup& setup) {
  program.rehearse();
  run_code(python, setup.rehearsal);
}

void become_guest(PythonApi& python, Program& program, const GuestSetup& setup,
                  const GuestOrder& order) {
  const GuestFds& fds = order.fds;
  register_rseq();
  const bool rehearses = (order.work & wire::guest_rehearses) != 0;
  take_known_pages(rehearses ? Reach::rehearsed : Reach::renewed);
  Invocation invocation;
  if (fds.invocation >= 0) {
    if (const int error = invocation.read(fds.invocation); error != 0) fail(fds.channel, -1, error);
  }
  ::dup3(fds.channel, wire::guest_channel_fd, O_CLOEXEC);
  long slots[wire::slot_count];
  for (long& slot : slots) slot = -1;
  for (int i = 0; i < 3; ++i) slots[wire::slot_stdin + i] = fds.streams[i];
  const long given = child::give_listener(wire::guest_channel_fd);
  if (given < 0) fail(wire::guest_channel_fd, -1, static_cast<std::int32_t>(-given));
  if ((order.work & wire::guest_ends_early) != 0) child::let_own_end_be_heard();
  char* base = reinterpret_cast<char*>(setup.plan);
  const auto* calls = reinterpret_cast<const wire::Call*>(base + setup.plan->calls_offset);
  const bool in_company = (order.work & wire::guest_in_company) != 0;
  const child::Failure failure =
      apply_plan(calls + setup.plan->init_calls, setup.plan->guest_calls, base, slots, in_company);
  if (failure.index >= 0) fail(wire::guest_channel_fd, failure.index, failure.error);

  renew(python, setup, in_company);
  if (invocation.given() && !invocation.tell(python)) {
    python.PyErr_Print();
    fail(wire::guest_channel_fd, -1, EINVAL);
  }
  if (rehearses) warm_up(python, program, setup);
  // The process that forked this one shares the zygote's memory. It is about to end; a program must
  // not meet it.
  while (::getppid() != 1) ::sched_yield();

  const wire::GuestReport report = waiting_report();
  if (child::send_bytes(wire::guest_channel_fd, &report, sizeof report, nullptr, 0) < 0) {
    ::_exit(127);
  }
  char go = 0;
  long got;
  do {
    got = child::receive(wire::guest_channel_fd, &go, sizeof go, nullptr, 0, nullptr, 0);
  } while (got == -EINTR);
  if (got != sizeof go) ::_exit(127);  // init is gone, or the jail was given up
  // What it imports may be a file that others have left for it, so not before init relies on
  // nothing more of this process.
  if (in_company) run_code(python, setup.after_fork);
  ::close(wire::guest_channel_fd);
  program.run(invocation.given() ? invocation.program() : setup.program_path);
}

}  // namespace jail::zygote
