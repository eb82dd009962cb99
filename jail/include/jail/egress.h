// Named egress: a way out of a jail that has no route, to the destinations of an allow-list alone.
//
// A process of its own, in the host's network, serves a listening socket that was made in the jail:
// it speaks SOCKS5, HTTP CONNECT and plain HTTP (as a proxy does), all on that one socket. A second
// process resolves names out there, as the host resolves them, and only those that a rule names; an
// address is judged before the proxy connects to it.
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

// The port on which the proxy listens in a jail, on 127.0.0.1.
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

// Returns whether `ceiling` allows all that `rule` allows; false where one of them is not valid.
bool egress_rule_covers(std::string_view ceiling, std::string_view rule);

// The occasion of a decision.
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
  std::string reason;          // the rule that allows it, or why it came to nothing; where event is
                               // `ended`, that its rule was taken away, or empty
  std::uint64_t sent = 0;      // bytes from the jail, where event is `ended`
  std::uint64_t received = 0;  // bytes to the jail, the same
  std::uint64_t dropped = 0;   // earlier decisions that nobody took in time
  std::chrono::milliseconds lasted{0};  // since it was connected, where event is `ended`
};

// Returns `env` with the variables by which programs find the proxy
// ("http_proxy=http://127.0.0.1:3128" and others); variables that `env` already names stay as they
// are. Loopback is the jail's own, as no_proxy says, in those spellings of which no rule of `rules`
// names a port. A jail of Network::Kind::egress gets them by itself; the owner of a jail that is
// served later (serve()) gives them to the processes that it spawns.
std::vector<std::string> with_egress_variables(std::vector<std::string> env,
                                               const std::vector<std::string>& rules);
// The same without rules.
std::vector<std::string> with_egress_variables(std::vector<std::string> env);

// The proxy's options, beside the rules of each jail.
struct EgressOptions {
  // Names that are not looked up, each with its address ("192.0.2.1"); a name may appear more than
  // once. These addresses are judged as any other.
  std::vector<std::pair<std::string, std::string>> addresses;
  std::uint32_t connections_per_jail = 64;
  std::chrono::seconds idle{300};    // a connection that carries nothing for this long is cut
  std::chrono::seconds connect{10};  // for the look-up and the connection together
};

// The proxy. Its two processes belong to the library, are executed with an empty environment, each
// under a system call filter of its own, and end with their EgressProxy or with the caller; where
// one of them ends, so does the other. The process that reads a guest's bytes can open no file. The
// proxy starts no thread and sets no signal handler in the caller.
class EgressProxy {
 public:
  // Waits until both processes have confined themselves, which takes milliseconds; fails if one of
  // them cannot. Errors: invalid (names the option), exhausted, closed (it ended at once), kernel.
  static Result<EgressProxy> start(EgressOptions options = {});

  EgressProxy(EgressProxy&&) noexcept;
  EgressProxy& operator=(EgressProxy&&) noexcept;
  ~EgressProxy();  // cuts every connection through it

  // Readable when decisions wait or the proxy has ended. Owned by the EgressProxy.
  int event_fd() const noexcept;

  // Takes the decisions that wait, the oldest first; at most 1,024 at once. Never blocks. A proxy
  // whose decisions nobody takes goes on: it keeps 4,096 and drops the oldest of the jail that has
  // the most. Thread-safe. Errors: closed (the proxy has ended and all was taken: start another;
  // its processes have been waited for), kernel.
  Result<std::vector<EgressDecision>> decisions();

  // A pidfd, readable when the proxy has ended. Owned by the EgressProxy.
  int process_fd() const noexcept;

  // Returns one end of a SOCK_SEQPACKET pair. Its holder sends one message, of any bytes, with one
  // descriptor: a listening TCP socket, of which nobody in the jail may have a copy. The proxy
  // serves it until every copy of this end is closed; then it closes the socket and every
  // connection that came by it. `label` names the jail in decisions. Does not wait. Thread-safe.
  // Takes at most 256 rules and a label of at most 256 bytes. Errors: invalid (names the rule),
  // exhausted, closed (the proxy has ended), kernel.
  Result<Fd> admit(const std::vector<std::string>& rules, std::string_view label) const;

  // The same for a jail that already runs, whose rules its owner may change. `listener` is a
  // listening TCP socket of the jail's network, such as Jail::take_socket() makes, bound to
  // 127.0.0.1:egress_port. The returned descriptor is what request_change() takes. Nobody in the
  // jail may have a copy of either. The caller must close the returned descriptor no later than the
  // jail ends, since the jail's network may serve another one then
  // (ForkOptimizations::network_reuse). Does not wait. Thread-safe. Errors: as admit().
  Result<Fd> serve(const Fd& listener, const std::vector<std::string>& rules,
                   std::string_view label) const;

  // Asks for `rules` in place of those of the jail whose serve() returned `served`. An empty list
  // closes the way out, whose port is free once the change holds. Does not wait: `served` becomes
  // readable when take_change() has an answer, and no other change may be requested before that. A
  // proxy that cannot follow closes the way out. May be called from any thread, by one at a time.
  // Errors: invalid (names the rule), exhausted, closed (the proxy has ended), kernel.
  static Result<void> request_change(int served, const std::vector<std::string>& rules);

  // Returns whether the requested rules hold; false: not yet. Once they hold, the proxy connects to
  // nothing that they do not allow, and connections that they do not allow have been cut. Errors:
  // closed (the proxy has ended, or the way out is closed), kernel.
  static Result<bool> take_change(int served);

 private:
  struct State;
  explicit EgressProxy(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace jail
