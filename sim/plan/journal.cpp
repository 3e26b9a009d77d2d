#include "sim/plan/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "engine/base/clock.hpp"
#include "engine/base/file_lock.hpp"
#include "engine/base/provenance.hpp"

namespace lockstep::sim::plan {
namespace {

constexpr const char* kSchema = "lockstep/plan-journal/1";
constexpr std::size_t kDigits = 16;  // digits of a line's checksum: a damaged line passes with probability 2^-64

std::string read_all(int fd) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

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

Journal::Journal(const std::string& path, const std::string& digest, bool resume) : path_(path) {
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
  const std::string text = read_all(fd_);
  if (!is_journal(text)) {
    close(fd_);
    throw InputError(path + ": is no journal of a plan; allowed: a new file, or one that plan has written");
  }
  if (resume) keep_valid_lines(text, digest);
  if (!kept_.empty()) return;
  if (ftruncate(fd_, 0) != 0) throw InputError(path + ": cannot be written: " + std::strerror(errno));
  write(header(digest).dump() + "\n");
}

Journal::~Journal() {
  if (fd_ >= 0) close(fd_);
}

// Keeps the lines before the first torn or altered one, and cuts the file there.
void Journal::keep_valid_lines(const std::string& text, const std::string& digest) {
  std::size_t begin = text.find('\n');
  if (text.empty()) return;
  if (begin == std::string::npos || parsed(text.substr(0, begin)) != header(digest)) {
    note_ = path_ + ": made by another plan, other inputs or another version; begun anew";
    return;
  }
  ++begin;
  for (std::size_t end = text.find('\n', begin); end != std::string::npos; end = text.find('\n', begin)) {
    const Json line = parsed(checked(text.substr(begin, end - begin)));
    try {
      kept_[line.at("task").get<std::string>()] = Outcome::from_text(line.at("outcome").dump());
    } catch (const std::exception&) {
      break;
    }
    begin = end + 1;
  }
  if (begin == text.size()) return;
  const bool is_last = text.find('\n', begin) == std::string::npos;
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  note_ = path_ + (is_last ? ": its last line was torn and is dropped"
                           : " line " + std::to_string(line) + ": was altered; it and what follows are dropped");
  if (ftruncate(fd_, static_cast<off_t>(begin)) != 0)
    throw InputError(path_ + ": cannot be written: " + std::strerror(errno));
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
