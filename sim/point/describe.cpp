#include "sim/point/describe.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/program/nccl_system.hpp"
#include "sim/program/parameter_server.hpp"

namespace lockstep::sim::point {
namespace {

// Traffic of the GPU with the most. Many exchanges have the same runs of ranks and differ only in bytes, so equal runs
// are added first.
GpuTraffic busiest_gpu(const std::vector<LayerExchange>& exchanges, int ranks) {
  std::map<std::tuple<int, int, int, int, int>, std::int64_t> runs;
  for (const LayerExchange& exchange : exchanges)
    for (const Plan* plan : {&exchange.push, &exchange.pull})
      for (const Phase& phase : plan->phases)
        for (const auto& block : phase.transfers.blocks())
          for (const Run& run : block->runs())
            runs[{run.src, run.dst, run.count, run.src_stride, run.dst_stride}] += run.bytes * phase.rounds;
  std::vector<GpuTraffic> traffic(static_cast<std::size_t>(ranks));
  for (const auto& [ranks_of_run, bytes] : runs) {
    const auto& [src, dst, count, src_stride, dst_stride] = ranks_of_run;
    for (int i = 0; i < count; ++i) {
      traffic[static_cast<std::size_t>(src + i * src_stride)].bytes_sent += bytes;
      traffic[static_cast<std::size_t>(dst + i * dst_stride)].bytes_received += bytes;
    }
  }
  return *std::max_element(traffic.begin(), traffic.end(), [](const GpuTraffic& a, const GpuTraffic& b) {
    return a.bytes_sent + a.bytes_received < b.bytes_sent + b.bytes_received;
  });
}

std::string millions(double numbers) {
  return formatted("%.2f M", numbers / 1e6);
}

}  // namespace

void describe_calls(const Program& program, PointResult& point) {
  for (std::size_t p = 0; p < program.plans.size(); ++p) {
    const Plan& plan = program.plans[p];
    if (!plan.call) continue;
    const auto uses = std::count_if(program.work.begin(), program.work.end(), [&](const Work& work) {
      return work.kind == Work::Kind::collective && work.plan == static_cast<int>(p);
    });
    point.details.calls.push_back({plan.algorithm, plan.bytes, double(uses) / program.iterations, plan.call->latency_s,
                                   plan.call->latency_s + plan.call->transfer_s});
  }
}

void describe_nccl_fit(const Scenario& scenario, PointResult& point) {
  const NcclSpec& spec = scenario.communication.nccl;
  if (scenario.communication.all_reduce != AllReduceKind::nccl || point.nodes < 2 ||
      spec.measured_between_nodes.empty())
    return;
  const std::vector<NcclCurve> curves = measured_between_nodes(scenario.cluster, spec);
  const std::optional<double> excess_s = measured_excess_s(scenario.cluster, spec);
  NcclFitResult fit;
  for (const NcclCurve& curve : curves) fit.nodes.push_back(curve.system.nodes);
  fit.correction = fit_nccl_network(curves, NcclOperation::all_reduce, excess_s);
  fit.errors = nccl_fit_errors(curves, NcclOperation::all_reduce, excess_s);
  point.details.nccl_fit = std::move(fit);
}

void describe_schemes(const Scenario& scenario, int batch_per_gpu, PointResult& point) {
  const Roles roles = roles_of(scenario, point.gpus);
  if (roles.ranks == 1) return;  // nothing is exchanged
  ServerDetails details;
  details.servers = static_cast<int>(roles.servers.size());
  std::string line;
  for (const model::Layer& layer : scenario.model.layers) {
    if (layer.kind != model::LayerKind::fc) continue;
    const SchemeCost cost = scheme_cost_of(layer, roles, batch_per_gpu);
    const std::string scheme = name_of(scheme_of(scenario, layer, roles, batch_per_gpu));
    details.schemes.push_back(
        {layer.name, layer.in.elements(), layer.out.elements(), scheme, cost.server, cost.factors, cost.adam});
    line += layer.name + " by " + scheme + " (server " + millions(cost.server) + ", factors " + millions(cost.factors) +
            "); ";
  }
  details.busiest_gpu = busiest_gpu(layer_exchanges(scenario, roles, batch_per_gpu), roles.ranks);
  point.notes.push_back(std::to_string(point.gpus) + " GPUs: " + line + "the busiest GPU sends " +
                        format_bytes(static_cast<double>(details.busiest_gpu.bytes_sent)) + " and receives " +
                        format_bytes(static_cast<double>(details.busiest_gpu.bytes_received)) + " in an iteration");
  point.details.parameter_server = std::move(details);
}

}  // namespace lockstep::sim::point
