// The messages between the library, its proxy and the process that looks up names. Settings and
// filters come in sealed files. Admissions, decisions, questions, answers and the result of the
// confinement, which is the first message of each of the two processes, are one datagram each.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "egress/address.h"
#include "jail/egress.h"

namespace jail::egress {

// The names of the processes: one program, whose name decides which of the two it is.
inline constexpr const char* proxy_name = "jail-egress";
inline constexpr const char* look_up_name = "jail-lookup";

// The numbers of the descriptors that the processes get.
inline constexpr int control_fd = 3;
inline constexpr int image_fd = 4;
inline constexpr int filter_fd = 5;
inline constexpr int names_fd = 6;     // the socket between the two
inline constexpr int settings_fd = 7;  // for the proxy alone

struct Settings {
  std::vector<std::pair<std::string, Address>> addresses;  // canonical names
  std::uint32_t connections_per_jail = 64;
  std::chrono::seconds idle{300};
  std::chrono::seconds connect{10};
};
std::string to_text(const Settings& settings);
std::optional<Settings> parse_settings(std::string_view text);

// A process's report of its confinement. A process that is not confined ends after it.
struct Confinement {
  int error = 0;  // 0: it is confined
  std::string doing = {};
};
std::string to_datagram(const Confinement& confinement);
std::optional<Confinement> parse_confinement(std::string_view datagram);

inline constexpr std::size_t max_rules = 256;
inline constexpr std::size_t max_label_bytes = 256;
inline constexpr std::size_t max_admission_bytes = 128 << 10;

// Whether other rules may come by the jail's socket pair. They may not where the jail's init holds
// the end.
enum class RuleChange : std::uint8_t { never, by_owner };

// The message that comes with the proxy's end of the jail's socket pair.
struct Admission {
  std::string label;
  std::vector<std::string> rules;
  RuleChange change = RuleChange::never;
};
std::string to_datagram(const Admission& admission);
Admission parse_admission(std::string_view datagram);

// The message on the jail's socket pair after its listening socket. The answer is one byte, sent
// once the rules hold.
struct NewRules {
  std::vector<std::string> rules;
};
std::string to_datagram(const NewRules& change);
std::optional<NewRules> parse_new_rules(std::string_view datagram);

// The number of names that are looked up at a time.
inline constexpr std::size_t look_ups_at_once = 4;
inline constexpr std::size_t max_question_bytes = 512;
inline constexpr std::size_t max_answer_bytes = 4096;

struct Question {
  std::uint32_t slot;  // one of `look_ups_at_once`, which no other question has until the answer
  std::string name;
};
std::string to_datagram(const Question& question);
std::optional<Question> parse_question(std::string_view datagram);

struct Found {
  std::vector<Address> addresses;  // in the order in which they should be tried
  std::string trouble;             // the reason where there is none
};

struct Answer {
  std::uint32_t slot;
  Found found;
};
// Where there are more addresses than fit, the first ones are sent.
std::string to_datagram(const Answer& answer);
std::optional<Answer> parse_answer(std::string_view datagram);

inline constexpr std::size_t max_decision_bytes = 2048;

std::string to_datagram(const EgressDecision& decision);
// Returns std::nullopt where the datagram is not a decision. Whatever its bytes are, its text is
// printable.
std::optional<EgressDecision> parse_decision(std::string_view datagram);

}  // namespace jail::egress
