// For clang's libFuzzer, one program for all readers: LOCKSTEP_READER names the one (preset "fuzz"; results/fuzz).
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/reader.hpp"

namespace {

lockstep::fuzz::Reader chosen() {
  const char* const name = std::getenv("LOCKSTEP_READER");
  return lockstep::fuzz::reader_named(name == nullptr ? "" : name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::Reader reader = chosen();
  const lockstep::fuzz::Verdict verdict =
      lockstep::fuzz::judge(reader, std::string(reinterpret_cast<const char*>(data), size));
  if (verdict.broken.empty()) return 0;
  std::fprintf(stderr, "%s: %s\n", verdict.broken.c_str(), verdict.message.c_str());
  std::abort();
}
