#include "sim/report/optimise.hpp"

#include <algorithm>
#include <cstdio>

#include "engine/base/text.hpp"
#include "sim/convergence/time_to_accuracy.hpp"
#include "sim/replay/point.hpp"
#include "sim/report/result.hpp"

namespace lockstep::sim {
namespace {

// A search: what settings are tried at a GPU count, how one is put into the scenario, and what it must have.
struct Target {
  const char* name;
  std::vector<int> (*settings)(int gpus);
  void (*apply)(Scenario& scenario, int gpus, int setting);
  void (*check)(const Scenario& scenario);
};

void set_backups(Scenario& scenario, int, int backups) {
  scenario.workers->backups = backups;
  scenario.workers->aggregate = 0;
}

void check_backups(const Scenario& s) {
  const std::string name = s.name + (s.variant.empty() ? "" : ", " + s.variant);
  if (s.algorithm != "backup-workers")
    throw InputError("--optimise backups: " + name + " has the algorithm \"" + s.algorithm +
                     "\"; allowed: backup-workers");
  if (!s.convergence)
    throw InputError("--optimise backups: " + name +
                     " does not say how many iterations it takes; allowed: an object /convergence");
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all{{"backups", backups_to_try, set_backups, check_backups}};
  return all;
}

const Target& target_named(const std::string& what) {
  for (const Target& target : targets())
    if (what == target.name) return target;
  throw InputError("--optimise " + what + ": cannot be optimised; allowed: " + joined(optimise_targets()));
}

PointRequest request_for(const Scenario& scenario, int gpus) {
  PointRequest request;
  request.gpus = gpus;
  request.batch_per_gpu = scenario.batch_at(gpus);
  request.fidelity = fidelity_from(scenario.fidelity);
  request.seed = scenario.seed;
  request.iterations = scenario.iterations;
  return request;
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

std::vector<Optimisation> optimise(const LoadedScenario& loaded, const std::string& what, int jobs,
                                   const std::function<void(std::size_t done, std::size_t of)>& progress) {
  const Target& target = target_named(what);
  std::vector<Optimisation> curves;
  std::vector<Scenario> varied;  // one per candidate of all curves
  std::vector<PointRequest> requests;
  for (const Scenario& scenario : loaded.variants) {
    target.check(scenario);
    for (int gpus : scenario.gpus) {
      curves.push_back({what, scenario.variant, gpus, {}});
      for (int setting : target.settings(gpus)) {
        curves.back().candidates.push_back({setting, 0, 0});
        varied.push_back(scenario);
        target.apply(varied.back(), gpus, setting);
        requests.push_back(request_for(scenario, gpus));
      }
    }
  }
  std::vector<PointJob> points;
  for (std::size_t i = 0; i < varied.size(); ++i) points.push_back({&varied[i], requests[i]});
  const std::vector<PointResult> results = predict_points(points, jobs, [&](std::size_t done) {
    if (progress) progress(done, points.size());
  });
  std::size_t next = 0;
  for (Optimisation& curve : curves)
    for (Candidate& candidate : curve.candidates) {
      const PointResult& result = results[next];
      candidate.iterations = iterations_to_target(
          *varied[next].convergence, result.samples_per_iteration / result.batch_per_gpu, result.samples_per_iteration);
      candidate.iteration_s = result.mean_iteration_s();
      ++next;
    }
  return curves;
}

std::string optimisation_text(const std::vector<Optimisation>& curves) {
  std::string text;
  char line[160];
  for (const Optimisation& curve : curves) {
    text += (curve.variant.empty() ? "" : curve.variant + ", ") + std::to_string(curve.gpus) + " GPUs, best " +
            curve.what + ": " + std::to_string(curve.best().setting) + "\n";
    std::snprintf(line, sizeof line, "%8s  %10s  %12s  %10s\n", curve.what.c_str(), "iterations", "iteration", "time");
    text += line;
    for (const Candidate& c : curve.candidates) {
      std::snprintf(line, sizeof line, "%8d  %10.0f  %9.1f ms  %8.2f h%s\n", c.setting, c.iterations,
                    c.iteration_s * 1e3, c.seconds() / 3600, &c == &curve.best() ? "  best" : "");
      text += line;
    }
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
                        {"seconds", c.seconds()}});
    all.push_back({{"what", curve.what},
                   {"variant", curve.variant},
                   {"gpus", curve.gpus},
                   {"best", curve.best().setting},
                   {"curve", points}});
  }
  return all;
}

Json optimisation_json(const LoadedScenario& loaded, const std::vector<Optimisation>& curves,
                       const std::vector<std::string>& argv) {
  Json json = result_head("lockstep/optimisation/1", loaded, argv);
  json["optimise"] = curves_json(curves);
  json["assumptions"] = assumptions_json(loaded);
  return json;
}

}  // namespace lockstep::sim
