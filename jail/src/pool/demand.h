// How many jails a pool should have ready, and how many it makes at once. Pure: its owner tells it
// what happens and how time goes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jail {

class Demand {
 public:
  Demand(std::uint32_t least, std::uint32_t usual, std::uint32_t most);

  void leased() { ++leases_; }
  void missed() { ++misses_; }  // one of the leases found nothing ready
  void made(double seconds);    // how long a jail took from its order until it was ready
  void tick(double seconds);    // since the last one
  // No more are wanted than these, until more come.
  void content_with(std::size_t count);

  std::size_t target() const { return target_; }

  // Returns how many jails to order now, beside those that are being made. While more than half of
  // the target are ready, one is made after the other: making one keeps a processor busy for
  // longer than most requests run, and two at once leave none to a request on a small machine.
  std::size_t to_order(std::size_t ready, std::size_t making) const;

 private:
  const std::uint32_t min_;
  const std::uint32_t max_;
  std::uint32_t target_;
  std::uint32_t leases_ = 0;
  std::uint32_t misses_ = 0;
  double rate_ = 0;           // leases a second, smoothed
  double make_time_ = 0.005;  // seconds, smoothed
  double quiet_ = 0;          // seconds for which fewer would have done
};

}  // namespace jail
