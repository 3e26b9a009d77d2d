#include "calib/sample_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "calib/profile.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/file_lock.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kLargestWhole = 9007199254740992;  // 2^53: a double represents every smaller integer

void make_whole(nlohmann::json& json) {
  if (json.is_structured())
    for (nlohmann::json& item : json) make_whole(item);
  if (!json.is_number_float()) return;
  const double value = json.get<double>();
  if (std::abs(value) < kLargestWhole && value == std::floor(value)) json = static_cast<std::int64_t>(value);
}

// Sorts members at every level, and turns whole floats into integers.
nlohmann::json canonical(const Json& json) {
  nlohmann::json sorted = nlohmann::json::parse(json.dump());
  make_whole(sorted);
  return sorted;
}

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(errno));
}

SetAside set_aside_from_json(const JsonNode& node) {
  node.keys({"why", "seconds"});
  SetAside other;
  other.why = node.at("why").choice({"throttled", "drift", "cut short", "first", "second"});
  for (const JsonNode& item : node.at("seconds").items()) other.seconds.push_back(item.number({0, 1e9}));
  return other;
}

// Holds the samples of a log in the order of their lines, and the number of bytes in complete lines.
struct Lines {
  std::vector<Sample> samples;
  std::size_t bytes = 0;
};

Lines lines_of(const std::string& text, const std::string& path) {
  Lines lines;
  for (int line = 1; lines.bytes < text.size(); ++line) {
    const std::size_t line_end = text.find('\n', lines.bytes);
    const bool is_last = line_end == std::string::npos || line_end + 1 == text.size();
    const std::string content = text.substr(lines.bytes, line_end - lines.bytes);
    if (line_end == std::string::npos || (is_last && !Json::accept(content))) break;
    const JsonDocument document = JsonDocument::parse(content, path + " line " + std::to_string(line));
    lines.samples.push_back(sample_from_json(document.root()));
    lines.bytes = line_end + 1;
  }
  return lines;
}

// A later sample of the same id replaces the earlier one.
void take_one(const Sample& sample, std::vector<Sample>& samples, std::map<std::string, std::size_t>& by_id) {
  const auto [entry, is_new] = by_id.try_emplace(sample.id(), samples.size());
  if (is_new)
    samples.push_back(sample);
  else
    samples[entry->second] = sample;
}

}  // namespace

bool Sample::has_flag(const std::string& flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

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
  for (const SetAside& other : sample.set_aside)
    json["set_aside"].push_back({{"why", other.why}, {"seconds", other.seconds}});
  if (!sample.clock_hz.empty()) json["clock_hz"] = sample.clock_hz;
  if (!sample.clock_reasons.empty()) json["clock_reasons"] = sample.clock_reasons;
  return json;
}

void check_key(const JsonNode& key) {
  if (!key.is_object()) key.fail("is not an object", "allowed: what was measured, as {\"name\": value, ...}");
  for (const char* name : {"learners", "devices", "ranks", "nodes"})
    if (const auto count = key.find(name)) count->integer(1, 1 << 20);
  for (const char* name :
       {"model", "precision", "layer", "pass", "operation", "library", "kernel", "input", "beside", "link", "how"})
    if (const auto text = key.find(name)) text->text();
  if (const auto in_place = key.find("in_place")) in_place->boolean();
}

Sample sample_from_json(const JsonNode& node) {
  node.keys({"probe", "key", "seconds", "kind", "source", "flags", "set_aside", "clock_hz", "clock_reasons"});
  Sample sample;
  sample.probe = node.at("probe").choice(probes());
  const JsonNode key = node.at("key");
  check_key(key);
  key.at(variable_of(sample.probe)).number({0, 1e18});
  sample.key = key.json();
  for (const JsonNode& item : node.at("seconds").items()) sample.seconds.push_back(item.number({0, 1e9}));
  if (sample.seconds.empty()) node.at("seconds").fail("empty list", "allowed: one or more times in seconds");
  const double median_s = sample.median_s();
  if (!(median_s >= kMedianSeconds.low))
    node.at("seconds").fail("their median is " + short_number(median_s), "allowed: times in seconds, 1e-12 or more");
  sample.kind = node.at("kind").choice({"measured", "imported", "modelled"});
  if (const auto source = node.find("source")) sample.source = source->text();
  if (const auto flags = node.find("flags"))
    for (const JsonNode& item : flags->items()) sample.flags.push_back(item.text());
  if (const auto set_aside = node.find("set_aside"))
    for (const JsonNode& item : set_aside->items()) sample.set_aside.push_back(set_aside_from_json(item));
  if (const auto clocks = node.find("clock_hz"))
    for (const JsonNode& item : clocks->items()) sample.clock_hz.push_back(item.number({0, 1e12}));
  if (!sample.clock_hz.empty() && sample.clock_hz.size() != sample.seconds.size())
    node.at("clock_hz")
        .fail("has " + std::to_string(sample.clock_hz.size()) + " clocks for " + std::to_string(sample.seconds.size()) +
                  " times",
              "allowed: one for each of \"seconds\"");
  if (const auto reasons = node.find("clock_reasons"))
    for (const JsonNode& item : reasons->items()) sample.clock_reasons.push_back(item.text());
  return sample;
}

SampleLog::SampleLog(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) fail(path_, "cannot be opened");
  try {
    lock_or_refuse(file_, path_);
    read();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

void SampleLog::read() {
  const std::string text = read_file(path_);
  const Lines lines = lines_of(text, path_);
  for (const Sample& sample : lines.samples) take(sample);
  discarded_ = text.size() - lines.bytes;
  if (discarded_ > 0 && ::ftruncate(file_, static_cast<off_t>(lines.bytes)) != 0) fail(path_, "cannot be cut");
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
      if (::ftruncate(file_, before) != 0) errno = reason;  // the next reader truncates an incomplete line anyway
      errno = reason;
      fail(path_, "cannot be written");
    }
    written += static_cast<std::size_t>(n);
  }
  if (::fdatasync(file_) != 0) fail(path_, "cannot be written to disk");
  take(sample);
}

void SampleLog::take(const Sample& sample) {
  take_one(sample, samples_, by_id_);
}

const Sample* SampleLog::find(const std::string& id) const {
  const auto entry = by_id_.find(id);
  return entry == by_id_.end() ? nullptr : &samples_[entry->second];
}

std::vector<Sample> read_samples(const std::string& path) {
  std::vector<Sample> samples;
  std::map<std::string, std::size_t> by_id;
  if (!std::filesystem::exists(path)) return samples;
  for (const Sample& sample : lines_of(read_file(path), path).samples) take_one(sample, samples, by_id);
  return samples;
}

}  // namespace lockstep::calib
