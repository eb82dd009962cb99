// Says in words what a jail has beyond the safest one: the first thing to read about a plan.
#include <algorithm>
#include <vector>

#include "plan/path_rules.h"
#include "plan/plan.h"

namespace jail {
namespace {

// Paths and reasons come from the author of the spec: none of them may begin a line of its own.
std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

class Listing {
 public:
  void add(const char* kind, const std::string& what, const std::string& why) {
    std::string line = std::string("  ") + kind;
    line.append(10 - std::min<std::size_t>(line.size(), 9), ' ');
    lines_ += line + one_line(what + (why.empty() ? "" : ": " + why)) + '\n';
  }

  std::string text() const {
    return lines_.empty() ? "Loosened: nothing\n" : "Loosened:\n" + lines_;
  }

 private:
  std::string lines_;
};

void add_bind(Listing& listing, const ReadOnlyBind& bind) {
  listing.add("bind", bind.target + " shows " + bind.source + ", read-only", bind.why);
}

void add_network(Listing& listing, const Network& network) {
  for (std::size_t i = 0; i < network.rules.size(); ++i) {
    listing.add("network", "reaches " + network.rules[i],
                network.why.empty() ? std::string() : network.why[i]);
  }
}

void add_calls(Listing& listing, const FilterProgram& filter) {
  if (filter.policy.empty()) {
    listing.add("policy",
                "a filter that compile_policy() did not make, of " +
                    std::to_string(filter.instructions.size()) + " instructions",
                {});
  }
  if (!filter.looser.empty()) {
    listing.add("policy", filter.policy + ", looser than the default in what follows", {});
  }
  for (const LooserRule& rule : filter.looser) {
    listing.add("call", rule.syscall + " " + rule.what, rule.why);
  }
}

}  // namespace

std::string loosened_text(const JailSpec& spec) {
  Listing listing;
  for (const Volume& volume : spec.volumes) {
    const bool runs = volume.programs == Programs::allowed;
    listing.add("volume",
                volume.target +
                    (volume.access == VolumeAccess::read_only ? " reads " : " writes into ") +
                    volume.source + (runs ? ", whose programs may run" : ", no programs"),
                volume.why);
  }
  for (const Device& device : spec.devices) {
    const bool read = device.access == DeviceAccess::read;
    listing.add("device", device.path + (read ? ", to read" : ", to read and write"), device.why);
  }
  for (const ReadOnlyBind& bind : spec.root.binds) {
    if (!bind.why.empty()) add_bind(listing, bind);
  }
  for (const ReadOnlyBind& bind : spec.binds) add_bind(listing, bind);
  add_network(listing, spec.network);
  add_calls(listing, spec.filter);
  return listing.text();
}

}  // namespace jail
