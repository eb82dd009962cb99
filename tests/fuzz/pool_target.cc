// A pool under answers that no launcher, host or zygote would give, one after the other and in any
// order.
#include <optional>
#include <string>
#include <vector>

#include "jail/pool.h"
#include "parent/launcher_state.h"
#include "tests/fuzz/false_launcher.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

using jail::Jail;
using jail::Phase;
using jail::Pool;
using jail::Warmth;

constexpr int max_steps = 64;
constexpr std::size_t max_leased = 8;
constexpr jail::PoolOptions options{.least = 1, .usual = 2, .most = 4, .forks_per_zygote = 8};

jail::Launcher launcher_with(jail::Fd socket) {
  auto state = std::make_unique<jail::Launcher::State>();
  state->socket = std::move(socket);
  state->host = host_facts();
  return jail::Launcher::State::make(std::move(state));
}

Warmth warmth_of(std::uint8_t choice) {
  if (choice == 's') return Warmth::started;
  return choice == 'p' ? Warmth::prepared : Warmth::forked;
}

class Driven {
 public:
  Driven(Pool pool, FalseLauncher& other_side) : pool_(std::move(pool)), other_side_(other_side) {}

  void step(char step, Choices& from, Frames& frames) {
    const std::size_t which = from.byte();
    if (Order* order = chosen(orders_, which)) {
      if (order->control.valid() && frames.send(step, order->control.get(), from)) return;
      if (step == 'q') order->control.reset();
      if (step == 'z') order->serve.reset();
    }
    if (Jail* jail = chosen(leased_, which)) {
      if (step == 's') static_cast<void>(jail->start());
      if (step == 'v') static_cast<void>(jail->advance());
      if (step == 'd') leased_.erase(leased_.begin() + (jail - leased_.data()));
    }
    if (step == 'l' && leased_.size() < max_leased) keep(pool_.lease());
    if (step == 'i' && leased_.size() < max_leased) keep(pool_.launch({{"x"}, {"A=b"}}));
    if (step == 'Q') other_side_.leave();
    if (step == 'a') pool_.advance();
    other_side_.take_orders(orders_);
    check();
  }

 private:
  template <class One>
  static One* chosen(std::vector<One>& from, std::size_t which) {
    return from.empty() ? nullptr : &from[which % from.size()];
  }

  void keep(jail::Result<Jail> jail) {
    if (!jail) return;
    require(jail->phase() <= Phase::ready, "a jail was lent that has been used");
    leased_.push_back(std::move(*jail));
  }

  void check() const {
    const jail::PoolState state = pool_.state();
    // The planted fault forgets that two are leased.
    const std::size_t counted = is_planted() && leased_.size() > 1 ? 1 : leased_.size();
    require(state.leased == counted, "the pool counts other jails than are lent");
    require(state.ready + state.refilling <= options.most, "the pool makes more than it may");
    require(state.target >= options.least && state.target <= options.most, "a target out of range");
  }

  Pool pool_;
  FalseLauncher& other_side_;
  std::vector<Order> orders_;
  std::vector<Jail> leased_;
};

void try_input(std::string_view bytes) {
  static Frames frames;
  const Descriptors descriptors;
  {
    Choices from(bytes);
    FalseLauncher other_side;
    const jail::Launcher launcher = launcher_with(other_side.take_socket());
    auto pool = Pool::open(launcher, template_spec(warmth_of(from.byte())), options);
    require(pool.has_value(), "the pool cannot be opened");
    Driven driven(std::move(*pool), other_side);
    for (int steps = 0; steps < max_steps && !from.is_empty(); ++steps) {
      driven.step(static_cast<char>(from.byte()), from, frames);
    }
  }
  descriptors.require_as_before();
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::try_input(fuzz::text_of(bytes, size));
  return 0;
}
