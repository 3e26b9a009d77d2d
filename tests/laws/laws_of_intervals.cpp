// Laws of an answer's bounds, and of answers by several commands.
#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/json.hpp"
#include "sim/api/answers.hpp"
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

Case bounds_hold_the_value(Draws& draws) {
  const CommandJob job = random_job(draws);
  const JobAnswer a = answer(job);
  return Compared{std::max(a.low / a.samples_per_s, a.samples_per_s / a.high) - 0.99, {job.command()}};
}

Case utilisation_is_a_share(Draws& draws) {
  const CommandJob job = random_job(draws);
  const double mfu = answer(job).mfu;
  if (mfu == 0) return std::nullopt;
  return Compared{mfu - 1, {job.command()}};
}

Case a_rate_widens_nothing(Draws& draws) {
  CommandJob job = random_replicas(draws);
  CommandJob one = job;
  one.leave_out("--algorithm").give("--gpus", 1).give("--gpus-per-node", 1);
  CommandJob with_rate = job;
  with_rate.give("--rate", answer(one).samples_per_s);
  return Compared{width(answer(with_rate)) - width(answer(job)), {job.command(), with_rate.command()}};
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

// Returns the jobs that an error proposes: "allowed: without --tensor, or 128 GPUs", "allowed: a batch of at most 189,
// or --ignore-memory", "allowed: up to 8, or a multiple of it".
std::vector<CommandJob> proposed_by(const std::string& error, const CommandJob& job) {
  static const std::regex kChange(
      "without (--[a-z-]+)|([0-9]+) GPUs|none of (--[a-z, -]+)|a batch of at most ([0-9]+)|or (--ignore-memory)|"
      "up to ([0-9]+), or a multiple of it|"
      "\\((--algorithm|--recompute) ([a-z]+)\\)(?: with a batch of at most ([0-9]+))?"),
      kOption("--[a-z-]+");
  const std::size_t allowed = error.find("; allowed: ");
  std::vector<CommandJob> proposed;
  if (allowed == std::string::npos) return proposed;
  const std::string text = error.substr(allowed);
  for (std::sregex_iterator at(text.begin(), text.end(), kChange), end; at != end; ++at) {
    proposed.push_back(job);
    CommandJob& change = proposed.back();
    const std::string all = (*at)[3].str();
    for (std::sregex_iterator option(all.begin(), all.end(), kOption); option != end; ++option)
      change.leave_out(option->str());
    if ((*at)[1].matched) change.leave_out((*at)[1]);
    if ((*at)[2].matched) change.give("--gpus", (*at)[2].str());
    if ((*at)[4].matched) change.give("--batch", (*at)[4].str());
    if ((*at)[5].matched) change.give("--ignore-memory");
    if ((*at)[6].matched) change.give("--gpus", std::stod((*at)[6]) * 3);
    if ((*at)[7].matched) change.leave_out((*at)[7]).give((*at)[7], (*at)[8].str());
    if ((*at)[9].matched) change.give("--batch", (*at)[9].str());
  }
  return proposed;
}

// The law is broken if `ask` refuses any of the proposed changes.
template <class Ask>
Case follow_advice(const CommandJob& job, const std::string& program, const Ask& ask) {
  std::vector<CommandJob> proposed;
  try {
    ask(job);
  } catch (const InputError& refused) {
    proposed = proposed_by(refused.what(), job);
  }
  if (proposed.empty()) return std::nullopt;
  for (const CommandJob& change : proposed) try {
      ask(change);
    } catch (const InputError& refused) {
      return Compared{1, {job.command(program), change.command(program) + "  # " + refused.what()}};
    }
  return Compared{0, {job.command(program)}};
}

Case advice_is_accepted(Draws& draws) {
  return follow_advice(random_open_job(draws), "simulate job", [](const CommandJob& job) { (void)answer(job); });
}

// Draws a batch that a GPU may not hold, or GPUs that may not fill nodes.
CommandJob random_large_replicas(Draws& draws) {
  CommandJob job = random_replicas(draws);
  if (draws.one_in(4)) return job.give("--gpus", 1.0 + std::stoi(job.value("--gpus")));
  return job.leave_out("--ignore-memory").give("--batch", draws.of({64, 512, 2048, 8192}));
}

Case advice_to_replicas_is_accepted(Draws& draws) {
  return follow_advice(random_large_replicas(draws), "simulate job", [](const CommandJob& job) { (void)answer(job); });
}

// A plan refuses its only point with a reason; the job itself is refused with an error.
Case advice_to_plans_is_accepted(Draws& draws) {
  CommandJob job = draws.one_in(2) ? random_open_job(draws) : random_large_replicas(draws);
  const bool is_of_images = job.has("--batch") && job.value("--model").find("gpt") == std::string::npos &&
                            job.value("--model").find("llama") == std::string::npos &&
                            job.value("--model") != "bert_large";
  job.give(is_of_images ? "--epochs" : "--tokens", "90");
  return follow_advice(job, "plan job", [](const CommandJob& of) {
    const Json plan = sim::answer("plan_job", of.options(), catalogue());
    const Json& point = plan.at("points").at(0);
    if (point.at("status") != "ok") throw InputError(point.at("why").get<std::string>());
  });
}

}  // namespace

const std::vector<Law>& laws_of_intervals() {
  static const std::vector<Law> all{{"the bounds hold the value, and are not it", 0, bounds_hold_the_value},
                                    {"MFU is at most 1", 0, utilisation_is_a_share},
                                    {"a measured rate widens no interval", 1e-9, a_rate_widens_nothing},
                                    {"job and scenario say the same", 1e-9, the_scenario_says_the_same},
                                    {"advice is accepted", 0, advice_is_accepted},
                                    {"advice to replicas is accepted", 0, advice_to_replicas_is_accepted},
                                    {"advice of plan job is accepted", 0, advice_to_plans_is_accepted, 2}};
  return all;
}

}  // namespace lockstep::tests
