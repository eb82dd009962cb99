// Bounds the number of runs at a time, and queues those who wait for a place. Callers take turns:
// one that asks for many delays its own requests, not those of the others; and each may have a
// bound of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace runtime {

// Thread-safe. Must outlive its places.
class Admission {
  struct Claims;

 public:
  // `a_caller` is how many requests of each caller may run and wait together; 0: no bound.
  Admission(std::uint32_t places, std::uint32_t queue, std::uint32_t a_caller = 0);

  // A caller's request, counted as long as the Claim exists. May outlive the Admission.
  class Claim {
   public:
    Claim() = default;
    Claim(Claim&& other) noexcept { swap(other); }
    Claim& operator=(Claim&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Claim();

   private:
    friend class Admission;
    void swap(Claim& other) noexcept;

    std::shared_ptr<Claims> claims_;  // null: not counted
    std::map<std::string, std::uint32_t>::iterator caller_;
  };

  // Must be called before a place is asked for. Returns std::nullopt where the caller has as many
  // requests as it may.
  std::optional<Claim> claim(const std::string& caller);

  // A place that the destructor gives back.
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

  // Gets the place; or std::nullopt, when the queue was full and its room went to a caller with
  // fewer requests in it.
  using Answer = std::function<void(std::optional<Place>)>;

  // A request for a place. Dropping it, or withdraw(), leaves the queue.
  using Ticket = std::shared_ptr<Answer>;

  // Returns a place if one is free at once.
  std::optional<Place> take_free();

  // Calls `answer` once, at once or later, from the thread that gave the place back or asked for
  // one. Returns null when the queue is full and no other caller has more in it than this one.
  Ticket ask(const std::string& caller, Answer answer);
  // Returns false where it was answered already.
  bool withdraw(const Ticket& ticket);

  std::uint32_t running() const;
  std::uint32_t queued() const;

 private:
  struct Line {
    std::string caller;
    std::deque<Ticket> tickets;  // never empty
  };

  bool take_one();
  void give_back();
  std::deque<Line>::iterator line_of(const std::string& caller);
  Ticket make_room_for(const std::string& caller);

  mutable std::mutex mutex_;
  const std::uint32_t places_;
  const std::uint32_t queue_limit_;
  const std::uint32_t caller_limit_;
  const std::shared_ptr<Claims> claims_;
  std::uint32_t taken_ = 0;
  std::uint32_t queued_ = 0;
  std::deque<Line> lines_;  // the line whose turn is next is in front
};

}  // namespace runtime
