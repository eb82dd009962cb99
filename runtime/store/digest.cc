#include "runtime/store/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstdlib>

namespace runtime {
namespace {

using Bytes = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

// The algorithm is built in: it fails only where there is no memory for a few hundred bytes.
std::string sha256(std::string_view bytes) {
  Bytes digest;
  unsigned count = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &count, EVP_sha256(), nullptr) != 1) {
    std::abort();
  }
  return hexadecimal({reinterpret_cast<const char*>(digest.data()), count});
}

std::string sha1(std::string_view bytes) {
  Bytes digest;
  unsigned count = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &count, EVP_sha1(), nullptr) != 1) {
    std::abort();
  }
  return {reinterpret_cast<const char*>(digest.data()), count};
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  Bytes digest;
  unsigned count = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text, bytes.size(),
           digest.data(), &count) == nullptr) {
    std::abort();
  }
  return {reinterpret_cast<const char*>(digest.data()), count};
}

std::string keyed_sha256(std::string_view key, std::string_view bytes) {
  return hexadecimal(hmac_sha256(key, bytes));
}

}  // namespace runtime
