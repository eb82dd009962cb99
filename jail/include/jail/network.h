// The part of the network that a jail can reach. A jail always has a network namespace of its own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace jail {

// One of the three kinds, with its rules. The default is the loopback interface alone.
struct Network {
  // How much there is to reach.
  enum class Kind : std::uint8_t {
    none,      // its loopback interface is down: sockets connect to nobody
    loopback,  // the jail's own 127.0.0.1 and ::1
    // The jail's own loopback, and the destinations that `rules` name. There is no route: a proxy
    // outside of the jail answers on its 127.0.0.1, and programs find it by the usual variables
    // (egress.h).
    egress,
  };
  Kind kind = Kind::loopback;
  std::vector<std::string> rules = {};  // "pypi.org:443", "10.0.0.0/8:5432"; see egress.h
  std::vector<std::string> why = {};    // a reason for each rule, for Launcher::explain(); or empty
  std::string label = {};               // names the jail in EgressDecision; may be empty

  // Each kind has a function of its name.
  static Network none() { return {Kind::none, {}, {}, {}}; }
  static Network loopback() { return {}; }
  static Network allow(std::vector<std::string> rules, std::string label = {}) {
    return {Kind::egress, std::move(rules), {}, std::move(label)};
  }
};

}  // namespace jail
