// How many runs may go on at once, and who waits for a place. First come, first served.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace runtime {

// Thread-safe. Must outlive its places.
class Admission {
 public:
  Admission(std::uint32_t places, std::uint32_t queue) : places_(places), queue_limit_(queue) {}

  // A place that is given back when the Place goes.
  class Place {
   public:
    Place() = default;
    explicit Place(Admission& owner) : owner_(&owner) {}
    Place(Place&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(owner_, other.owner_);
      return *this;
    }
    ~Place() {
      if (owner_ != nullptr) owner_->give_back();
    }

   private:
    Admission* owner_ = nullptr;
  };

  // A request for a place. Dropping it, or withdraw(), leaves the queue.
  using Ticket = std::shared_ptr<std::function<void(Place)>>;

  // Calls `granted` once, at once or later, from whichever thread gave the place back. Null when
  // the queue is full.
  Ticket ask(std::function<void(Place)> granted);
  // False: the place was granted already.
  bool withdraw(const Ticket& ticket);

  std::uint32_t running() const;
  std::uint32_t queued() const;

 private:
  void give_back();

  mutable std::mutex mutex_;
  const std::uint32_t places_;
  const std::uint32_t queue_limit_;
  std::uint32_t taken_ = 0;
  std::deque<Ticket> waiting_;
};

}  // namespace runtime
