// Reports the events of a task to its watchers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/event.h"
#include "runtime/agent/roles.h"
#include "runtime/agent/task.h"
#include "runtime/sandbox/runner.h"

namespace runtime::agent {

// Identifies a program of a task.
struct Place {
  std::uint32_t attempt = 1;    // from 1
  std::uint32_t candidate = 0;  // from 0
};

// Does nothing where nobody watches.
class EventFeed {
 public:
  explicit EventFeed(EventSink sink) : sink_(std::move(sink)) {}

  bool watched() const noexcept { return static_cast<bool>(sink_); }

  void generating(const Place& place, std::string_view role) const;
  void token(std::string_view text) const;
  void code(const Attempt& attempt) const;
  void executing(const Place& place, std::string_view why) const;
  void execution_result(const Place& place, const RunResult& result) const;
  void critiquing(std::uint32_t attempt) const;
  void critique(std::uint32_t attempt, const Critique& critique) const;
  void retrying(std::uint32_t attempt, std::uint32_t of) const;

  // Report the answer of a swarm's member, and the result of the swarm.
  void swarm(const Place& place, std::uint32_t round, Role role, const Answer& answer) const;
  void swarm_votes(const Place& place, std::uint32_t round, double approval,
                   std::string_view decision) const;

  // One output stream of a program, reported as it comes. No character is split.
  class Output {
   public:
    explicit Output(const EventFeed& feed) : feed_(feed) {}
    void add(Stream stream, std::string_view bytes);
    void finish();

   private:
    void put(Stream stream, std::string bytes) const;
    const EventFeed& feed_;
    std::string held_[2];
  };

 private:
  EventSink sink_;
};

}  // namespace runtime::agent
