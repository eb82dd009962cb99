#include "jail/egress.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "egress/address.h"
#include "egress/destination.h"
#include "egress/policy.h"
#include "egress/rule.h"
#include "egress/wire.h"
#include "parent/fd_passing.h"
#include "parent/image_process.h"
#include "parent/order.h"
#include "parent/sealed_file.h"

extern "C" const char jail_egress_image_begin[];
extern "C" const char jail_egress_image_end[];

namespace jail {
namespace {

using egress::Settings;

constexpr std::size_t max_decisions = 1024;
constexpr std::uint32_t max_connections = 4096;
constexpr std::chrono::seconds longest{24 * 60 * 60};
// Confinement takes milliseconds, so only a host that stands still needs longer.
constexpr std::chrono::milliseconds confinement_patience{30'000};
constexpr std::size_t max_confinement_bytes = 256;

Result<Settings> settings_of(const EgressOptions& options) {
  if (options.connections_per_jail < 1 || options.connections_per_jail > max_connections) {
    return invalid("connections_per_jail: from 1 to " + std::to_string(max_connections));
  }
  for (const auto& [name, time] : {std::pair{"idle", options.idle}, {"connect", options.connect}}) {
    if (time < std::chrono::seconds(1) || time > longest) {
      return invalid(std::string(name) + ": from a second to a day");
    }
  }
  Settings settings{{}, options.connections_per_jail, options.idle, options.connect};
  for (const auto& [name, text] : options.addresses) {
    auto canonical = egress::canonical_name(name);
    const auto address = egress::parse_address(text);
    if (!canonical || !address) {
      return invalid("addresses: \"" + egress::printable(name) + "\" at \"" +
                     egress::printable(text) + "\" is not a name and its address");
    }
    settings.addresses.emplace_back(std::move(*canonical), *address);
  }
  return settings;
}

// The compiled policy, in the kernel's form.
Result<Fd> filter_file(const Policy& policy) {
  const auto filter = compile_policy(policy);
  if (!filter) return filter.error();
  const auto& code = filter->instructions;
  return sealed_file("jail-filter",
                     {reinterpret_cast<const char*>(code.data()), code.size() * sizeof(code[0])},
                     SealedUse::read);
}

// Waits for the first message of a new process, its report. Returns an error where the process
// could not confine itself.
Result<void> await_confinement(const char* name, const Fd& socket) {
  const std::string doing = std::string("confine ") + name;
  pollfd said{socket.get(), POLLIN, 0};
  int ready;
  do {
    ready = ::poll(&said, 1, static_cast<int>(confinement_patience.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return system_error(doing);
  char datagram[max_confinement_bytes];
  const ssize_t got = receive_message(socket.get(), datagram);
  if (got < 0 && errno == EAGAIN) return Error{ErrorKind::kernel, doing, ETIMEDOUT, {}};
  const auto confinement =
      egress::parse_confinement({datagram, static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
  if (!confinement) return Error{ErrorKind::closed, doing + ": it has ended", 0, {}};
  if (confinement->error == 0) return {};
  errno = confinement->error;
  return system_error(doing + ": " + confinement->doing);
}

// The owner's side of one of the two processes: its socket and its pidfd. The destructor kills the
// process.
class ProxyProcess {
 public:
  // Starts a process that is not confined yet. Its descriptors are those of egress/wire.h: `names`
  // is names_fd, and `others` follow.
  static Result<ProxyProcess> start(const char* name, const Policy& policy, Fd names,
                                    std::vector<Fd> others) {
    auto filter = filter_file(policy);
    if (!filter) return filter.error();
    auto sockets = socket_pair();
    if (!sockets) return sockets.error();
    std::vector<Fd> given;
    given.push_back(std::move(*filter));
    given.push_back(std::move(names));
    for (Fd& other : others) given.push_back(std::move(other));
    auto process =
        run_image(name,
                  {jail_egress_image_begin,
                   static_cast<std::size_t>(jail_egress_image_end - jail_egress_image_begin)},
                  std::move(sockets->second), std::move(given));
    if (!process) return process.error();
    return ProxyProcess(std::move(sockets->first), std::move(*process));
  }
  ProxyProcess(ProxyProcess&&) noexcept = default;
  ProxyProcess& operator=(ProxyProcess&&) = delete;
  ~ProxyProcess() {
    socket.reset();
    if (pidfd.valid()) end_process(pidfd);
  }

  Fd socket;
  Fd pidfd;

 private:
  ProxyProcess(Fd control, Fd process) : socket(std::move(control)), pidfd(std::move(process)) {}
};

Result<void> check_rules(const std::vector<std::string>& rules) {
  if (rules.size() > egress::max_rules) return invalid("egress rules: at most 256");
  for (const std::string& rule : rules) {
    if (auto checked = check_egress_rule(rule); !checked) return checked;
  }
  return {};
}

// Sends the proxy one end of a new socket pair for the jail, and returns the other end.
Result<Fd> admit_to(const Fd& proxy, const egress::Admission& admission) {
  const std::string& label = admission.label;
  if (label.size() > egress::max_label_bytes || label.find('\0') != label.npos) {
    return invalid("label: at most 256 bytes, none of them 0");
  }
  if (auto checked = check_rules(admission.rules); !checked) return checked.error();
  auto sockets = socket_pair();
  if (!sockets) return sockets.error();
  const int jail = sockets->second.get();
  if (!send_with_fds(proxy.get(), egress::to_datagram(admission), {&jail, 1})) {
    return sending_error("admit a jail to egress");
  }
  return std::move(sockets->first);
}

// Whether one of the rules names a port of `host`, an address or a name.
bool is_named(const std::vector<std::string>& rules, const std::string& host) {
  const auto address = egress::parse_address(host);
  return std::any_of(rules.begin(), rules.end(), [&](const std::string& text) {
    const auto rule = egress::parse_rule(text);
    if (!rule) return false;
    return address ? rule->allows(*address, rule->port) : rule->allows(host, rule->port);
  });
}

// Returns the spellings of loopback that programs reach without the proxy: in a jail they mean the
// jail's own interface. A spelling that a rule names is left out, since the rule means the host's.
std::string hosts_without_proxy(const std::vector<std::string>& rules) {
  std::string hosts;
  for (const char* const host : {"localhost", "127.0.0.1", "::1"}) {
    if (!is_named(rules, host)) hosts += (hosts.empty() ? "" : ",") + std::string(host);
  }
  return hosts;
}

}  // namespace

std::vector<std::string> with_egress_variables(std::vector<std::string> env) {
  return with_egress_variables(std::move(env), {});
}

std::vector<std::string> with_egress_variables(std::vector<std::string> env,
                                               const std::vector<std::string>& rules) {
  const std::string without_proxy = hosts_without_proxy(rules);
  const std::string port = std::to_string(egress_port);
  const std::string http = "http://127.0.0.1:" + port;
  // curl reads http_proxy in small letters only; other programs look for capital letters first.
  const std::pair<const char*, std::string> variables[] = {
      {"http_proxy", http},
      {"HTTP_PROXY", http},
      {"https_proxy", http},
      {"HTTPS_PROXY", http},
      {"all_proxy", "socks5h://127.0.0.1:" + port},
      {"ALL_PROXY", "socks5h://127.0.0.1:" + port},
      {"no_proxy", without_proxy},
      {"NO_PROXY", without_proxy}};
  for (const auto& [name, value] : variables) {
    const std::string start = std::string(name) + "=";
    const bool given = std::any_of(
        env.begin(), env.end(), [&](const std::string& entry) { return entry.starts_with(start); });
    if (!given) env.push_back(start + value);
  }
  return env;
}

Result<void> check_egress_rule(std::string_view rule) {
  auto parsed = egress::parse_rule(rule);
  if (!parsed) return std::move(parsed).error();
  return {};
}

bool egress_rule_covers(std::string_view ceiling, std::string_view rule) {
  const auto above = egress::parse_rule(ceiling);
  const auto below = egress::parse_rule(rule);
  return above && below && egress::covers(*above, *below);
}

struct EgressProxy::State {
  // Called when one process has ended. The other one is about to end; it is killed, so that both
  // can be waited for here.
  void end() const {
    end_process(look_ups.pidfd);
    end_process(proxy.pidfd);
  }

  ProxyProcess look_ups;
  ProxyProcess proxy;
};

EgressProxy::EgressProxy(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
EgressProxy::EgressProxy(EgressProxy&&) noexcept = default;

EgressProxy& EgressProxy::operator=(EgressProxy&& other) noexcept {
  const EgressProxy ends(std::move(state_));
  state_ = std::move(other.state_);
  return *this;
}

EgressProxy::~EgressProxy() = default;

Result<EgressProxy> EgressProxy::start(EgressOptions options) {
  const auto settings = settings_of(options);
  if (!settings) return settings.error();
  auto file = sealed_file("jail-egress-settings", egress::to_text(*settings), SealedUse::read);
  if (!file) return file.error();
  auto names = socket_pair();
  if (!names) return names.error();
  auto look_ups =
      ProxyProcess::start(egress::look_up_name, lookup_policy(), std::move(names->first), {});
  if (!look_ups) return look_ups.error();
  std::vector<Fd> others;
  others.push_back(std::move(*file));
  auto proxy = ProxyProcess::start(egress::proxy_name, egress_policy(), std::move(names->second),
                                   std::move(others));
  if (!proxy) return proxy.error();
  auto confined = await_confinement(egress::look_up_name, look_ups->socket);
  if (confined) confined = await_confinement(egress::proxy_name, proxy->socket);
  if (!confined) return confined.error();
  // From here on the two processes live and end together, by the socket between them.
  look_ups->socket.reset();
  return EgressProxy(std::make_unique<State>(State{std::move(*look_ups), std::move(*proxy)}));
}

int EgressProxy::event_fd() const noexcept { return state_->proxy.socket.get(); }
int EgressProxy::process_fd() const noexcept { return state_->proxy.pidfd.get(); }

Result<std::vector<EgressDecision>> EgressProxy::decisions() {
  std::vector<EgressDecision> decisions;
  char datagram[egress::max_decision_bytes];
  // Datagrams that are not decisions count as well, since whoever has taken the proxy over could
  // send those for ever.
  for (std::size_t taken = 0; taken < max_decisions; ++taken) {
    const ssize_t got = receive_message(state_->proxy.socket.get(), datagram);
    if (got < 0 && errno == EAGAIN) break;
    const bool over = got == 0 || (got < 0 && errno == ECONNRESET);
    if (over && !decisions.empty()) break;  // the next call reports it
    if (over) state_->end();
    if (over) return Error{ErrorKind::closed, "take decisions: the egress proxy has ended", 0, {}};
    if (got < 0) return system_error("take decisions");
    auto decision = egress::parse_decision({datagram, static_cast<std::size_t>(got)});
    if (decision) decisions.push_back(std::move(*decision));
  }
  return decisions;
}

Result<Fd> EgressProxy::admit(const std::vector<std::string>& rules, std::string_view label) const {
  return admit_to(state_->proxy.socket, {std::string(label), rules, egress::RuleChange::never});
}

Result<Fd> EgressProxy::serve(const Fd& listener, const std::vector<std::string>& rules,
                              std::string_view label) const {
  auto served =
      admit_to(state_->proxy.socket, {std::string(label), rules, egress::RuleChange::by_owner});
  if (!served) return served;
  if (auto done = set_non_blocking(*served); !done) return done.error();
  const int socket = listener.get();
  if (!send_with_fds(served->get(), "l", {&socket, 1})) {
    return sending_error("hand a listening socket to egress");
  }
  return served;
}

Result<void> EgressProxy::request_change(int served, const std::vector<std::string>& rules) {
  if (auto checked = check_rules(rules); !checked) return checked;
  const std::string datagram = egress::to_datagram(egress::NewRules{rules});
  ssize_t sent;
  do {
    sent = ::send(served, datagram.data(), datagram.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return sending_error("change rules of egress");
  return {};
}

Result<bool> EgressProxy::take_change(int served) {
  constexpr const char* doing = "change rules of egress";
  char done = 0;
  const ssize_t got = receive_message(served, {&done, sizeof done});
  if (got < 0 && errno == EAGAIN) return false;
  if (got == 0 || (got < 0 && errno == ECONNRESET)) {
    return Error{ErrorKind::closed, std::string(doing) + ": the way out is closed", 0, {}};
  }
  if (got < 0) return system_error(doing);
  return true;
}

}  // namespace jail
