// Rates that are published as operations per second.
#include <algorithm>

#include "sim/records/mapping.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

// Of a sample's forward pass, what the backward pass repeats; the layer of the vocabulary keeps what it needs.
double recomputed_macs(const model::Graph& graph, Recomputation recompute) {
  double all = 0, attention = 0, last = 0;
  for (const model::Layer& layer : graph.layers) {
    all += static_cast<double>(layer.macs);
    if (layer.kind == model::LayerKind::attention) attention += static_cast<double>(layer.macs);
    if (layer.kind == model::LayerKind::linear) last = static_cast<double>(layer.macs);
  }
  return recompute == Recomputation::full ? all - last : recompute == Recomputation::selective ? attention : 0;
}

}  // namespace

// Of a sample on one of the GPUs; over the peak where a share of it is asked for. Multiply-adds are counted as the sources do
// (Narayanan et al. 2021, appendix; Chowdhery et al. 2022, appendix B): attention as if nothing were masked, three times the
// forward pass, and what is computed again once more.
double counted_flop(Mapping& m) {
  constexpr double kFlopPerMac = 2, kPasses = 3;
  const model::Graph& graph = graph_of(m);
  double macs = kPasses * static_cast<double>(graph.macs());
  const Metric metric = m.metric();
  if (metric == Metric::hardware_flops || metric == Metric::hfu)
    macs += recomputed_macs(graph, m.job.split.recompute.value_or(Recomputation::none));
  double flop = kFlopPerMac * macs / std::max(1, m.job.gpus);
  if (metric == Metric::hfu || metric == Metric::mfu) flop /= std::max(m.gpu->spec.fp16_flops, m.gpu->spec.bf16_flops);
  return flop;
}

}  // namespace records
}  // namespace lockstep::sim
