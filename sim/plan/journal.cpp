#include "sim/plan/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "engine/base/clock.hpp"
#include "engine/base/file_lock.hpp"
#include "engine/base/provenance.hpp"

namespace lockstep::sim::plan {
namespace {

constexpr const char* kSchema = "lockstep/plan-journal/1";
constexpr std::size_t kDigits = 16;  // digits of a line's checksum: a damaged line passes with probability 2^-64

// Reads a file line by line from its beginning.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) { lseek(fd, 0, SEEK_SET); }

  /// Returns false at the end of the file. `is_whole` is false for a last line without its line end.
  bool next(std::string& line, bool& is_whole) {
    line.clear();
    for (;;) {
      const std::size_t end = text_.find('\n', begin_);
      is_whole = end != std::string::npos;
      line.append(text_, begin_, is_whole ? end - begin_ : std::string::npos);
      begin_ = is_whole ? end + 1 : text_.size();
      if (is_whole) return true;
      if (!fill()) return !line.empty();
    }
  }

 private:
  bool fill() {
    text_.resize(1 << 16);
    ssize_t n = -1;
    do n = read(fd_, text_.data(), text_.size());
    while (n < 0 && errno == EINTR);
    // Without this error, the lines behind would count as missing and be cut off.
    if (n < 0) throw std::runtime_error(std::string("the journal cannot be read: ") + std::strerror(errno));
    text_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    begin_ = 0;
    return n > 0;
  }

  int fd_;
  std::string text_;
  std::size_t begin_ = 0;
};

Json parsed(const std::string& line) {
  return Json::parse(line, nullptr, false);
}

Json header(const std::string& digest) {
  return Json{{"schema", kSchema}, {"digest", digest}};
}

// True if the text begins like any plan's journal, even if a crash cut its first line.
bool is_journal(const std::string& text) {
  const std::string first = header("").dump(), start = first.substr(0, first.find(kSchema) + std::strlen(kSchema));
  const std::size_t length = std::min(text.size(), start.size());
  return text.compare(0, length, start, 0, length) == 0;
}

// Returns the object of a line; empty if its checksum does not match.
std::string checked(const std::string& line) {
  const std::size_t tail = journal_line("{}").size() - 2;  // of "{" and the line's end, outside the checksum
  if (line.size() < tail) return "";
  const std::string object = line.substr(0, line.size() - tail) + "}";
  return journal_line(object) == line + "\n" ? object : "";
}

}  // namespace

std::string journal_line(const std::string& object) {
  const std::string all_but_end = object.substr(0, object.rfind('}'));
  return all_but_end + ",\"sha256\":\"" + sha256_hex(all_but_end).substr(0, kDigits) + "\"}\n";
}

Journal::Journal(const std::string& path, const std::string& digest, bool resume)
    : path_(path), folder_(std::filesystem::absolute(path).parent_path().string()), kept_(folder_) {
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0644);
  if (fd_ < 0) throw InputError(path + ": cannot be written: " + std::strerror(errno));
  struct stat info;
  if (fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd_);
    throw InputError(path + ": cannot be written: not a regular file");
  }
  try {
    lock_or_refuse(fd_, path);
  } catch (...) {
    close(fd_);
    throw;
  }
  std::string first;
  bool is_whole = false;
  Lines(fd_).next(first, is_whole);
  if (!is_journal(first + (is_whole ? "\n" : ""))) {
    close(fd_);
    throw InputError(path + ": is no journal of a plan; allowed: a new file, or one that plan has written");
  }
  if (resume) keep_valid_lines(digest);
  if (!kept_.empty()) return;
  if (ftruncate(fd_, 0) != 0) throw InputError(path + ": cannot be written: " + std::strerror(errno));
  write(header(digest).dump() + "\n");
}

Journal::~Journal() {
  if (fd_ >= 0) close(fd_);
}

// Keeps the lines before the first torn or altered one, and cuts the file there.
void Journal::keep_valid_lines(const std::string& digest) {
  Lines lines(fd_);
  std::string line;
  bool is_whole = false;
  if (!lines.next(line, is_whole)) return;
  if (!is_whole || parsed(line) != header(digest)) {
    note_ = path_ + ": made by another plan, other inputs or another version; begun anew";
    return;
  }
  std::size_t valid = line.size() + 1, number = 1;
  for (;;) {
    if (!lines.next(line, is_whole)) return;
    ++number;
    if (!is_whole || !keep(line)) break;
    valid += line.size() + 1;
  }
  const bool is_last = !is_whole;
  note_ = path_ + (is_last ? ": its last line was torn and is dropped"
                           : " line " + std::to_string(number) + ": was altered; it and what follows are dropped");
  if (ftruncate(fd_, static_cast<off_t>(valid)) != 0)
    throw InputError(path_ + ": cannot be written: " + std::strerror(errno));
}

// Returns false for an altered line.
bool Journal::keep(const std::string& line) {
  const Json object = parsed(checked(line));
  try {
    kept_.set(object.at("task").get<std::string>(), fields_from_json<Outcome>(object.at("outcome")));
  } catch (const Json::exception&) {
    return false;
  } catch (const InputError&) {
    return false;
  }
  return true;
}

void Journal::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error(path_ + ": cannot be written: " + std::strerror(errno));
    done += static_cast<std::size_t>(n);
  }
}

void Journal::add(const std::string& key, const Outcome& outcome) {
  if (fd_ < 0) return;
  write(journal_line("{\"task\":" + Json(key).dump() + ",\"outcome\":" + outcome.text() + "}"));
  if (steady_now_s() - flushed_s_ >= 1) flush();
}

void Journal::flush() {
  if (fd_ < 0) return;
  fsync(fd_);
  flushed_s_ = steady_now_s();
}

}  // namespace lockstep::sim::plan
