#include "sim/explain/check.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "calib/bus_bandwidth.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/explain/check_text.hpp"
#include "sim/explain/good_log.hpp"
#include "sim/explain/predicted_times.hpp"
#include "sim/explain/rank_waits.hpp"
#include "sim/explain/ranking.hpp"

namespace lockstep::sim::explain {
namespace {

// A log is judged by its large messages: at least a 16th of the largest, where bandwidth decides. If only messages up
// to 64 KiB are slow, it is judged by those.
constexpr double kLargeSpan = 16;

class Checker {
 public:
  Checker(const Measurements& measured, const Catalogue& catalogue, int jobs, const std::optional<Measurements>& good)
      : measured_(measured), good_(good), catalogue_(catalogue), jobs_(jobs) {}

  CheckResult run() {
    read_nccl();
    if (good_) match();
    predict();
    if (good_) expect_good();
    judge();
    rank();
    break_down_steps();
    return std::move(result_);
  }

 private:
  NamedMachine machine_of_collective(const MeasuredCollective& collective) const {
    const AllReduceQuestion& q = collective.question;
    return machine_of(catalogue_, q.gpu, q.link, q.network, q.gpus_per_node, q.gpus.front());
  }
  NamedMachine machine_of_step(const MeasuredStep& step) const {
    const Job& job = step.question.job;
    return machine_of(catalogue_, job.gpu.stated, job.link.stated, job.network.stated, job.gpus_per_node,
                      step.question.gpus.front());
  }

  // Statements of all files with NCCL's lines; files that disagree about a cause say nothing about it.
  std::vector<NcclStatement> statements_of(const Measurements& measured) const {
    std::vector<NcclStatement> all;
    std::set<CauseId> disputed;
    for (const NcclLog& log : measured.nccl) {
      std::optional<NamedMachine> machine;
      const auto take = [&](const NamedMachine& one) {
        check_link_types(log, one);
        if (!machine) machine = one;
      };
      const auto concerns = [&](const std::string& file) {
        const auto is_own = [&](const auto& one) { return one.file == log.file; };
        return file == log.file || (std::none_of(measured.collectives.begin(), measured.collectives.end(), is_own) &&
                                    std::none_of(measured.steps.begin(), measured.steps.end(), is_own));
      };
      for (const MeasuredCollective& collective : measured.collectives) {
        if (!collective.is_collective() || !concerns(collective.file)) continue;
        take(machine_of_collective(collective));
        check_ranks(log, "the table of " + collective.file, collective.question.gpus.front(), machine->nodes);
      }
      for (const MeasuredStep& step : measured.steps) {
        if (!concerns(step.file)) continue;
        take(machine_of_step(step));
        const int gpus = step.question.gpus.front();
        if (log.facts.largest.ranks >= gpus) check_ranks(log, "the job of " + step.file, gpus, machine->nodes);
      }
      if (!machine) continue;
      for (const NcclStatement& one : nccl_statements(log, *machine)) {
        const auto known =
            std::find_if(all.begin(), all.end(), [&](const NcclStatement& other) { return other.cause == one.cause; });
        if (known == all.end())
          all.push_back(one);
        else if (known->is_present != one.is_present)
          disputed.insert(one.cause);
      }
    }
    all.erase(
        std::remove_if(all.begin(), all.end(), [&](const NcclStatement& one) { return disputed.count(one.cause) > 0; }),
        all.end());
    return all;
  }

  // Drops statements that the good log has, too: they cannot explain the difference.
  void read_nccl() {
    result_.statements = statements_of(measured_);
    if (!good_) return;
    const std::vector<NcclStatement> of_good = statements_of(*good_);
    const auto is_in_both = [&](const NcclStatement& one) {
      return std::any_of(of_good.begin(), of_good.end(), [&](const NcclStatement& other) {
        return other.cause == one.cause && other.is_present == one.is_present && other.count == one.count;
      });
    };
    result_.statements.erase(std::remove_if(result_.statements.begin(), result_.statements.end(), is_in_both),
                             result_.statements.end());
  }

  std::optional<NcclStatement> statement_about(CauseId cause) const {
    for (const NcclStatement& one : result_.statements)
      if (one.cause == cause) return one;
    return std::nullopt;
  }

  void match() {
    GoodLog log;
    log.file = good_->collectives.empty() ? good_->steps.front().file : good_->collectives.front().file;
    good_ = match_good_log(*good_, measured_, log.left_out);
    result_.good_log = log;
  }

