#include "sim/plan/energy.hpp"

#include <algorithm>

namespace lockstep::sim::plan {
namespace {

double load_of(const Outcome& o) {
  const double used = double(o.gpus) / (double(o.nodes) * o.gpus_per_node);
  return std::clamp(o.compute_s / o.iteration_s, 0.0, 1.0) * o.goodput / o.paid_share * std::min(1.0, used);
}

}  // namespace

const ObjectFormat<EnergySpec>& energy_format() {
  static const ObjectFormat<EnergySpec> format = [] {
    using Spec = EnergySpec;
    ObjectFormat<Spec> f("energy");
    f.number("standby_share", &Spec::standby_share, {0, 1})
        .otherwise(
            {{"value", 0.505},
             {"kind", "fitted"},
             {"source", "MLPerf Power v4.0, four tasks on 8 and 9 nodes beside one (results/validation/energy.md)"}})
        .means("what a waiting node takes of the power of a busy one");
    f.number("pue", &Spec::pue, {1, 5})
        .assumed(1.2, "a modern data centre; old ones 1.6")
        .means("energy of the whole site over that of the nodes");
    f.number("co2", &Spec::co2_g_per_kwh, {0, 5000}).optional("none is told").means("grams of CO2 of a kWh");
    return f;
  }();
  return format;
}

std::optional<double> busy_power_per_gpu_w(const std::string& gpu) {
  if (gpu == "H100 SXM5") return kBusyH100Node_w / 8;
  return std::nullopt;
}

double node_power_w(const EnergySpec& spec, const Outcome& o, double busy_w) {
  return busy_w * o.gpus_per_node * (spec.standby_share + (1 - spec.standby_share) * load_of(o));
}

double energy_j(const EnergySpec& spec, const Outcome& o, double busy_w) {
  const double standing_by_w = busy_w * o.gpus_per_node * spec.standby_share;
  return spec.pue * (o.nodes * node_power_w(spec, o, busy_w) + o.spares * standing_by_w) * o.paid_s();
}

}  // namespace lockstep::sim::plan
