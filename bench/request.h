// One request to a jail, step by step, with the time of each step.
#pragma once

#include <poll.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/numbers.h"
#include "bench/source.h"

namespace bench {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
T take(jail::Result<T> result) {
  if (!result) throw Failure(result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline constexpr int max_ms = 120'000;  // the bound on every wait

struct Program {
  std::string code;
  std::string expected;
};

// The time of each phase, a list over all requests; `total` counts from the moment when each was
// due.
struct Phases {
  Times total, lease, made, write, start, output, report;
  Times set_up, started, ran, ended;  // as init measured them

  Line line() const;
};

class Request {
 public:
  Request(Source& source, const Program& program, Clock::time_point due)
      : source_(source), program_(program), due_(due) {}

  // Returns false where the pool has no jail and no place to make one: to be called again later.
  bool begin();

  void add_to(std::vector<pollfd>& polls) const;

  // Returns true when it is done. `control` and `output` are the events that poll() reported for
  // the two descriptors.
  bool advance(short control, short output);

  bool made_on_demand() const { return ready_ != leased_; }
  void note(Phases& phases) const;

  // Waits until the last process of the jail is dead. Returns the microseconds since the report.
  double wait_until_gone();

 private:
  void start();
  void read_output();
  void check() const;

  Source& source_;
  const Program& program_;
  std::optional<jail::Jail> jail_;
  jail::Fd output_;
  std::string text_;
  bool running_ = false;
  Clock::time_point due_, begun_, leased_, ready_, written_, started_, answered_, reported_;
};

}  // namespace bench
