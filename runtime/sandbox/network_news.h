// What each of several programs asks the proxy of egress for, while it runs.
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
  // So many decisions of each kind are told. Those that are equal in all are one.
  static constexpr std::size_t max_told = 32;

  // What one program asked for, since it is there and until it goes.
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

  // Null where the program has no network, or one without a label, which tells it from others.
  std::unique_ptr<OfProgram> listen(const jail::Network& network);

  void note(const jail::EgressDecision& decision);
  // note(), and then `other`, which may be empty.
  OnEgress before(OnEgress other);

 private:
  std::mutex mutex_;
  std::map<std::string, NetworkUse, std::less<>> uses_;  // by label
};

}  // namespace runtime
