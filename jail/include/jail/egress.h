// Named egress: a way out of a jail that has no route, to the destinations of an allow-list alone.
//
// A process of its own, in the host's network, serves a listening socket that was made in the jail:
// it speaks SOCKS5, HTTP CONNECT and plain HTTP as to a proxy, all on that one socket. Names are
// resolved out there, by a second process and as the host resolves them, and only those that a rule
// names; what they lead to is judged before it is connected to.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"

namespace jail {

// Where the proxy listens in a jail, on 127.0.0.1.
inline constexpr std::uint16_t egress_port = 3128;

// A rule is HOST:PORT, with a port from 1 to 65535. HOST is
//   pypi.org             this name; the case of letters and a dot at the end do not matter
//   *.example.org        every name below it, at any depth, and not the name itself
//   192.0.2.1            this address; [2001:db8::1] of IPv6
//   10.0.0.0/8           a network; [2001:db8::/32] of IPv6. No bit behind its length may be set
// A program that asks for an address needs a rule for addresses. One that asks for a name needs a
// rule for names, and where the name leads to an address that is not public (loopback, link-local,
// private, and all others that IANA lists as of special purpose) a rule for that address too. A
// network that holds both kinds, such as 0.0.0.0/0, means the public addresses in it.
// Errors: invalid (names what is wrong).
Result<void> check_egress_rule(std::string_view rule);

// Whether `ceiling` allows all that `rule` allows. False where one of them is not valid.
bool egress_rule_covers(std::string_view ceiling, std::string_view rule);

// What a decision is written for.
enum class EgressEvent : std::uint8_t {
  decided,  // a request was refused, or allowed, whatever became of it then
  ended,    // a connection that was made is over
};

// Text in it is printable ASCII: other bytes are written as \x00.
struct EgressDecision {
  EgressEvent event = EgressEvent::decided;
  std::string jail;         // the label given at admit()
  std::string destination;  // as asked for, "pypi.org:443"; empty where that could not be read
  std::string address;      // connected to; empty where none was
  bool allowed = false;
  std::string reason;          // the rule that allows it, or why it came to nothing; of one that
                               // has ended, that its rule was taken away, or empty
  std::uint64_t sent = 0;      // bytes from the jail, where event is `ended`
  std::uint64_t received = 0;  // bytes to the jail, the same
  std::uint64_t dropped = 0;   // decisions before this one that nobody took in time
  std::chrono::milliseconds lasted{0};  // since it was connected, where event is `ended`
};

// `env` with the variables by which programs find the proxy, "http_proxy=http://127.0.0.1:3128" and
// others, where it does not name them. A jail of Network::Kind::egress gets them by itself; the
// owner of one that is served later gives them to the processes that it spawns.
std::vector<std::string> with_egress_variables(std::vector<std::string> env);

// What the proxy keeps to, beside the rules of each jail.
struct EgressOptions {
  // Names that are not looked up, each with an address ("192.0.2.1"); a name may be there more than
  // once. They are judged as any other.
  std::vector<std::pair<std::string, std::string>> addresses;
  std::uint32_t connections_per_jail = 64;
  std::chrono::seconds idle{300};    // a connection that carries nothing for so long is cut
  std::chrono::seconds connect{10};  // for the look-up and the connection together
};

// The proxy. Its two processes belong to the library, are executed with an empty environment, each
// under a system call filter of its own, and end with their EgressProxy or with the caller; where
// one of them ends, so does the other. The one that meets a program's bytes can open no file. No
// thread and no signal handler in the caller.
class EgressProxy {
 public:
  // Waits until both have confined themselves, which takes milliseconds. One that cannot is an
  // error. Errors: invalid (names the option), exhausted, closed (it ended at once), kernel.
  static Result<EgressProxy> start(EgressOptions options = {});

  EgressProxy(EgressProxy&&) noexcept;
  EgressProxy& operator=(EgressProxy&&) noexcept;
  ~EgressProxy();  // every connection through it is cut

  // Readable when decisions wait or the proxy has ended. Owned by the EgressProxy.
  int event_fd() const noexcept;

  // Those that wait, the oldest first; at most 1,024 at once. Never blocks, and a proxy whose
  // decisions nobody takes goes on: it keeps 4,096 and drops the oldest of the jail that has the
  // most. Thread-safe.
  // Errors: closed (the proxy has ended and all was taken: start another; its processes have been
  // waited for), kernel.
  Result<std::vector<EgressDecision>> decisions();

  // A pidfd, readable when the proxy has ended. Owned by the EgressProxy.
  int process_fd() const noexcept;

  // One end of a SOCK_SEQPACKET pair. Whoever holds it sends one message, of any bytes, with one
  // descriptor: a listening TCP socket, which nobody in the jail may have a copy of. The proxy
  // serves it until every copy of this end is closed; then it closes the socket and every
  // connection that came by it. `label` says in decisions which jail it is. Does not wait.
  // Thread-safe. At most 256 rules, a label of 256 bytes.
  // Errors: invalid (names the rule), exhausted, closed (the proxy has ended), kernel.
  Result<Fd> admit(const std::vector<std::string>& rules, std::string_view label) const;

  // The same for a jail that runs, whose rules its owner may change. `listener` is a TCP socket of
  // the jail's network, such as Jail::take_socket() makes, bound to 127.0.0.1:egress_port, and it
  // listens; nobody in the jail may have a copy of it, nor of what is returned, by which rules are
  // changed. That is to be closed no later than the jail ends: its network may serve another one
  // then, where jails are forked with ForkOptimizations::network_reuse. Does not wait. Thread-safe.
  // Errors: as admit().
  Result<Fd> serve(const Fd& listener, const std::vector<std::string>& rules,
                   std::string_view label) const;

  // Asks for `rules` in place of those that the jail has whose end of serve() this is; none close
  // the way out, whose port is free once they hold. Does not wait: `served` becomes readable when
  // take_change() has an answer, until which there is to be no other change. A proxy that cannot
  // follow closes the way out. From any thread, one at a time.
  // Errors: invalid (names the rule), exhausted, closed (the proxy has ended), kernel.
  static Result<void> request_change(int served, const std::vector<std::string>& rules);

  // Whether the rules hold that were asked for. Then nothing that they do not allow is connected to
  // any more, and what was open to it is cut. False: not yet.
  // Errors: closed (the proxy has ended, or the way out is closed), kernel.
  static Result<bool> take_change(int served);

 private:
  struct State;
  explicit EgressProxy(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace jail
