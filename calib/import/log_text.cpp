#include "calib/import/log_text.hpp"

#include <regex>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#ifdef LOCKSTEP_WITH_ZLIB
#include <zlib.h>

#include <memory>
#endif

namespace lockstep::calib {
namespace {

constexpr std::size_t kLargestLog = std::size_t{1} << 30;
constexpr std::size_t kLongestLine = 8192;  // no row of a tool is as long; regular expressions recurse over a line
constexpr std::size_t kLongestLabel = 256;

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

std::string plain_line(const std::string& line) {
  static const std::regex colours("\x1b\\[[0-9;]*[A-Za-z]");
  // mpirun --tag-output "[1,0]<stdout>:" and, from Open MPI 5 on, "[prterun-node-1@1,0]<stdout>:"; MPICH's -l "[0] ";
  // srun -l "0: "; torchrun "[default0]:"; kubectl logs --prefix "[pod/nccl-0/main] ", --timestamps a moment, or both;
  // docker compose "nccl-1  | ".
  static const std::regex labels(
      R"(\s*(\[pod/[^\]\s]+\]\s)?(\d{4}-\d\d-\d\dT[\d:.]+Z\s)?)"
      R"((\[([^\]@]*@)?\d+,\d+\]<std(out|err)>:?|\[\d+\](?=\s)|\d+:(?=\s|#)|\[[a-z]*\d+\]:|[\w.-]+\s+\|(?=\s))?\s*)");
  std::string plain = std::regex_replace(line.substr(0, kLongestLine), colours, "");
  if (!plain.empty() && plain.back() == '\r') plain.pop_back();
  const std::string head = plain.substr(0, kLongestLabel);
  std::smatch label;
  if (std::regex_search(head, label, labels, std::regex_constants::match_continuous))
    plain.erase(0, static_cast<std::size_t>(label.length()));
  return plain;
}

}  // namespace lockstep::calib
