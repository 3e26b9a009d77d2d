#pragma once
// Writes output files as a whole or not at all. The content goes to a temporary file in the target's folder (name +
// ".part" + process + "-" + a number), which is flushed with fsync and renamed. Then the folder is flushed. Readers
// never see half a file, and a full disk leaves the old one. A process that is killed while it writes leaves its
// temporary file.
#include <cstddef>
#include <string>

namespace lockstep {

/// Whether `path` is /dev/null, which discards output.
bool is_null_device(const std::string& path);

/// Replaces the content of `path`. Throws std::runtime_error with the path and the system's reason; then the target is
/// unchanged and the temporary file is removed. A symbolic link is followed. A device or pipe other than /dev/null is
/// refused. A new file has mode 0644 less the umask; an existing one keeps its mode.
void write_file_atomically(const std::string& path, const std::string& content);

/// The file that writing to `path` replaces: the end of a chain of symbolic links, or `path` itself.
std::string end_of_links(const std::string& path);

/// Removes the temporary files that killed writers of `path` left. It keeps those of other processes that still run
/// here. The caller must hold the lock of `path` (file_lock.hpp). Ignores files that cannot be removed. Returns the
/// number removed.
int remove_leftover_files(const std::string& path);

/// Whether a file can be created at `path`: its folder exists and is writable, and the path is no folder. Call it
/// before long work, so that a wrong -o does not cost the result. If false, `why` receives the reason.
bool output_path_is_writable(const std::string& path, std::string& why);

/// Returns the content of a file; throws std::runtime_error with the path and the reason.
std::string read_file(const std::string& path);

/// As read_file(), but returns false, with the reason in `why`, on errors and if the file has more than `limit_bytes`.
bool try_read_file(const std::string& path, std::size_t limit_bytes, std::string& content, std::string& why);

}  // namespace lockstep
