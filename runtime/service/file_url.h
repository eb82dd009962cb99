// Signed URLs of files: whoever has one may read or write one file of a sandbox, without a key.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/config/secret.h"
#include "runtime/service/field.h"
#include "runtime/service/file_grant.h"

namespace runtime {

// "read", "write"
std::string_view name_of(FileGrant::Operation operation) noexcept;

// 64 hexadecimal digits that nobody can make without `key`, which is not empty: the HMAC-SHA-256 of
// the grant and the sandbox.
std::string signature_of(const FileGrant& grant, std::string_view sandbox_id, const Secret& key);

struct FileUrlRequest {
  FileGrant::Operation operation = FileGrant::Operation::read;
  std::string path;
  std::uint32_t seconds = 3600;  // until it expires
};

std::span<const RequestField<FileUrlRequest>> file_url_fields() noexcept;

// What stands behind the ? of a signed URL, and nothing else does.
struct SignedUrlQuery {
  std::int64_t expires = 0;  // seconds since 1970
  std::string signature;     // of signature_of()
};

inline constexpr std::string_view signature_parameter = "signature";
inline constexpr std::string_view expires_parameter = "expires";

std::span<const RequestField<SignedUrlQuery>> signed_url_query_fields() noexcept;

}  // namespace runtime
