#include <algorithm>

#include "calib/probe/probes.hpp"

namespace lockstep::calib {
namespace {

// Larger sums would hardly complete during the iterations.
constexpr std::int64_t kMostBesideIterations = std::int64_t{1} << 26;

}  // namespace

std::vector<int> usual_learners(const device::Backend& backend) {
  return backend.name() == "cuda" ? std::vector<int>{1, 2, 4, 8} : std::vector<int>{1};
}

std::vector<Probe> plan_probes(device::Backend& backend, const ProbeOptions& options) {
  std::vector<Probe> probes = launch_probes(backend);
  const auto append = [&](std::vector<Probe> more) {
    for (Probe& probe : more) probes.push_back(std::move(probe));
  };
  append(copy_probes(backend, options.most_bytes, options.pairs));
  append(collective_probes(backend, options.most_bytes, options.nodes));
  append(update_probes(backend, options.most_bytes));
  for (const model::Graph& model : options.models)
    for (const std::string& precision : options.precisions)
      for (int learners : options.learners)
        for (int batch : options.batches) {
          probes.push_back(iteration_probe(backend, model, precision, learners, batch, false));
          if (!options.has_input || learners > 1) continue;
          probes.push_back(iteration_probe(backend, model, precision, learners, batch, true));
          probes.push_back(input_probe(backend, model, precision, learners, batch));
        }
  // Measures layers only on device 0, because their times do not depend on the number of devices.
  for (const model::Graph& model : options.models)
    for (const std::string& precision : options.precisions)
      for (int batch : options.batches)
        if (options.has_layers) probes.push_back(pass_probe(backend, model, precision, batch));
  const std::int64_t most_beside = std::min(options.most_bytes, kMostBesideIterations);
  const auto [least, largest] = std::minmax_element(options.batches.begin(), options.batches.end());
  const std::vector<int> both = *least == *largest ? std::vector<int>{*least} : std::vector<int>{*least, *largest};
  for (const model::Graph& model : options.models)
    for (const std::string& precision : options.precisions)
      append(overlap_probes(backend, model, precision, both, most_beside));
  // Last, because they are the most numerous and predictions depend least on each.
  for (const model::Graph& model : options.models)
    for (const std::string& precision : options.precisions)
      if (options.has_layers) append(layer_update_probes(backend, model, precision, options.batches.front()));
  return probes;
}

}  // namespace lockstep::calib
