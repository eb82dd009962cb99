// Loaded into the interpreter of a template (LD_PRELOAD). The interpreter starts as for a cold run
// of the same program; in the moment before it would open the program's file, its audit event
// "cpython.run_file", it becomes a zygote: it imports what the template asks for and forks a guest
// whenever an init asks. A fork leaves that moment by running the program's file.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "child/channel.h"
#include "child/hold_inode.h"
#include "child/notices.h"
#include "child/relocate.h"
#include "child/wire.h"
#include "zygote/fork_into.h"
#include "zygote/fresh_memory.h"
#include "zygote/frozen_heap.h"
#include "zygote/guest.h"
#include "zygote/immortal_objects.h"
#include "zygote/known_pages.h"
#include "zygote/process_image.h"
#include "zygote/program.h"
#include "zygote/python_api.h"
#include "zygote/text_tables.h"

namespace jail::zygote {
namespace {

// Both read by libraries when they start threads of their own, which no fork would have.
constexpr const char* thread_counts[] = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
                                         "MKL_NUM_THREADS"};

// From here on a fork that copies page tables costs more than one that fills in what it touches.
constexpr std::size_t large_bytes = 16u << 20;

// What the module's own hook leaves as it was in the zygote: the kernel's number of the main
// thread, and how many threads have been named.
constexpr char renew_threading[] = R"py(
import threading
threading.main_thread()._set_native_id()
threading._counter = threading._count(1).__next__
)py";

// The key by which processes of multiprocessing know each other is drawn once, when it is imported.
constexpr char renew_multiprocessing[] = R"py(
import os
from multiprocessing import process
process.current_process().authkey = os.urandom(32)
)py";

[[noreturn]] void give_up(const char* why, const char* what = "") {
  std::fprintf(stderr, "zygote: %s%s\n", why, what);
  std::fflush(stderr);
  ::_exit(1);
}

// Whether whoever asked has given up meanwhile.
bool is_abandoned(int channel) {
  pollfd other_end{channel, 0, 0};
  return ::poll(&other_end, 1, 0) > 0;
}

