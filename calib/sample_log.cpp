#include "calib/sample_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "calib/profile.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/file_lock.hpp"
#include "engine/base/statistics.hpp"

namespace lockstep::calib {
namespace {

constexpr double kLockPatience_s = 1;               // a run that was just killed may hold it for a moment
constexpr double kLargestWhole = 9007199254740992;  // 2^53: below it every whole number is a double

void make_whole(nlohmann::json& json) {
  if (json.is_structured())
    for (nlohmann::json& item : json) make_whole(item);
  if (!json.is_number_float()) return;
  const double value = json.get<double>();
  if (std::abs(value) < kLargestWhole && value == std::floor(value)) json = static_cast<std::int64_t>(value);
}

// Members in alphabetical order, at every level.
nlohmann::json canonical(const Json& json) {
  nlohmann::json sorted = nlohmann::json::parse(json.dump());
  make_whole(sorted);
  return sorted;
}

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

double Sample::median_s() const {
  return median(seconds);
}

std::string Sample::id() const {
  return canonical_id(probe, key);
}

std::string canonical_id(const std::string& probe, const Json& key) {
  return probe + " " + canonical(key).dump();
}

Json to_json(const Sample& sample) {
  Json json{{"probe", sample.probe}, {"key", sample.key}, {"seconds", sample.seconds}, {"kind", sample.kind}};
  if (!sample.source.empty()) json["source"] = sample.source;
  if (!sample.flags.empty()) json["flags"] = sample.flags;
  return json;
}

void check_key(const JsonNode& key) {
  if (!key.is_object()) key.fail("is not an object", "allowed: what was measured, as {\"name\": value, ...}");
  for (const char* name : {"learners", "devices", "ranks", "nodes"})
    if (const auto count = key.find(name)) count->integer(1, 1 << 20);
  for (const char* name : {"model", "precision", "layer", "pass", "operation", "library", "kernel", "input", "beside"})
    if (const auto text = key.find(name)) text->text();
  if (const auto in_place = key.find("in_place")) in_place->boolean();
}

Sample sample_from_json(const JsonNode& node) {
  node.keys({"probe", "key", "seconds", "kind", "source", "flags"});
  Sample sample;
  sample.probe = node.at("probe").choice(probes());
  const JsonNode key = node.at("key");
  check_key(key);
  key.at(variable_of(sample.probe)).number({0, 1e18});
  sample.key = key.json();
  for (const JsonNode& item : node.at("seconds").items()) sample.seconds.push_back(item.number({0, 1e9}));
  if (sample.seconds.empty()) node.at("seconds").fail("empty list", "allowed: one or more times in seconds");
  if (!(sample.median_s() > 0))
    node.at("seconds").fail("their median is 0", "allowed: times in seconds, at least half of them above 0");
  sample.kind = node.at("kind").choice({"measured", "imported", "modelled"});
  if (const auto source = node.find("source")) sample.source = source->text();
  if (const auto flags = node.find("flags"))
    for (const JsonNode& item : flags->items()) sample.flags.push_back(item.text());
  return sample;
}

SampleLog::SampleLog(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) fail(path_, "cannot be opened");
  try {
    lock_or_refuse(file_, path_, kLockPatience_s);
    read();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

void SampleLog::read() {
  const std::string text = read_file(path_);
  std::size_t line_begin = 0;
  for (int line = 1; line_begin < text.size(); ++line) {
    const std::size_t line_end = text.find('\n', line_begin);
    const bool is_last = line_end == std::string::npos || line_end + 1 == text.size();
    const std::string content = text.substr(line_begin, line_end - line_begin);
    if (line_end == std::string::npos || (is_last && !Json::accept(content))) break;
    const JsonDocument document = JsonDocument::parse(content, path_ + " line " + std::to_string(line));
    take(sample_from_json(document.root()));
    line_begin = line_end + 1;
  }
  discarded_ = text.size() - line_begin;
  if (discarded_ > 0 && ::ftruncate(file_, static_cast<off_t>(line_begin)) != 0) fail(path_, "cannot be cut");
}

SampleLog::~SampleLog() {
  if (file_ >= 0) ::close(file_);
}

void SampleLog::append(const Sample& sample) {
  const std::string line = to_json(sample).dump() + "\n";
  const off_t before = ::lseek(file_, 0, SEEK_END);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = ::write(file_, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int reason = errno;
      if (::ftruncate(file_, before) != 0) errno = reason;  // a torn line is cut off by the next reader anyway
      errno = reason;
      fail(path_, "cannot be written");
    }
    written += static_cast<std::size_t>(n);
  }
  if (::fdatasync(file_) != 0) fail(path_, "cannot be written to disk");
  take(sample);
}

void SampleLog::take(const Sample& sample) {
  const auto [entry, is_new] = by_id_.try_emplace(sample.id(), samples_.size());
  if (is_new)
    samples_.push_back(sample);
  else
    samples_[entry->second] = sample;
}

}  // namespace lockstep::calib
