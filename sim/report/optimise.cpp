#include "sim/report/optimise.hpp"

#include <algorithm>

#include "engine/base/format_printf.hpp"
#include "engine/base/rounded_json.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/convergence/profile.hpp"
#include "sim/convergence/time_to_accuracy.hpp"
#include "sim/point/calibration.hpp"
#include "sim/point/point.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::report {
namespace {

// A search: the settings to try at a number of GPUs, and how to apply one to the scenario.
struct Target {
  const char* name;
  std::vector<int> (*settings)(int gpus);
  void (*apply)(Scenario& scenario, int setting);
  bool takes_memory;  ///< larger settings need more GPU memory
};

void set_backups(Scenario& scenario, int backups) {
  scenario.workers->backups = backups;
  scenario.workers->aggregate = 0;
}

void set_batch(Scenario& scenario, int batch) {
  scenario.batch = {{kMostGpus, batch}};
}

void set_learners(Scenario& scenario, int learners) {
  scenario.learners.per_gpu = learners;
  scenario.learners.auto_tune.reset();
}

/// Lists powers of two and the numbers half-way between them.
std::vector<int> batches_to_try(int) {
  std::vector<int> all;
  for (int batch = 1; batch <= 65536; batch *= 2) {
    all.push_back(batch);
    if (batch > 1) all.push_back(batch + batch / 2);
  }
  return all;
}

std::vector<int> learners_to_try(int) {
  return {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all{{"backups", backups_to_try, set_backups, false},
                                       {"batch", batches_to_try, set_batch, true},
                                       {"learners", learners_to_try, set_learners, true}};
  return all;
}

bool is_optimised_by(Algorithm algorithm, const std::string& target) {
  const std::vector<std::string>& all = traits_of(algorithm).optimised_by;
  return std::count(all.begin(), all.end(), target) > 0;
}

void check(const Target& target, const Scenario& s) {
  const std::string what = std::string("--optimise ") + target.name + ": ";
  const std::string name = s.name + (s.variant.empty() ? "" : ", " + s.variant);
  if (!is_optimised_by(s.algorithm, target.name)) {
    std::vector<std::string> allowed;
    for (const Choice<Algorithm>& one : choices_of(Algorithm()))
      if (is_optimised_by(one.value, target.name)) allowed.push_back(one.name);
    throw InputError(what + name + " has the algorithm \"" + name_of(s.algorithm) + "\"; allowed: " + joined(allowed));
  }
  if (!s.convergence)
    throw InputError(what + name + " does not say how many iterations it takes; allowed: an object /convergence");
  if (std::string(target.name) != "backups" && !s.convergence->profile)
    throw InputError(what + name + " does not say how iterations depend on " +
                     (std::string(target.name) == "batch" ? "the batch" : "learners") +
                     "; allowed: /convergence/profile");
}

/// True within the range of the profile's runs, because recommendations must not be extrapolated.
bool is_covered(const Scenario& scenario, int gpus) {
  if (!scenario.convergence->profile) return true;
  const ConvergenceProfile& profile = *scenario.convergence->profile;
  const std::size_t target = *profile.target_named(scenario.convergence->target);
  const TrainingSetting setting = training_setting(scenario, gpus);
  return !why_not_covered(profile, target, setting) && estimate_iterations(profile, target, setting).notes.empty();
}

bool fits_memory(const Scenario& scenario, int gpus) {
  return scenario.ignores_memory || gpu_memory(scenario, gpus, scenario.batch_at(gpus)).fits();
}

const Target& target_named(const std::string& what) {
  for (const Target& target : targets())
    if (what == target.name) return target;
  throw InputError("--optimise " + what + ": cannot be optimised; allowed: " + joined(optimise_targets()));
}

}  // namespace

std::vector<std::string> optimise_targets() {
  std::vector<std::string> names;
  for (const Target& target : targets()) names.push_back(target.name);
  return names;
}

std::vector<int> backups_to_try(int machines) {
  std::vector<int> all;
  for (int backups : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500})
    if (backups <= machines / 2 && backups < machines) all.push_back(backups);
  return all;
}

const Candidate& Optimisation::best() const {
  return *std::min_element(candidates.begin(), candidates.end(),
                           [](const Candidate& a, const Candidate& b) { return a.seconds() < b.seconds(); });
}

