#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <memory>

#include "plan/concerns.h"

namespace jail {
namespace {

// In a fresh network namespace the loopback interface is always the first one.
constexpr int loopback_index = 1;

// The request as libnl writes it: "set IFF_UP on interface 1, and acknowledge".
std::string loopback_up_message() {
  const std::unique_ptr<nl_msg, decltype(&nlmsg_free)> message(
      nlmsg_alloc_simple(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK), &nlmsg_free);
  if (message == nullptr) return {};
  ifinfomsg link{};
  link.ifi_family = AF_UNSPEC;
  link.ifi_index = loopback_index;
  link.ifi_flags = IFF_UP;
  link.ifi_change = IFF_UP;
  if (nlmsg_append(message.get(), &link, sizeof link, NLMSG_ALIGNTO) < 0) return {};
  const nlmsghdr* header = nlmsg_hdr(message.get());
  return {reinterpret_cast<const char*>(header), header->nlmsg_len};
}

}  // namespace

void add_network(Builder& builder, const JailSpec& spec) {
  switch (spec.network) {
    case Network::none:
      break;  // the namespace itself comes from clone3; what is left to do is its loopback
  }
  const std::string message = loopback_up_message();
  const auto size = static_cast<std::int64_t>(message.size());
  const SlotRef netlink =
      builder.open(JAIL_CALL(socket),
                   {Builder::value(AF_NETLINK), Builder::value(SOCK_RAW | SOCK_CLOEXEC),
                    Builder::value(NETLINK_ROUTE)},
                   "open a routing socket");
  builder
      .call(JAIL_CALL(sendto),
            {Builder::slot(netlink), Builder::address(builder.intern(message)),
             Builder::value(size), Builder::value(0), Builder::value(0), Builder::value(0)},
            "ask for the loopback interface")
      .at_least = size;
  // The kernel answers before sendto returns, so this does not wait.
  constexpr std::size_t answer_size = sizeof(nlmsghdr) + sizeof(nlmsgerr);
  const std::uint32_t answer = builder.reserve(answer_size);
  builder
      .call(JAIL_CALL(recvfrom),
            {Builder::slot(netlink), Builder::address(answer),
             Builder::value(static_cast<std::int64_t>(answer_size)), Builder::value(MSG_DONTWAIT),
             Builder::value(0), Builder::value(0)},
            "read the kernel's answer")
      .at_least = static_cast<std::int64_t>(answer_size);
  builder.check_acknowledged(answer + sizeof(nlmsghdr), "bring the loopback interface up");
  builder.close(netlink, "the routing socket");
}

}  // namespace jail
