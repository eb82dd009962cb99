// The fields of requests about the input and the signals of a process.
#include <signal.h>
#include <string.h>

#include "runtime/json/base64.h"
#include "runtime/service/common_fields.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/sandbox_requests.h"

namespace runtime {
namespace {

constexpr std::size_t max_encoded_input_bytes = (max_input_bytes + 2) / 3 * 4;  // bytes of base64

constexpr RequestField<InputRequest> input_rows[] = {
    {{.name = "data",
      .type = Field::Type::text,
      .max = max_encoded_input_bytes,
      .unit = "bytes",
      .default_json = R"("")"},
     read_text<&InputRequest::data>},
    {{.name = "encoding",
      .type = Field::Type::text,
      .expected = "utf-8 or base64",
      .words = encoding_words,
      .default_json = R"("utf-8")"},
     read_word<&InputRequest::encoding, encoding_of>},
    {{.name = "close",
      .type = Field::Type::boolean,
      .default_json = "false",
      .description = "No more input follows; a terminal is sent its end-of-file character."},
     read_flag<&InputRequest::close>}};

int signal_named(std::string_view name) {
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* const abbreviation = ::sigabbrev_np(number);
    if (abbreviation != nullptr && name == std::string("SIG") + abbreviation) return number;
  }
  return 0;
}

Complaint read_signal(const Field& field, const json::Value& value, const RequestRules& rules,
                      SignalRequest& request) {
  if (const std::string* const name = value.as_string()) request.number = signal_named(*name);
  if (const std::int64_t* const number = value.as_integer()) {
    request.number = *number >= 1 && *number <= 64 ? static_cast<int>(*number) : 0;
  }
  if (request.number == 0) return expectation(field, rules);
  return std::nullopt;
}

constexpr RequestField<SignalRequest> signal_rows[] = {
    {{.name = "signal",
      .expected = "a name such as SIGTERM, or a number 1 .. 64",
      .schema = {{"oneOf", R"([{"type":"string","pattern":"^SIG[A-Z0-9]+$"},)"
                           R"({"type":"integer","minimum":1,"maximum":64}])"},
                 {"examples", R"(["SIGTERM",15])"}},
      .is_required = true},
     read_signal},
    {{.name = "group",
      .type = Field::Type::boolean,
      .default_json = "false",
      .description = "To all of its process group."},
     read_flag<&SignalRequest::group>}};

}  // namespace

std::span<const RequestField<InputRequest>> process_input_fields() noexcept { return input_rows; }
std::span<const RequestField<SignalRequest>> process_signal_fields() noexcept {
  return signal_rows;
}
std::span<const RequestField<SignalRequest>> job_signal_fields() noexcept {
  return std::span(signal_rows).first(1);
}

std::optional<Refusal> check_input(InputRequest& request) {
  if (request.encoding == OutputEncoding::utf8) return std::nullopt;
  auto bytes = json::decode_base64(request.data);
  if (!bytes) return refuse_request("data: expected padded base64 (RFC 4648)");
  request.data = std::move(*bytes);
  return std::nullopt;
}

}  // namespace runtime
