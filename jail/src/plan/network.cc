#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "jail/egress.h"
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

void bring_loopback_up(Builder& builder) {
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

// A message of one byte that carries the descriptor in the slot `socket`.
std::uint32_t message_with(Builder& builder, SlotRef socket) {
  const std::uint32_t byte = builder.reserve(1);
  const std::uint32_t part = builder.reserve(sizeof(iovec));
  iovec one{};
  one.iov_len = 1;
  builder.write(part, one);
  builder.point(part + offsetof(iovec, iov_base), byte);

  const std::uint32_t control = builder.reserve(CMSG_SPACE(sizeof(std::int32_t)));
  cmsghdr rights{};
  rights.cmsg_len = CMSG_LEN(sizeof(std::int32_t));
  rights.cmsg_level = SOL_SOCKET;
  rights.cmsg_type = SCM_RIGHTS;
  builder.write(control, rights);
  builder.store_value(control + static_cast<std::uint32_t>(CMSG_LEN(0)), Builder::slot(socket),
                      "note the listening socket");

  const std::uint32_t place = builder.reserve(sizeof(msghdr));
  msghdr message{};
  message.msg_iovlen = 1;
  message.msg_controllen = CMSG_LEN(sizeof(std::int32_t));
  builder.write(place, message);
  builder.point(place + offsetof(msghdr, msg_iov), part);
  builder.point(place + offsetof(msghdr, msg_control), control);
  return place;
}

// The proxy accepts on the socket from outside: the socket belongs to this namespace for good, and
// nothing in here holds it except the message under way.
void hand_out_listener(Builder& builder) {
  constexpr int backlog = 128;
  const SlotRef listener = builder.open(
      JAIL_CALL(socket),
      {Builder::value(AF_INET), Builder::value(SOCK_STREAM | SOCK_CLOEXEC), Builder::value(0)},
      "make the socket of the way out");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(egress_port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  builder.call(JAIL_CALL(bind),
               {Builder::slot(listener), Builder::address(builder.store(address)),
                Builder::value(sizeof address)},
               "bind it to 127.0.0.1:" + std::to_string(egress_port));
  builder.call(JAIL_CALL(listen), {Builder::slot(listener), Builder::value(backlog)}, "listen");
  const std::uint32_t message = message_with(builder, listener);
  builder.call(
      JAIL_CALL(sendmsg),
      {Builder::slot({wire::slot_egress}), Builder::address(message), Builder::value(MSG_NOSIGNAL)},
      "hand it to the proxy");
  builder.close(listener, "the socket of the way out");
}

}  // namespace

void add_network(Builder& builder, const Network& network) {
  // The namespace itself comes from clone3, with its loopback interface down.
  if (network.kind == Network::Kind::none) return;
  bring_loopback_up(builder);
  if (network.kind == Network::Kind::egress) hand_out_listener(builder);
}

bool fits_reused_network(const Network& network) { return network.kind == Network::Kind::loopback; }

std::vector<std::string> with_way_out(std::vector<std::string> env, const Network& network) {
  if (network.kind != Network::Kind::egress) return env;
  return with_egress_variables(std::move(env), network.rules);
}

}  // namespace jail