// Maps a whole sealed file, for this process to change its own copy of. It is copied at once, since
// pages that come later each fork would have to map by itself.
char* map_file(int file, const char* name) {
  struct stat found {};
  if (::fstat(file, &found) != 0) give_up("cannot stat ", name);
  void* place = ::mmap(nullptr, static_cast<std::size_t>(found.st_size), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (place == MAP_FAILED) give_up("cannot map ", name);
  ::close(file);
  return static_cast<char*>(place);
}

wire::PlanHeader* map_plan() {
  char* base = map_file(wire::zygote_plan_fd, "the plan");
  auto* plan = reinterpret_cast<wire::PlanHeader*>(base);
  if (plan->magic != wire::plan_magic) give_up("the plan is of another build");
  child::relocate(base);
  return plan;
}

class Zygote {
 public:
  explicit Zygote(PythonApi& python) : python_(python), program_(python) {}

  Program& program() { return program_; }

  [[noreturn]] void run() {
    read_setup();
    import_modules();
    guest_.plan = map_plan();
    check_is_forkable();
    forget_own_traces();
    program_.remember_preloaded();
    program_.rehearse();
    freeze_garbage();
    program_.renew_main();
    if (leaves_no_gaps_) leave_no_gaps();
    if (is_large()) {
      freeze_memory();
    } else if (const int error = copy_text_tables_at_fork(); error != 0) {
      give_up("cannot write to its code: ", std::strerror(error));
    }
    hold_program();
    if (learns_pages_) learn_pages_of_forks();
    report_ready();
    serve();
  }

 private:
  void read_setup() {
    const char* at = map_file(wire::zygote_setup_fd, "the template");
    const auto* setup = reinterpret_cast<const wire::ZygoteSetup*>(at);
    if (setup->magic != wire::plan_magic) give_up("the template is of another build");
    imports_ = setup->imports;
    frozen_heap_ = static_cast<wire::FrozenHeap>(setup->frozen_heap);
    learns_pages_ = setup->known_pages != 0;
    makes_immortal_ = setup->immortal_objects != 0;
    leaves_no_gaps_ = setup->fresh_memory != 0;
    names_ = at + sizeof *setup;
    warm_up_ = names_ + setup->imports_bytes;
    after_fork_ = warm_up_ + setup->warm_up_bytes;
    rehearsal_ = after_fork_ + setup->after_fork_bytes;
    guest_.program_path = rehearsal_ + setup->rehearsal_bytes;
  }

  void import_modules() {
    if (frozen_heap_ != wire::never_frozen && imports_something()) {
      keep_allocations_in_heap();
      guest_.frees_allocator = true;
    }
    for (const char* name : thread_counts) ::setenv(name, "1", 1);
    const char* name = names_;
    for (std::uint32_t i = 0; i < imports_; ++i, name += std::strlen(name) + 1) {
      PyObject* module = python_.PyImport_ImportModule(name);
      if (module == nullptr) {
        python_.PyErr_Print();
        give_up("cannot import ", name);
      }
      python_.Py_DecRef(module);
    }
    if (PyObject* code = compile(warm_up_, "<warm_up>")) {
      run_or_give_up(code, "warm_up failed");
      python_.Py_DecRef(code);
    }
    // What it imports or computes only once is there for all forks.
    guest_.rehearsal = compile(rehearsal_, "<rehearsal>");
    if (guest_.rehearsal != nullptr) run_or_give_up(guest_.rehearsal, "rehearsal failed");
    if (has_imported("threading")) {
      guest_.renew_threading = compile(renew_threading, "<after_fork>");
    }
    if (has_imported("multiprocessing.process")) {
      guest_.renew_multiprocessing = compile(renew_multiprocessing, "<after_fork>");
    }
    guest_.after_fork = compile(after_fork_, "<after_fork>");
    for (const char* count : thread_counts) ::unsetenv(count);
  }

  bool has_imported(const char* module) {
    return python_.PyDict_GetItemString(python_.PyImport_GetModuleDict(), module) != nullptr;
  }

  void run_or_give_up(PyObject* code, const char* failed) {
    if (evaluate(python_, code)) return;
    python_.PyErr_Print();
    give_up(failed);
  }

  PyObject* compile(const char* text, const char* name) {
    if (*text == '\0') return nullptr;
    PyObject* code = python_.Py_CompileString(text, name, file_input);
    if (code == nullptr) {
      python_.PyErr_Print();
      give_up("cannot compile ", name);
    }
    return code;
  }

  // A fork has one thread, and a guest no descriptor but its streams: a library that relies on more
  // would fail in every program.
  void check_is_forkable() {
    if (has_other_threads()) {
      give_up("the imports or warm_up left a thread running, which no fork would have");
    }
    DIR* open = ::opendir("/proc/self/fd");
    if (open == nullptr) give_up("cannot list its descriptors");
    while (const dirent* entry = ::readdir(open)) {
      const int fd = std::atoi(entry->d_name);
      const bool known = fd <= wire::guest_channel_fd || fd == ::dirfd(open) ||
                         (fd >= wire::zygote_requests_fd && fd <= wire::zygote_control_fd);
      if (!known) give_up("the imports or warm_up left a descriptor open: ", entry->d_name);
    }
    ::closedir(open);
  }

  void forget_own_traces() {
    // Its directory looked different to the zygote than it does to a guest.
    if (PyObject* cache = python_.PySys_GetObject("path_importer_cache")) {
      const char* slash = std::strrchr(guest_.program_path, '/');
      char directory[4096] = {};
      const auto length = static_cast<std::size_t>(slash - guest_.program_path);
      if (length < sizeof directory) std::memcpy(directory, guest_.program_path, length);
      if (python_.PyDict_DelItemString(cache, directory) != 0) python_.PyErr_Clear();
    }
    if (end_environment_before("LD_PRELOAD") != 0) give_up("cannot hide LD_PRELOAD");
    // What is left in a buffer would be written by every fork.
    std::fflush(nullptr);
  }

  // Objects that the collector does not look at are not written to, so their pages stay shared.
  void freeze_garbage() {
    python_.PyGC_Collect();
    if (makes_immortal_) make_objects_immortal(python_);
    PyObject* gc = import_unseen(python_, "gc");
    PyObject* done = gc == nullptr ? nullptr : python_.PyObject_CallMethod(gc, "freeze", nullptr);
    if (done == nullptr) give_up("cannot freeze the garbage collector");
    python_.Py_DecRef(done);
    python_.Py_DecRef(gc);
  }

  // A bare interpreter stays small, and its allocator as it is.
  bool imports_something() const {
    return imports_ > 0 || *warm_up_ != '\0' || *rehearsal_ != '\0' ||
           frozen_heap_ == wire::always_frozen;
  }

  // Then fork() should copy as few page tables as can be, and otherwise all that spares a fault.
  bool is_large() const {
    if (frozen_heap_ == wire::never_frozen || !imports_something()) return false;
    return frozen_heap_ == wire::always_frozen || resident_private_bytes() >= large_bytes;
  }

  void freeze_memory() {
    if (const int error = freeze_heap(); error != 0) {
      give_up("cannot freeze its memory: ", std::strerror(error));
    }
  }

  // What /proc/self/exe is in each of its forks: one inode for all of them.
  void hold_program() {
    const int program = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const int error = program < 0 ? errno : hold_inode(program);
    if (error != 0) give_up("cannot hold its program's file: ", std::strerror(error));
  }

  void learn_pages_of_forks() {
    const GuestWork work{[](void* own) {
                           const auto* zygote = static_cast<Zygote*>(own);
                           renew(zygote->python_, zygote->guest_, false);
                         },
                         [](void* own) {
                           auto* zygote = static_cast<Zygote*>(own);
                           warm_up(zygote->python_, zygote->program_, zygote->guest_);
                         },
                         [](void* own) { static_cast<Zygote*>(own)->program_.run_to_end(); }, this};
    python_.PyOS_BeforeFork();
    learn_pages(work);
    python_.PyOS_AfterFork_Parent();
  }

  void report_ready() {
    wire::Message ready{};
    ready.type = wire::message_ready;
    const int self = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
    if (child::send_message(wire::zygote_control_fd, ready, self) < 0) ::_exit(1);
    ::close(self);
    ::close(wire::zygote_control_fd);
    ::close(wire::zygote_library_fd);
  }

  [[noreturn]] void serve() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    for (;;) {
      wire::GuestRequest request{};
      int received[child::max_fds];
      std::size_t count = 0;
      const long got = child::receive(wire::zygote_requests_fd, &request, sizeof request, received,
                                      child::max_fds, &count, 0);
      if (got == -EINTR) continue;
      if (got <= 0) ::_exit(0);  // the host is gone
      if (got == sizeof request && request.magic == wire::plan_magic &&
          count >= wire::min_guest_fds) {
        fork_guest(request, received, count);
      }
      for (std::size_t i = 0; i < count; ++i) ::close(received[i]);
    }
  }

  void fork_guest(const wire::GuestRequest& request, const int* received, std::size_t count) {
    GuestFds fds{received[0], received[1], {received[2], received[3], received[4]}, -1, -1};
    std::size_t next = wire::min_guest_fds;
    if ((request.fds & wire::launch_cgroup) != 0 && next < count) fds.cgroup = received[next++];
    if ((request.fds & wire::launch_invocation) != 0 && next < count) {
      fds.invocation = received[next++];
    }
    if (request.namespaces > count - next) return;
    // A zygote that could not run for a while would fork all that nobody waits for any more at
    // once, and their memory would count in a jail where others run.
    if (request.namespaces > 0 && is_abandoned(fds.channel)) return;
    python_.PyOS_BeforeFork();
    if (fork_into({fds.channel, fds.cgroup, fds.init, received + next, request.namespaces})) {
      become_guest(python_, program_, guest_, {request.work, fds});
    }
    python_.PyOS_AfterFork_Parent();
  }

  PythonApi& python_;
  Program program_;
  GuestSetup guest_;
  std::uint32_t imports_ = 0;
  wire::FrozenHeap frozen_heap_ = wire::frozen_if_large;
  bool learns_pages_ = false;
  bool makes_immortal_ = false;
  bool leaves_no_gaps_ = false;
  const char* names_ = nullptr;
  const char* warm_up_ = nullptr;
  const char* after_fork_ = nullptr;
  const char* rehearsal_ = nullptr;
};

