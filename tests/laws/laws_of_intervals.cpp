// Tests laws of the bounds of an answer, and of answers by several commands.
#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/json.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/report/result.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catalogue/catalogue.hpp"
#include "tests/laws/law.hpp"

namespace lockstep::tests {
namespace {

double width(const JobAnswer& answer) {
  return std::log(answer.high / answer.low);
}

CommandJob random_job(Draws& draws) {
  return draws.one_in(2) ? random_replicas(draws) : random_split(draws);
}

Case bounds_hold_the_value(Draws& draws) {
  const CommandJob job = random_job(draws);
  const JobAnswer a = answer(job);
  return Compared{std::max(a.low / a.samples_per_s, a.samples_per_s / a.high) - 0.99, {job.command()}};
}

Case utilisation_is_a_share(Draws& draws) {
  CommandJob job = random_job(draws);
  if (job.value("--precision") == "fp8" || job.value("--precision") == "fp4") job.give("--precision", "mixed");
  return Compared{answer(job).mfu - 1, {job.command()}};
}

Case a_rate_widens_nothing(Draws& draws) {
  CommandJob job = random_replicas(draws);
  CommandJob one = job;
  one.leave_out("--algorithm").give("--gpus", 1).give("--gpus-per-node", 1);
  CommandJob with_rate = job;
  with_rate.give("--rate", answer(one).samples_per_s);
  return Compared{width(answer(with_rate)) - width(answer(job)), {job.command(), with_rate.command()}};
}

double apart(double a, double b) {
  return std::abs(a / b - 1);
}

Case the_scenario_says_the_same(Draws& draws) {
  const CommandJob job = random_job(draws);
  if (job.value("--gpus") == "1") return std::nullopt;
  const sim::JobPrediction predicted = predict(job);
  const sim::QuantityPrediction& rate = predicted.largest().samples_per_s;
  const TemporaryFolder folder;
  const std::string path = folder.write("job.json", sim::job_scenario(predicted, catalogue()).dump());
  const sim::Report report = sim::predict(sim::load_scenario(path, {}), 1, {});
  const sim::PointResult& point = report.points.at(0).point;
  const double again = point.samples_per_s();
  return Compared{std::max({apart(again, rate.predicted), apart(again / point.interval.high, rate.low),
                            apart(again / point.interval.low, rate.high)}),
                  {job.command() + " --scenario job.json", "simulate job.json"}};
}

// The jobs that an error proposes: "allowed: without --tensor, or 128 GPUs".
std::vector<CommandJob> proposed_by(const std::string& error, const CommandJob& job) {
  static const std::regex kChange("without (--[a-z-]+)|([0-9]+) GPUs|none of (--[a-z, -]+)"), kOption("--[a-z-]+");
  const std::size_t allowed = error.find("; allowed: ");
  std::vector<CommandJob> proposed;
  if (allowed == std::string::npos) return proposed;
  const std::string text = error.substr(allowed);
  for (std::sregex_iterator at(text.begin(), text.end(), kChange), end; at != end; ++at) {
    proposed.push_back(job);
    const std::string all = (*at)[3].str();
    for (std::sregex_iterator option(all.begin(), all.end(), kOption); option != end; ++option)
      proposed.back().leave_out(option->str());
    if ((*at)[1].matched) proposed.back().leave_out((*at)[1]);
    if ((*at)[2].matched) proposed.back().give("--gpus", (*at)[2].str());
  }
  return proposed;
}

Case advice_is_accepted(Draws& draws) {
  const CommandJob job = random_open_job(draws);
  std::vector<CommandJob> proposed;
  try {
    (void)answer(job);
  } catch (const InputError& refused) {
    proposed = proposed_by(refused.what(), job);
  }
  if (proposed.empty()) return std::nullopt;
  for (const CommandJob& change : proposed) try {
      (void)answer(change);
    } catch (const InputError& refused) {
      return Compared{1, {job.command(), change.command() + "  # " + refused.what()}};
    }
  return Compared{0, {job.command()}};
}

}  // namespace

const std::vector<Law>& laws_of_intervals() {
  static const std::vector<Law> all{{"the bounds hold the value, and are not it", 0, bounds_hold_the_value},
                                    {"MFU is at most 1", 0, utilisation_is_a_share},
                                    {"a measured rate widens no interval", 1e-9, a_rate_widens_nothing},
                                    {"job and scenario say the same", 1e-9, the_scenario_says_the_same},
                                    {"advice is accepted", 0, advice_is_accepted}};
  return all;
}

}  // namespace lockstep::tests
