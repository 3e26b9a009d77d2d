#pragma once
// Compares measurements with their predictions, and ranks the causes that explain them.
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/explain/causes.hpp"
#include "sim/explain/faults.hpp"
#include "sim/explain/nccl_statements.hpp"
#include "sim/explain/scoring.hpp"
#include "sim/explain/step_parts.hpp"

namespace lockstep::sim::explain {

/// Describes a transfer over one NIC (transfer.hpp).
struct TransferFacts {
  bool is_latency = false;  ///< one message at a time
  int directions = 1;       ///< 2: both at once
  double bytes_per_s = 0;   ///< upper bound in one direction, by line rate and headers
  double latency_s = 0;
  std::string text;
};

/// Describes copies between GPUs of a node (pair_copies.hpp).
struct PairFacts {
  int from = 0, to = 0;  ///< the pair, or one of its group
  bool is_both_ways = false;
  bool is_odd = false;  ///< slower than its group
  std::string text;
  bool has_odd = false;  ///< of a group: other pairs of the file are odd
};

/// A machine as the options give it, or the log.
struct CheckedMachine {
  std::string gpu, link;
};

/// A collective of nccl-tests at several sizes, on one number of GPUs; a transfer by perftest; or copies between GPUs.
struct MeasuredCollective {
  std::string file, operation;  ///< "all-reduce", "all-gather", "reduce-scatter"; "RDMA_Write BW"
  AllReduceQuestion question;   ///< machine and one number of GPUs; sizes are those of `points`
  struct Point {
    std::int64_t bytes = 0;
    double seconds = 0;
    double scatter =
        0;  ///< standard deviation of log(seconds) over repetitions; up to 64 KiB and larger sizes are pooled
  };
  std::vector<Point> points;
  std::optional<TransferFacts> transfer{};
  std::optional<PairFacts> pairs{};  ///< neither: a collective

  bool is_collective() const { return !transfer && !pairs; }
};

/// A step of a training.
struct MeasuredStep {
  std::string file;
  JobQuestion question;
  double seconds = 0;            ///< of an iteration; 0: gpu_token_s, and if that is 0, sample_s
  double gpu_token_s = 0;        ///< of a token of one GPU: 1 / (tokens/s/GPU)
  double sample_s = 0;           ///< of a sample: 1 / (samples/s)
  bool is_mean = false;          ///< over all steps, pauses included
  double scatter = 0;            ///< standard deviation of log(seconds) among steady steps
  Json logged = Json::object();  ///< facts of the job that its log has, by a record's keys
  TracedJob traced{};            ///< by traces of ranks
  std::string note{};            ///< which steps of a log it is of
  bool precision_is_logged = false, recomputation_is_logged = false;
  bool is_batch_assumed = false;  ///< neither the options nor the file have it (MeasuredDefaults)
};

/// True for operations of NCCL that can be predicted.
bool is_checked_operation(const std::string& operation);

struct Measurements {
  std::vector<MeasuredCollective> collectives;
  std::vector<MeasuredStep> steps;
  std::vector<NcclLog> nccl{};          ///< files with lines of NCCL_DEBUG=INFO
  std::vector<std::string> left_out{};  ///< lines and programs of the files that are not judged, with the reason
};

/// A measured time and the expected one.
struct Observation {
  std::string name;  ///< "1.00 GB", "step"
  double measured_s = 0;
  Expected expected;            ///< the prediction, or the good log's time
  Expected predicted;           ///< by the simulator
  double bus_factor_bytes = 0;  ///< bus bandwidth = this / seconds; 0: a step
  double bytes = 0;             ///< of a collective; 0: a step
  double weight = 1;            ///< independent measurements that it counts as (scoring.hpp)
  std::string source;           ///< the file, and the place in it
  std::size_t log = 0;          ///< its place in CheckResult::logs
  double offset_s = 0;          ///< added to measured_s and expected, of parts of a traced step (CheckResult::scored)
};

enum class Speed { normal, slow, fast };

inline const Choices<Speed>& choices_of(Speed) {
  static const Choices<Speed> all{{Speed::normal, "normal"}, {Speed::slow, "slow"}, {Speed::fast, "faster"}};
  return all;
}

/// How well a single measurement tells a cause from the others.
struct Evidence {
  std::size_t observation = 0;  ///< its place in CheckResult::scored
  double expected_s = 0;        ///< with the cause
  /// log(likelihood with the cause / mean likelihood with the other causes, weighted by their probabilities)
  double log_ratio = 0;
};

struct RankedCause {
  CauseId id = CauseId::normal;
  std::string title;  ///< with its most likely variant
  double prior = 0, probability = 0;
  std::optional<Evidence> most_for;          ///< the largest ratio; none: no ratio is above 1
  std::optional<Evidence> most_against;      ///< the smallest; none: no ratio is below 1
  double median_error = 0;                   ///< median of |log(measured / expected)| with the cause
  std::vector<DecidingTest> tests;           ///< causes.hpp; without the one that `statement` answers
  std::optional<NcclStatement> statement{};  ///< what NCCL's lines say about it
  double gain =
      1;  ///< speed-up if the cause is removed: predicted time with it over that without, at most what was lost
};

/// A log of a known good machine or job, which is the expectation.
struct GoodLog {
  std::string file;
  double share_of_predicted = 0;      ///< median of predicted over the good log's time
  std::vector<std::string> left_out;  ///< sizes that only one log has, a line each
};

/// The verdict on the machine or job that one log measured.
struct LogVerdict {
  std::string log;           ///< what was measured: "bad.log, all-reduce, 32 GPUs on 4 nodes"
  double share = 0;          ///< speed over the expected speed: median of expected over measured time
  double low_share = 0;      ///< slow end of the share's 80 % prediction interval
  double high_share = 0;     ///< its fast end
  bool is_of_small = false;  ///< large messages are not slow, but messages up to 64 KiB are
  Speed speed = Speed::normal;
};

/// The result of a check. The base is the verdict on the slowest log, which is judged by its own interval.
struct [[nodiscard]] CheckResult : LogVerdict {
  std::vector<std::string> read;    ///< what the questions were read as, a line each
  std::optional<GoodLog> good_log;  ///< none: the prediction is the expectation
  std::vector<Observation> observations;
  /// The observations that rank the causes. A traced step is replaced by its parts.
  std::vector<Observation> scored;
  std::vector<StepBreakdown> breakdowns;  ///< of steps that were traced
  std::vector<LogVerdict> logs;           ///< of each log
  std::vector<RankedCause> causes;        ///< by probability, "as expected" among them
  std::vector<NcclStatement> statements;  ///< of NCCL's lines, also those about causes that change no predicted time

  /// True if the share is at least `least`, or, without one, if the speed is not slow.
  bool is_accepted(std::optional<double> least) const;
};

/// `good`: measurements of one log of a good machine or job, which are the expectation in place of the prediction. Throws
/// InputError for a machine or job that cannot be predicted, for no measurement, and for a good log of something else.
CheckResult check(const Measurements& measured, const Catalogue& catalogue, int jobs,
                  const std::optional<Measurements>& good = {});

std::string check_text(const CheckResult& result, std::optional<double> least);
/// An HTML page that opens offline: the verdict, the tables, the causes and, of traces, the timelines of measured and expected
/// parts one above the other.
std::string check_page(const CheckResult& result, std::optional<double> least);
/// Schema "lockstep/check/1".
Json check_json(const CheckResult& result, std::optional<double> least);

}  // namespace lockstep::sim::explain
