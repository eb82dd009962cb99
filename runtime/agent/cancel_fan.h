// One wish to end, heard by many: a Cancel tells one listener, a task has a model call and several
// jails going on at once.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "runtime/sandbox/cancel.h"

namespace runtime::agent {

// Thread-safe. Takes the parent's hook for as long as it lives.
class CancelFan {
  struct State;

 public:
  explicit CancelFan(Cancel parent);
  ~CancelFan();
  CancelFan(const CancelFan&) = delete;
  CancelFan& operator=(const CancelFan&) = delete;

  // Ends all branches, those to come too. So does the parent.
  void request() const;
  // The same for a timer that may outlive this.
  std::function<void()> requester() const;

  // One listener; forgotten when it goes.
  class Branch {
   public:
    explicit Branch(std::shared_ptr<State> state);
    ~Branch();
    Branch(const Branch&) = delete;
    Branch& operator=(const Branch&) = delete;
    const Cancel& cancel() const noexcept { return *place_; }

   private:
    const std::shared_ptr<State> state_;
    std::list<Cancel>::iterator place_;
  };
  Branch branch() const { return Branch(state_); }

 private:
  const Cancel parent_;
  const std::shared_ptr<State> state_;
};

}  // namespace runtime::agent
