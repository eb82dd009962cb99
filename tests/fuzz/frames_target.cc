// Datagrams to the owners of a jail, a template's host and a launcher. None of them may take a jail
// back to an earlier phase, make it report twice, or leak a descriptor.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parent/order.h"
#include "pool/template_host.h"
#include "tests/fuzz/false_launcher.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

using jail::Ended;
using jail::Jail;
using jail::Phase;

constexpr int max_steps = 64;

const jail::TemplatePlans& plans() {
  static const auto made =
      jail::TemplatePlans::make(template_spec(jail::Warmth::forked), host_facts());
  require(made.has_value(), "the template cannot be compiled");
  return *made;
}

using Report = std::array<std::int64_t, 10>;

Report report_of(const Jail& jail) {
  const jail::ExitReport& report = jail.report();
  return {static_cast<std::int64_t>(report.ended),
          report.exit_code,
          report.signal,
          report.usage.cpu_user.count(),
          report.usage.cpu_system.count(),
          static_cast<std::int64_t>(report.usage.memory_peak_bytes),
          report.phases.set_up.count(),
          report.phases.started.count(),
          report.phases.ran.count(),
          report.phases.ended.count()};
}

void check_report(const jail::ExitReport& report) {
  const auto zero = std::chrono::microseconds(0);
  require(report.usage.cpu_user >= zero && report.usage.cpu_system >= zero, "a use below zero");
  require(report.usage.cpu_user + report.usage.cpu_system >= zero, "a sum below zero");
  for (const auto phase : {report.phases.started, report.phases.ran, report.phases.ended}) {
    require(phase >= zero, "a time below zero");
  }
  require(report.ended == Ended::exited || report.exit_code == -1, "an exit code without an exit");
}

// A jail under a series of steps, and the conditions that must stay true.
class Watched {
 public:
  explicit Watched(Jail jail) : jail_(std::move(jail)) {}

  // Returns false where it is of no use any more.
  bool step(char step, Choices& from) {
    bool is_made = true;
    switch (step) {
      case 's':
        require(!jail_.start() || phase_ == Phase::ready, "started twice");
        break;
      case 'w':
        static_cast<void>(jail_.write_file(from.piece(), "x", 0644));
        break;
      case 'c':
        jail_.cancel();
        break;
      case 'k':
        jail_.kill(Ended::cancelled);
        break;
      default:
        is_made = jail_.advance().has_value();
    }
    check();
    return is_made;
  }

 private:
  void check() {
    require(jail_.phase() >= phase_, "a jail went back to an earlier phase");
    phase_ = jail_.phase();
    if (phase_ != Phase::ended) return;
    check_report(jail_.report());
    if (!report_) report_ = report_of(jail_);
    require(*report_ == report_of(jail_), "a jail reported twice");
  }

  Jail jail_;
  Phase phase_ = Phase::launching;
  std::optional<Report> report_;
};

// Returns the message that the code under test sent for one order.
Order order_at(FalseLauncher& launcher) {
  std::vector<Order> orders;
  launcher.take_orders(orders);
  require(orders.size() == 1 && orders.front().control.valid(),
          "an order did not arrive as it was sent");
  return std::move(orders.front());
}

void drive_jail(Choices& from, Frames& frames) {
  FalseLauncher launcher;
  auto jail = jail::order_jail(
      {launcher.socket().get(), plans().jail_image.get(), plans().jail, jail::Limits()});
  require(jail.has_value(), "a jail cannot be ordered");
  Order order = order_at(launcher);
  Watched watched(std::move(*jail));
  for (int steps = 0; steps < max_steps && !from.is_empty(); ++steps) {
    const auto step = static_cast<char>(from.byte());
    if (order.control.valid() && frames.send(step, order.control.get(), from)) continue;
    if (step == 'q') order.control.reset();
    if (!watched.step(step, from)) return;
  }
  watched.step('a', from);
}

void drive_host(Choices& from, Frames& frames) {
  FalseLauncher launcher;
  auto host = jail::TemplateHost::start(launcher.socket().get(), plans());
  require(host.has_value(), "a host cannot be ordered");
  Order order = order_at(launcher);
  bool was_ready = false;
  for (int steps = 0; steps < max_steps && !from.is_empty(); ++steps) {
    const auto step = static_cast<char>(from.byte());
    if (order.control.valid() && frames.send(step, order.control.get(), from)) continue;
    if (step == 'q') order.control.reset();
    if (step == 'o') {
      const std::string_view words = from.piece();
      static_cast<void>(!::write(order.words.get(), words.data(), words.size()));
      continue;
    }
    if (const auto advanced = host->advance(); !advanced) {
      require(!advanced.error().message().empty(), "an error without a word");
      return;
    }
    require(host->is_ready() || !was_ready, "a host is not ready any more");
    was_ready = host->is_ready();
    require(was_ready == (host->zygote_fd() >= 0), "a zygote that cannot be watched");
  }
}

// Acts as the holder of the launcher's socket: what that reads as an order must have come whole.
void drive_launcher(Choices& from, const Frames& frames) {
  FalseLauncher launcher;
  std::vector<Order> orders;
  for (int steps = 0; steps < max_steps && !from.is_empty(); ++steps) {
    const std::size_t descriptors = from.byte() % 17;
    frames.send_bytes(launcher.socket().get(), from.piece(), descriptors);
    launcher.take_orders(orders);
    require(orders.empty() || (orders.back().control.valid() && orders.back().words.valid()),
            "an order without what every order has");
    orders.clear();
  }
}

void try_input(std::string_view bytes) {
  static Frames frames;
  plans();
  const Descriptors descriptors;
  jail::Fd kept;
  {
    Choices from(bytes);
    switch (from.byte()) {
      case 'h':
        drive_host(from, frames);
        break;
      case 'l':
        drive_launcher(from, frames);
        break;
      default:
        drive_jail(from, frames);
    }
    // The planted fault overlooks one of two descriptors.
    if (is_planted() && bytes.find('E') != bytes.npos) kept.reset(::dup(STDERR_FILENO));
  }
  descriptors.require_as_before();
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::try_input(fuzz::text_of(bytes, size));
  return 0;
}
