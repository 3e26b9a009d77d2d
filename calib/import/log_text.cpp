#include "calib/import/log_text.hpp"

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#ifdef LOCKSTEP_WITH_ZLIB
#include <zlib.h>

#include <memory>
#endif

namespace lockstep::calib {
namespace {

constexpr std::size_t kLargestLog = std::size_t{1} << 30;

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

#ifdef LOCKSTEP_WITH_ZLIB
std::string uncompressed(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw InputError(path + ": cannot be read");
  std::string text;
  std::string buffer(std::size_t{1} << 20, '\0');
  for (;;) {
    const int count = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    int error = Z_OK;
    gzerror(file.get(), &error);
    // At the end of a file that was cut off there is no error but this one.
    if (count < 0 || error != Z_OK) throw InputError(path + ": damaged, or not compressed by gzip to its end");
    if (count == 0) return text;
    text.append(buffer, 0, static_cast<std::size_t>(count));
    if (text.size() > kLargestLog) throw InputError(path + ": more than 1 GiB when uncompressed");
  }
}
#else
std::string uncompressed(const std::string& path) {
  throw InputError(path + ": compressed by gzip, and Lockstep was built without zlib; allowed: uncompress it first");
}
#endif

}  // namespace

std::string log_text(const std::string& path) {
  std::string text, why;
  if (!try_read_file(path, kLargestLog, text, why)) throw InputError(path + ": cannot be read: " + why);
  if (begins_with(text, "\x1f\x8b")) text = uncompressed(path);
  if (begins_with(text, "\xff\xfe") || begins_with(text, "\xfe\xff"))
    throw InputError(path + ": UTF-16; allowed: UTF-8");
  if (begins_with(text, "\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

}  // namespace lockstep::calib
