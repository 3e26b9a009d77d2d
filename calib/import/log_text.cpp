#include "calib/import/log_text.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <regex>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#ifdef LOCKSTEP_WITH_ZLIB
#include <zlib.h>

#include <memory>
#endif

namespace lockstep::calib {
namespace {

constexpr std::size_t kLongestLine = 8192;  // no row of a tool is as long; regular expressions recurse over a line
constexpr std::size_t kLongestLabel = 256;

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

#ifdef LOCKSTEP_WITH_ZLIB
// Passes the file's content to `take` in pieces.
void uncompress(const std::string& path, const std::function<void(const char*, std::size_t)>& take) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw InputError(path + ": cannot be read");
  std::string buffer(std::size_t{1} << 20, '\0');
  for (;;) {
    const int count = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    int error = Z_OK;
    gzerror(file.get(), &error);
    // gzread() ends without an error code if the file is truncated; only gzerror() reports it.
    if (count < 0 || error != Z_OK) throw InputError(path + ": damaged, or not compressed by gzip to its end");
    if (count == 0) return;
    take(buffer.data(), static_cast<std::size_t>(count));
  }
}

// Counted before memory is taken: a small file may become any size.
std::string uncompressed(const std::string& path, std::size_t most_bytes) {
  std::size_t bytes = 0;
  uncompress(path, [&](const char*, std::size_t count) {
    bytes += count;
    if (bytes > most_bytes)
      throw InputError(path + ": more than " + format_bytes(double(most_bytes)) + " when uncompressed");
  });
  std::string text;
  text.reserve(bytes);
  uncompress(path, [&](const char* data, std::size_t count) { text.append(data, count); });
  return text;
}
#else
std::string uncompressed(const std::string& path, std::size_t) {
  throw InputError(path + ": compressed by gzip, and Lockstep was built without zlib; allowed: uncompress it first");
}
#endif

/// Bytes of the character that begins at `at` in valid UTF-8 (RFC 3629); 0: none does.
std::size_t character_at(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at), second = byte(at + 1);
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xC2 ? 0
                            : first < 0xE0 ? 2
                            : first < 0xF0 ? 3
                            : first < 0xF5 ? 4
                                           : 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_no_character = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return is_overlong || is_no_character ? 0 : bytes;
}

// Names in logs become names in JSON, which is UTF-8 throughout.
void replace_what_is_no_utf8(std::string& text) {
  std::size_t at = 0;
  while (at < text.size() && character_at(text, at) > 0) at += character_at(text, at);
  if (at == text.size()) return;
  std::string valid = text.substr(0, at);
  while (at < text.size()) {
    const std::size_t bytes = character_at(text, at);
    valid += bytes > 0 ? text.substr(at, bytes) : "\xEF\xBF\xBD";
    at += std::max<std::size_t>(1, bytes);
  }
  text = std::move(valid);
}

std::string without_colours(const std::string& line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line.compare(at, 2, "\x1b[") == 0) {
      const std::size_t end = line.find_first_not_of("0123456789;", at + 2);
      if (end != std::string::npos && std::isalpha(static_cast<unsigned char>(line[end]))) {
        at = end;
        continue;
      }
    }
    plain += line[at];
  }
  return plain;
}

// MPICH puts its label before each piece that a program writes, so that a row of numbers has it several times:
// "[0]  1048576  262144  float  sum  -1[0]  1626.5  0.64  1.24  0[0]  2302.3  0.46  0.87  0".
std::string without_labels_of_pieces(std::string row, const std::string& label) {
  const std::size_t first = row.find_first_not_of(" \t"), open = label.find('['), close = label.find(']');
  const bool is_row = first != std::string::npos && std::isdigit(static_cast<unsigned char>(row[first])) != 0;
  if (!is_row || open == std::string::npos || close == std::string::npos || row.find("NCCL") != std::string::npos)
    return row;
  const std::string piece = label.substr(open, close - open + 1);
  for (std::size_t at = row.find(piece); at != std::string::npos; at = row.find(piece, at))
    row.replace(at, piece.size(), " ");
  return row;
}

}  // namespace

std::string log_bytes(const std::string& path, std::size_t most_bytes) {
  std::string bytes, why;
  if (!try_read_file(path, most_bytes, bytes, why)) throw InputError(path + ": cannot be read: " + why);
  if (begins_with(bytes, "\x1f\x8b")) bytes = uncompressed(path, most_bytes);
  return bytes;
}

std::string text_from(std::string text, const std::string& path) {
  if (begins_with(text, "\xff\xfe") || begins_with(text, "\xfe\xff"))
    throw InputError(path + ": UTF-16; allowed: UTF-8");
  if (begins_with(text, "\xef\xbb\xbf")) text.erase(0, 3);
  replace_what_is_no_utf8(text);
  return text;
}

std::string log_text(const std::string& path, std::size_t most_bytes) {
  return text_from(log_bytes(path, most_bytes), path);
}

std::string plain_line(const std::string& line) {
  // mpirun --tag-output "[1,0]<stdout>:" and, from Open MPI 5 on, "[prterun-node-1@1,0]<stdout>:"; MPICH's -l "[0] ";
  // srun -l "0: "; torchrun "[default0]:"; kubectl logs --prefix "[pod/nccl-0/main] ", --timestamps a moment, or both;
  // docker compose "nccl-1  | ".
  static const std::regex labels(
      R"(\s*(\[pod/[^\]\s]+\]\s)?(\d{4}-\d\d-\d\dT[\d:.]+Z\s)?)"
      R"((\[([^\]@]*@)?\d+,\d+\]<std(out|err)>:?|\[\d+\](?=\s)|\d+:(?=\s|#)|\[[a-z]*\d+\]:|[\w.-]+\s+\|(?=\s))?\s*)");
  std::string plain = without_colours(line.substr(0, kLongestLine));
  if (!plain.empty() && plain.back() == '\r') plain.pop_back();
  const std::string head = plain.substr(0, kLongestLabel);
  std::smatch label;
  if (!std::regex_search(head, label, labels, std::regex_constants::match_continuous)) return plain;
  plain.erase(0, static_cast<std::size_t>(label.length()));
  return without_labels_of_pieces(plain, label.str());
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace lockstep::calib
