#include "sim/explain/check.hpp"

#include <algorithm>
#include <cmath>

#include "calib/bus_bandwidth.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job/job_fields.hpp"
#include "sim/job_prediction/job_split.hpp"

namespace lockstep::sim::explain {
namespace {

constexpr double kLargeSpan =
    16;  // the verdict is taken where bandwidth decides: sizes of at least a 16th of the largest
constexpr double kSmallBytes = 64 << 10;  // and, where these are not slow, where latency does

// Replaced parts of a question.
struct Change {
  const FaultVariant* variant = nullptr;  // null: the expectation

  AllReduceQuestion applied(AllReduceQuestion question) const {
    if (variant != nullptr && !variant->network.empty()) question.network = variant->network;
    if (variant != nullptr && !variant->link.empty()) question.link = variant->link;
    return question;
  }
  JobQuestion applied(JobQuestion question) const {
    if (variant == nullptr) return question;
    if (!variant->network.empty()) {
      question.job.network = NetworkStated();
      question.job.network.stated = variant->network;
    }
    if (!variant->link.empty()) question.job.link.stated = variant->link;
    if (variant->change_job) variant->change_job(question.job);
    question.ignores_memory = true;
    return question;
  }
};

// The catalogue, or a copy in which the variant has changed the GPU.
class FaultyCatalogue {
 public:
  FaultyCatalogue(const Catalogue& catalogue, const std::string& gpu, const FaultVariant* variant)
      : catalogue_(&catalogue) {
    if (variant == nullptr || !variant->change_gpu) return;
    own_ = catalogue;
    if (const GpuEntry* entry = read_gpu_name(catalogue.gpus, gpu).entry)
      own_->gpus.change(std::string(entry->id), variant->change_gpu);
  }
  const Catalogue& get() const { return own_ ? *own_ : *catalogue_; }

 private:
  const Catalogue* catalogue_;
  std::optional<Catalogue> own_;
};

std::vector<Expected> collective_times(const MeasuredCollective& collective, const Change& change,
                                       const Catalogue& catalogue, int jobs, std::string* read = nullptr) {
  AllReduceQuestion question = change.applied(collective.question);
  for (const MeasuredCollective::Point& point : collective.points)
    question.sizes.push_back(std::to_string(point.bytes) + " B");
  const double share = collective.operation == "all-reduce" ? 1 : 0.5;
  const FaultVariant* variant = change.variant;
  const WorkloadChange with_fault = [share, variant](Workload& workload) {
    workload.share *= share;
    if (variant != nullptr && variant->change_workload) variant->change_workload(workload);
  };
  const FaultyCatalogue used(catalogue, question.gpu, variant);
  const AllReduceTimes times = all_reduce_times(question, used.get(), jobs, with_fault);
  if (read != nullptr) *read = times.read;
  std::vector<Expected> expected;
  for (const AllReduceTime& row : times.rows) expected.push_back({row.seconds, row.low_s, row.high_s});
  return expected;
}

struct StepPrediction {
  Expected expected;
  Scenario scenario;
  double tokens_per_gpu = 0, samples = 0;  // of an iteration
};

StepPrediction step_time(const MeasuredStep& step, const Change& change, const Catalogue& catalogue, int jobs) {
  const FaultVariant* variant = change.variant;
  const JobQuestion question = change.applied(step.question);
  const FaultyCatalogue used(catalogue, question.job.gpu.stated, variant);
  JobPrediction predicted = prepare_job(question, used.get());
  QuantityPrediction& rate = predicted.rows.front().samples_per_s;
  Workload& workload = rate.task.target.front();
  if (variant != nullptr && variant->change_workload) variant->change_workload(workload);
  StepPrediction result;
  result.scenario = workload.scenario;
  result.samples = workload.samples() * workload.accumulation;
  result.tokens_per_gpu = result.samples * workload.scenario.model.tokens / workload.gpus;
  predict_quantities({&rate}, used.get(), {jobs, true});
  if (!rate.is_mapped()) throw InputError("calibrate check: " + rate.task.unmapped);
  const double factor = result.samples * (variant != nullptr ? variant->time_factor : 1);
  result.expected = {factor / rate.predicted, factor / rate.high, factor / rate.low};
  return result;
}

// The split that the expectation has becomes the job's own, so that faults do not move to another one.
void fix_split(JobQuestion& question, const Scenario& scenario) {
  if (!scenario.parallel) return;
  const Json split = parallel_format().write(*scenario.parallel);
  for (const SplitFieldName& field : split_fields())
    if (!field.option.empty() && split.contains(field.key) && !question.job.split.has(field.key))
      question.job.split.give(field.key, split.at(field.key), "split");
}

double seconds_of(const MeasuredStep& step, const StepPrediction& expected) {
  if (step.seconds > 0) return step.seconds;
  if (step.sample_s > 0) return step.sample_s * expected.samples;
  if (!(expected.tokens_per_gpu > 0))
    throw InputError(step.file + ": logs tokens/s, and the model trains on no tokens; allowed: --step-time");
  return step.gpu_token_s * expected.tokens_per_gpu;
}

struct Candidate {
  CauseId id;
  std::string variant;
  std::vector<Expected> expected;
};

class Checker {
 public:
  Checker(const Measurements& measured, const Catalogue& catalogue, int jobs)
      : measured_(measured), catalogue_(catalogue), jobs_(jobs) {}

