#include "egress/wire.h"

#include <array>
#include <cstring>

#include "egress/decimal.h"
#include "egress/destination.h"

namespace jail::egress {
namespace {

constexpr std::size_t texts = 4;
constexpr std::size_t longest_text = 450;
constexpr std::size_t max_digits = 9;  // of a number
constexpr std::size_t max_addresses = 64;
constexpr std::size_t longest_address = 45;
static_assert(2 + longest_text + 1 + max_addresses * (longest_address + 1) <= max_answer_bytes);

struct DecisionHead {
  std::uint64_t sent;
  std::uint64_t received;
  std::uint64_t dropped;
  std::int64_t lasted_ms;
  std::array<std::uint16_t, texts> lengths;
  std::uint8_t event;
  std::uint8_t allowed;
  std::uint8_t unused[6];
};
static_assert(sizeof(DecisionHead) + texts * longest_text <= max_decision_bytes);

// Takes the text up to the next `end`, and removes `end`.
std::string_view take(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(rest.size(), at + 1));
  return part;
}

constexpr const char* by_owner = "owner";
constexpr const char* never = "never";
const std::string new_rules = "rules";

std::string rules_behind(const std::vector<std::string>& rules) {
  std::string text;
  for (const std::string& rule : rules) {
    text += '\0';
    text += rule;
  }
  return text;
}

std::vector<std::string> take_rules(std::string_view rest) {
  std::vector<std::string> rules;
  while (!rest.empty()) rules.emplace_back(take(rest, '\0'));
  return rules;
}

std::optional<std::uint32_t> parse_slot(std::string_view text) {
  const auto slot = parse_decimal(text, max_digits);
  return slot && *slot < look_ups_at_once ? slot : std::nullopt;
}

}  // namespace

std::string to_text(const Settings& settings) {
  std::string text = std::to_string(settings.connections_per_jail) + " " +
                     std::to_string(settings.idle.count()) + " " +
                     std::to_string(settings.connect.count()) + "\n";
  for (const auto& [name, address] : settings.addresses) {
    text += name + " " + to_text(address) + "\n";
  }
  return text;
}

std::optional<Settings> parse_settings(std::string_view text) {
  std::string_view first = take(text, '\n');
  const auto connections = parse_decimal(take(first, ' '), max_digits);
  const auto idle = parse_decimal(take(first, ' '), max_digits);
  const auto connect = parse_decimal(first, max_digits);
  if (!connections || !idle || !connect) return std::nullopt;
  Settings settings{{}, *connections, std::chrono::seconds(*idle), std::chrono::seconds(*connect)};
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view name = take(line, ' ');
    const auto address = parse_address(line);
    if (!address) return std::nullopt;
    settings.addresses.emplace_back(name, *address);
  }
  return settings;
}

std::string to_datagram(const Confinement& confinement) {
  return std::to_string(confinement.error) + " " + confinement.doing;
}

std::optional<Confinement> parse_confinement(std::string_view datagram) {
  const auto error = parse_decimal(take(datagram, ' '), max_digits);
  if (!error) return std::nullopt;
  return Confinement{static_cast<int>(*error), std::string(datagram)};
}

std::string to_datagram(const Admission& admission) {
  const char* const change = admission.change == RuleChange::by_owner ? by_owner : never;
  return std::string(change) + '\0' + admission.label + rules_behind(admission.rules);
}

Admission parse_admission(std::string_view datagram) {
  Admission admission;
  if (take(datagram, '\0') == by_owner) admission.change = RuleChange::by_owner;
  admission.label = take(datagram, '\0');
  admission.rules = take_rules(datagram);
  return admission;
}

std::string to_datagram(const NewRules& change) { return new_rules + rules_behind(change.rules); }

std::optional<NewRules> parse_new_rules(std::string_view datagram) {
  if (take(datagram, '\0') != new_rules) return std::nullopt;
  return NewRules{take_rules(datagram)};
}

std::string to_datagram(const Question& question) {
  return std::to_string(question.slot) + " " + question.name;
}

std::optional<Question> parse_question(std::string_view datagram) {
  const auto slot = parse_slot(take(datagram, ' '));
  if (!slot) return std::nullopt;
  return Question{*slot, std::string(datagram)};
}

std::string to_datagram(const Answer& answer) {
  std::string datagram =
      std::to_string(answer.slot) + "\n" + printable(answer.found.trouble, longest_text) + "\n";
  std::size_t room = max_addresses;
  for (const Address& address : answer.found.addresses) {
    if (room-- == 0) break;
    datagram += to_text(address) + "\n";
  }
  return datagram;
}

std::optional<Answer> parse_answer(std::string_view datagram) {
  const auto slot = parse_slot(take(datagram, '\n'));
  if (!slot) return std::nullopt;
  Answer answer{*slot, {{}, printable(take(datagram, '\n'), longest_text)}};
  while (!datagram.empty()) {
    const auto address = parse_address(take(datagram, '\n'));
    if (!address || answer.found.addresses.size() == max_addresses) return std::nullopt;
    answer.found.addresses.push_back(*address);
  }
  if (answer.found.addresses.empty() && answer.found.trouble.empty()) return std::nullopt;
  return answer;
}

std::string to_datagram(const EgressDecision& decision) {
  const std::string* parts[texts] = {&decision.jail, &decision.destination, &decision.address,
                                     &decision.reason};
  DecisionHead head{};
  head.sent = decision.sent;
  head.received = decision.received;
  head.dropped = decision.dropped;
  head.lasted_ms = decision.lasted.count();
  head.event = static_cast<std::uint8_t>(decision.event);
  head.allowed = decision.allowed ? 1 : 0;
  std::string datagram(sizeof head, '\0');
  for (std::size_t i = 0; i < texts; ++i) {
    const std::string_view part = std::string_view(*parts[i]).substr(0, longest_text);
    head.lengths[i] = static_cast<std::uint16_t>(part.size());
    datagram += part;
  }
  std::memcpy(datagram.data(), &head, sizeof head);
  return datagram;
}

std::optional<EgressDecision> parse_decision(std::string_view datagram) {
  DecisionHead head;
  if (datagram.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, datagram.data(), sizeof head);
  datagram.remove_prefix(sizeof head);
  if (head.event > static_cast<std::uint8_t>(EgressEvent::ended)) return std::nullopt;
  EgressDecision decision;
  std::string* parts[texts] = {&decision.jail, &decision.destination, &decision.address,
                               &decision.reason};
  for (std::size_t i = 0; i < texts; ++i) {
    if (datagram.size() < head.lengths[i]) return std::nullopt;
    *parts[i] = printable(datagram.substr(0, head.lengths[i]), longest_text);
    datagram.remove_prefix(head.lengths[i]);
  }
  if (!datagram.empty()) return std::nullopt;
  decision.event = static_cast<EgressEvent>(head.event);
  decision.allowed = head.allowed != 0;
  decision.sent = head.sent;
  decision.received = head.received;
  decision.dropped = head.dropped;
  decision.lasted = std::chrono::milliseconds(std::max<std::int64_t>(head.lasted_ms, 0));
  return decision;
}

}  // namespace jail::egress