  static std::string log_of(const MeasuredCollective& collective) {
    if (!collective.is_collective()) return collective.file + ", " + collective.operation;
    const int gpus = collective.question.gpus.front(), nodes = gpus / std::max(1, collective.question.gpus_per_node);
    return collective.file + ", " + collective.operation + ", " + gpus_text(gpus) +
           (nodes > 1 ? " on " + std::to_string(nodes) + " nodes" : "");
  }

  std::size_t add_log(const std::string& name) {
    result_.logs.emplace_back();
    result_.logs.back().log = name;
    return result_.logs.size() - 1;
  }

  void predict() {
    for (const MeasuredCollective& collective : measured_.collectives) {
      std::string read;
      const std::vector<Expected> expected = predict_collective(collective, {catalogue_, jobs_}, &read);
      const std::string line = read.substr(0, read.find_last_not_of(".\n") + 1);
      if (result_.read.empty() || result_.read.back() != line) result_.read.push_back(line);
      if (expected.empty()) continue;
      const std::size_t log = add_log(log_of(collective));
      const int gpus = collective.question.gpus.front();
      const double factor = collective.transfer ? collective.transfer->directions
                            : collective.pairs  ? (collective.pairs->is_both_ways ? 2 : 1)
                                                : calib::bus_factor(collective.operation, gpus);
      const bool is_latency = collective.transfer && collective.transfer->is_latency;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto& point = collective.points[i];
        const auto bytes = static_cast<double>(point.bytes);
        result_.observations.push_back({collective.pairs ? collective.pairs->text : format_bytes(bytes), point.seconds,
                                        expected[i], expected[i], is_latency ? 0 : factor * bytes, bytes,
                                        std::min(1.0, kIndependent / static_cast<double>(expected.size())),
                                        collective.file, log});
      }
    }
    for (MeasuredStep& step : measured_.steps) {
      const StepPrediction predicted = predict_step(step, {catalogue_, jobs_});
      step.seconds = step_seconds(step, predicted);
      fix_split(step.question, predicted.scenario);
      result_.read.push_back("Read: " + predicted.scenario.model.title + " on " +
                             std::to_string(step.question.gpus.front()) + " " + predicted.scenario.cluster.gpu.name +
                             ", " + short_number(predicted.samples) + " samples an iteration");
      if (!step.note.empty()) result_.read.push_back(step.note);
      result_.observations.push_back(
          {"step", step.seconds, predicted.expected, predicted.expected, 0, 0, 1, step.file, add_log(step.file)});
      predictions_.push_back(predicted);
    }
    for (const NcclLog& log : measured_.nccl) {
      const std::string text = calib::nccl_facts_text(log.facts);
      if (!text.empty()) result_.read.push_back(text + " (" + log.file + ")");
    }
    if (result_.observations.empty())
      throw InputError("calibrate check: nothing measured; allowed: FILE, or --step-time");
  }

  // Replaces the prediction by the good log's times.
  void expect_good() {
    std::vector<double> shares;
    std::size_t at = 0;
    const auto expect = [&](double seconds, double scatter) {
      Observation& one = result_.observations[at++];
      one.expected = expected_from_good(seconds, scatter, one.bytes);
      shares.push_back(one.predicted.seconds / seconds);
    };
    for (const MeasuredCollective& collective : good_->collectives)
      for (const MeasuredCollective::Point& point : collective.points) expect(point.seconds, point.scatter);
    for (std::size_t i = 0; i < good_->steps.size(); ++i)
      expect(step_seconds(good_->steps[i], predictions_[i]), good_->steps[i].scatter);
    result_.good_log->share_of_predicted = median(shares);
  }

  // Medians over the log's observations for which `is_wanted` is true; none if there is none.
  template <typename Wanted>
  std::optional<LogVerdict> judge_by(std::size_t log, Wanted is_wanted) const {
    std::vector<double> shares, lows, highs;
    for (const Observation& one : result_.observations) {
      if (one.log != log || !is_wanted(one)) continue;
      shares.push_back(one.expected.seconds / one.measured_s);
      lows.push_back(one.expected.seconds / one.expected.high_s);
      highs.push_back(one.expected.seconds / one.expected.low_s);
    }
    if (shares.empty()) return std::nullopt;
    LogVerdict verdict{result_.logs[log].log, median(shares), median(lows), median(highs), false, Speed::normal};
    if (verdict.share < verdict.low_share) verdict.speed = Speed::slow;
    if (verdict.share > verdict.high_share) verdict.speed = Speed::fast;
    return verdict;
  }

