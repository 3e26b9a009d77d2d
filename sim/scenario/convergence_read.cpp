#include "sim/scenario/convergence_read.hpp"

#include "engine/base/text.hpp"

namespace lockstep::sim {
namespace {

constexpr int kMostWorkers = 65536;

std::vector<IterationsAt> read_iterations(const JsonNode& node) {
  std::vector<IterationsAt> table;
  for (const JsonNode& item : node.items()) {
    item.keys({"workers", "iterations"});
    const IterationsAt point{double(item.at("workers").integer(1, kMostWorkers)),
                             item.at("iterations").sourced_number({1, 1e12})};
    if (!table.empty() && point.workers <= table.back().workers) item.at("workers").fail("not in ascending order");
    table.push_back(point);
  }
  if (table.empty()) node.fail("empty list", "allowed: [{\"workers\", \"iterations\"}, ...]");
  return table;
}

std::size_t read_target(const JsonNode& node, const ConvergenceProfile& profile) {
  const auto target = node.is_number() ? profile.target_of(node.number({1e-6, 1})) : profile.target_named(node.text());
  if (target) return *target;
  std::vector<std::string> names;
  for (const TargetAccuracy& each : profile.targets)
    names.push_back(in_quotes(each.name) + " or " + short_number(each.accuracy));
  node.fail("is no target of " + profile.name, "allowed: " + joined(names));
}

/// What the prediction takes from the profile, for the ledger.
void note_fits(const JsonNode& node, const ConvergenceProfile& profile, std::size_t target) {
  for (const ConvergenceFit& fit : profile.fits) {
    if (fit.target != target) continue;
    std::string what = "iterations of " + name_of(fit.algorithm) + " to " + profile.targets[target].name + " by " +
                       fit.variable + ": " + (fit.table.empty() ? to_string(fit.law.kind) + " law" : "table") + ", " +
                       std::to_string(fit.reached) + " runs that reached it, " + std::to_string(fit.censored) +
                       " that did not, " + fit.variable + " " + short_number(fit.from_x) + " to " +
                       short_number(fit.to_x) + "; " + profile.source;
    node.document().note({node.pointer() + "/" + name_of(fit.algorithm) + "/" + fit.variable, profile.name,
                          fit.table.empty() ? "fitted" : profile.kind, what});
  }
}

ConvergenceSpec read_by_profile(const JsonNode& node) {
  ConvergenceSpec spec;
  for (const char* other : {"epochs", "iterations_by_workers"})
    if (node.has(other)) node.at(other).fail("stands beside a profile", "allowed: one of the two");
  const auto profile = std::make_shared<const ConvergenceProfile>(convergence_profile_from_json(node.at("profile")));
  const std::size_t target = read_target(node.at("target"), *profile);
  spec.target = profile->targets[target].name;
  spec.train_samples =
      node.has("train_samples") ? node.at("train_samples").sourced_number({1, 1e12}) : profile->train_samples;
  note_fits(node.at("profile"), *profile, target);
  spec.profile = profile;
  return spec;
}

}  // namespace

ConvergenceSpec read_convergence(const JsonNode& node) {
  node.keys({"target", "train_samples", "epochs", "iterations_by_workers", "profile"});
  if (node.has("profile")) return read_by_profile(node);
  ConvergenceSpec convergence;
  convergence.target = node.at("target").text();
  convergence.train_samples = node.at("train_samples").sourced_number({1, 1e12});
  if (const auto table = node.find("iterations_by_workers"))
    convergence.iterations_by_workers = read_iterations(*table);
  if (convergence.iterations_by_workers.empty() || node.has("epochs"))
    convergence.epochs = node.at("epochs").sourced_number({1e-3, 1e6});
  return convergence;
}

TrainingSetting training_setting(const Scenario& s, int gpus) {
  TrainingSetting setting;
  const bool is_synchronous = s.algorithm == Algorithm::s_sgd || s.algorithm == Algorithm::parameter_server ||
                              s.algorithm == Algorithm::sharded || s.algorithm == Algorithm::theano_mpi;
  setting.algorithm = is_synchronous ? Algorithm::s_sgd : s.algorithm;
  setting.batch = s.batch_at(gpus);
  setting.workers = gpus;
  if (s.algorithm == Algorithm::s_sgd) setting.workers *= s.communication.accumulation;
  if (s.trains_learners()) {
    setting.workers *= s.learners.per_gpu;
    setting.tau = s.learners.tau;
  }
  if (s.algorithm == Algorithm::backup_workers) setting.workers = s.workers->aggregate_of(gpus);
  if (s.algorithm == Algorithm::async_sgd) {
    setting.workers = 1;
    setting.staleness = gpus - 1;
  }
  return setting;
}

void check_profile(const JsonNode& node, const Scenario& s) {
  const ConvergenceProfile& profile = *s.convergence->profile;
  const JsonNode at = node.at("profile");
  if (profile.model != s.model.name)
    at.fail("its runs trained " + in_quotes(profile.model) + ", not " + in_quotes(s.model.name));
  if (s.trains_learners() && s.learners.auto_tune) return;  // the number of learners is not known yet
  for (const int gpus : s.gpus) {
    const auto why = why_not_covered(profile, *profile.target_named(s.convergence->target), training_setting(s, gpus));
    if (why) at.fail("at " + std::to_string(gpus) + " GPUs " + *why);
  }
}

}  // namespace lockstep::sim
