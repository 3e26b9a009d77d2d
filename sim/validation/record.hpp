#pragma once
// Reads published results, one JSON object each, in an array:
//
//   [{"id": "X-1", "metric": "images_per_s", "value": 1812, "unit": "images/s", "role": "target", "group": "X",
//     "source": "...", "system": "TensorFlow 1.4", "software": "tensorflow", "model": "resnet50", "gpu": "p100-sxm2",
//     "gpus": 8, "gpus_per_node": 4, "batch_per_gpu": 64, "global_batch": 512, ...}]
//
// "id" and "metric" are required. Anything else may be missing or null; unknown keys are refused. Records of one group
// belong to one experiment: records with the role "input" are given facts, records with the role "target" are
// predicted, "context" is neither. A target's "value" is only compared with, never used. Suites of this repository
// (suite.hpp) add "use".
//
//   `the job`          By the keys of job_fields.hpp.
//   `metric, unit`     By name (metric.hpp): "ms", "images/s/GPU", "tokens/s", "%", "GB/s", "bit/s". The time of a
//                      training on a given number of tokens is "days_for_300B_tokens", "gpu_hours_for_1.5T_tokens".
//   `baseline, strong_scaling, wanted_efficiency, statistic, layer, simulated_staleness, collective, memory_counter`
//                      The subject of the metric.
//   `undisturbed`      True: the time of a training leaves interruptions and restarts out.
//   `causal_flops`     True: FLOP/s leave out pairs that a causal mask hides.
//   `arrival`          {"before_s"} or {"at"}, {"order": [k, n]}, {"longest": true}.
//   `not_predicted`    Why the model has no prediction: a machine without GPUs, a fact that is not published.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/job.hpp"
#include "sim/stack/stack_model.hpp"
#include "sim/validation/metric.hpp"

namespace lockstep::sim::validation {

enum class Role { input, target, context };

inline const Choices<Role>& choices_of(Role) {
  static const Choices<Role> all{{Role::input, "input"}, {Role::target, "target"}, {Role::context, "context"}};
  return all;
}

/// The use of a record in the fit. `given` is an input, `fit` and `test` are targets (see suite.hpp). `apart` is a
/// target on which nothing is fitted; only whole trainings fit one constant. `none`: not given.
enum class Use { none, given, fit, test, apart };

inline const Choices<Use>& choices_of(Use) {
  static const Choices<Use> all{
      {Use::none, ""}, {Use::given, "given"}, {Use::fit, "fit"}, {Use::test, "test"}, {Use::apart, "apart"}};
  return all;
}

/// Describes the k-th of n arriving gradients; n = 1: any gradient.
struct ArrivalOrder {
  int k = 1, n = 1;
};

/// A question about arriving gradients. With `before_s`: which share has arrived by then? With `at`: when has this
/// share arrived?
struct ArrivalSpec {
  double before_s = 0;  ///< the share of gradients that have arrived by then is wanted, if > 0
  double at = 0;        ///< the time by which this share of all gradients has arrived is wanted, if > 0
  ArrivalOrder order;
  bool is_longest = false;  ///< the longest arrival of a run whose length is not given
};

/// A published result: a job, and a measurement of it.
struct Record : Job {
  std::string id;
  std::string metric;           ///< name of the metric; resolve_record() sets `measure`
  std::optional<double> value;  ///< in `unit`; absent if the record has no value, or a text or a list
  std::string unit;
  Role role = Role::target;
  Use use = Use::none;
  std::string group, source, system;  ///< equal in records of one experiment, publication, system under test
  std::string whole_source;           ///< name of the sources that are left out together (sources.hpp); else `source`

  // These members hold details of the metric: operation, baseline, statistic, layer
  Collective collective = Collective::all_reduce;
  int baseline_gpus = 0;  ///< 0: not given
  bool is_strong_scaling = false;
  double wanted_efficiency = 0;  ///< 0: not given
  std::optional<Statistic> statistic;
  std::optional<int> layer;
  bool is_simulated_staleness = false;
  ArrivalSpec arrival;
  std::optional<MemoryCounter> memory_counter;
  bool is_undisturbed = false;    ///< the time of a training leaves interruptions out
  bool has_causal_flops = false;  ///< FLOP leave out the half of attention that a causal mask hides

  std::string not_predicted;  ///< reason that the record gives; empty: it is predicted
  std::string refused;        ///< why it could not be read (BadRecords::keep); empty: it could

  // Set by resolve_record()
  Measure measure;
  std::optional<double> value_si;  ///< SI, over all GPUs; GB/s for bandwidths; none if the unit does not suit
};

/// If a record cannot be read, refuses the file, or keeps the record's id and metric with the reason (Record::refused).
enum class BadRecords { refuse_file, keep };

/// Reads and checks a file of records. Throws InputError: `FILE: /index/key: what is wrong; what is allowed`.
std::vector<Record> read_records(const std::string& path);
/// Reads a parsed file: an array, or an object with one under "records".
std::vector<Record> read_records(const JsonDocument& document, BadRecords bad = BadRecords::refuse_file);
/// Reads an array inside another document.
std::vector<Record> read_records(const JsonNode& array, BadRecords bad = BadRecords::refuse_file);

/// Returns the record with its names looked up in the catalogue, its measure, and its value in SI units. A name that
/// the catalogue lacks gets no id but the reason.
Record resolve_record(const Record& record, const Catalogue& catalogue);

/// Converts a value from the record's unit to that of predictions: SI, GB/s for bandwidths, fractions for efficiencies.
/// A rate per GPU becomes the rate of all GPUs.
double value_in_si(const Record& resolved, double value);

}  // namespace lockstep::sim::validation