  CheckResult run() {
    expect();
    judge();
    rank();
    return std::move(result_);
  }

 private:
  void expect() {
    for (MeasuredCollective& collective : measured_.collectives) {
      std::string read;
      const std::vector<Expected> expected = collective_times(collective, {}, catalogue_, jobs_, &read);
      if (collective.operation != "all-reduce" && read.rfind("Read: all-reduce", 0) == 0)
        read.replace(6, 10, collective.operation);
      result_.read.push_back(read.substr(0, read.find_last_not_of(".\n") + 1));
      const int gpus = collective.question.gpus.front();
      const double factor = calib::bus_factor(collective.operation, gpus);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto& point = collective.points[i];
        const auto bytes = static_cast<double>(point.bytes);
        result_.observations.push_back({format_bytes(bytes), point.seconds, expected[i], factor * bytes, bytes,
                                        std::min(1.0, kIndependent / static_cast<double>(expected.size())),
                                        collective.file});
      }
    }
    for (MeasuredStep& step : measured_.steps) {
      const StepPrediction predicted = step_time(step, {}, catalogue_, jobs_);
      step.seconds = seconds_of(step, predicted);
      fix_split(step.question, predicted.scenario);
      result_.read.push_back("Read: " + predicted.scenario.model.title + " on " +
                             std::to_string(step.question.gpus.front()) + " " + predicted.scenario.cluster.gpu.name +
                             ", " + short_number(predicted.samples) + " samples an iteration");
      if (!step.note.empty()) result_.read.push_back(step.note);
      result_.observations.push_back({"step", step.seconds, predicted.expected, 0, 0, 1, step.file});
      scenarios_.push_back(predicted.scenario);
    }
    if (result_.observations.empty())
      throw InputError("calibrate check: nothing measured; allowed: FILE, or --step-time");
    for (const Observation& one : result_.observations) {
      measured_s_.push_back(one.measured_s);
      weights_.push_back(one.weight);
    }
  }

  // Medians over the observations that `is_wanted` says.
  template <typename Wanted>
  bool judge_by(Wanted is_wanted) {
    std::vector<double> shares, lows, highs;
    for (const Observation& one : result_.observations) {
      if (!is_wanted(one)) continue;
      shares.push_back(one.expected.seconds / one.measured_s);
      lows.push_back(one.expected.seconds / one.expected.high_s);
      highs.push_back(one.expected.seconds / one.expected.low_s);
    }
    if (shares.empty()) return false;
    const double share = median(shares), low = median(lows), high = median(highs);
    result_.share = share;
    result_.low_share = low;
    result_.high_share = high;
    result_.speed = share < low ? Speed::slow : share > high ? Speed::fast : Speed::normal;
    return true;
  }

  void judge() {
    double largest = 0;
    for (const Observation& one : result_.observations) largest = std::max(largest, one.bytes);
    judge_by([&](const Observation& one) { return one.bytes == 0 || kLargeSpan * one.bytes >= largest; });
    if (result_.speed == Speed::slow) return;
    const CheckResult of_large = result_;
    const bool has_small = judge_by([](const Observation& one) { return one.bytes > 0 && one.bytes <= kSmallBytes; });
    result_.is_of_small = has_small && result_.speed == Speed::slow;
    if (!result_.is_of_small) result_ = of_large;
  }

  std::vector<Fault> faults() const {
    std::vector<Fault> all;
    const auto add = [&](const std::vector<Fault>& more) {
      for (const Fault& fault : more)
        if (std::none_of(all.begin(), all.end(), [&](const Fault& known) { return known.id == fault.id; }))
          all.push_back(fault);
    };
    for (const MeasuredCollective& collective : measured_.collectives) {
      const AllReduceQuestion& q = collective.question;
      add(machine_faults(catalogue_,
                         machine_of(catalogue_, q.gpu, q.link, q.network, q.gpus_per_node, q.gpus.front())));
    }
    for (std::size_t i = 0; i < measured_.steps.size(); ++i) {
      const MeasuredStep& step = measured_.steps[i];
      const Job& job = step.question.job;
      add(machine_faults(catalogue_, machine_of(catalogue_, job.gpu.stated, job.link.stated, job.network.stated,
                                                job.gpus_per_node, step.question.gpus.front())));
      add(job_faults({scenarios_[i], step.is_mean, step.precision_is_logged, step.recomputation_is_logged}));
    }
    return all;
  }

