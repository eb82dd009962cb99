#include "jail/launcher.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <initializer_list>

#include "parent/check_grants.h"
#include "parent/image_process.h"
#include "parent/jail_state.h"
#include "parent/launcher_state.h"
#include "parent/order.h"
#include "parent/shared_inodes.h"
#include "plan/plan.h"

extern "C" const char jail_launcher_image_begin[];
extern "C" const char jail_launcher_image_end[];

namespace jail {
namespace {

// While it lives, a program that this thread executes keeps what a launcher of a range takes.
class HandsOnCapabilities {
 public:
  explicit HandsOnCapabilities(bool does) : does_(does) {
    if (does_) change(PR_CAP_AMBIENT_RAISE);
  }
  HandsOnCapabilities(const HandsOnCapabilities&) = delete;
  ~HandsOnCapabilities() {
    if (does_) change(PR_CAP_AMBIENT_LOWER);
  }

 private:
  static void change(int how) {
    for (const int capability : {CAP_SETUID, CAP_SETGID}) {
      ::prctl(PR_CAP_AMBIENT, how, capability, 0, 0);
    }
  }

  bool does_;
};

}  // namespace

Launcher::Launcher(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
Launcher::Launcher(Launcher&&) noexcept = default;

Launcher& Launcher::operator=(Launcher&& other) noexcept {
  const Launcher ends(std::move(state_));
  state_ = std::move(other.state_);
  return *this;
}

Launcher::~Launcher() {
  if (state_ == nullptr) return;
  // A pool may have its state still. It ends by itself; a process that is wedged is not waited for.
  if (state_->owner == ::getpid()) ::shutdown(state_->socket.get(), SHUT_RDWR);
  end_process(state_->process);
}

Result<Launcher> Launcher::start(LauncherOptions options) {
  if (::geteuid() == 0) {
    return Error{ErrorKind::refused, "start the launcher as root", 0,
                 "no jail runs as host uid 0: drop to another user first"};
  }
  auto sockets = socket_pair();
  if (!sockets) return sockets.error();
  auto held = hold_shared_inodes();
  if (!held) return held.error();
  const HandsOnCapabilities to_launcher(options.ids != nullptr);
  auto process =
      run_image("jail-launcher",
                {jail_launcher_image_begin,
                 static_cast<std::size_t>(jail_launcher_image_end - jail_launcher_image_begin)},
                std::move(sockets->second), std::move(*held));
  if (!process) return process.error();
  auto state = std::make_shared<State>();
  state->socket = std::move(sockets->first);
  state->process = std::move(*process);
  state->host = HostFacts::of_this_host(::geteuid(), ::getegid());
  state->cgroups = std::move(options.cgroups);
  state->egress = std::move(options.egress);
  if (options.ids != nullptr) {
    state->ids = options.ids->state();
    state->host.ids_of_jails = state->ids->ids;
  }
  return Launcher(std::move(state));
}

int Launcher::process_fd() const noexcept { return state_->process.get(); }

Enforcement Launcher::enforcement() const noexcept {
  return enforcement_of(state_->cgroups ? LimitedBy::cgroup : LimitedBy::init);
}

int Launcher::landlock_version() const noexcept { return state_->host.landlock; }

Result<std::string> Launcher::explain(const JailSpec& spec) const {
  const auto plan = compile(spec, state_->host);
  if (!plan) return plan.error();
  if (auto granted = check_grants(spec, state_->host.uid); !granted) return granted.error();
  return loosened_text(spec) + to_text(*plan);
}

Result<Jail> Launcher::launch(const JailSpec& spec) const {
  auto plan = compile(spec, state_->host);
  if (!plan) return std::move(plan).error();
  if (auto granted = check_grants(spec, state_->host.uid); !granted) return granted.error();
  JailOrder order;
  Fd image;
  if (spec.life == Life::until_ended) {
    auto shared = state_->living_plans.share(std::move(*plan));
    if (!shared) return shared.error();
    order.image = (*shared)->image.get();
    order.plan = {*shared, &(*shared)->plan};
    order.living = &spec;
    order.max_limits = spec.max_limits;
  } else {
    auto made = to_image(*plan);
    if (!made) return made.error();
    image = std::move(*made);
    order.image = image.get();
    order.plan = std::make_shared<const Plan>(std::move(*plan));
  }
  order.socket = state_->socket.get();
  order.limits = spec.limits;
  order.terminal = spec.terminal;
  order.cgroups = state_->cgroups ? &*state_->cgroups : nullptr;
  order.network = &spec.network;
  order.proxy = state_->egress.get();
  order.ids = state_->ids.get();
  return order_jail(order);
}

}  // namespace jail
