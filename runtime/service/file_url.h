// Signed URLs of files: the holder of one may read or write one file of a sandbox, without a key.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/config/secret.h"
#include "runtime/service/field.h"
#include "runtime/service/file_grant.h"

namespace runtime {

// Returns "read" or "write".
std::string_view name_of(FileGrant::Operation operation) noexcept;

// The HMAC-SHA-256 of the grant and the sandbox: 64 hexadecimal digits that nobody can compute
// without `key`, which must not be empty.
std::string signature_of(const FileGrant& grant, std::string_view sandbox_id, const Secret& key);

struct FileUrlRequest {
  FileGrant::Operation operation = FileGrant::Operation::read;
  std::string path;
  std::uint32_t seconds = 3600;  // until it expires
};

std::span<const RequestField<FileUrlRequest>> file_url_fields() noexcept;

// The whole query of a signed URL.
struct SignedUrlQuery {
  std::int64_t expires = 0;  // seconds since 1970
  std::string signature;     // as signature_of() returns it
};

inline constexpr std::string_view signature_parameter = "signature";
inline constexpr std::string_view expires_parameter = "expires";

std::span<const RequestField<SignedUrlQuery>> signed_url_query_fields() noexcept;

}  // namespace runtime
