// The SHA-256 of the page gives the same digests as libcrypto.
#include <cstdint>

#include "engine/base/provenance.hpp"
#include "tests/catch.hpp"

#define sha256_hex portable_sha256_hex
#include "sim/page/sha256.cpp"
#undef sha256_hex

namespace lockstep {

TEST_CASE("the page's SHA-256 of every length around a block is libcrypto's") {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    CHECK(portable_sha256_hex(bytes) == sha256_hex(bytes));
    bytes += static_cast<char>(length * 37);
  }
}

}  // namespace lockstep
