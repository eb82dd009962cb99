#include "runtime/store/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstdlib>

#include "runtime/loader/late_library.h"

namespace runtime {
namespace {

// libcrypto's functions, by their own names.
struct Crypto {
  LateLibrary library{"libcrypto.so.3", "install OpenSSL 3 (Debian: libssl3)"};
  decltype(&::EVP_Digest) EVP_Digest = library.function("EVP_Digest");
  decltype(&::EVP_sha1) EVP_sha1 = library.function("EVP_sha1");
  decltype(&::EVP_MD_fetch) EVP_MD_fetch = library.function("EVP_MD_fetch");
  decltype(&::HMAC) HMAC = library.function("HMAC");
  // libcrypto looks an algorithm that is not fetched up each time, which takes longer than the hash
  // of a short program.
  const EVP_MD* sha256 = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
};

const Crypto& crypto() {
  static const Crypto loaded;
  return loaded;
}

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

std::string bytes_of(const Bytes& digest, unsigned count) {
  return {reinterpret_cast<const char*>(digest.data()), count};
}

// The algorithms are built in: they fail only where there is no memory for a few hundred bytes.
std::string digest_by(const EVP_MD* algorithm, std::string_view bytes) {
  Bytes digest;
  unsigned count = 0;
  if (crypto().EVP_Digest(bytes.data(), bytes.size(), digest.data(), &count, algorithm, nullptr) !=
      1) {
    std::abort();
  }
  return bytes_of(digest, count);
}

}  // namespace

std::string sha256(std::string_view bytes) {
  return hexadecimal(digest_by(crypto().sha256, bytes));
}

std::string sha1(std::string_view bytes) { return digest_by(crypto().EVP_sha1(), bytes); }

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  Bytes digest;
  unsigned count = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
  if (crypto().HMAC(crypto().sha256, key.data(), static_cast<int>(key.size()), text, bytes.size(),
                    digest.data(), &count) == nullptr) {
    std::abort();
  }
  return bytes_of(digest, count);
}

std::string keyed_sha256(std::string_view key, std::string_view bytes) {
  return hexadecimal(hmac_sha256(key, bytes));
}

}  // namespace runtime