  LogVerdict judge(std::size_t log) const {
    double largest = 0;
    for (const Observation& one : result_.observations)
      if (one.log == log) largest = std::max(largest, one.bytes);
    const LogVerdict of_large =
        *judge_by(log, [&](const Observation& one) { return one.bytes == 0 || kLargeSpan * one.bytes >= largest; });
    if (of_large.speed == Speed::slow) return of_large;
    std::optional<LogVerdict> of_small =
        judge_by(log, [](const Observation& one) { return one.bytes > 0 && one.bytes <= kLatencyBytes; });
    if (!of_small || of_small->speed != Speed::slow) return of_large;
    of_small->is_of_small = true;
    return *of_small;
  }

  void judge() {
    for (std::size_t log = 0; log < result_.logs.size(); ++log) result_.logs[log] = judge(log);
    static_cast<LogVerdict&>(result_) = *std::min_element(
        result_.logs.begin(), result_.logs.end(),
        [](const LogVerdict& a, const LogVerdict& b) { return a.share / a.low_share < b.share / b.low_share; });
  }

  UsedParts used() const {
    const auto nics = statement_about(CauseId::fewer_nics), sockets = statement_about(CauseId::sockets);
    return {nics ? nics->count : 0, sockets ? sockets->count : 0};
  }

  std::vector<Fault> faults() const {
    std::vector<Fault> all;
    const auto add = [&](const std::vector<Fault>& more) {
      for (const Fault& fault : more)
        if (std::none_of(all.begin(), all.end(), [&](const Fault& known) { return known.id == fault.id; }))
          all.push_back(fault);
    };
    for (const MeasuredCollective& collective : measured_.collectives) {
      if (!collective.transfer) add(machine_faults(catalogue_, machine_of_collective(collective), used()));
    }
    for (std::size_t i = 0; i < measured_.steps.size(); ++i) {
      const MeasuredStep& step = measured_.steps[i];
      add(machine_faults(catalogue_, machine_of_step(step), used()));
      add(job_faults({predictions_[i].scenario, step.is_mean, step.precision_is_logged, step.recomputation_is_logged}));
    }
    for (const MeasuredCollective& collective : measured_.collectives)
      if (collective.transfer) add(transfer_faults(collective.transfer->is_latency));
    return all;
  }

  // Holds the predictions with one fault, or without any.
  struct Hypothesis {
    std::vector<Expected> times;            // of the observations
    std::vector<calib::PartSeconds> parts;  // of measured_.steps
  };

  Hypothesis without_fault() const {
    Hypothesis expected;
    for (const Observation& one : result_.observations) expected.times.push_back(one.expected);
    for (const StepPrediction& predicted : predictions_) expected.parts.push_back(predicted.parts);
    return expected;
  }

  // A measurement that the fault does not apply to stays as expected.
  Hypothesis with_fault(const FaultVariant& variant) const {
    const PredictionSettings settings{catalogue_, jobs_, &variant};
    Hypothesis all = without_fault();
    std::size_t at = 0;
    const auto set = [&](const Expected& time) {
      const Observation& one = result_.observations[at];
      all.times[at++] = good_ ? expect_with_fault(one.expected, one.predicted, time) : time;
    };
    for (const MeasuredCollective& collective : measured_.collectives) {
      std::vector<Expected> times;
      if (!variant.change_job && variant.time_factor == 1) try {
          times = predict_collective(collective, settings);
        } catch (const InputError&) {  // one node has no network
        }
      if (times.empty()) at += collective.points.size();
      for (const Expected& time : times) set(time);
    }
    for (std::size_t i = 0; i < measured_.steps.size(); ++i) try {
        const StepPrediction predicted = predict_step(measured_.steps[i], settings);
        set(predicted.expected);
        all.parts[i] = predicted.parts;
      } catch (const InputError&) {
        ++at;
      }
    return all;
  }

  std::size_t place_of_step(std::size_t step) const {
    return result_.observations.size() - measured_.steps.size() + step;
  }
  bool has_parts(std::size_t step) const {
    return measured_.steps[step].traced.has_ranks() && (!good_ || good_->steps[step].traced.has_ranks());
  }
  double part_offset_s(std::size_t step) const {
    return kPartOffset * result_.observations[place_of_step(step)].expected.seconds;
  }

  Expected scored_part(std::size_t step, std::size_t part, double predicted_s) const {
    const double offset_s = part_offset_s(step);
    const auto expect = [&](double seconds) { return with_deviation(seconds + offset_s, kPartDeviation); };
    if (!good_) return expect(predicted_s);
    const MeasuredStep& good = good_->steps[step];
    return expect_with_fault(expected_from_good(good_parts_[step][part] + offset_s, good.scatter, 0),
                             expect(predictions_[step].parts[part]), expect(predicted_s));
  }

