#include <algorithm>
#include <cstdio>
#include <cstring>

#include "plan/plan.h"

namespace jail {
namespace {

constexpr const char* list_names[] = {"init", "guest"};

const CallList& list_of(const Plan& plan, std::uint32_t phase) {
  return phase == 0 ? plan.init : plan.guest;
}

void append_number(std::string& text, std::size_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  text.append(width > digits.size() ? width - digits.size() : 0, ' ');
  text += digits;
}

// A call's argument in an auditor's terms: the text that it points to, the slot that it comes from,
// or the number.
std::string argument_text(const Plan& plan, const wire::Call& call, int i) {
  const std::int64_t argument = call.argument[i];
  char number[40];
  switch (call.kind[i]) {
    case wire::argument_slot:
      return "$" + std::to_string(argument);
    case wire::argument_address: {
      const auto begin = plan.bytes.begin() + argument;
      const auto end = std::find(begin, plan.bytes.end(), '\0');
      const std::string text(begin, end);
      const bool printable =
          std::all_of(begin, end, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
      if (!printable || (text.empty())) {
        // The argument is a structure, whose first bytes tell two apart.
        std::uint64_t head = 0;
        std::memcpy(&head, plan.bytes.data() + argument, sizeof head);
        std::snprintf(number, sizeof number, "&0x%llx", static_cast<unsigned long long>(head));
        return text.empty() && head == 0 ? "\"\"" : number;
      }
      return "\"" + text.substr(0, text.find('\n')) + (text.find('\n') < text.size() ? "..." : "") +
             "\"";
    }
    default:
      if (argument >= -100 && argument < 10) return std::to_string(argument);
      std::snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(argument));
      return number;
  }
}

std::string arguments_text(const Plan& plan, const wire::Call& call) {
  int count = 6;
  while (count > 0 && call.kind[count - 1] == wire::argument_value &&
         call.argument[count - 1] == 0) {
    --count;
  }
  std::string text = "(";
  for (int i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + argument_text(plan, call, i);
  text += ")";
  if (call.result_slot != wire::slot_none) text += " -> $" + std::to_string(call.result_slot);
  return text;
}

constexpr struct {
  std::uint64_t flag;
  const char* name;
} namespaces[] = {{0x10000000, "user"},    {0x20000000, "pid"}, {0x00020000, "mount"},
                  {0x40000000, "network"}, {0x08000000, "ipc"}, {0x04000000, "uts"},
                  {0x02000000, "cgroup"}};

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text = "clone3 with new namespaces:";
  for (const auto& entry : namespaces) {
    if ((plan.clone_flags & entry.flag) != 0) text += std::string(" ") + entry.name;
  }
  text += '\n';
  for (std::uint32_t phase = 0; phase < 2; ++phase) {
    const CallList& list = list_of(plan, phase);
    for (std::size_t i = 0; i < list.texts.size(); ++i) {
      text += list_names[phase];
      text.append(phase == 0 ? 1 : 0, ' ');
      append_number(text, i + 1, 4);
      const std::string& name = list.texts[i].system_call;
      text += "  " + name;
      text.append(name.size() < 14 ? 14 - name.size() : 0, ' ');
      const std::string& purpose = list.texts[i].purpose;
      text += "  " + purpose;
      text.append(purpose.size() < 44 ? 44 - purpose.size() : 0, ' ');
      text += "  " + arguments_text(plan, list.calls[i]) + '\n';
    }
  }
  return text;
}

std::string describe_call(const Plan& plan, std::uint32_t phase, std::int32_t index) {
  const CallList& list = list_of(plan, phase);
  if (index < 0 || static_cast<std::size_t>(index) >= list.texts.size()) return "fork the guest";
  return list.texts[static_cast<std::size_t>(index)].purpose + " (" +
         list_names[phase > 0 ? 1 : 0] + " step " + std::to_string(index + 1) + " of " +
         std::to_string(list.texts.size()) + ")";
}

}  // namespace jail
