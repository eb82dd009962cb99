#include "jail/egress.h"

#include <fcntl.h>

#include "c/boundary.h"
#include "c/handles.h"

namespace jail::c {
namespace {

static_assert(static_cast<int>(EgressEvent::decided) == JAIL_EGRESS_DECIDED);
static_assert(static_cast<int>(EgressEvent::ended) == JAIL_EGRESS_ENDED);

Result<EgressOptions> options_of(const jail_egress_options* given) {
  const auto read = read_struct("jail_egress_options", given);
  if (!read) return read.error();
  if (read->reserved != 0) return invalid("jail_egress_options.reserved: not 0");
  if (read->addresses == nullptr && read->address_count > 0) {
    return invalid("jail_egress_options.addresses is NULL, but address_count is not 0");
  }
  EgressOptions options;
  for (std::size_t i = 0; i < read->address_count; ++i) {
    const jail_egress_address& fixed = read->addresses[i];
    if (fixed.name == nullptr || fixed.address == nullptr) {
      return invalid("jail_egress_options.addresses: a NULL in it");
    }
    options.addresses.emplace_back(fixed.name, fixed.address);
  }
  options.connections_per_jail =
      or_default(read->connections_per_jail, options.connections_per_jail);
  if (read->idle_s != 0) options.idle = std::chrono::seconds(read->idle_s);
  if (read->connect_s != 0) options.connect = std::chrono::seconds(read->connect_s);
  return options;
}

jail_egress_decision decision_of(const EgressDecision& decision) {
  jail_egress_decision told{};
  told.event = static_cast<jail_egress_event>(decision.event);
  told.verdict = decision.allowed ? JAIL_EGRESS_ALLOWED : JAIL_EGRESS_REFUSED;
  told.jail = decision.jail.c_str();
  told.destination = decision.destination.c_str();
  told.address = decision.address.c_str();
  told.reason = decision.reason.c_str();
  told.sent_bytes = decision.sent;
  told.received_bytes = decision.received;
  told.dropped = decision.dropped;
  told.lasted_ms = static_cast<std::uint64_t>(decision.lasted.count());
  return told;
}

}  // namespace
}  // namespace jail::c

using jail::Result;
using jail::c::guarded;

extern "C" {

jail_status jail_egress_check_rule(const char* rule, jail_error* error) {
  return guarded(__func__, {{"rule", rule}}, error, [&] { return jail::check_egress_rule(rule); });
}

jail_status jail_egress_start(const jail_egress_options* options, jail_egress** egress,
                              jail_error* error) {
  return guarded(__func__, {{"egress", egress}}, error, [&]() -> Result<void> {
    auto read = jail::c::options_of(options);
    if (!read) return read.error();
    Result<jail::EgressProxy> started = jail::EgressProxy::start(std::move(*read));
    if (!started) return started.error();
    *egress = new jail_egress{std::make_shared<jail::EgressProxy>(std::move(*started))};
    return {};
  });
}

void jail_egress_destroy(jail_egress* egress) { delete egress; }

int jail_egress_event_fd(const jail_egress* egress) {
  return egress == nullptr ? -1 : egress->proxy->event_fd();
}

int jail_egress_process_fd(const jail_egress* egress) {
  return egress == nullptr ? -1 : egress->proxy->process_fd();
}

jail_status jail_egress_take(jail_egress* egress, jail_egress_decisions** decisions,
                             jail_error* error) {
  return guarded(__func__, {{"egress", egress}, {"decisions", decisions}}, error,
                 [&]() -> Result<void> {
                   // The list is made before any decision is taken, or decisions would be lost
                   // where memory runs out.
                   auto list = std::make_unique<jail_egress_decisions>();
                   auto taken = egress->proxy->decisions();
                   if (!taken) return taken.error();
                   list->decisions = std::move(*taken);
                   *decisions = list.release();
                   return {};
                 });
}

jail_status jail_egress_serve(const jail_egress* egress, int listener, const char* const* rules,
                              const char* label, int* served, jail_error* error) {
  return guarded(__func__, {{"egress", egress}, {"rules", rules}, {"served", served}}, error,
                 [&]() -> Result<void> {
                   // Copied, since the caller keeps its own.
                   const jail::Fd copy(::fcntl(listener, F_DUPFD_CLOEXEC, 0));
                   if (!copy.valid()) return jail::invalid("listener: no open descriptor");
                   auto way_out = egress->proxy->serve(copy, jail::c::strings_of(rules),
                                                       label == nullptr ? "" : label);
                   if (!way_out) return way_out.error();
                   *served = way_out->release();
                   return {};
                 });
}

jail_status jail_egress_request_change(int served, const char* const* rules, jail_error* error) {
  return guarded(__func__, {{"rules", rules}}, error, [&] {
    return jail::EgressProxy::request_change(served, jail::c::strings_of(rules));
  });
}

jail_status jail_egress_take_change(int served, int* holds, jail_error* error) {
  return guarded(__func__, {{"holds", holds}}, error, [&]() -> Result<void> {
    const Result<bool> taken = jail::EgressProxy::take_change(served);
    if (!taken) return taken.error();
    *holds = *taken ? 1 : 0;
    return {};
  });
}

void jail_egress_decisions_destroy(jail_egress_decisions* decisions) { delete decisions; }

size_t jail_egress_decisions_count(const jail_egress_decisions* decisions) {
  return decisions == nullptr ? 0 : decisions->decisions.size();
}

jail_status jail_egress_decisions_at(const jail_egress_decisions* decisions, size_t index,
                                     jail_egress_decision* decision, jail_error* error) {
  return guarded(__func__, {{"decisions", decisions}, {"decision", decision}}, error,
                 [&]() -> Result<void> {
                   const auto& list = decisions->decisions;
                   if (index >= list.size())
                     return jail::c::no_such("decision", index, list.size());
                   const jail_egress_decision told = jail::c::decision_of(list[index]);
                   return jail::c::write_struct("jail_egress_decision", told, decision);
                 });
}

}  // extern "C"