using Main = int (*)(int, char**, char**);
Main interpreter_main = nullptr;

int on_audit(const char* event, PyObject* arguments, void* own) {
  static bool entered = false;
  auto* zygote = static_cast<Zygote*>(own);
  if (entered) {
    return zygote->program().on_audit(event, arguments);
  }
  if (std::strcmp(event, "cpython.run_file") == 0) {
    entered = true;
    zygote->run();
  }
  return 0;
}

int main_of_zygote(int count, char** arguments, char** environment) {
  // Programs that the interpreter or a guest starts are nobody's zygote.
  ::unsetenv("LD_PRELOAD");
  // Nothing else gets the number of a guest's channel.
  if (::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, wire::guest_channel_fd) != wire::guest_channel_fd) {
    give_up("descriptor 3 is taken");
  }
  static PythonApi python;
  if (const char* missing = load(python))
    give_up("not a CPython that it can use, it lacks ", missing);
  static Zygote zygote(python);
  if (python.PySys_AddAuditHook(on_audit, &zygote) != 0) give_up("no audit hook");
  return interpreter_main(count, arguments, environment);
}

}  // namespace
}  // namespace jail::zygote

// glibc's entry calls this by name with the program's main(), and takes the first one that it
// finds.
extern "C" [[gnu::visibility("default")]] int __libc_start_main(jail::zygote::Main main, int count,
                                                                char** arguments, void (*init)(),
                                                                void (*fini)(),
                                                                void (*loader_fini)(),
                                                                void* stack_end) {
  using Start = int (*)(jail::zygote::Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  jail::zygote::interpreter_main = main;
  const auto start = reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(jail::zygote::main_of_zygote, count, arguments, init, fini, loader_fini, stack_end);
}

// What os._exit() calls, in place of glibc's own.
extern "C" [[gnu::visibility("default")]] void _exit(int status) { jail::child::end_heard(status); }
