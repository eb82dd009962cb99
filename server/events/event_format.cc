#include "server/events/event_format.h"

#include <algorithm>
#include <charconv>

namespace server {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes the text before the next `separator`, and removes the separator.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trimmed(part);
}

// In thousandths; a text that is not a number from 0 to 1 counts as 0.
int quality_of(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view parameter = take_part(parameters, ';');
    if (!equal_ignoring_case(take_part(parameter, '='), "q")) continue;
    double quality = 0;
    const char* const end = parameter.data() + parameter.size();
    const auto [stop, error] = std::from_chars(parameter.data(), end, quality);
    if (error != std::errc() || stop != end || !(quality >= 0 && quality <= 1)) return 0;
    return static_cast<int>(quality * 1000);
  }
  return 1000;
}

// The quality that the request gives exactly this type; 0 where it gives none.
int quality_of(const RequestHead& head, std::string_view media_type) {
  int best = 0;
  for (const Header& header : head.headers) {
    if (!equal_ignoring_case(header.name, "Accept")) continue;
    std::string_view ranges = header.value;
    while (!ranges.empty()) {
      std::string_view range = take_part(ranges, ',');
      if (!equal_ignoring_case(take_part(range, ';'), media_type)) continue;
      best = std::max(best, quality_of(range));
    }
  }
  return best;
}

}  // namespace

std::string_view media_type_of(EventFormat format) noexcept {
  return format == EventFormat::sse ? "text/event-stream" : "application/x-ndjson";
}

std::optional<EventFormat> event_format_of(const RequestHead& head) {
  std::optional<EventFormat> best;
  int quality = quality_of(head, "application/json");
  for (const EventFormat format : {EventFormat::sse, EventFormat::ndjson}) {
    const int asked = quality_of(head, media_type_of(format));
    if (asked <= quality) continue;
    quality = asked;
    best = format;
  }
  return best;
}

}  // namespace server
