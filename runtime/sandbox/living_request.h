// A jail that lives until it is ended, as a caller of any front door describes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "jail/egress.h"
#include "jail/jail.h"
#include "jail/launcher.h"
#include "jail/network.h"

namespace runtime {

struct LivingRequest {
  std::string template_name = {};  // whose root and policy it has; empty or "none": the server's
  std::uint32_t memory_limit_mb = 256;
  std::uint32_t processes = 128;     // with their threads
  std::uint32_t disk_limit_mb = 64;  // of the working directory, and as much of /tmp; at most
                                     // memory_limit_mb
  std::chrono::milliseconds max_lifetime{std::chrono::hours(24)};  // it ends by itself then
  jail::Network network = {};
  // The launcher that was asked before and died meanwhile; another one makes the jail. Null: none
  // was asked.
  std::shared_ptr<const jail::Launcher> failed = nullptr;
};

// A proxy that lives. Errors: invalid (there is to be none), and those of EgressProxy::start().
using EgressSource = std::function<jail::Result<std::shared_ptr<const jail::EgressProxy>>()>;

struct LivingJail {
  jail::Jail jail;  // in Phase::launching, with its loopback interface alone
  // The launcher that makes the jail. Once it has died without having announced init, nobody will.
  std::shared_ptr<const jail::Launcher> launcher;
  // To be called when the jail is given up: what the host holds for it goes soon after that.
  std::function<void()> on_given_up = [] {};
  jail::Network network = {};  // what it is to reach: its owner has that served, and changes it
  EgressSource egress = {};    // who serves it; empty: nobody
};

}  // namespace runtime
