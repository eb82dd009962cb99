// The source of a measurement's jails: a pool, or a launch for each.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "jail/launcher.h"
#include "jail/pool.h"

namespace bench {

struct SourceOptions {
  std::string root = "host";         // or the directory of a built root
  std::string name = "python";       // of the template
  std::vector<std::string> imports;  // modules that the zygote imports
  std::string warm_up;               // Python that it runs after them
  std::string after_fork;            // Python that each jail runs before it is ready
  std::string rehearsal;             // the same, but only in jails that no request waits for
  std::uint64_t state_mb = 0;        // size of additional Python objects in the zygote
  std::uint32_t ready = 0;           // exact number of jails that wait; 0: the pool adapts
  std::uint32_t memory_mb = 256;     // bound of each run
  jail::ForkOptimizations optimizations;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual jail::Result<jail::Jail> lease() = 0;
  virtual jail::Result<void> start(jail::Jail& jail) = 0;
  virtual int event_fd() const { return -1; }
  virtual void advance() {}
  virtual jail::PoolState state() const { return {}; }
  virtual std::string last_trouble() const { return {}; }  // a failure that it recovered from
};

jail::Result<std::unique_ptr<Source>> open_cold(const SourceOptions& options);
jail::Result<std::unique_ptr<Source>> open_pool(const SourceOptions& options);

}  // namespace bench
