// One program for all readers, for clang's libFuzzer. LOCKSTEP_READER names the reader (preset "fuzz"; results/fuzz).
// With LOCKSTEP_SEEDS=FOLDER it first writes that reader's corpus there, as seeds for the fuzzer.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/fuzz/reader.hpp"

namespace {

lockstep::fuzz::Reader chosen() {
  const char* const name = std::getenv("LOCKSTEP_READER");
  try {
    return lockstep::fuzz::reader_named(name == nullptr ? "" : name);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "LOCKSTEP_READER: %s\n", error.what());
    std::exit(2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const folder = std::getenv("LOCKSTEP_SEEDS");
  if (folder == nullptr) return 0;
  const lockstep::fuzz::Reader reader = chosen();
  int number = 0;
  for (const std::string& content : lockstep::fuzz::corpus_of(reader))
    std::ofstream(std::string(folder) + "/seed-" + std::to_string(number++), std::ios::binary) << content;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::Reader reader = chosen();
  const lockstep::fuzz::Verdict verdict =
      lockstep::fuzz::judge(reader, std::string(reinterpret_cast<const char*>(data), size));
  if (verdict.broken.empty()) return 0;
  std::fprintf(stderr, "%s: %s\n", verdict.broken.c_str(), verdict.message.c_str());
  std::abort();
}
