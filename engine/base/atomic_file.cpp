#include "engine/base/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/base/atomic_writer.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) {
  return std::strerror(error);
}

/// A file descriptor that is closed at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  bool close() {  // false: a delayed write failed (NFS)
    const int number = number_;
    number_ = -1;
    return ::close(number) == 0;
  }

 private:
  int number_;
};

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

constexpr const char* kNullDevice = "/dev/null";
constexpr std::size_t kLongestEnding = 32;  // bytes that a temporary file's name adds to its target's
constexpr int kMostLinks = 40;              // limit of a chain of links, as in Linux

/// Whether the file system allows the name of a temporary file of `path`.
bool is_name_short_enough(const std::string& path) {
  const long most = ::pathconf(folder_of(path).c_str(), _PC_NAME_MAX);
  return most < 0 || fs::path(path).filename().string().size() + kLongestEnding <= static_cast<std::size_t>(most);
}

/// The reason why `path` cannot be replaced by a regular file; empty if none is found.
std::string refusal(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) return reason(path.empty() ? ENOENT : EINVAL);
  if (is_null_device(path)) return "";
  if (!is_name_short_enough(end_of_links(path))) return reason(ENAMETOOLONG);
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return reason(EISDIR);
    if (!S_ISREG(info.st_mode)) return "not a regular file";
    if ((info.st_mode & 0222) == 0) return "the file is read-only";  // rename() needs only the folder's permission
  } else if (path.back() == '/') {
    return reason(EISDIR);
  } else if (errno != ENOENT) {
    return reason(errno);
  }
  return ::access(folder_of(end_of_links(path)).c_str(), W_OK | X_OK) == 0 ? "" : reason(errno);
}

constexpr const char* kPart = ".part";

/// The id of the process that writes `part`, read from its name; 0 if `part` is no temporary file of `name`.
long writer_of(const std::string& part, const std::string& name) {
  const std::string start = name + kPart;
  if (part.compare(0, start.size(), start) != 0) return 0;
  const std::size_t dash = part.find('-', start.size());
  if (dash == std::string::npos) return 0;
  const std::string process = part.substr(start.size(), dash - start.size()), attempt = part.substr(dash + 1);
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  return is_number(process) && is_number(attempt) ? std::stol(process) : 0;
}

/// A zombie has ended too: in a container it may never be reaped.
bool has_ended(long process) {
  if (::kill(static_cast<pid_t>(process), 0) != 0) return errno == ESRCH;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");  // 4711 (name) Z ...
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") Z") == 0;
}

/// Creates a new temporary file in the folder of `path` and returns its name in `name`; -1 with errno if that fails.
int create_beside(const std::string& path, std::string& name) {
  for (int attempt = 0;; ++attempt) {
    name = path + kPart + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

bool write_all(int file, std::string_view content) {
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t written = ::write(file, content.data() + done, content.size() - done);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  return true;
}

/// The file already has its new content. Some file systems cannot flush a folder, so errors are ignored.
void flush_folder(const std::string& folder) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() >= 0) ::fsync(directory.number());
}

}  // namespace

AtomicWriter::AtomicWriter(const std::string& path) : path_(path) {
  const std::string refused = refusal(path);
  if (!refused.empty()) throw std::runtime_error(path + ": cannot write: " + refused);
  target_ = end_of_links(path);
  if (is_null_device(path)) {
    file_ = ::open(kNullDevice, O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail(errno);
    return;
  }
  file_ = create_beside(target_, part_);
  if (file_ < 0) fail(errno);
}

AtomicWriter::~AtomicWriter() {
  if (file_ < 0) return;
  ::close(file_);
  if (!part_.empty()) ::unlink(part_.c_str());
}

void AtomicWriter::write(std::string_view text) {
  if (!write_all(file_, text)) fail(errno);
}

void AtomicWriter::finish() {
  if (part_.empty()) return;  // /dev/null has no temporary file; the destructor closes it
  struct stat old;
  if (::stat(target_.c_str(), &old) == 0 && ::fchmod(file_, old.st_mode & 0777) != 0) fail(errno);
  if (::fsync(file_) != 0) fail(errno);
  Descriptor closed(std::exchange(file_, -1));
  if (!closed.close() || ::rename(part_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    ::unlink(part_.c_str());
    fail(error);
  }
  flush_folder(folder_of(target_));
}

void AtomicWriter::fail(int error) const {
  throw std::runtime_error(path_ + ": cannot write: " + reason(error));
}

bool is_null_device(const std::string& path) {
  struct stat info, null;
  return ::stat(path.c_str(), &info) == 0 && ::stat(kNullDevice, &null) == 0 && S_ISCHR(info.st_mode) &&
         info.st_rdev == null.st_rdev;
}

void write_file_atomically(const std::string& path, const std::string& content) {
  AtomicWriter file(path);
  file.write(content);
  file.finish();
}

std::string end_of_links(const std::string& path) {
  std::error_code error;
  fs::path end = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(end, error); ++i) {
    const fs::path next = fs::read_symlink(end, error);
    if (error) return path;
    end = end.parent_path() / next;  // an absolute `next` replaces the folder
  }
  return end.string();
}

int remove_leftover_files(const std::string& path) {
  const std::string target = end_of_links(path);
  const std::string name = fs::path(target).filename().string();
  std::vector<fs::path> left;
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(target), error), end; !error && entry != end; entry.increment(error)) {
    const long process = writer_of(entry->path().filename().string(), name);
    if (process <= 0) continue;
    // Process ids are reused, often in containers. A file with this process's id was left by an earlier process.
    if (has_ended(process) || process == ::getpid()) left.push_back(entry->path());
  }
  int removed = 0;
  for (const fs::path& part : left) removed += ::unlink(part.c_str()) == 0 ? 1 : 0;
  return removed;
}

bool output_path_is_writable(const std::string& path, std::string& why) {
  why = refusal(path);
  return why.empty();
}

bool try_read_file(const std::string& path, std::size_t limit_bytes, std::string& content, std::string& why) {
  content.clear();
  const auto refuse = [&why](const std::string& reason_text) {
    why = reason_text;
    return false;
  };
  if (path.find('\0') != std::string::npos) return refuse(reason(EINVAL));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return refuse(reason(errno));
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return refuse(reason(errno));
    if (got > 0) content.append(buffer, static_cast<std::size_t>(got));
    if (content.size() > limit_bytes) return refuse("larger than " + std::to_string(limit_bytes) + " bytes");
  }
}

std::string read_file(const std::string& path) {
  std::string content;
  std::string why;
  if (!try_read_file(path, std::numeric_limits<std::size_t>::max(), content, why)) {
    throw std::runtime_error(path + ": cannot read: " + why);
  }
  return content;
}

}  // namespace lockstep
