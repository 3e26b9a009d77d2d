#pragma once
// A log as it lies on disk: plain, compressed by gzip (traces often are), or with the byte order mark of some editors.
#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::calib {

constexpr int kMostRanks = 1 << 20;  ///< that a log may speak of
constexpr double kMostBytes = 1e15;  ///< of a call, the same

inline constexpr std::size_t kLargestLog = std::size_t{1} << 30;

/// The text of the file, uncompressed, without a byte order mark; bytes that are no UTF-8 become U+FFFD. Throws
/// InputError: cannot be read, more than `most_bytes` (uncompressed too), damaged, UTF-16, or compressed where Lockstep
/// was built without zlib.
std::string log_text(const std::string& path, std::size_t most_bytes = kLargestLog);

/// A line without what launchers write before it (mpirun --tag-output, MPICH's and srun's -l, torchrun, docker compose,
/// kubectl), without colours, and without the carriage return of Windows. What is beyond 8192 characters is cut off: no
/// row of a tool is as long.
std::string plain_line(const std::string& line);
/// Between blanks.
std::vector<std::string> words_of(const std::string& line);

}  // namespace lockstep::calib
