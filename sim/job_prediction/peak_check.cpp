#include "sim/job_prediction/peak_check.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::sim::job_prediction {
namespace {

constexpr double kLeastOfAttention = 0.5, kLeastOfConvolutions = 0.25;

double least_macs(const model::Layer& layer) {
  const auto macs = static_cast<double>(layer.macs);
  if (layer.kind == model::LayerKind::attention) return kLeastOfAttention * macs;
  return layer.kind == model::LayerKind::conv && std::max(layer.window.kernel_h, layer.window.kernel_w) > 1
             ? kLeastOfConvolutions * macs
             : macs;
}

double least_flops_of_sample(const Scenario& scenario) {
  const bool has_adapters = scenario.parallel && scenario.parallel->lora_rank > 0;
  double macs = 0;
  for (const model::Layer& layer : scenario.model.layers) macs += least_macs(layer);
  return (has_adapters ? 4 : 6) * macs;
}

}  // namespace

void check_below_peak(const std::string& measured, const Scenario& scenario, double samples_per_s_per_gpu,
                      double samples) {
  const double peak = scenario.cluster.gpu.peak_flops(scenario.compute.precision);
  const double flops = least_flops_of_sample(scenario) * samples_per_s_per_gpu;
  if (peak <= 0 || flops <= peak) return;
  const double most = samples_per_s_per_gpu * peak / flops;
  const std::string allowed = samples > 0 ? "at least " + duration_text(samples / most)
                                          : "at most " + short_number(most) + " samples/s of a GPU";
  const auto tera = [](double of) { return formatted("%.0f", of * 1e-12) + " TFLOP/s"; };
  throw InputError(measured + ": a GPU would compute at least " + tera(flops) + ", and the peak of " +
                   scenario.cluster.gpu.name + " in " + name_of(scenario.compute.precision) + " precision is " +
                   tera(peak) + "; allowed: " + allowed + ", or the --precision of the measurement");
}

}  // namespace lockstep::sim::job_prediction
