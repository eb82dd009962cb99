// Bounds the memory of all requests' bodies together. Each is bounded on its own, but there are as
// many as there are connections.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace server {

// Thread-safe. Must outlive its shares.
class BodyBudget {
 public:
  // `on_all_back` is called when nothing is taken any more, by the thread that gave back the last
  // share.
  explicit BodyBudget(std::size_t bytes, std::function<void()> on_all_back = {})
      : all_(bytes), on_all_back_(std::move(on_all_back)), left_(bytes) {}

  bool is_whole() const { return left_ == all_; }

  // The part of the budget that one request has taken; the destructor gives it back.
  class Share {
   public:
    explicit Share(BodyBudget& owner) : owner_(owner) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() {
      if (taken_ > 0) owner_.take_back(taken_);
    }

    // Takes in steps, so that small bodies, which are nearly all, take nothing. Returns false when
    // there is not enough left.
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
  void take_back(std::size_t bytes) {
    const bool is_last = (left_ += bytes) == all_;
    if (is_last && on_all_back_) on_all_back_();
  }

  const std::size_t all_;
  const std::function<void()> on_all_back_;
  std::atomic<std::size_t> left_;
};

}  // namespace server
