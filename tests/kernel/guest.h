// Runs small programs in real jails and collects their output and how they ended.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "jail/launcher.h"

namespace kernel_ring {

struct Outcome {
  jail::ExitReport report;
  std::string out;
  std::string err;
};

using Change = std::function<void(jail::JailSpec&)>;

// A spec for `program` (argv) on the host root under the shipped policy, with enough time to end on
// a slow host.
jail::JailSpec spec_for(std::vector<std::string> program);

// Launches a jail by launcher() and waits until it is ready.
jail::Result<jail::Jail> ready_jail(const jail::JailSpec& spec);

// Collects the outcome of a started jail, at its end. A failure of ours fails the test.
Outcome collect(jail::Jail& jail, const std::string& input = {});

// Launches, starts and collects. A failure of ours fails the test.
Outcome run(const jail::JailSpec& spec, const std::string& input = {});
Outcome run_python(const std::string& code, const Change& change = {});
Outcome run_shell(const std::string& script, const Change& change = {});

// What launchers of the test program give their jails. Set before the first one is started.
std::shared_ptr<const jail::IdRange>& ids_of_jails();

// A launcher of the test's own.
jail::Result<jail::Launcher> start_launcher();

// One launcher for the whole test program.
const jail::Launcher& launcher();

}  // namespace kernel_ring
