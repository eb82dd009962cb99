// How much memory the bodies of all requests together may take. Each is bounded on its own, but
// there are as many as there are connections.
#pragma once

#include <atomic>
#include <cstddef>

namespace server {

// Thread-safe. Must outlive its shares.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : left_(bytes) {}

  // What one request has taken; given back with it.
  class Share {
   public:
    explicit Share(BodyBudget& owner) : owner_(owner) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { owner_.left_ += taken_; }

    // Takes in steps, so that small bodies, which are nearly all, cost nothing. False when there is
    // not enough left.
    bool cover(std::size_t bytes) {
      if (bytes <= taken_ + free_bytes) return true;
      const std::size_t more = bytes - taken_ + step_bytes;
      std::size_t left = owner_.left_;
      do {
        if (left < more) return false;
      } while (!owner_.left_.compare_exchange_weak(left, left - more));
      taken_ += more;
      return true;
    }

   private:
    static constexpr std::size_t free_bytes = 64u << 10;
    static constexpr std::size_t step_bytes = 1u << 20;

    BodyBudget& owner_;
    std::size_t taken_ = 0;
  };

 private:
  std::atomic<std::size_t> left_;
};

}  // namespace server