  // What every measurement takes with that fault; one that the fault does not apply to stays as expected.
  std::vector<Expected> with_fault(const FaultVariant& variant) const {
    std::vector<Expected> all;
    std::size_t at = 0;
    for (const MeasuredCollective& collective : measured_.collectives) {
      std::vector<Expected> times;
      if (!variant.change_job && variant.time_factor == 1) try {
          times = collective_times(collective, {&variant}, catalogue_, jobs_);
        } catch (const InputError&) {  // one node has no network
        }
      for (std::size_t i = 0; i < collective.points.size(); ++i, ++at)
        all.push_back(times.empty() ? result_.observations[at].expected : times[i]);
    }
    for (const MeasuredStep& step : measured_.steps) {
      Expected time = result_.observations[at++].expected;
      try {
        time = step_time(step, {&variant}, catalogue_, jobs_).expected;
      } catch (const InputError&) {
      }
      all.push_back(time);
    }
    return all;
  }

  static bool is_same(const std::vector<Expected>& a, const std::vector<Expected>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (std::abs(std::log(a[i].seconds / b[i].seconds)) > 0.02) return false;
    return true;
  }

  void rank() {
    std::vector<Expected> baseline;
    for (const Observation& one : result_.observations) baseline.push_back(one.expected);
    std::vector<CauseId> ids{CauseId::normal};
    std::vector<std::vector<Candidate>> candidates{{{CauseId::normal, "", baseline}}};
    for (const Fault& fault : faults()) {
      std::vector<Candidate> variants;
      for (const FaultVariant& variant : fault.variants) {
        const std::vector<Expected> expected = with_fault(variant);
        // A fault that changes nothing that was measured explains nothing.
        if (!is_same(expected, baseline)) variants.push_back({fault.id, variant.text, expected});
      }
      if (variants.empty()) continue;
      ids.push_back(fault.id);
      candidates.push_back(variants);
    }
    std::vector<double> weights;
    std::vector<std::size_t> likeliest;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::vector<double> likelihoods;
      for (const Candidate& candidate : candidates[i])
        likelihoods.push_back(log_likelihood(measured_s_, candidate.expected, weights_));
      likeliest.push_back(
          static_cast<std::size_t>(std::max_element(likelihoods.begin(), likelihoods.end()) - likelihoods.begin()));
      weights.push_back(std::log(prior_of(ids[i], ids)) + log_mean(likelihoods));
    }
    const std::vector<double> probabilities = normalised(weights);
    for (std::size_t i = 0; i < ids.size(); ++i)
      result_.causes.push_back(described(candidates[i][likeliest[i]], probabilities[i], baseline));
    std::stable_sort(result_.causes.begin(), result_.causes.end(),
                     [](const RankedCause& a, const RankedCause& b) { return a.probability > b.probability; });
  }

  std::string value_text(std::size_t i, double seconds) const {
    const Observation& one = result_.observations[i];
    return one.bus_factor_bytes > 0 ? format_bandwidth(one.bus_factor_bytes / seconds) : format_seconds(seconds);
  }

  // The measurement that the candidate explains best, and the worst, by how far off they are.
  RankedCause described(const Candidate& candidate, double probability, const std::vector<Expected>& baseline) const {
    std::size_t best = 0, worst = 0;
    std::vector<double> off, gains;
    for (std::size_t i = 0; i < measured_s_.size(); ++i) {
      off.push_back(std::abs(std::log(measured_s_[i] / candidate.expected[i].seconds)));
      gains.push_back(candidate.expected[i].seconds / baseline[i].seconds);
      if (off[i] < off[best]) best = i;
      if (off[i] > off[worst]) worst = i;
    }
    RankedCause cause;
    cause.id = candidate.id;
    cause.title = cause_of(candidate.id).title + (candidate.variant.empty() ? "" : " (" + candidate.variant + ")");
    cause.probability = probability;
    cause.command = cause_of(candidate.id).command;
    cause.gain = *std::max_element(gains.begin(), gains.end());
    const auto line = [&](std::size_t i) {
      return result_.observations[i].name + ": predicted " + value_text(i, candidate.expected[i].seconds) +
             ", measured " + value_text(i, measured_s_[i]);
    };
    cause.evidence_for = line(best);
    const double median_off = 100 * (std::exp(median(off)) - 1);
    if (measured_s_.size() > 1) cause.evidence_for += "; median error " + short_number(std::round(median_off)) + " %";
    const std::string worst_off = short_number(std::round(100 * (std::exp(off[worst]) - 1))) + " % off";
    cause.evidence_against = off[worst] <= 0.1        ? "nothing measured is more than 10 % off"
                             : measured_s_.size() > 1 ? line(worst)
                                                      : "the prediction is " + worst_off;
    return cause;
  }

  Measurements measured_;
  const Catalogue& catalogue_;
  int jobs_;
  CheckResult result_;
  std::vector<double> measured_s_, weights_;
  std::vector<Scenario> scenarios_;
};

}  // namespace

bool CheckResult::is_accepted(std::optional<double> least) const {
  return least ? share >= *least : speed != Speed::slow;
}

CheckResult check(const Measurements& measured, const Catalogue& catalogue, int jobs) {
  return Checker(measured, catalogue, jobs).run();
}

}  // namespace lockstep::sim::explain
