// Names to addresses without waiting: a few threads ask the C library, one event tells of answers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "egress/address.h"
#include "jail/fd.h"

namespace jail::egress {

struct Found {
  std::vector<Address> addresses;  // in the order in which to try them
  std::string trouble;             // why there is none
};

// Blocks. By getaddrinfo(): /etc/hosts, the DNS, whatever this host is set up for.
Found look_up(const std::string& name);

// A name server of a jail's own choice may keep a thread for as long as it likes, so no jail has
// more than half of the threads, and those that ask are served in turn.
class Resolver {
 public:
  using LookUp = std::function<Found(const std::string&)>;
  struct Answer {
    std::uint64_t ticket;
    Found found;
  };
  static constexpr std::size_t threads = 4;
  static constexpr std::size_t threads_per_jail = 2;
  static constexpr std::size_t most_waiting = 4096;

  explicit Resolver(LookUp look_up);
  Resolver(const Resolver&) = delete;
  ~Resolver();  // waits for look-ups under way

  // Readable when answers wait; invalid where there was no descriptor for it.
  int event_fd() const { return event_.get(); }

  // `ticket` comes back in the answer. False: too many wait.
  bool ask(std::uint64_t ticket, std::uint64_t jail, std::string name);
  // Nobody waits for it any more. One that is under way still answers.
  void drop(std::uint64_t ticket, std::uint64_t jail);
  std::vector<Answer> answers();

 private:
  struct Question {
    std::uint64_t ticket;
    std::string name;
  };
  struct Queue {
    std::deque<Question> waiting;
    std::size_t running = 0;
  };

  void serve();
  // The jail whose turn it is; end() where none has a question that may be looked up now.
  std::map<std::uint64_t, Queue>::iterator next();

  const LookUp look_up_;
  Fd event_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::map<std::uint64_t, Queue> queues_;  // by jail; none that is empty
  std::uint64_t last_served_ = 0;
  std::size_t waiting_ = 0;
  std::vector<Answer> answers_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace jail::egress