  // Expected times of result_.scored.
  std::vector<Expected> scored_times(const Hypothesis& hypothesis) const {
    std::vector<Expected> all = hypothesis.times;
    all.resize(place_of_step(0));
    for (std::size_t i = 0; i < measured_.steps.size(); ++i) {
      if (!has_parts(i)) all.push_back(hypothesis.times[place_of_step(i)]);
      for (std::size_t part = 0; has_parts(i) && part < calib::kStepParts; ++part)
        all.push_back(scored_part(i, part, hypothesis.parts[i][part]));
    }
    return all;
  }

  void choose_scored() {
    std::vector<Observation>& all = result_.scored;
    all = result_.observations;
    all.resize(place_of_step(0));
    for (std::size_t i = 0; i < measured_.steps.size(); ++i) {
      const Observation& whole = result_.observations[place_of_step(i)];
      if (!has_parts(i)) all.push_back(whole);
      for (std::size_t part = 0; has_parts(i) && part < calib::kStepParts; ++part) {
        Observation one = whole;
        one.name = part_title(static_cast<calib::StepPart>(part));
        one.offset_s = part_offset_s(i);
        one.measured_s = measured_parts_[i][part] + one.offset_s;
        one.expected = scored_part(i, part, predictions_[i].parts[part]);
        all.push_back(one);
      }
    }
  }

  static bool is_same(const std::vector<Expected>& a, const std::vector<Expected>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (std::abs(std::log(a[i].seconds / b[i].seconds)) > 0.02) return false;
    return true;
  }

  // Returns the largest factor by which the fault lengthens an observation, at most the factor that was measured.
  double gain_of(const Hypothesis& with) const {
    double gain = 0;
    for (std::size_t i = 0; i < with.times.size(); ++i) {
      const Observation& one = result_.observations[i];
      const double lost = std::max(1.0, one.measured_s / one.expected.seconds);
      gain = std::max(gain, std::min(lost, with.times[i].seconds / one.expected.seconds));
    }
    return gain;
  }

  static std::vector<calib::PartSeconds> parts_of(const std::vector<MeasuredStep>& steps) {
    std::vector<calib::PartSeconds> all;
    for (const MeasuredStep& step : steps)
      all.push_back(step.traced.has_ranks() ? path_parts(step.traced) : calib::PartSeconds{});
    return all;
  }

  void rank() {
    measured_parts_ = parts_of(measured_.steps);
    if (good_) good_parts_ = parts_of(good_->steps);
    choose_scored();
    const std::vector<Expected> baseline = scored_times(without_fault());
    std::vector<CandidateCause> candidates{{CauseId::normal, {{"", baseline}}}};
    for (const Fault& fault : faults()) {
      CandidateCause candidate{fault.id, {}, statement_about(fault.id)};
      for (const FaultVariant& variant : fault.variants) {
        const Hypothesis with = with_fault(variant);
        const std::vector<Expected> expected = scored_times(with);
        // A fault that changes nothing that was measured explains nothing.
        if (!is_same(expected, baseline)) candidate.variants.push_back({variant.text, expected, gain_of(with)});
      }
      if (!candidate.variants.empty()) candidates.push_back(candidate);
    }
    result_.causes = rank_causes(result_.scored, candidates);
  }

  void break_down_steps() {
    for (std::size_t i = 0; i < measured_.steps.size(); ++i) {
      const MeasuredStep& step = measured_.steps[i];
      if (!has_parts(i)) continue;
      const calib::PartSeconds parts = good_ ? good_->steps[i].traced.parts() : predictions_[i].parts;
      StepBreakdown breakdown = break_down(step.traced, result_.observations[place_of_step(i)].expected, parts);
      add_expected_collective_times(breakdown.collectives, step.question, {catalogue_, jobs_});
      result_.breakdowns.push_back(breakdown);
    }
  }

  Measurements measured_;
  std::optional<Measurements> good_;  ///< from match() on, in the order of measured_
  const Catalogue& catalogue_;
  int jobs_;
  CheckResult result_;
  std::vector<StepPrediction> predictions_;         ///< of measured_.steps
  std::vector<calib::PartSeconds> measured_parts_;  ///< of measured_.steps; 0 without traces
  std::vector<calib::PartSeconds> good_parts_;      ///< likewise of good_
};

}  // namespace

bool is_checked_operation(const std::string& operation) {
  return operation == "all-reduce" || operation == "all-gather" || operation == "reduce-scatter";
}

bool CheckResult::is_accepted(std::optional<double> least) const {
  return least ? share >= *least : speed != Speed::slow;
}

CheckResult check(const Measurements& measured, const Catalogue& catalogue, int jobs,
                  const std::optional<Measurements>& good) {
  return Checker(measured, catalogue, jobs, good).run();
}

}  // namespace lockstep::sim::explain
