#include "sim/scenario/convergence_read.hpp"

#include "engine/base/text.hpp"
#include "sim/convergence/profile.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "sim/scenario/exchange_spec.hpp"
#include "sim/scenario/file_schema.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::scenario {
namespace {

constexpr int kMostWorkers = kMostGpus;

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

/// Lists the values of the profile that the prediction uses.
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

const ObjectFormat<ConvergenceSpec>& convergence_format() {
  using Spec = ConvergenceSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("convergence");
    auto target = f.custom("target", "text or number", "", {{"type", {"string", "number"}}});
    target.means(
        "for the table only, such as `76 % top-1`; with a profile, one of its targets, by name or as an "
        "accuracy (`0.985`)");
    target.reads([](const JsonNode& node, Spec& spec) { spec.target = node.text(); });
    target.writes([](const Spec& spec) { return Json(spec.target); });
    f.number("train_samples", &Spec::train_samples, {1, 1e12})
        .optional("required without `profile`")
        .means("images in an epoch");
    f.number("epochs", &Spec::epochs, {1e-3, 1e6})
        .optional("required without the next two")
        .means("epochs to the target");
    auto table = f.custom("iterations_by_workers", "array of `{\"workers\", \"iterations\"}`, ascending", "",
                          {{"type", "array"}, {"items", {{"type", "object"}}}});
    table.optional("none").means(
        "updates to the target when each averages so many workers' gradients; between them a power law, beyond them "
        "its slope. Goes before `epochs`");
    table.reads([](const JsonNode& node, Spec& spec) { spec.iterations_by_workers = read_iterations(node); });
    table.writes([](const Spec& spec) {
      Json list = Json::array();
      for (const IterationsAt& one : spec.iterations_by_workers)
        list.push_back({{"workers", one.workers}, {"iterations", one.iterations}});
      return list.empty() ? Json() : list;
    });
    auto profile = f.custom("profile", "text or object", "path ending in `.json`, or a `lockstep/convergence/1` object",
                            file_or_object_schema());
    profile.optional("none").means(
        "updates to the target by what measured or published runs of this model needed, see below. Not beside the two "
        "above");
    profile.reads([](const JsonNode&, Spec&) {});  // read_by_profile()
    profile.writes([](const Spec& spec) { return spec.profile ? to_json(*spec.profile) : Json(); });
    f.then([](const JsonNode& node, Spec& spec) {
      node.at("train_samples");
      if (spec.iterations_by_workers.empty()) node.at("epochs");
    });
    return f;
  }();
  return format;
}

ConvergenceSpec read_convergence(const JsonNode& node) {
  node.keys(convergence_format().keys());
  return node.has("profile") ? read_by_profile(node) : convergence_format().read(node);
}

TrainingSetting training_setting(const Scenario& s, int gpus) {
  TrainingSetting setting;
  setting.algorithm = traits_of(s.algorithm).law.value_or(s.algorithm);
  setting.batch = s.batch_at(gpus);
  setting.workers = gpus;
  if (s.parallel) {
    const int replicas = s.parallel_at(gpus).data;
    setting.workers = static_cast<double>(global_batch_of(*s.parallel, replicas)) / s.parallel->micro_batch;
  }
  if (traits_of(s.algorithm).accumulates) setting.workers *= s.communication.accumulation;
  if (s.trains_learners()) {
    setting.workers *= s.learners.per_gpu;
    setting.tau = s.learners.tau;
  }
  if (!s.trains_learners()) setting.tau = iterations_of_round(s);
  if (s.algorithm == Algorithm::local_sgd && gpus <= s.local_sgd.group_gpus) {  // one replica, by S-SGD
    setting.algorithm = Algorithm::s_sgd;
    setting.tau = 1;
  }
  if (s.algorithm == Algorithm::backup_workers) setting.workers = s.workers->aggregate_of(gpus);
  if (s.algorithm == Algorithm::async_sgd) {
    setting.workers = 1;
    setting.staleness = gpus - 1;
  }
  return setting;
}

}  // namespace lockstep::sim::scenario
