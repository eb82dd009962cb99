// The requests of several programs to the proxy of egress, while they run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "jail/egress.h"
#include "jail/network.h"
#include "runtime/sandbox/egress_feed.h"
#include "runtime/sandbox/run_result.h"

namespace runtime {

// Thread-safe.
class NetworkNews : public std::enable_shared_from_this<NetworkNews> {
 public:
  // The most decisions of each kind that are listed. Decisions that are equal in everything are one
  // entry.
  static constexpr std::size_t max_told = 32;

  // The requests of one program, during the lifetime of this object.
  class OfProgram {
   public:
    OfProgram(std::shared_ptr<NetworkNews> news, std::string label);
    ~OfProgram();
    OfProgram(const OfProgram&) = delete;
    OfProgram& operator=(const OfProgram&) = delete;

    NetworkUse take();

   private:
    const std::shared_ptr<NetworkNews> news_;
    const std::string label_;
  };

  // Returns null where the program has no network, or one without a label, by which programs are
  // distinguished.
  std::unique_ptr<OfProgram> listen(const jail::Network& network);

  void note(const jail::EgressDecision& decision);
  // Returns a function that calls note(), and then `other`, which may be empty.
  OnEgress before(OnEgress other);

 private:
  std::mutex mutex_;
  std::map<std::string, NetworkUse, std::less<>> uses_;  // by label
};

}  // namespace runtime
