#pragma once
// Reads a log from disk: plain, compressed by gzip (as traces often are), or with the byte order mark of some editors.
#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::calib {

constexpr int kMostRanks = 1 << 20;  ///< the largest number of ranks that a log may have
constexpr double kMostBytes = 1e15;  ///< the largest size of an operation that a log may have

inline constexpr std::size_t kLargestLog = std::size_t{1} << 30;

/// The bytes of the file, uncompressed. Throws InputError as log_text() does, except for the text's encoding.
std::string log_bytes(const std::string& path, std::size_t most_bytes = kLargestLog);
/// The bytes of `path` as text: see log_text().
std::string text_from(std::string bytes, const std::string& path);

/// The text of the file, uncompressed and without a byte order mark; bytes that are not UTF-8 become U+FFFD. Throws
/// InputError if it cannot be read, exceeds `most_bytes` (also uncompressed), is damaged or UTF-16, or is compressed
/// and this build has no zlib.
std::string log_text(const std::string& path, std::size_t most_bytes = kLargestLog);

/// A line without the prefix of launchers (mpirun --tag-output, MPICH's and srun's -l, torchrun, docker compose,
/// kubectl), without colours, and without the carriage return of Windows. Text beyond 8192 characters is cut off,
/// because no row of a tool is that long.
std::string plain_line(const std::string& line);
/// Splits a line at blanks.
std::vector<std::string> words_of(const std::string& line);

}  // namespace lockstep::calib
