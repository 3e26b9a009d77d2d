#include "sim/point/describe.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "engine/base/units.hpp"
#include "sim/program/nccl_system.hpp"
#include "sim/program/parameter_server.hpp"

namespace lockstep::sim {
inline namespace point {
namespace {

struct Traffic {
  std::int64_t out = 0;
  std::int64_t in = 0;
};

// What the GPU with the most traffic sends and receives in one iteration. Exchanges have their runs of ranks in common
// and differ in bytes.
Traffic busiest(const std::vector<LayerExchange>& exchanges, int ranks) {
  std::map<std::tuple<int, int, int, int, int>, std::int64_t> runs;
  for (const LayerExchange& exchange : exchanges)
    for (const Plan* plan : {&exchange.push, &exchange.pull})
      for (const Phase& phase : plan->phases)
        for (const auto& block : phase.transfers.blocks())
          for (const Run& run : block->runs())
            runs[{run.src, run.dst, run.count, run.src_stride, run.dst_stride}] += run.bytes * phase.rounds;
  std::vector<Traffic> traffic(static_cast<std::size_t>(ranks));
  for (const auto& [ranks_of_run, bytes] : runs) {
    const auto& [src, dst, count, src_stride, dst_stride] = ranks_of_run;
    for (int i = 0; i < count; ++i) {
      traffic[static_cast<std::size_t>(src + i * src_stride)].out += bytes;
      traffic[static_cast<std::size_t>(dst + i * dst_stride)].in += bytes;
    }
  }
  return *std::max_element(traffic.begin(), traffic.end(),
                           [](const Traffic& a, const Traffic& b) { return a.out + a.in < b.out + b.in; });
}

std::string millions(double numbers) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f M", numbers / 1e6);
  return text;
}

}  // namespace

void describe_calls(const Program& program, PointResult& point) {
  for (std::size_t p = 0; p < program.plans.size(); ++p) {
    const Plan& plan = program.plans[p];
    if (!plan.call) continue;
    const auto uses = std::count_if(program.work.begin(), program.work.end(), [&](const Work& work) {
      return work.kind == Work::Kind::collective && work.plan == static_cast<int>(p);
    });
    point.details["calls"].push_back({{"choice", plan.algorithm},
                                      {"bytes", plan.bytes},
                                      {"per_iteration", double(uses) / program.iterations},
                                      {"latency_s", plan.call->latency_s},
                                      {"seconds", plan.call->latency_s + plan.call->transfer_s}});
  }
}

void describe_nccl_fit(const Scenario& scenario, PointResult& point) {
  const NcclSpec& spec = scenario.communication.nccl;
  if (scenario.communication.all_reduce != AllReduceKind::nccl || point.nodes < 2 ||
      spec.measured_between_nodes.empty())
    return;
  const std::vector<NcclCurve> curves = measured_between_nodes(scenario.cluster, spec);
  const std::optional<double> excess_s = measured_excess_s(scenario.cluster, spec);
  const NcclNetworkCorrection fit = fit_nccl_network(curves, NcclOperation::all_reduce, excess_s);
  const NcclFitErrors errors = nccl_fit_errors(curves, NcclOperation::all_reduce, excess_s);
  Json nodes = Json::array();
  for (const NcclCurve& curve : curves) nodes.push_back(curve.system.nodes);
  point.details["nccl_fit"] = {{"nodes", nodes},
                               {"calls", errors.calls},
                               {"latency_excess_s", fit.latency_excess_s},
                               {"pass_excess_s", fit.pass_excess_s},
                               {"bandwidth_factor", fit.bandwidth_factor},
                               {"median_residual", errors.median_residual},
                               {"worst_residual", errors.worst_residual},
                               {"leave_one_out", errors.leave_one_out},
                               {"worst_left_out", errors.worst_left_out}};
  if (errors.most_nodes_left_out) point.details["nccl_fit"]["most_nodes_left_out"] = *errors.most_nodes_left_out;
}

void describe_schemes(const Scenario& scenario, int batch_per_gpu, PointResult& point) {
  const Roles roles = roles_of(scenario, point.gpus);
  if (roles.ranks == 1) return;  // nothing is exchanged
  Json schemes = Json::array();
  std::string line;
  for (const model::Layer& layer : scenario.model.layers) {
    if (layer.kind != model::LayerKind::fc) continue;
    const SchemeCost cost = scheme_cost_of(layer, roles, batch_per_gpu);
    const std::string scheme = name_of(scheme_of(scenario, layer, roles, batch_per_gpu));
    schemes.push_back({{"layer", layer.name},
                       {"inputs", layer.in.elements()},
                       {"outputs", layer.out.elements()},
                       {"scheme", scheme},
                       {"server_numbers", cost.server},
                       {"factor_numbers", cost.factors},
                       {"adam_numbers", cost.adam}});
    line += layer.name + " by " + scheme + " (server " + millions(cost.server) + ", factors " + millions(cost.factors) +
            "); ";
  }
  const Traffic most = busiest(layer_exchanges(scenario, roles, batch_per_gpu), roles.ranks);
  point.details["servers"] = roles.servers.size();
  point.details["schemes"] = schemes;
  point.details["busiest_gpu"] = {{"bytes_sent", most.out}, {"bytes_received", most.in}};
  point.notes.push_back(std::to_string(point.gpus) + " GPUs: " + line + "the busiest GPU sends " +
                        format_bytes(static_cast<double>(most.out)) + " and receives " +
                        format_bytes(static_cast<double>(most.in)) + " in an iteration");
}

}  // namespace point
}  // namespace lockstep::sim