std::vector<Optimisation> optimise(const LoadedScenario& loaded, const std::string& what, int jobs) {
  const Target& target = target_named(what);
  std::vector<Optimisation> curves;
  std::vector<Scenario> varied;  // one per candidate of all curves
  std::vector<PointRequest> requests;
  for (const Scenario& scenario : loaded.variants) {
    check(target, scenario);
    for (int gpus : scenario.gpus) {
      curves.push_back({what, scenario.variant, gpus, {}, 0});
      for (int setting : target.settings(gpus)) {
        Scenario changed = scenario;
        target.apply(changed, setting);
        if (!is_covered(changed, gpus)) continue;
        if (target.takes_memory && !fits_memory(changed, gpus)) {
          curves.back().beyond_memory = setting;
          break;
        }
        curves.back().candidates.emplace_back();
        curves.back().candidates.back().setting = setting;
        requests.push_back(request_for(changed, gpus, changed.batch_at(gpus)));
        varied.push_back(std::move(changed));
      }
      if (curves.back().candidates.empty() && curves.back().beyond_memory > 0)
        throw InputError("--optimise " + what + ": no setting that the profile's runs cover fits into the GPUs' " +
                         format_bytes(scenario.cluster.gpu.memory_bytes) + " at " + std::to_string(gpus) +
                         " GPUs; allowed: GPUs of more memory, or a profile with smaller settings");
      if (curves.back().candidates.empty())
        throw InputError("--optimise " + what + ": the profile's runs cover no setting at " + std::to_string(gpus) +
                         " GPUs; allowed: GPU counts within its range");
    }
  }
  std::vector<PointJob> points;
  for (std::size_t i = 0; i < varied.size(); ++i) points.push_back({&varied[i], requests[i]});
  const std::vector<PointResult> results = predict_points(points, jobs);
  std::size_t next = 0;
  for (Optimisation& curve : curves)
    for (Candidate& candidate : curve.candidates) {
      const PointResult& result = results[next];
      const Scenario& scenario = varied[next];
      const double images = result.samples_per_iteration;
      const IterationsEstimate iterations = iterations_to_target(*scenario.convergence, setting_of(scenario, result),
                                                                 images, epochs_half_width(scenario));
      const TimeToAccuracy time = time_to_accuracy(*scenario.convergence, iterations, images, result.mean_iteration_s(),
                                                   result.training_interval.low, result.training_interval.high);
      candidate.iterations = iterations.bound.iterations;
      candidate.iteration_s = result.mean_iteration_s();
      candidate.samples_per_s = result.samples_per_s();
      candidate.epochs = time.epochs;
      candidate.low_s = time.low_s;
      candidate.high_s = time.high_s;
      ++next;
    }
  return curves;
}

std::string optimisation_text(const std::vector<Optimisation>& curves) {
  std::string text;
  for (const Optimisation& curve : curves) {
    text += (curve.variant.empty() ? "" : curve.variant + ", ") + std::to_string(curve.gpus) + " GPUs, best " +
            curve.what + ": " + std::to_string(curve.best().setting) + "\n";
    text += format_printf("%8s  %10s  %8s  %10s  %12s  %12s  %s\n", curve.what.c_str(), "iterations", "epochs",
                          "samples/s", "iteration", "time", "80 % interval");
    for (const Candidate& c : curve.candidates) {
      text += format_printf("%8d  %10.0f  %8.2f  %10.0f  %9.1f ms  %12s  %s to %s%s\n", c.setting, c.iterations,
                            c.epochs, c.samples_per_s, c.iteration_s * 1e3, format_seconds(c.seconds()).c_str(),
                            format_seconds(c.low_s).c_str(), format_seconds(c.high_s).c_str(),
                            &c == &curve.best() ? "  best" : "");
    }
    if (curve.beyond_memory > 0)
      text += "         from " + std::to_string(curve.beyond_memory) + " on a GPU's memory does not hold it\n";
    text += "\n";
  }
  return text;
}

Json curves_json(const std::vector<Optimisation>& curves) {
  Json all = Json::array();
  for (const Optimisation& curve : curves) {
    Json points = Json::array();
    for (const Candidate& c : curve.candidates)
      points.push_back({{"setting", c.setting},
                        {"iterations", c.iterations},
                        {"iteration_s", c.iteration_s},
                        {"seconds", c.seconds()},
                        {"seconds_low", c.low_s},
                        {"seconds_high", c.high_s},
                        {"samples_per_s", c.samples_per_s},
                        {"epochs", c.epochs}});
    all.push_back({{"what", curve.what},
                   {"variant", curve.variant},
                   {"gpus", curve.gpus},
                   {"best", curve.best().setting},
                   {"beyond_memory", curve.beyond_memory > 0 ? Json(curve.beyond_memory) : Json()},
                   {"curve", points}});
  }
  return all;
}

Json optimisation_json(const LoadedScenario& loaded, const std::vector<Optimisation>& curves,
                       const std::vector<std::string>& argv) {
  Json json = result_head("lockstep/optimisation/1", loaded, argv);
  json["optimise"] = curves_json(curves);
  json["assumptions"] = assumptions_json(loaded);
  return rounded(std::move(json));
}

}  // namespace lockstep::sim::report
