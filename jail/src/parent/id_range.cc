#include "jail/id_range.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "jail/spec.h"
#include "parent/id_pool.h"
#include "parent/order.h"
#include "parent/subordinate_ids.h"

namespace jail {
namespace {

constexpr std::uint32_t nobody = 65534;  // what the kernel calls everybody who has no number here
constexpr char doing[] = "enter a user namespace with a range of ids";

std::atomic<const IdsOfJails*> entered = nullptr;

Error refused(std::string why, int error = 0) {
  return {ErrorKind::refused, std::string(doing) + ": " + std::move(why), error, {}};
}

struct Owner {
  std::uint32_t uid;
  std::uint32_t gid;
};

bool holds(std::uint32_t first, std::uint32_t count, std::uint32_t id) {
  return id >= first && id - first < count;
}

Result<void> check_ids(const char* of, std::uint32_t first, std::uint32_t count, std::uint32_t own,
                       std::uint32_t guests) {
  const std::string range = std::string(of) + ": the range from " + std::to_string(first) + " of " +
                            std::to_string(count) + " ids ";
  if (first == 0 || count == 0) return invalid(range + "has root in it, or nobody");
  if (count > ~std::uint32_t{0} - first) return invalid(range + "goes beyond the last id");
  for (const std::uint32_t taken : {own, guests, nobody}) {
    if (holds(first, count, taken)) return invalid(range + "holds " + std::to_string(taken));
  }
  return {};
}

// Writes the whole of it, which the kernel takes in one call only. An errno, or 0.
int write_file(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  const ssize_t put = ::write(file.get(), text.data(), text.size());
  return put == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

// For good. An errno, or 0.
int become(const Owner& owner) {
  const bool done = ::setgroups(0, nullptr) == 0 &&
                    ::setresgid(owner.gid, owner.gid, owner.gid) == 0 &&
                    ::setresuid(owner.uid, owner.uid, owner.uid) == 0 &&
                    // The change of uid made this process's files in /proc root's.
                    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
  return done ? 0 : errno;
}

// The kernel holds the namespace to these as a whole, so all jails together.
void raise_limits() {
  for (const auto resource : {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK, RLIMIT_NPROC}) {
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    rlimit own{};
    if (::setrlimit(resource, &none) == 0 || ::getrlimit(resource, &own) != 0) continue;
    own.rlim_cur = own.rlim_max;
    ::setrlimit(resource, &own);
  }
}

// A process in a user namespace of its own that has no map yet, until it is let go.
class Holder {
 public:
  static Result<Holder> start(const std::optional<Owner>& becomes) {
    auto words = make_pipe();
    auto life = make_pipe();
    if (!words) return words.error();
    if (!life) return life.error();
    // This process has one thread, and the embedding program's handlers of fork(2) are not called.
    const pid_t pid = ::_Fork();
    if (pid < 0) return system_error(doing);
    if (pid == 0) {
      life->second.reset();
      hold(becomes, words->second.get(), life->first.get());
    }
    Holder holder(pid, std::move(life->second));
    words->second.reset();
    int error = 0;
    if (::read(words->first.get(), &error, sizeof error) != sizeof error) error = ECHILD;
    if (error == 0) return holder;
    return refused("the kernel makes none for this user", error);
  }

  Holder(Holder&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), life_(std::move(other.life_)) {}
  ~Holder() {
    life_.reset();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  std::string file(const char* name) const { return "/proc/" + std::to_string(pid_) + "/" + name; }

 private:
  Holder(pid_t pid, Fd life) : pid_(pid), life_(std::move(life)) {}

  [[noreturn]] static void hold(const std::optional<Owner>& becomes, int words, int life) {
    raise_limits();
    int error = becomes ? become(*becomes) : 0;
    if (error == 0 && ::unshare(CLONE_NEWUSER) != 0) error = errno;
    // Nobody in it leaves a group that a file's mode shuts out.
    if (error == 0) error = write_file("/proc/self/setgroups", "deny");
    char nothing = 0;
    bool held = ::write(words, &error, sizeof error) == sizeof error;
    while (held) held = ::read(life, &nothing, sizeof nothing) < 0 && errno == EINTR;
    ::_exit(0);
  }

  pid_t pid_;
  Fd life_;
};

std::string map_text(std::uint32_t own, std::uint32_t first, std::uint32_t count,
                     const char* separator) {
  const auto line = [](std::uint32_t id, std::uint32_t many) {
    return std::to_string(id) + " " + std::to_string(id) + " " + std::to_string(many);
  };
  return line(own, 1) + separator + line(first, count);
}

// Runs newuidmap or newgidmap, whose words are in the error.
Result<void> run_map_program(const char* name, pid_t pid, std::uint32_t own, std::uint32_t first,
                             std::uint32_t count) {
  auto words = make_pipe();
  if (!words) return words.error();
  std::vector<std::string> texts = {name, std::to_string(pid)};
  for (const std::uint32_t number : {own, own, 1u, first, first, count}) {
    texts.push_back(std::to_string(number));
  }
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, words->second.get(), STDERR_FILENO);
  char* environment[] = {nullptr};
  pid_t child = 0;
  const std::string path = std::string("/usr/bin/") + name;
  const int error =
      ::posix_spawn(&child, path.c_str(), &actions, nullptr, arguments.data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    Error cannot = refused(std::string("execute ") + path, error);
    cannot.hint = "it comes with the package uidmap";
    return cannot;
  }
  words->second.reset();
  std::string said(1024, '\0');
  const ssize_t got = ::read(words->first.get(), said.data(), said.size());
  said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return system_error("wait for " + path);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return refused(said.empty() ? path + " failed" : said);
}

Result<void> write_maps(const Holder& holder, bool as_root, const Owner& owner,
                        const IdsOfJails& ids) {
  if (!as_root) {
    auto done = run_map_program("newuidmap", holder.pid(), owner.uid, ids.first_uid, ids.count);
    if (!done) return done;
    return run_map_program("newgidmap", holder.pid(), owner.gid, ids.first_gid, ids.count);
  }
  int error =
      write_file(holder.file("uid_map"), map_text(owner.uid, ids.first_uid, ids.count, "\n"));
  if (error == 0) {
    error = write_file(holder.file("gid_map"), map_text(owner.gid, ids.first_gid, ids.count, "\n"));
  }
  if (error != 0) return refused("write the maps", error);
  return {};
}

// What it takes to make jails of other users, to reach their files and to end them, and for a
// launcher to inherit the first two. To trace them takes another one: init stays out of reach.
bool keep_few_capabilities() {
  constexpr int kept[] = {CAP_SETUID, CAP_SETGID, CAP_KILL};
  const auto last = static_cast<int>(cap_max_bits());
  for (int capability = 0; capability < last; ++capability) {
    if (std::find(std::begin(kept), std::end(kept), capability) != std::end(kept)) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return false;
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  for (const int capability : kept) {
    sets[CAP_TO_INDEX(capability)].effective |= CAP_TO_MASK(capability);
  }
  sets[0].permitted = sets[0].effective;
  sets[0].inheritable = CAP_TO_MASK(CAP_SETUID) | CAP_TO_MASK(CAP_SETGID);
  return ::syscall(SYS_capset, &header, sets) == 0;
}

Result<IdsOfJails> ids_from(const IdRangeOptions& options, const Owner& owner, bool as_root) {
  IdsOfJails ids{options.first_uid, options.first_gid, options.count};
  if (!as_root && ids.count == 0) {
    const auto given = subordinate_ids(owner.uid);
    if (!given) return refused("/etc/subuid and /etc/subgid give this user no ids");
    ids = *given;
  }
  if (auto done = check_ids("users", ids.first_uid, ids.count, owner.uid, guest_uid); !done)
    return done.error();
  if (auto done = check_ids("groups", ids.first_gid, ids.count, owner.gid, guest_gid); !done)
    return done.error();
  return ids;
}

}  // namespace

wire::Ids ids_of_jail(std::uint32_t uid) noexcept {
  const IdsOfJails* ids = entered.load();
  if (ids == nullptr || !holds(ids->first_uid, ids->count, uid)) return {};
  return {uid, ids->first_gid + (uid - ids->first_uid)};
}

bool in_range_of_ids() noexcept { return entered.load() != nullptr; }

IdRange::IdRange(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
IdRange::IdRange(IdRange&&) noexcept = default;
IdRange& IdRange::operator=(IdRange&&) noexcept = default;
IdRange::~IdRange() = default;

Result<IdRange> IdRange::enter(const IdRangeOptions& options) {
  const bool as_root = ::geteuid() == 0;
  const Owner owner = as_root ? Owner{options.uid, options.gid} : Owner{::geteuid(), ::getegid()};
  if (owner.uid == 0 || owner.gid == 0) return invalid("uid, gid: root's own");
  const auto ids = ids_from(options, owner, as_root);
  if (!ids) return ids.error();
  if (entered.load() != nullptr) return refused("this process has entered one already");
  auto holder = Holder::start(as_root ? std::optional(owner) : std::nullopt);
  if (!holder) return std::move(holder).error();
  if (auto done = write_maps(*holder, as_root, owner, *ids); !done) return done.error();
  const Fd made(::open(holder->file("ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!made.valid()) return refused("open it", errno);
  if (as_root) {
    if (const int error = become(owner); error != 0) return refused("become its user", error);
  }
  if (::setns(made.get(), CLONE_NEWUSER) != 0) {
    return refused(errno == EINVAL ? "this process has other threads already" : "join it", errno);
  }
  if (!keep_few_capabilities()) return refused("drop capabilities", errno);
  auto state = std::make_shared<State>(*ids);
  // For as long as this process runs: it is in that namespace for as long.
  static const std::shared_ptr<State> kept = state;
  entered.store(&kept->ids);
  return State::make(std::move(state));
}

std::uint32_t IdRange::first_uid() const noexcept { return state_->ids.first_uid; }
std::uint32_t IdRange::first_gid() const noexcept { return state_->ids.first_gid; }
std::uint32_t IdRange::count() const noexcept { return state_->ids.count; }

}  // namespace jail
