#include "sim/plan/variation.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/cluster/fabric.hpp"

namespace lockstep::sim::plan {
namespace {

void scale_network_bandwidth(Scenario& s, double factor) {
  s.cluster.nic.link.bandwidth_bytes_per_s *= factor;
  s.cluster.fabric.scale_bandwidth(factor);
}

void halve_network_bandwidth(Scenario& s) {
  scale_network_bandwidth(s, 0.5);
}

void double_network_bandwidth(Scenario& s) {
  scale_network_bandwidth(s, 2);
}

void double_network_latency(Scenario& s) {
  const int nodes = s.cluster.nodes_for(*std::max_element(s.gpus.begin(), s.gpus.end()));
  s.communication.nccl.nic_latency_s += s.cluster.nic.link.latency_s + longest_fabric_latency_s(s.cluster, nodes);
  s.cluster.nic.link.latency_s *= 2;
  s.cluster.fabric.scale_latency(2);
  s.communication.message_overhead_s *= 2;
}

void halve_node_bandwidth(Scenario& s) {
  IntraNodeSpec& node = s.cluster.intra_node;
  for (LinkSpec* link : {&node.pcie.gpu_link, &node.pcie.switch_uplink, &node.pcie.socket_link, &node.pcie.host_staging,
                         &node.mesh.link, &node.gpu_link})
    link->bandwidth_bytes_per_s *= 0.5;
}

void speed_up_profile(ProfileSpec& spec, double factor) {
  auto faster = std::make_shared<calib::Profile>(*spec.profile);
  for (calib::Fit& fit : faster->fits)
    if (fit.probe == "iteration") {
      for (calib::Piece& piece : fit.line.pieces) {
        piece.line.latency_s /= factor;
        piece.line.seconds_per_unit /= factor;
      }
      for (calib::Measured& anchor : fit.line.anchors) anchor.seconds /= factor;
    }
  for (calib::Sample& sample : faster->samples)  // the fits' errors depend on the samples
    if (sample.probe == "iteration")
      for (double& seconds : sample.seconds) seconds /= factor;
  spec.profile = faster;
}

void speed_up_gpu(Scenario& s) {
  constexpr double kFactor = 1.2;
  GpuSpec& gpu = s.cluster.gpu;
  for (double* rate : {&gpu.fp32_flops, &gpu.tf32_flops, &gpu.fp16_flops, &gpu.bf16_flops, &gpu.fp8_flops,
                       &gpu.fp4_flops, &gpu.memory_bandwidth_bytes_per_s})
    *rate *= kFactor;
  s.compute.launch_s /= kFactor;
  for (RateSpec& rate : s.compute.rates) rate.samples_per_s *= kFactor;
  if (s.compute.profile) speed_up_profile(s.compute.profile, kFactor);
}

void make_even(Scenario& s) {
  s.compute.jitter = JitterKind::none;
  s.compute.jitter_variation = 0;
}

}  // namespace

const std::vector<Variation>& variations() {
  static const std::vector<Variation> all{
      {"network-half", "network bandwidth halved", halve_network_bandwidth, Reach::network},
      {"network-double", "network bandwidth doubled", double_network_bandwidth, Reach::network},
      {"latency-double", "network latency doubled", double_network_latency, Reach::network},
      {"node-half", "bandwidth of the links within a node halved", halve_node_bandwidth, Reach::node},
      {"gpu-faster", "GPU 20 % faster", speed_up_gpu, Reach::gpu}};
  return all;
}

void apply_variation(const std::string& name, Scenario& scenario) {
  if (name.empty()) return;
  if (name == "even") return make_even(scenario);
  for (const Variation& variation : variations())
    if (variation.name == name) return variation.apply(scenario);
  throw std::logic_error("no variation \"" + name + "\"");
}

}  // namespace lockstep::sim::plan
