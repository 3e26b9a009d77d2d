#include <openssl/evp.h>

#include <stdexcept>

#include "engine/base/provenance.hpp"

namespace lockstep {

std::string sha256_hex(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("libcrypto cannot compute SHA-256");
  }
  static const char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    hex += digits[digest[i] / 16];
    hex += digits[digest[i] % 16];
  }
  return hex;
}

}  // namespace lockstep
