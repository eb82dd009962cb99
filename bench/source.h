// Where the jails of a measurement come from: a pool, or a launch for each.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "jail/launcher.h"
#include "jail/pool.h"

namespace bench {

struct SourceOptions {
  std::string root = "host";         // or a built one's directory
  std::string name = "python";       // of the template
  std::vector<std::string> imports;  // modules that the zygote has
  std::string warm_up;               // Python that it runs after them
  std::string after_fork;            // Python that each jail runs before it is ready
  std::string rehearsal;             // the same, unless a request waits for it
  std::uint64_t state_mb = 0;        // Python objects that the zygote has beside
  std::uint32_t ready = 0;           // how many jails wait, no more, no fewer; 0: the pool adapts
  std::uint32_t memory_mb = 256;     // what each run may use
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
  virtual std::string last_trouble() const { return {}; }  // that the pool had and got over
};

jail::Result<std::unique_ptr<Source>> open_cold(const SourceOptions& options);
jail::Result<std::unique_ptr<Source>> open_pool(const SourceOptions& options);

}  // namespace bench
