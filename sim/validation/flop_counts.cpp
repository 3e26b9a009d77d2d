// Converts rates that are published as FLOP/s.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/validation/result_model.hpp"

namespace lockstep::sim::validation {
namespace {

double attention_macs(const model::Graph& graph) {
  double macs = 0;
  for (const model::Layer& layer : graph.layers)
    if (layer.kind == model::LayerKind::attention) macs += static_cast<double>(layer.macs);
  return macs;
}

// Counts the multiply-adds of a sample's forward pass that are recomputed. The output layer is not, because it keeps
// its inputs.
double recomputed_macs(const model::Graph& graph, Recomputation recompute) {
  double all = 0, last = 0;
  for (const model::Layer& layer : graph.layers) {
    all += static_cast<double>(layer.macs);
    if (layer.kind == model::LayerKind::linear) last = static_cast<double>(layer.macs);
  }
  return recompute == Recomputation::full        ? all - last
         : recompute == Recomputation::selective ? attention_macs(graph)
                                                 : 0;
}

// With adapters, the weights of all linear and expert layers are frozen. Returns the multiply-adds of the weight
// gradients that are therefore not computed.
double frozen_macs(const model::Graph& graph) {
  double macs = 0;
  for (const model::Layer& layer : graph.layers)
    if (layer.kind == model::LayerKind::linear || layer.kind == model::LayerKind::experts)
      macs += static_cast<double>(layer.macs);
  return macs;
}

// True if the count leaves out the half of attention that a causal mask hides. The record or the program that counted
// says so.
bool counts_causal_half(ResultModel& m) {
  if (m.record.has_causal_flops) return true;
  const std::vector<std::string>& programs = m.stack->causal_flops_of;
  const auto program = std::find_if(programs.begin(), programs.end(), [&](const std::string& name) {
    return lower_case(m.record.source).find(name) != std::string::npos;
  });
  if (program == programs.end()) return false;
  m.assume("causal_flops", true, "not stated; " + *program + " counts so, which the source is of");
  return true;
}

}  // namespace

// Returns the FLOP per sample and GPU, divided by the peak if the metric is a share of it. Multiply-adds are counted as
// the sources count them (Narayanan et al. 2021, appendix; Chowdhery et al. 2022, appendix B). Attention counts without
// a mask, unless the source leaves the masked half out. The forward pass counts three times, and recomputed layers once
// more.
double counted_flop(ResultModel& m) {
  constexpr double kFlopPerMac = 2, kPasses = 3;
  const model::Graph& graph = graph_of(m);
  double macs = kPasses * static_cast<double>(graph.macs());
  if (counts_causal_half(m)) macs -= kPasses * attention_macs(graph) / 2;
  if (m.job.split.task == kAdapters) macs -= frozen_macs(graph);
  const Metric metric = m.metric();
  if (metric == Metric::hardware_flops || metric == Metric::hfu)
    macs += recomputed_macs(graph, is_split(m.job) ? recomputation_of(m) : Recomputation::none);
  double flop = kFlopPerMac * macs / std::max(1, m.job.gpus);
  if (metric == Metric::hfu || metric == Metric::mfu) flop /= utilisation_peak_flops(m.gpu->spec, m.precision);
  return flop;
}

}  // namespace lockstep::sim::validation
