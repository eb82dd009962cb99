#include "tests/fuzz/false_launcher.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "child/channel.h"
#include "child/launch_fds.h"
#include "parent/fd_passing.h"
#include "parent/order.h"

namespace fuzz {
namespace {

namespace wire = jail::wire;

constexpr std::size_t max_sent = 16;  // more than anything accepts
constexpr std::size_t longest_datagram = 512;

}  // namespace

jail::TemplateSpec template_spec(jail::Warmth warmth) {
  jail::TemplateSpec spec;
  spec.name = "fuzz";
  spec.warmth = warmth;
  spec.jail.argv = {"/usr/bin/python3", "/workspace/main.py"};
  spec.jail.root.binds = {{"/usr", "/usr", jail::NodeKind::directory}};
  const sock_filter instruction{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS};
  spec.jail.filter.instructions = {std::bit_cast<std::uint64_t>(instruction)};
  return spec;
}

jail::HostFacts host_facts() {
  jail::HostFacts host;
  host.uid = host.gid = 4242;
  host.last_capability = 40;
  host.hard_limits.assign(RLIM_NLIMITS, RLIM_INFINITY);
  return host;
}

FalseLauncher::FalseLauncher() {
  auto ends = jail::socket_pair();
  require(ends.has_value(), "no socket pair can be made");
  own_ = std::move(ends->first);
  others_ = std::move(ends->second);
}

void FalseLauncher::take_order(int socket, std::vector<Order>& orders) {
  for (;;) {
    wire::LaunchRequest request{};
    int received[jail::child::max_fds];
    std::size_t count = 0;
    const long got = jail::child::receive(socket, &request, sizeof request, received,
                                          jail::child::max_fds, &count, MSG_DONTWAIT);
    if (got <= 0 && count == 0) return;
    require(count <= jail::child::max_fds, "more descriptors than there is room for");
    jail::child::LaunchFds fds;
    if (got != sizeof request || request.magic != wire::plan_magic ||
        !jail::child::sort_fds(request, received, count, fds)) {
      for (std::size_t i = 0; i < count; ++i) ::close(received[i]);
      continue;
    }
    constexpr std::uint32_t kept = wire::launch_control | wire::launch_stdout | wire::launch_serve;
    orders.push_back({jail::Fd(fds.of(wire::launch_control)), jail::Fd(fds.of(wire::launch_stdout)),
                      jail::Fd(fds.of(wire::launch_serve))});
    fds.close(~kept);
  }
}

void FalseLauncher::take_orders(std::vector<Order>& orders) {
  if (own_.valid()) take_order(own_.get(), orders);
  // Orders are appended meanwhile, and none of the new ones is a host.
  for (std::size_t i = 0, known = orders.size(); i < known; ++i) {
    if (orders[i].serve.valid()) take_order(orders[i].serve.get(), orders);
  }
}

Frames::Frames() {
  int ends[2];
  const bool made = ::pipe2(ends, O_CLOEXEC) == 0;
  require(made, "no pipe can be made");
  lent_ = {jail::Fd(::eventfd(0, EFD_CLOEXEC)), jail::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC)),
           jail::Fd(ends[0])};
  ::close(ends[1]);
}

bool Frames::send(char type, int socket, Choices& from) {
  constexpr std::string_view types = "LRFEX";
  const std::size_t which = types.find(type);
  if (which == types.npos) return false;
  const std::size_t descriptors = from.byte() % 4;
  const std::string_view content = from.piece();
  if (type == 'X') {
    send_bytes(socket, content, descriptors);
    return true;
  }
  wire::Message message{};
  message.type = static_cast<wire::MessageType>(wire::message_launched + which);
  constexpr std::size_t begin = sizeof message.type;
  std::memcpy(reinterpret_cast<char*>(&message) + begin, content.data(),
              std::min(content.size(), sizeof message - begin));
  send_bytes(socket, {reinterpret_cast<const char*>(&message), sizeof message}, descriptors);
  return true;
}

void Frames::send_bytes(int socket, std::string_view bytes, std::size_t count) const {
  std::vector<int> fds;
  for (std::size_t i = 0; i < std::min(count, max_sent); ++i) {
    fds.push_back(lent_[i % lent_.size()].get());
  }
  static_cast<void>(jail::send_with_fds(socket, bytes.substr(0, longest_datagram), fds));
}

}  // namespace fuzz
