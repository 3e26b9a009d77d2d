#include "sim/explain/faults.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "engine/model/transformer/spec.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job/network_port.hpp"

namespace lockstep::sim::explain {
namespace {

std::string share_text(double share) {
  return short_number(100 * share) + " % of its rate";
}

FaultVariant with_text(const std::string& text) {
  FaultVariant variant;
  variant.text = text;
  return variant;
}

// NICs and the fabric's port of a node at a share of their bandwidth.
void scale_network(Workload& workload, double share) {
  workload.scenario.cluster.nic.link.bandwidth_bytes_per_s *= share;
  workload.scenario.cluster.fabric.scale_bandwidth(share);
  workload.node_line_bytes_per_s *= share;
}

void use_nics(Workload& workload, int nics) {
  NicSpec& nic = workload.scenario.cluster.nic;
  if (nic.per_node <= nics) return;
  const double share = static_cast<double>(nics) / nic.per_node;
  workload.scenario.cluster.fabric.scale_bandwidth(share);
  workload.node_line_bytes_per_s *= share;
  nic.per_node = nics;
  if (!nic.attach.empty()) nic.attach.resize(static_cast<std::size_t>(nics));
}

void scale_links_of_node(Workload& workload, double share) {
  IntraNodeSpec& node = workload.scenario.cluster.intra_node;
  if (node.kind == IntraNodeKind::nvswitch) node.gpu_link.bandwidth_bytes_per_s *= share;
  if (node.kind == IntraNodeKind::nvlink_mesh) node.mesh.link.bandwidth_bytes_per_s *= share;
  if (node.kind != IntraNodeKind::pcie_tree) return;
  for (LinkSpec* link : {&node.pcie.gpu_link, &node.pcie.switch_uplink, &node.pcie.host_staging})
    link->bandwidth_bytes_per_s *= share;
}

void slow_down_compute(Workload& workload, double factor) {
  ComputeSpec& compute = workload.scenario.compute;
  for (RateSpec& rate : compute.rates) rate.samples_per_s /= factor;
  for (EfficiencySpec& efficiency : compute.compute_efficiency) efficiency.efficiency /= factor;
  compute.kernels.speed /= factor;
  if (compute.kernels.half_speed) *compute.kernels.half_speed /= factor;
  compute.memory_efficiency /= factor;
}

// NCCL uses TCP over all ports, over one, or over another interface, such as the one for management. `known`: the number of
// interfaces that its lines have.
std::vector<FaultVariant> socket_variants(const NetworkFound& network, int known) {
  const double bits =
      network.line_bits_per_s > 0 ? network.line_bits_per_s : line_rate_of(*network.entry, network.port_bytes_per_s);
  std::vector<FaultVariant> variants;
  const auto add = [&](const std::string& text, int ports, double gbit_per_s) {
    FaultVariant variant = with_text(text);
    variant.network = std::to_string(ports) + "x " + short_number(std::max(1.0, std::round(gbit_per_s))) + " Gb/s TCP";
    variants.push_back(variant);
  };
  const bool is_known = known > 0 && known <= network.ports;
  if (is_known || network.ports > 1)
    add(std::to_string(is_known ? known : network.ports) + (is_known && known == 1 ? " port" : " ports"),
        is_known ? known : network.ports, bits / 1e9);
  if (!is_known) add("1 port", 1, bits / 1e9);
  if (is_known && known > 1) return variants;
  for (double gbit_per_s : {25, 10})
    if (bits > 2e9 * gbit_per_s) add("an interface of " + short_number(gbit_per_s) + " Gb/s", 1, gbit_per_s);
  return variants;
}

// One NIC, two, four, ... in place of all.
std::vector<FaultVariant> variants_of_nics(int nics, int known) {
  std::vector<FaultVariant> variants;
  const bool is_known = known > 0 && known < nics;
  for (int used = is_known ? known : 1; used < (is_known ? known + 1 : nics); used *= 2) {
    FaultVariant variant = with_text(std::to_string(used) + " of " + std::to_string(nics) + " NICs");
    variant.change_workload = [used](Workload& workload) { use_nics(workload, used); };
    variants.push_back(variant);
  }
  return variants;
}

std::vector<FaultVariant> shares(void (*scale)(Workload&, double), const std::vector<double>& all) {
  std::vector<FaultVariant> variants;
  for (double share : all) {
    FaultVariant variant = with_text(share_text(share));
    variant.change_workload = [scale, share](Workload& workload) { scale(workload, share); };
    variants.push_back(variant);
  }
  return variants;
}

// PCIe of the GPU's generation, and of the one before: by what the catalogue's GPUs of the generation have.
std::vector<std::string> pcie_links_of(const Catalogue& catalogue, const GpuEntry& gpu) {
  std::string own;
  for (const GpuEntry& other : catalogue.gpus)
    if (other.generation == gpu.generation && other.intra_node.rfind("pcie", 0) == 0) own = other.intra_node;
  std::vector<std::string> links;
  for (const std::string id : {"pcie5", "pcie4", "pcie", "pcie2"})
    if (own.empty() || !links.empty() || id == own) links.push_back(id);
  if (links.size() > 2) links.resize(2);
  return links;
}

std::vector<FaultVariant> pcie_variants(const Catalogue& catalogue, const GpuEntry& gpu, bool has_peers) {
  std::vector<FaultVariant> variants;
  for (const std::string& id : pcie_links_of(catalogue, gpu)) {
    FaultVariant variant = with_text(catalogue.intra_node_by_id(id).name);
    variant.link = id;
    if (!has_peers) variant.change_gpu = [](GpuEntry& entry) { entry.has_pcie_peers = false; };
    variants.push_back(variant);
  }
  return variants;
}

// Both ends of a transfer write it to host memory and read it from there.
std::vector<FaultVariant> host_memory_variants(const NamedMachine& machine) {
  std::vector<FaultVariant> variants;
  // Grace has memory of its own for one or two GPUs, about as fast as NVLink-C2C one way. A staged byte is written and
  // read.
  const double by_c2c = machine.gpus_per_node * machine.gpu->spec.host_link_bytes_per_s / 2;
  const double bytes_per_s = std::max(machine.link != nullptr ? machine.link->host_memory_bytes_per_s : 0, by_c2c);
  for (double share : {1.0, 0.5, 0.25, 0.125}) {
    FaultVariant variant = with_text("at " + short_number(std::round(100 * share)) + " % of its bandwidth");
    variant.change_workload = [share, bytes_per_s](Workload& workload) {
      workload.scenario.cluster.nic.gpudirect = false;
      if (bytes_per_s > 0) workload.scenario.cluster.host.memory_bandwidth_bytes_per_s = share * bytes_per_s;
    };
    variants.push_back(variant);
  }
  return variants;
}

std::vector<FaultVariant> ring_variants() {
  FaultVariant no_switch = with_text("no NVLS"), rings = with_text("rings");
  no_switch.change_workload = [](Workload& workload) { workload.scenario.communication.nccl.in_switch = false; };
  rings.change_workload = [](Workload& workload) {
    if (workload.scenario.communication.all_reduce == AllReduceKind::nccl)
      workload.scenario.communication.nccl.algorithm = NcclAlgorithm::ring;
  };
  return {no_switch, rings};
}

std::vector<FaultVariant> launch_variants(const std::vector<double>& all_microseconds) {
  std::vector<FaultVariant> variants;
  for (double microseconds : all_microseconds) {
    FaultVariant variant = with_text(short_number(microseconds) + " us more for each operation");
    variant.change_workload = [microseconds](Workload& workload) {
      workload.scenario.communication.launch_overhead_s += microseconds * 1e-6;
      workload.scenario.compute.host_launch_s += microseconds * 1e-6 / 10;
    };
    variants.push_back(variant);
  }
  return variants;
}

std::vector<FaultVariant> clock_variants() {
  std::vector<FaultVariant> variants;
  for (double factor : {1.2, 1.4, 1.7, 2.2, 3.0}) {
    FaultVariant variant = with_text("computation " + short_number(factor) + " times as long");
    variant.change_workload = [factor](Workload& workload) { slow_down_compute(workload, factor); };
    variants.push_back(variant);
  }
  return variants;
}

FaultVariant with_job(const std::string& text, std::function<void(Job&)> change) {
  FaultVariant variant = with_text(text);
  variant.change_job = std::move(change);
  return variant;
}

FaultVariant with_split(const std::string& text, const std::string& key, const Json& value) {
  return with_job(text, [key, value](Job& job) { job.split.give(key, value); });
}

std::vector<FaultVariant> factors(const std::string& text, const std::vector<double>& all) {
  std::vector<FaultVariant> variants;
  for (double factor : all) {
    FaultVariant variant = with_text(text + " " + short_number(100 * (factor - 1)) + " % longer");
    variant.time_factor = factor;
    variants.push_back(variant);
  }
  return variants;
}

std::vector<FaultVariant> precision_variants() {
  return {with_job("TF32", [](Job& job) { job.precision = RecordPrecision::tf32; }),
          with_job("FP32", [](Job& job) { job.precision = RecordPrecision::fp32; })};
}

// Scores in memory may fit only if they are computed again in the backward pass.
std::vector<FaultVariant> attention_variants(const Scenario& scenario) {
  std::vector<FaultVariant> variants{with_job("", [](Job& job) { job.fused_attention = false; })};
  if (!scenario.parallel || scenario.parallel->recompute != Recomputation::none) return variants;
  for (const char* recompute : {"selective", "full"})
    variants.push_back(with_job(std::string("with ") + recompute + " recomputation", [recompute](Job& job) {
      job.fused_attention = false;
      job.split.give("recompute", recompute);
    }));
  return variants;
}

std::vector<FaultVariant> bubble_variants(const ParallelSpec& split) {
  std::vector<FaultVariant> variants;
  if (split.virtual_stages > 1)
    variants.push_back(with_job("no virtual stages", [](Job& job) {
      job.split.give("virtual_stages", 1);
      job.split.give("schedule", "1f1b");
    }));
  for (int times : {2, 4, 8})
    variants.push_back(
        with_split(std::to_string(times) + " times as large micro-batches", "micro_batch", times * split.micro_batch));
  return variants;
}

}  // namespace

NamedMachine machine_of(const Catalogue& catalogue, const std::string& gpu, const std::string& link,
                        const std::string& network, int gpus_per_node, int gpus) {
  NamedMachine machine;
  const GpuRead named = read_gpu_name(catalogue.gpus, gpu);
  if (named.entry == nullptr) throw InputError("--gpu " + gpu + ": unknown; " + catalogue.gpus.nearest_text(gpu));
  machine.gpu = named.entry;
  machine.link = catalogue.intra_nodes.named(link.empty() ? named.entry->intra_node : link);
  machine.gpus_per_node = std::min(gpus, gpus_per_node > 0 ? gpus_per_node : named.entry->gpus_per_node);
  machine.nodes = (gpus + machine.gpus_per_node - 1) / machine.gpus_per_node;
  if (machine.nodes == 1) return machine;
  machine.is_network_given = !network.empty();
  const NetworkReading reading =
      read_network(catalogue.networks, network.empty() ? named.entry->network : network, machine.gpus_per_node);
  if (reading.found) machine.network = *reading.found;
  return machine;
}

std::vector<Fault> machine_faults(const Catalogue& catalogue, const NamedMachine& machine, const UsedParts& used) {
  std::vector<Fault> faults;
  const NetworkEntry* network = machine.network.entry;
  if (network != nullptr) {
    const int nics = std::min(machine.network.ports, machine.gpus_per_node);
    if (network->rdma) faults.push_back({CauseId::sockets, socket_variants(machine.network, used.socket_ports)});
    if (nics > 1) faults.push_back({CauseId::fewer_nics, variants_of_nics(nics, used.nics)});
    if (network->rdma && machine.gpu->has_gpudirect) {
      faults.push_back({CauseId::no_gpudirect, host_memory_variants(machine)});
    }
    faults.push_back({CauseId::slow_nic, shares(scale_network, {0.5, 0.25})});
  }
  if (machine.gpus_per_node > 1 && machine.link != nullptr) {
    if (machine.link->is_nvlink) faults.push_back({CauseId::pcie_link, pcie_variants(catalogue, *machine.gpu, true)});
    FaultVariant no_peers;
    no_peers.change_gpu = [](GpuEntry& entry) { entry.has_pcie_peers = false; };
    if (machine.link->is_nvlink)
      faults.push_back({CauseId::no_peer_access, pcie_variants(catalogue, *machine.gpu, false)});
    else if (machine.gpu->has_pcie_peers)
      faults.push_back({CauseId::no_peer_access, {no_peers}});
    faults.push_back({CauseId::slow_link, shares(scale_links_of_node, {0.5, 0.25})});
    if (machine.link->is_nvlink) faults.push_back({CauseId::no_nvls, ring_variants()});
  }
  faults.push_back({CauseId::slow_launch, launch_variants({30, 100, 300})});
  return faults;
}

std::vector<Fault> transfer_faults(bool is_latency) {
  std::vector<Fault> faults{{CauseId::slow_launch, launch_variants({3, 10, 30})}};
  if (!is_latency) faults.insert(faults.begin(), {CauseId::slow_nic, shares(scale_network, {0.5, 0.25})});
  return faults;
}

std::vector<Fault> job_faults(const MeasuredJobFacts& facts) {
  const Scenario& scenario = facts.scenario;
  std::vector<Fault> faults{{CauseId::low_clocks, clock_variants()}};
  const bool is_half = scenario.compute.precision != Precision::fp32 && scenario.compute.precision != Precision::tf32;
  if (is_half && !facts.precision_is_logged) faults.push_back({CauseId::precision, precision_variants()});
  if (scenario.model.transformer && scenario.model.transformer->job.fused_attention)
    faults.push_back({CauseId::attention, attention_variants(scenario)});
  if (scenario.parallel) {
    const ParallelSpec& split = *scenario.parallel;
    if (split.recompute == Recomputation::none && !facts.recomputation_is_logged)
      faults.push_back({CauseId::recomputation,
                        {with_split("all activations", "recompute", "full"),
                         with_split("those of attention", "recompute", "selective")}});
    if (split.pipeline > 1) faults.push_back({CauseId::bubble, bubble_variants(split)});
    if (split.expert > 1)
      faults.push_back({CauseId::experts,
                        {with_split("twice an even share", "expert_imbalance", 2.0),
                         with_split("4 times an even share", "expert_imbalance", 4.0)}});
  }
  if (scenario.communication.overlap && !scenario.parallel)
    faults.push_back({CauseId::no_overlap, {with_job("", [](Job& job) { job.overlap = false; })}});
  // In the prior cases with numbers, steps that wait for data take 1.3 to 15 times as long.
  faults.push_back({CauseId::data_loader, factors("steps", {1.3, 1.7, 2.5, 4, 7, 14, 28})});
  if (facts.is_mean) faults.push_back({CauseId::pauses, factors("the mean", {1.05, 1.15, 1.4})});
  return faults;
}

}  // namespace lockstep::sim::explain
