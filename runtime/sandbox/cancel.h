// A request to end work: one type for those who make it, those who pass it on and those who do the
// work.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace runtime {

// Copies refer to the same cancellation. Thread-safe. Requesting it again, or after the work has
// ended, has no effect.
class Cancel {
 public:
  class Listener;

  void request() const { std::stop_source(source_).request_stop(); }  // may destroy this object
  bool requested() const noexcept { return source_.stop_requested(); }

  // Returns a cancellation for a part of the work: it is requested together with this one, or
  // alone.
  Cancel child() const {
    Cancel child;
    child.link_ = std::make_shared<const Link>(*this, child.source_);
    return child;
  }

 private:
  struct Link;

  std::stop_source source_;
  std::shared_ptr<const Link> link_;  // from the parent; null where there is none
};

// Calls `callback` once when the end is requested, on the thread that requests it; at once, in the
// constructor, if that has happened before. The destructor waits for a callback that runs on
// another thread, so the callback may use everything that outlives the Listener. It must not throw,
// and must not wait for anything that the thread which destroys the Listener holds. It may destroy
// its own Listener.
class Cancel::Listener {
 public:
  Listener(Cancel cancel, std::function<void()> callback)
      : cancel_(std::move(cancel)),
        registration_(cancel_.source_.get_token(), std::move(callback)) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  const Cancel cancel_;  // keeps the links from its parents
  const std::stop_callback<std::function<void()>> registration_;
};

struct Cancel::Link {
  struct Forward {
    std::stop_source to;
    // A listener may destroy the child, and this object with it.
    void operator()() const { std::stop_source(to).request_stop(); }
  };

  Link(Cancel from, std::stop_source to)
      : parent(std::move(from)), registration(parent.source_.get_token(), Forward{std::move(to)}) {}

  const Cancel parent;
  const std::stop_callback<Forward> registration;
};

}  // namespace runtime
