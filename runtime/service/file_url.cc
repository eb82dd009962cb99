#include "runtime/service/file_url.h"

#include <algorithm>
#include <vector>

#include "runtime/service/field_readers.h"
#include "runtime/store/digest.h"

namespace runtime {
namespace {

using Operation = FileGrant::Operation;

constexpr std::size_t max_signed_path_bytes = 4096;
constexpr std::uint32_t max_url_seconds = 7 * 24 * 3600;
constexpr double last_second = 7'289'654'400;  // in the year 2201, within the range of every clock
constexpr std::size_t signature_digits = 64;

std::vector<std::string> operation_words(const RequestRules&) { return {"read", "write"}; }

Operation operation_of(const std::string& word) {
  return word == "write" ? Operation::write : Operation::read;
}

// Clients resolve . and .. before they send a request, which changes the path.
bool has_dots(std::string_view path) {
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    if (segment == "." || segment == "..") return true;
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
  }
  return false;
}

bool is_signable_path(std::string_view text) {
  return text.starts_with('/') && text.size() <= max_signed_path_bytes && !has_nul(text) &&
         !has_dots(text);
}

constexpr RequestField<FileUrlRequest> url_rows[] = {
    {{.name = "path",
      .type = Field::Type::text,
      .min = 1,
      .max = max_signed_path_bytes,
      .expected = "an absolute path without . and .. in it",
      .description = "Of the file.",
      .is_required = true},
     read_text_that<&FileUrlRequest::path, is_signable_path>},
    {{.name = "operation",
      .type = Field::Type::text,
      .expected = "read or write",
      .words = operation_words,
      .default_json = R"("read")",
      .description = "What the URL is for: GET and HEAD of the file's bytes, or PUT."},
     read_word<&FileUrlRequest::operation, operation_of>},
    {{.name = "expires_in_seconds",
      .type = Field::Type::integer,
      .min = 1,
      .max = max_url_seconds,
      .default_json = "3600",
      .description = "It ends with the sandbox all the same."},
     read_integer<&FileUrlRequest::seconds>}};

constexpr RequestField<SignedUrlQuery> signed_url_rows[] = {
    {{.name = expires_parameter,
      .type = Field::Type::integer,
      .min = 0,
      .max = last_second,
      .description = "Of a signed URL, in seconds since 1970. It stands beside `signature` alone.",
      .is_required = true},
     read_integer<&SignedUrlQuery::expires>},
    {{.name = signature_parameter,
      .type = Field::Type::text,
      .min = signature_digits,
      .max = signature_digits,
      .unit = "hexadecimal digits",
      .description = "Of a signed URL, as `/sign` made it.",
      .is_required = true},
     read_text<&SignedUrlQuery::signature>}};

}  // namespace

std::string_view name_of(Operation operation) noexcept {
  return operation == Operation::write ? "write" : "read";
}

// The path comes last: it may contain line feeds, the other parts cannot.
std::string signature_of(const FileGrant& grant, std::string_view sandbox_id, const Secret& key) {
  std::string text(name_of(grant.operation));
  text += "\n" + std::to_string(grant.expires.time_since_epoch().count()) + "\n";
  text += sandbox_id;
  text += "\n" + grant.path;
  return keyed_sha256(key.reveal(), text);
}

std::span<const RequestField<FileUrlRequest>> file_url_fields() noexcept { return url_rows; }
std::span<const RequestField<SignedUrlQuery>> signed_url_query_fields() noexcept {
  return signed_url_rows;
}

}  // namespace runtime
