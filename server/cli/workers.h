// The threads of the server, each with a loop of its own.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <vector>

namespace server {

// What begins in one loop stays there: two threads that share a loop wake one another for whatever
// they hand over, and that takes longer than handling it.
class Workers {
 public:
  explicit Workers(unsigned count);
  // Stops them. What still waits in the loops is dropped.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // One for each loop. What is given to one of them is done one after the other.
  std::vector<boost::asio::any_io_executor> executors() const;

  // Returns when each of them has come round: never when one hangs.
  boost::asio::awaitable<void> visit() const;

  // Returns when all threads have ended. Not to be called by one of them.
  void stop();

 private:
  struct Worker;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace server
