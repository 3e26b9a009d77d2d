#pragma once
// Output files appear whole or not at all: written beside the target (same folder, name + ".part" + process + "-" + a
// number), flushed to disk with fsync, then renamed; the folder is fsynced too. A reader never sees half a file, a full
// disk leaves the old one. A process that is killed while it writes leaves its part.
#include <cstddef>
#include <string>

namespace lockstep {

/// Whether `path` is /dev/null, an output that takes everything and keeps nothing.
bool is_null_device(const std::string& path);

/// Replaces `path` by `content`. Throws std::runtime_error naming the path and the system's reason; then no file is
/// touched and the temporary file is removed. A symbolic link is followed; a device or pipe is refused, but for /dev/null.
/// A new file has mode 0644 less the umask, an existing one keeps its mode.
void write_file_atomically(const std::string& path, const std::string& content);

/// What a file written to `path` replaces: the end of a chain of symbolic links, or `path` itself.
std::string end_of_links(const std::string& path);

/// Removes the parts that killed writers of `path` have left: files of exactly its name and ending whose process is no
/// other one that runs here. For those whose lock (file_lock.hpp) lets nobody else write `path`; a part that cannot be
/// removed stays. Returns how many went.
int remove_left_parts(const std::string& path);

/// True when a file could be created at `path` (its folder exists and is writable, the path is no folder): asked before
/// long work, so that a prediction is not lost to a bad -o. `why` receives the reason otherwise.
bool output_path_is_writable(const std::string& path, std::string& why);

/// Whole content of a file; throws std::runtime_error naming the path and the reason.
std::string read_file(const std::string& path);

/// The same without throwing: false with the reason in `why`, also when there are more than `limit_bytes`.
bool try_read_file(const std::string& path, std::size_t limit_bytes, std::string& content, std::string& why);

}  // namespace lockstep
