#pragma once
// Searches over a setting of a scenario for the least time to its target. Every candidate is simulated with the same
// seed. The whole curve is reported, not only the best setting.
//
// `backups`: The number N of gradients that an update waits for, with a fixed number of machines N + b. With fewer
// gradients an iteration is faster, but more iterations are needed: time = iterations(N) x mean iteration time (Chen et
// al. 2016, section 3.1, Fig. 6).
// `batch`: Images per GPU. A larger batch uses GPUs and network better and needs fewer iterations, but more epochs.
// `learners`: Learners per GPU of an averaging algorithm (Crossbow, Figs. 11 and 12).
// With a profile, only settings that its runs cover are tried. Batches and learners must fit into the GPUs' memory
// (program/gpu_memory.hpp).
#include <functional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::report {

struct Candidate {
  int setting = 0;  ///< backups: b; batch: images per GPU; learners: per GPU
  double iterations = 0;
  double iteration_s = 0;
  double samples_per_s = 0;
  double epochs = 0;
  double low_s = 0;  ///< bounds of the time to the target
  double high_s = 0;
  double seconds() const { return iterations * iteration_s; }
};

/// The curve of one variant at one GPU count.
struct Optimisation {
  std::string what;
  std::string variant;
  int gpus;
  std::vector<Candidate> candidates;  ///< ascending setting
  int beyond_memory;                  ///< the smallest setting that exceeds a GPU's memory; 0: all tried fit
  const Candidate& best() const;
};

/// Lists the settings that can be optimised: backups, batch, learners.
std::vector<std::string> optimise_targets();

/// Returns one curve per variant and GPU count. Throws InputError if a variant lacks values that the search needs.
std::vector<Optimisation> optimise(const LoadedScenario& loaded, const std::string& what, int jobs);

/// Lists the numbers of backups to try for a number of machines: each of the first ten, then with growing steps, up to
/// half.
std::vector<int> backups_to_try(int machines);

std::string optimisation_text(const std::vector<Optimisation>& curves);
/// Writes [{"what", "variant", "gpus", "best", "beyond_memory": setting or null, "curve": [{"setting", "iterations",
/// "iteration_s", "seconds", "seconds_low", "seconds_high", "samples_per_s", "epochs"}]}].
Json curves_json(const std::vector<Optimisation>& curves);
/// Writes "lockstep/optimisation/1": provenance, scenario and assumptions as in a result, with the curves in
/// "optimise".
Json optimisation_json(const LoadedScenario& loaded, const std::vector<Optimisation>& curves,
                       const std::vector<std::string>& argv);

}  // namespace lockstep::sim::report
