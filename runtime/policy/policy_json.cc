#include "runtime/policy/policy_json.h"

#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include "runtime/json/members.h"
#include "runtime/json/place.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/policy/symbols.h"

namespace runtime::policy {
namespace {

using jail::ArgumentTest;
using jail::Decision;
using jail::Result;
using json::non_empty_array;
using json::non_empty_text;
using json::object_with;
using json::Place;
using json::Value;
using Tests = std::vector<ArgumentTest>;

// A rule of a file becomes one jail::Rule for each combination of its `any_of` values. A rule
// beyond these bounds fits no filter, and would take memory and time before that shows.
constexpr std::size_t max_combinations = 1024;
constexpr std::size_t max_conditions = 16;
constexpr std::size_t max_rules = 16'384;

Result<Decision> decision(const Value* value, const Place& place) {
  const auto word = non_empty_text(value, place);
  if (!word) return word.error();
  if (*word == "allow") return Decision{jail::Verdict::allow, 0};
  if (*word == "kill") return Decision{jail::Verdict::kill, 0};
  if (const auto number = error_number(*word)) return Decision{jail::Verdict::error, *number};
  return place.error("unknown decision " + json::quoted(*word) +
                     "; must be allow, kill or the name of an error such as EPERM");
}

// Parses an integer, "0x..." (JSON itself has no hexadecimal numbers) or a name.
Result<std::uint32_t> number(const Value& value, const Place& place) {
  constexpr std::string_view allowed = "must be 0 .. 0xffffffff: an integer, \"0x...\" or a name";
  if (const std::int64_t* integer = value.as_integer()) {
    if (*integer < 0 || *integer > std::numeric_limits<std::uint32_t>::max()) {
      return place.error(allowed);
    }
    return static_cast<std::uint32_t>(*integer);
  }
  const std::string* word = value.as_string();
  if (word == nullptr) return place.error(allowed);
  if (word->rfind("0x", 0) == 0) {
    std::uint32_t parsed = 0;
    const char* end = word->data() + word->size();
    const auto [stopped, fault] = std::from_chars(word->data() + 2, end, parsed, 16);
    if (fault != std::errc() || stopped != end) return place.error(allowed);
    return parsed;
  }
  if (const auto known = argument_value(*word)) return *known;
  return place.error("unknown name " + json::quoted(*word));
}

// Parses one number, or a list of numbers that are or-ed together.
Result<std::uint32_t> or_ed(const Value& value, const Place& place) {
  const json::Array* flags = value.as_array();
  if (flags == nullptr) return number(value, place);
  std::uint32_t together = 0;
  for (std::size_t i = 0; i < flags->size(); ++i) {
    const auto flag = number((*flags)[i], place.item(i));
    if (!flag) return flag.error();
    together |= *flag;
  }
  return together;
}

Result<Tests> any_of(const json::Object& condition, ArgumentTest test, const Place& place) {
  const auto values = non_empty_array(condition, place, "any_of");
  if (!values) return values.error();
  Tests alternatives;
  for (std::size_t i = 0; i < (*values)->size(); ++i) {
    const auto value = number((**values)[i], place.field("any_of").item(i));
    if (!value) return value.error();
    test.value = *value;
    alternatives.push_back(test);
  }
  return alternatives;
}

// Parses one entry of `when` into tests of which one has to hold.
Result<Tests> condition(const Value& value, const Place& place) {
  const auto object =
      object_with(value, place, {"argument", "mask", "equal", "not_equal", "any_of"});
  if (!object) return object.error();
  const json::Object& fields = **object;

  const Value* argument = member(fields, "argument");
  const std::int64_t* index = argument == nullptr ? nullptr : argument->as_integer();
  if (index == nullptr || *index < 0 || *index > 5) {
    return place.field("argument").error("must be an integer 0 .. 5");
  }
  ArgumentTest test;
  test.argument = static_cast<std::uint8_t>(*index);
  if (const Value* bits = member(fields, "mask")) {
    const auto parsed = or_ed(*bits, place.field("mask"));
    if (!parsed) return parsed.error();
    test.mask = *parsed;
  }
  if (fields.count("equal") + fields.count("not_equal") + fields.count("any_of") != 1) {
    return place.error("must have exactly one of equal, not_equal, any_of");
  }
  if (fields.count("any_of") != 0) return any_of(fields, test, place);
  const bool negated = fields.count("not_equal") != 0;
  const std::string_view name = negated ? "not_equal" : "equal";
  const auto parsed = or_ed(*member(fields, name), place.field(name));
  if (!parsed) return parsed.error();
  test.op = negated ? ArgumentTest::Op::not_equal : ArgumentTest::Op::equal;
  test.value = *parsed;
  return Tests{test};
}

// Returns every way to satisfy a rule's `when`; one way without any test where the rule has none.
Result<std::vector<Tests>> combinations(const json::Object& rule, const Place& place) {
  std::vector<Tests> ways(1);
  if (member(rule, "when") == nullptr) return ways;
  const auto conditions = non_empty_array(rule, place, "when");
  if (!conditions) return conditions.error();
  if ((*conditions)->size() > max_conditions) {
    return place.field("when").error("more than 16 conditions");
  }
  for (std::size_t i = 0; i < (*conditions)->size(); ++i) {
    const auto alternatives = condition((**conditions)[i], place.field("when").item(i));
    if (!alternatives) return alternatives.error();
    if (ways.size() * alternatives->size() > max_combinations) {
      return place.field("when").error("more than 1024 combinations of any_of");
    }
    std::vector<Tests> longer;
    for (const Tests& way : ways) {
      for (const ArgumentTest& test : *alternatives) {
        longer.push_back(way);
        longer.back().push_back(test);
      }
    }
    ways = std::move(longer);
  }
  return ways;
}

Result<void> append_rules(const Value& value, const Place& place, std::vector<jail::Rule>& rules) {
  const auto object = object_with(value, place, {"syscalls", "decision", "when", "why"});
  if (!object) return object.error();
  const json::Object& fields = **object;

  auto why = non_empty_text(member(fields, "why"), place.field("why"));
  if (!why) return why.error();
  const auto decided = decision(member(fields, "decision"), place.field("decision"));
  if (!decided) return decided.error();
  const auto ways = combinations(fields, place);
  if (!ways) return ways.error();
  const auto syscalls = non_empty_array(fields, place, "syscalls");
  if (!syscalls) return syscalls.error();
  if ((*syscalls)->size() * ways->size() > max_rules - rules.size()) {
    return place.error("with it the policy has more than 16384 rules");
  }
  for (std::size_t i = 0; i < (*syscalls)->size(); ++i) {
    const auto name = non_empty_text(&(**syscalls)[i], place.field("syscalls").item(i));
    if (!name) return name.error();
    for (const Tests& tests : *ways) rules.push_back({*name, *decided, tests, *why});
  }
  return {};
}

}  // namespace

Result<std::vector<jail::Rule>> rules_from(const json::Object& object, const Place& place,
                                           std::string_view name) {
  const auto list = non_empty_array(object, place, name);
  if (!list) return list.error();
  std::vector<jail::Rule> rules;
  for (std::size_t i = 0; i < (*list)->size(); ++i) {
    const auto appended = append_rules((**list)[i], place.field(name).item(i), rules);
    if (!appended) return appended.error();
  }
  return rules;
}

Result<jail::Policy> policy_from(const Value& value, const Place& place) {
  const auto object = object_with(value, place, {"name", "otherwise", "rules"});
  if (!object) return object.error();
  const json::Object& fields = **object;

  jail::Policy policy;
  auto name = non_empty_text(member(fields, "name"), place.field("name"));
  if (!name) return name.error();
  policy.name = std::move(*name);
  const auto otherwise = decision(member(fields, "otherwise"), place.field("otherwise"));
  if (!otherwise) return otherwise.error();
  if (otherwise->verdict == jail::Verdict::allow) {
    return place.field("otherwise").error("must not be allow: a policy lists what is allowed");
  }
  policy.otherwise = *otherwise;
  auto rules = rules_from(fields, place, "rules");
  if (!rules) return rules.error();
  policy.rules = std::move(*rules);
  return policy;
}

Result<jail::Policy> parse_policy(std::string_view document, std::string_view what) {
  const auto parsed = json::parse(document, what);
  if (!parsed) return parsed.error();
  return policy_from(*parsed, Place(what, {}));
}

}  // namespace runtime::policy
