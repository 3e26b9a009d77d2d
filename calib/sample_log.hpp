#pragma once
// Every measurement, on disk as soon as it is taken: one JSON object per line, appended and synced, so that a killed
// run loses at most the series in flight.
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// Times of the same thing that do not count, kept so that anybody may judge for themselves.
struct SetAside {
  /// throttled: taken while the clock was down; drift: a whole series that drifted and was taken again at once; cut
  /// short: such a repetition for which the time did not suffice; first, second: the other one of two measurements, of
  /// which that was better (second_look.hpp).
  std::string why;
  std::vector<double> seconds;
};

/// A series of timings of one thing.
struct Sample {
  std::string probe;  ///< what kind of thing: "iteration", "layer", "copy", "collective", ...
  Json key;           ///< which one: {"model": "lenet", "batch": 16, ...}; order of members has no meaning
  std::vector<double> seconds;
  std::string kind = "measured";  ///< measured, imported, modelled
  std::string source;             ///< device, or file and line
  std::vector<std::string> flags;
  std::vector<SetAside> set_aside = {};
  std::vector<double> clock_hz = {};            ///< of the slowest device while each of `seconds` ran; empty: unknown
  std::vector<std::string> clock_reasons = {};  ///< why clocks were not higher, as NVML names them
  bool has_flag(const std::string& flag) const;
  double median_s() const;
  /// As canonical_id().
  std::string id() const;
};

/// Probe and key in one text: the order of members has no meaning, and 8 and 8.0 are one number (importers read sizes
/// as floating point, probes count them).
std::string canonical_id(const std::string& probe, const Json& key);

Json to_json(const Sample& sample);
/// Throws InputError for a key that is no object, or of whose members that the simulator asks for (counts, names) one
/// is of another type.
void check_key(const JsonNode& key);
/// Times that a series may have as its median: light takes the shortest for a third of a millimetre, and the longest is
/// thirty years. What is beyond is a mistake of units, and fits square it.
inline constexpr Range kMedianSeconds{1e-12, 1e9};
/// Throws InputError: malformed, an unknown probe, a key without the probe's variable, or times whose median is out of
/// kMedianSeconds.
Sample sample_from_json(const JsonNode& node);

/// What a log holds, without touching it: as SampleLog's samples(), the torn last line of a killed run left out. Empty
/// where there is no such file.
std::vector<Sample> read_samples(const std::string& path);

class SampleLog {
 public:
  /// Opens `path` for appending, after reading what is there. A last line without its end, or one that is no JSON, is
  /// what a killed run left: it is cut off. Any other malformed line throws InputError with its number; an unwritable
  /// file throws std::runtime_error, one that another run writes FileInUse (engine/base/file_lock.hpp): it is locked
  /// for as long as this object lives.
  explicit SampleLog(std::string path);
  ~SampleLog();
  SampleLog(const SampleLog&) = delete;
  SampleLog& operator=(const SampleLog&) = delete;

  /// Writes one line and syncs it. Throws std::runtime_error naming the reason (a full disk): what was there stays.
  void append(const Sample& sample);
  bool has(const std::string& id) const { return by_id_.count(id) > 0; }
  /// Null where there is none; until the next append().
  const Sample* find(const std::string& id) const;
  /// In the order of their first appearance; a later sample of the same id replaces the earlier.
  const std::vector<Sample>& samples() const { return samples_; }
  /// Bytes of a torn last line that were cut off when the file was opened.
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
