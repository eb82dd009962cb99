// The wish that something that runs come to its end.
#pragma once

#include <functional>
#include <memory>

namespace runtime {

// Lets the owner of a run end it from another thread or strand. Copies name the same run.
// Thread-safe. Cancelling twice, or after the end, does nothing.
class Cancel {
 public:
  Cancel();
  void request() const;
  bool requested() const noexcept;

  // For whoever runs: called once when the end is asked for, at once if it was already. Empty: no
  // longer interested.
  void set_hook(std::function<void()> hook) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace runtime
