// Lets the receiver of a program's output slow the program down.
#pragma once

#include <functional>
#include <memory>

namespace runtime {

// While it is closed the output is not read, and the program waits in its writes; its deadline goes
// on. It may open and close any number of times, and ends nothing, for which there is Cancel.
// Copies refer to the same gate, which several runs may share. Thread-safe.
class OutputGate {
 public:
  class Listener;

  OutputGate();
  void close() const;
  void open() const;
  bool is_open() const noexcept;

 private:
  struct State;

  std::shared_ptr<State> state_;
};

// Calls `callback` whenever the closed gate opens, on the thread that opens it. The destructor
// waits for a callback that runs on another thread. The callback must not use the gate or destroy a
// Listener.
class OutputGate::Listener {
 public:
  Listener(const OutputGate& gate, std::function<void()> callback);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  friend class OutputGate;

  const std::shared_ptr<State> state_;
  const std::function<void()> callback_;
};

}  // namespace runtime
