#include "sim/plan/outcomes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "engine/base/field_bytes.hpp"
#include "sim/plan/grid.hpp"

namespace lockstep::sim::plan {
namespace {

constexpr std::size_t kInMemory = 16 << 20;  // bytes
constexpr std::size_t kUsualRecord = 2048;   // bytes that are read at once; longer records take a second read

// Splits "12|analytic||0|0" behind the point. Returns false if the key does not begin with a point.
bool split_key(const std::string& key, std::size_t& point, std::string_view& end) {
  const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), point);
  if (error != std::errc() || rest == key.data() + key.size()) return false;
  end = std::string_view(rest, static_cast<std::size_t>(key.data() + key.size() - rest));
  return true;
}

// True for the end of the key of a task that has only a point and a fidelity.
bool is_plain(std::string_view end) {
  for (const Fidelity fidelity : {Fidelity::analytic, Fidelity::fast, Fidelity::message}) {
    Task task;
    task.fidelity = fidelity;
    if (end == std::string_view(task.key()).substr(1)) return true;
  }
  return false;
}

std::size_t read_from(int file, char* buffer, std::size_t size, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(file, buffer + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::runtime_error(std::string("temporary file of the plan: cannot be read: ") + strerror(errno));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace

Outcomes::~Outcomes() {
  if (file_ >= 0) close(file_);
}

Outcomes::Place Outcomes::place_of(const std::string& key) const {
  std::size_t point = 0;
  std::string_view end;
  if (split_key(key, point, end) && point < kMostPoints)
    for (const Series& series : series_)
      if (series.end == end) return point < series.places.size() ? series.places[point] : 0;
  const auto other = others_.find(key);
  return other == others_.end() ? 0 : other->second;
}

Outcomes::Place& Outcomes::place_of_new(const std::string& key) {
  std::size_t point = 0;
  std::string_view end;
  if (!split_key(key, point, end) || point >= kMostPoints) return others_[key];
  auto series = std::find_if(series_.begin(), series_.end(), [&](const Series& one) { return one.end == end; });
  if (series == series_.end()) {
    if (!is_plain(end)) return others_[key];
    series = series_.insert(series_.end(), {std::string(end), {}});
  }
  if (point >= series->places.size()) series->places.resize(std::max(point + 1, series->places.size() * 3 / 2));
  return series->places[point];
}

std::vector<std::string> Outcomes::keys() const {
  std::vector<std::string> keys;
  for (const Series& series : series_)
    for (std::size_t point = 0; point < series.places.size(); ++point)
      if (series.places[point] != 0) keys.push_back(std::to_string(point) + series.end);
  for (const auto& [key, place] : others_) keys.push_back(key);
  return keys;
}

Outcome Outcomes::at(const std::string& key) const {
  const Place place = place_of(key);
  if (place == 0) throw std::out_of_range("no outcome of the task " + key);
  const std::uint64_t offset = place - 1;
  std::string record;
  std::string_view bytes;
  std::uint32_t length = 0;
  if (offset >= in_file_) {
    bytes = std::string_view(tail_).substr(static_cast<std::size_t>(offset - in_file_));
  } else {
    record.resize(kUsualRecord);
    record.resize(read_from(file_, record.data(), record.size(), offset));
    FieldBytes(record).read(length);
    if (record.size() < sizeof length + length) {
      record.resize(sizeof length + length);
      record.resize(read_from(file_, record.data(), record.size(), offset));
    }
    bytes = record;
  }
  FieldBytes(bytes).read(length);
  Outcome outcome;
  FieldBytes(bytes.substr(sizeof length, length)).read(outcome);
  return outcome;
}

void Outcomes::set(const std::string& key, const Outcome& outcome) {
  const std::size_t begin = tail_.size();
  append_bytes(std::uint32_t{0}, tail_);
  append_bytes(outcome, tail_);
  const auto length = static_cast<std::uint32_t>(tail_.size() - begin - sizeof(std::uint32_t));
  std::memcpy(tail_.data() + begin, &length, sizeof length);
  Place& place = place_of_new(key);
  if (place == 0) ++size_;
  place = in_file_ + begin + 1;
  if (tail_.size() >= kInMemory) spill();
}

void Outcomes::spill() {
  const std::string folder = folder_.empty() ? std::filesystem::temp_directory_path().string() : folder_;
  const auto fail = [&](const char* what) {
    throw std::runtime_error(folder + ": a temporary file for the plan's points cannot be " + what + ": " +
                             std::strerror(errno) + "; allowed: more space there");
  };
  if (file_ < 0) {
    std::string path = folder + "/lockstep-points-XXXXXX";
    file_ = mkostemp(path.data(), O_CLOEXEC);
    if (file_ < 0) fail("made");
    unlink(path.c_str());
  }
  for (std::size_t done = 0; done < tail_.size();) {
    const ssize_t n = pwrite(file_, tail_.data() + done, tail_.size() - done, static_cast<off_t>(in_file_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("written");
    done += static_cast<std::size_t>(n);
  }
  in_file_ += tail_.size();
  tail_.clear();
}

}  // namespace lockstep::sim::plan
