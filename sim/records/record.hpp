#pragma once
// Published results, one JSON object each, in an array:
//
//   [{"id": "X-1", "metric": "images_per_s", "value": 1812, "unit": "images/s", "role": "target", "group": "X",
//     "source": "...", "system": "TensorFlow 1.4", "model": "ResNet-50", "params_bytes": 102228128,
//     "gpu": "Tesla P100", "gpus": 8, "gpus_per_node": 4, "intra_node_link": "NVLink 1", "network": "25 Gb/s RoCE",
//     "algorithm": "NCCL ring all-reduce", "precision": "fp32", "batch_per_gpu": 64, "global_batch": 512, ...}]
//
// "id" and "metric" are required, anything else may be missing or null; a key that no record has is refused. Records of
// one group belong to one experiment: those with the role "input" are given facts, those with the role "target" are to
// be predicted, "context" is neither. "value" of a target is only compared with, never used. Suites of this repository
// (suite.hpp) add "use". Beside these keys, whose texts are searched for words (translate.hpp), a record may say the same
// and more in explicit keys (job_keys.hpp).
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::sim {
inline namespace records {

enum class Role { input, target, context };
std::string to_string(Role role);

/// What a record is to the fit: `given` is an input, `fit` and `test` are targets (see suite.hpp), `none` unsaid.
enum class Use { none, given, fit, test };
std::string to_string(Use use);

struct JobSpec;

/// What a record states in explicit keys.
struct JobKeys {
  std::set<std::string> names;           ///< of the keys that are stated
  bool is_explicit = false;              ///< they are all that is said, but for numbers
  std::shared_ptr<const JobSpec> facts;  ///< their values; names not yet resolved. Null where no key is stated
};

struct Record {
  std::string id;
  std::string metric;
  std::optional<double> value;  ///< in `unit`; absent where the record has none, or text or a list
  std::string unit;
  Role role = Role::target;
  Use use = Use::none;
  std::string group;
  std::string source;
  std::string system;
  std::string model;
  double params_bytes = 0;  ///< 0: not stated, as for the numbers below
  std::string gpu;
  int gpus = 0;
  int gpus_per_node = 0;
  std::string intra_node_link;
  std::string network;
  std::string algorithm;
  std::string precision;
  int batch_per_gpu = 0;
  std::int64_t global_batch = 0;
  std::string notes;
  JobKeys keys;

  /// It is in explicit keys: none of its texts is searched.
  bool is_explicit() const { return keys.is_explicit; }
};

/// Reads and checks a file of records. Throws InputError: `FILE: /index/key: what is wrong; what is allowed`.
std::vector<Record> read_records(const std::string& path);
/// The same of a file that was read: an array, or an object with one under "records".
std::vector<Record> read_records(const JsonDocument& document);
/// The same for an array inside another document.
std::vector<Record> read_records(const JsonNode& array);

}  // namespace records
}  // namespace lockstep::sim
