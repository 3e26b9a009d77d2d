#pragma once
// Stores every measurement on disk as soon as it is complete: one JSON object per line, appended and synced. A killed
// run loses at most the series in progress.
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// Times that do not count, kept for inspection.
struct SetAside {
  /// The reason. "throttled": measured while the clock was low. "drift": a whole series that drifted and was repeated
  /// at once. "cut short": such a repetition that ran out of time. "first", "second": the worse of two measurements
  /// (second_look.hpp).
  std::string why;
  std::vector<double> seconds;
};

/// Holds a series of timings of one thing.
struct Sample {
  std::string probe;  ///< the kind of thing: "iteration", "layer", "copy", "collective", ...
  Json key;           ///< which one: {"model": "lenet", "batch": 16, ...}; the order of members does not matter
  std::vector<double> seconds;
  std::string kind = "measured";  ///< measured, imported, modelled
  std::string source;             ///< device, or file and line
  std::vector<std::string> flags;
  std::vector<SetAside> set_aside = {};
  std::vector<double> clock_hz = {};            ///< lowest among the devices during each of `seconds`; empty: unknown
  std::vector<std::string> clock_reasons = {};  ///< why clocks were not higher, in NVML's terms
  bool has_flag(const std::string& flag) const;
  double median_s() const;
  /// As canonical_id().
  std::string id() const;
};

/// Probe and key as one text. The order of members does not matter. 8 and 8.0 are equal, because importers read sizes
/// as floating point and probes use integers.
std::string canonical_id(const std::string& probe, const Json& key);

Json to_json(const Sample& sample);
/// Throws InputError if the key is no object, or if a member that the simulator reads (a count or a name) has another
/// type.
void check_key(const JsonNode& key);
/// The allowed range of a series' median, in seconds. In 1e-12 s light travels a third of a millimetre; 1e9 s are
/// thirty years. Times outside have wrong units, and fits would square them.
inline constexpr Range kMedianSeconds{1e-12, 1e9};
/// Throws InputError for malformed content, an unknown probe, a key without the probe's variable, or a median outside
/// kMedianSeconds.
Sample sample_from_json(const JsonNode& node);

/// Reads a log without changing it. Returns SampleLog's samples(), without the incomplete last line of a killed run.
/// Empty if there is no such file.
std::vector<Sample> read_samples(const std::string& path);

class SampleLog {
 public:
  /// Reads `path` and opens it for appending. Truncates an incomplete last line, or one that is no JSON, which a killed
  /// run left. Any other malformed line throws InputError with its number. Throws std::runtime_error for an unwritable
  /// file, and FileInUse if another run writes it (engine/base/file_lock.hpp). The file stays locked as long as this
  /// object lives.
  explicit SampleLog(std::string path);
  ~SampleLog();
  SampleLog(const SampleLog&) = delete;
  SampleLog& operator=(const SampleLog&) = delete;

  /// Writes one line and syncs it. Throws std::runtime_error with the reason (a full disk); earlier lines stay.
  void append(const Sample& sample);
  bool has(const std::string& id) const { return by_id_.count(id) > 0; }
  /// Null if there is none; valid until the next append().
  const Sample* find(const std::string& id) const;
  /// In the order of first appearance; a later sample replaces an earlier one of the same id.
  const std::vector<Sample>& samples() const { return samples_; }
  /// The size of the incomplete last line that was truncated when the file was opened.
  std::size_t discarded_bytes() const { return discarded_; }

 private:
  void read();
  void take(const Sample& sample);

  std::string path_;
  int file_ = -1;
  std::vector<Sample> samples_;
  std::map<std::string, std::size_t> by_id_;
  std::size_t discarded_ = 0;
};

}  // namespace lockstep::calib
