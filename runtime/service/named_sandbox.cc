#include "runtime/service/named_sandbox.h"

#include <chrono>
#include <string>
#include <utility>
#include <variant>

namespace runtime {
namespace {

constexpr std::size_t max_template_bytes = 24;  // bytes in a name, which has at most 50
constexpr int max_tries = 200;                  // enough for the sandboxes made in one second

// The part of a template's name that a sandbox's name may contain.
std::string word_of(const std::string& template_name) {
  std::string word = template_name.empty() ? "none" : template_name.substr(0, max_template_bytes);
  for (char& letter : word) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    const bool is_fine = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (!is_fine) letter = '-';
  }
  return word;
}

}  // namespace

boost::asio::awaitable<Sandboxes::Or<Sandboxes::Found>> create_named(Sandboxes& sandboxes,
                                                                     Caller caller,
                                                                     SandboxRequest request) {
  if (!request.name.empty()) {
    co_return co_await sandboxes.create(std::move(caller), std::move(request));
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const std::string name =
      "sandbox-" + word_of(request.template_name) + "-" + std::to_string(seconds);
  for (int number = 1;; ++number) {
    SandboxRequest named = request;
    named.name = number == 1 ? name : name + "-" + std::to_string(number);
    auto made = co_await sandboxes.create(caller, std::move(named));
    const auto* const refusal = std::get_if<Refusal>(&made);
    const bool is_taken = refusal != nullptr && refusal->code == RefusalCode::name_taken;
    if (!is_taken || number == max_tries) co_return made;
  }
}

}  // namespace runtime
