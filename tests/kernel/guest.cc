#include "guest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/time_scale.h"

namespace kernel_ring {

using namespace jail;
using std::chrono::milliseconds;

std::shared_ptr<const IdRange>& ids_of_jails() {
  static std::shared_ptr<const IdRange> ids;
  return ids;
}

Result<Launcher> start_launcher() {
  LauncherOptions options;
  options.ids = ids_of_jails();
  return Launcher::start(std::move(options));
}

const Launcher& launcher() {
  static const Result<Launcher> started = start_launcher();
  if (!started) {
    ADD_FAILURE() << started.error().message();
    std::abort();
  }
  return *started;
}

JailSpec spec_for(std::vector<std::string> program) {
  static const Result<FilterProgram> filter = compile_policy(default_policy());
  EXPECT_TRUE(filter) << filter.error().message();
  JailSpec spec;
  spec.argv = std::move(program);
  spec.env = {"PATH=/usr/bin:/bin", "HOME=/workspace", "LANG=C.UTF-8"};
  spec.root = host_root();
  spec.filter = *filter;
  constexpr milliseconds most{60'000};  // the maximum of a template, unless it sets a larger one
  spec.limits.wall = std::min(scaled(spec.limits.wall), most);
  spec.limits.cpu = std::min(scaled(spec.limits.cpu), most);
  return spec;
}

Result<Jail> ready_jail(const JailSpec& spec) {
  auto jail = launcher().launch(spec);
  if (!jail) return jail;
  if (auto ready = jail->wait(Phase::ready, scaled(milliseconds(10000))); !ready)
    return ready.error();
  return jail;
}

Outcome collect(Jail& jail, const std::string& input) {
  constexpr std::uint64_t max_bytes = 64u << 20;
  auto output = jail.communicate(input, max_bytes);
  if (!output) {
    ADD_FAILURE() << output.error().message();
    return {};
  }
  EXPECT_EQ(output->out_lost_bytes + output->err_lost_bytes, 0u);
  return {jail.report(), std::move(output->out), std::move(output->err)};
}

Outcome run(const JailSpec& spec, const std::string& input) {
  auto jail = ready_jail(spec);
  if (!jail) {
    ADD_FAILURE() << jail.error().message();
    return {};
  }
  if (const auto started = jail->start(); !started) {
    ADD_FAILURE() << started.error().message();
    return {};
  }
  return collect(*jail, input);
}

Outcome run_python(const std::string& code, const Change& change) {
  JailSpec spec = spec_for({"/usr/bin/python3", "-c", code});
  if (change) change(spec);
  return run(spec);
}

Outcome run_shell(const std::string& script, const Change& change) {
  JailSpec spec = spec_for({"/usr/bin/bash", "-c", script});
  if (change) change(spec);
  return run(spec);
}

}  // namespace kernel_ring
