#include "sim/scenario/check.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/model/checkpoints.hpp"
#include "sim/convergence/profile.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "sim/scenario/measured_all_reduce.hpp"
#include "sim/scenario/profile_device.hpp"

namespace lockstep::sim::scenario {
namespace {

using Problem = std::optional<ScenarioProblem>;

// Finds numbers of GPUs that fill some nodes only partly. A part of one node is allowed.
Problem find_gpus_problem(const std::string& pointer, int gpus, const Scenario& s) {
  const ClusterSpec& cluster = s.cluster;
  const int most = cluster.nodes * cluster.gpus_per_node;
  if (gpus > most)
    return {{pointer, std::to_string(gpus) + " GPUs are more than the cluster has",
             "allowed: at most " + std::to_string(most) + ", or more nodes of the cluster (/cluster/nodes)"}};
  if (gpus > cluster.gpus_per_node && gpus % cluster.gpus_per_node != 0)
    return {{pointer, std::to_string(gpus) + " GPUs do not fill whole nodes",
             "allowed: multiples of " + std::to_string(cluster.gpus_per_node)}};
  return {};
}

Problem find_nodes_used_problem(const std::string& pointer, int gpus, const Scenario& s) {
  const std::vector<int>& used = s.cluster.nodes_used;
  const int servers = s.parameter_server && s.parameter_server->separate ? s.parameter_server->servers
                      : s.workers                                        ? s.workers->server_nodes()
                                                                         : 0;
  const int needed = s.cluster.nodes_for(gpus) + servers;
  if (used.empty()) return {};
  if (s.input.reads_over_links())
    return {{"/cluster/nodes_used", "with a file server, which takes the node after the first ones",
             "allowed: without it, or /input/traffic \"aside\""}};
  if (needed <= static_cast<int>(used.size())) return {};
  return {{pointer,
           std::to_string(gpus) + " GPUs need " + std::to_string(needed) + " nodes, and " +
               std::to_string(used.size()) + " are listed",
           "allowed: more numbers in /cluster/nodes_used, of a job in its \"nodes\"; or fewer GPUs"}};
}

Problem find_batch_problem(const std::string& pointer, int gpus, const Scenario& s) {
  if (gpus <= s.batch.back().up_to_gpus) return {};
  return {{pointer, "no batch size for " + gpus_text(gpus),
           "allowed: at most " + std::to_string(s.batch.back().up_to_gpus) + " by /batch_per_gpu"}};
}

Problem find_torus_problem(const std::string& pointer, int gpus, const Scenario& s) {
  const int columns = s.communication.torus_columns > 0 ? s.communication.torus_columns : s.cluster.gpus_per_node;
  if (s.communication.all_reduce != AllReduceKind::torus || gpus <= columns || gpus % columns == 0) return {};
  return {{pointer,
           "a torus of " + std::to_string(columns) + " columns does not divide " + std::to_string(gpus) + " GPUs", ""}};
}

// Refuses all-reduces that were not measured, because they are not estimated.
Problem find_measured_all_reduce_problem(const std::string& pointer, int gpus, const Scenario& s) {
  const AllReduceKind kind = s.communication.all_reduce;
  if (kind != AllReduceKind::profile && kind != AllReduceKind::profile_average) return {};
  const AllReduceOfProfile measured(s);
  if (measured.profile() == nullptr)
    return {{pointer, "all_reduce \"profile\" without a profile",
             "allowed: one in /compute/profile, or in /communication/profile"}};
  if (gpus == 1) return {};
  const std::string& library = s.communication.library;
  const std::string over = " over " + std::to_string(gpus) + " devices";
  const std::vector<std::string> libraries = measured.libraries(gpus);
  if (library.empty() && libraries.size() > 1)
    return {{pointer, "the profile has the " + measured.operation() + " of several libraries" + over,
             "allowed: one of them in /communication/library: " + joined(libraries)}};
  if (measured.find_fit(gpus) != nullptr) return {};
  return {{pointer, "the profile has no " + measured.operation() + (library.empty() ? "" : " of " + library) + over,
           libraries.empty() ? "" : "allowed: by " + joined(libraries)}};
}

// Refuses options that the algorithm does not support, instead of ignoring them.
Problem find_algorithm_problem(const Scenario& s) {
  const AlgorithmTraits& traits = traits_of(s.algorithm);
  const CommunicationSpec& c = s.communication;
  const bool is_measured = c.all_reduce == AllReduceKind::profile || c.all_reduce == AllReduceKind::profile_average;
  if (!is_measured && (c.profile || !c.library.empty()))
    return {{c.profile ? "/communication/profile" : "/communication/library",
             "has no effect on all_reduce \"" + name_of(c.all_reduce) + "\"", "allowed: beside \"profile\""}};
  const std::string name = "\"" + name_of(s.algorithm) + "\"";
  if (c.accumulation > 1 && !traits.accumulates)
    return {{"/communication/accumulation", name + " does not accumulate gradients", "allowed: 1"}};
  if (s.input.loading.blocking && !traits.may_block)
    return {{"/input/loading", name + " loads beside the training", "allowed: parallel"}};
  if (s.input.is_on_links && !traits.has_input) return {{"/input/traffic", name + " has no input", "allowed: aside"}};
  if (s.algorithm == Algorithm::sharded && c.all_reduce != AllReduceKind::ring && c.all_reduce != AllReduceKind::nccl)
    return {{"/communication/all_reduce", "shards are gathered by ring or nccl", "allowed: ring, nccl"}};
  if (s.algorithm == Algorithm::theano_mpi && c.wire != Wire::fp32)
    return {{"/communication/wire", "Theano-MPI's wire follows from its exchange", "allowed: fp32"}};
  return {};
}

// A file server takes a node of its own, after all others.
Problem find_file_server_problem(int gpus, const Scenario& s) {
  const int servers = s.parameter_server && s.parameter_server->separate ? s.parameter_server->servers : 0;
  const int occupied = s.cluster.nodes_for(gpus) + servers;
  if (!s.input.reads_over_links() || occupied < s.cluster.nodes) return {};
  return {{"/input/traffic", "the cluster has no node for the file server beside " + std::to_string(gpus) + " GPUs",
           "allowed: a cluster of at least " + std::to_string(occupied + 1) + " nodes"}};
}

Problem find_separate_problem(const std::string& pointer, int servers, int gpus, const Scenario& s) {
  const int left = s.cluster.nodes - s.cluster.nodes_for(gpus);
  if (servers <= left) return {};
  return {{pointer,
           std::to_string(servers) + " separate servers beside " + std::to_string(gpus) +
               " GPUs are more nodes than the cluster has",
           "allowed: at most " + std::to_string(left)}};
}

Problem find_servers_problem(int gpus, const Scenario& s) {
  if (!s.parameter_server || !s.parameter_server->separate) return {};
  return find_separate_problem("/parameter_server/servers", s.parameter_server->servers, gpus, s);
}

// Refuses a profile of another model.
Problem find_convergence_problem(const Scenario& s) {
  if (!s.convergence || !s.convergence->profile) return {};
  const ConvergenceProfile& profile = *s.convergence->profile;
  if (profile.model == s.model.name) return {};
  return {{"/convergence/profile", "its runs trained " + in_quotes(profile.model) + ", not " + in_quotes(s.model.name),
           ""}};
}

Problem find_bucket_copies_problem(const Scenario& s) {
  if (s.communication.bucket_copy_bytes_per_s <= 0 || (s.algorithm == Algorithm::s_sgd && !s.parallel)) return {};
  return {{"/communication/bucket_copies", s.parallel ? "is not modelled of a split" : "of " + name_of(s.algorithm),
           "allowed: without it; s-sgd has it"}};
}

Problem find_profile_problem(const Scenario& s) {
  const std::string& gpu = s.cluster.gpu.name;
  const std::string device = s.compute.profile ? find_contradicting_device(s.compute.profile.profile->device, gpu) : "";
  if (device.empty()) return {};
  return {{"/compute/profile", "was measured on " + in_quotes(device) + ", and the cluster's GPU is " + in_quotes(gpu),
           "allowed: a profile of that GPU; without one, simulate job --model M --gpu G --gpus N predicts it by its "
           "kernels"}};
}

Problem find_half_kernel_speed_problem(const Scenario& s) {
  const bool is_below_half = s.compute.precision == Precision::fp8 || s.compute.precision == Precision::fp4;
  if (!s.compute.kernels.half_speed || is_below_half) return {};
  return {{"/compute/efficiency/half_kernel_speed", "layers are in " + name_of(s.compute.precision),
           "allowed: kernel_speed alone; fp8 and fp4 leave some kernels in 16 bits"}};
}

// Algorithms that update elsewhere, or keep averages, do so in single precision.
Problem find_half_parameters_problem(const Scenario& s) {
  if (!s.compute.half_parameters) return {};
  const std::string pointer = "/compute/half_parameters";
  if (activation_bytes(s.compute.precision) != 2)
    return {{pointer, "layers are in " + name_of(s.compute.precision), "allowed: mixed, fp16, bf16, fp8, fp4"}};
  if (s.algorithm != Algorithm::s_sgd && s.algorithm != Algorithm::sharded)
    return {{pointer, "is not modelled of " + name_of(s.algorithm), "allowed: without it; s-sgd and sharded have it"}};
  return {};
}

// Learners train weights in single precision, so that there are no others.
Problem find_master_weights_problem(const Scenario& s) {
  if (!s.trains_learners() || !s.compute.kept.master || *s.compute.kept.master == model::MasterWeights::fp32) return {};
  return {{"/compute/master_weights", "learners keep their weights in single precision", "allowed: fp32"}};
}

Problem find_recomputation_problem(const Scenario& s) {
  if (!s.compute.recomputes_blocks) return {};
  const std::string pointer = "/compute/recompute_blocks";
  if (s.parallel) return {{pointer, "stands beside a split", "allowed: /parallel/recompute"}};
  if (s.trains_learners()) return {{pointer, "is not modelled of learners", "allowed: false"}};
  const std::vector<int> blocks = model::checkpointed_blocks(s.model);
  if (std::all_of(blocks.begin(), blocks.end(), [](int block) { return block < 0; }))
    return {{pointer, s.model.title + " has no blocks", "allowed: false; or layers named by block, \"l1/query\""}};
  return {};
}

// Refuses options that predictions of a split cannot include.
Problem find_split_problem(const Scenario& s) {
  if (!s.parallel) return {};
  const ParallelSpec& spec = *s.parallel;
  if (s.algorithm != Algorithm::s_sgd)
    return {{"/algorithm", "a replica of several GPUs is trained by synchronous SGD", "allowed: s-sgd"}};
  if ((spec.global_batch > 0) == (spec.micro_batches > 0))
    return {{"/parallel", "neither or both of global_batch and micro_batches", "allowed: one of them"}};
  if (s.communication.accumulation > 1)
    return {{"/communication/accumulation", "a split accumulates over its micro-batches", "allowed: 1"}};
  if (spec.is_data_parallel_alone() && spec.recompute == Recomputation::none) return {};
  if (!s.model.transformer)
    return {{"/model", "no transformer by its numbers, which a split goes by",
             "allowed: a language model of --list-models, or a HuggingFace configuration"}};
  if (spec.offloads_optimizer && (s.cluster.host.memory_bandwidth_bytes_per_s <= 0 ||
                                  s.cluster.intra_node.pcie.gpu_link.bandwidth_bytes_per_s <= 0))
    return {{"/parallel/offload_optimizer", "the cluster does not state its host memory or the GPUs' way to it",
             "allowed: false; or a cluster with /host/memory_bandwidth and /intra_node/pcie_link"}};
  if (s.communication.all_reduce != AllReduceKind::ring && s.communication.all_reduce != AllReduceKind::nccl)
    return {{"/communication/all_reduce", "groups of a split exchange by ring or nccl", "allowed: ring, nccl"}};
  if (s.communication.reduction_rate_bytes_per_s > 0)
    return {{"/communication/reduction_rate", "is not modelled of a split", "allowed: without it"}};
  if (s.compute.profile)
    return {{"/compute/profile", "its iterations are of whole replicas", "allowed: rates, or efficiencies"}};
  if (s.input.samples_per_s_per_node > 0 || s.input.is_on_links)
    return {{"/input", "the input of a split is not modelled", "allowed: without it"}};
  return {};
}

Problem find_split_at_problem(int gpus, const Scenario& s) {
  if (!s.parallel) return {};
  if (Problem problem = find_problem(*s.parallel, gpus)) return problem;
  return find_batch_problem(*s.parallel, gpus / s.parallel->gpus_of_replica());
}

Problem find_background_problem(const Scenario& s) {
  for (std::size_t i = 0; i < s.background.size(); ++i) {
    const std::string pointer = "/background/" + std::to_string(i);
    const int largest = std::max(s.background[i].from_node, s.background[i].to_node);
    if (s.cluster.nic.per_node == 0) return {{pointer, "the cluster has no network", "allowed: without it"}};
    if (largest >= s.cluster.nodes)
      return {{pointer, "node " + std::to_string(largest) + " of a cluster of " + std::to_string(s.cluster.nodes),
               "allowed: 0 to " + std::to_string(s.cluster.nodes - 1)}};
  }
  return {};
}

Problem find_point_problem(const std::string& pointer, int gpus, const Scenario& s) {
  if (Problem problem = find_gpus_problem(pointer, gpus, s)) return problem;
  if (Problem problem = find_nodes_used_problem(pointer, gpus, s)) return problem;
  if (Problem problem = find_split_at_problem(gpus, s)) return problem;
  if (Problem problem = find_batch_problem(pointer, gpus, s)) return problem;
  if (Problem problem = find_torus_problem(pointer, gpus, s)) return problem;
  if (Problem problem = find_exchange_problem(gpus, s)) return problem;
  if (Problem problem = find_measured_all_reduce_problem(pointer, gpus, s)) return problem;
  if (Problem problem = find_file_server_problem(gpus, s)) return problem;
  if (Problem problem = s.workers ? find_problem(*s.workers, gpus, s) : Problem()) return problem;
  return find_servers_problem(gpus, s);
}

Problem find_baseline_problem(const Scenario& s) {
  const std::string pointer = "/baseline/gpus";
  if (Problem problem = find_torus_problem(pointer, s.baseline_gpus, s)) return problem;
  if (Problem problem = find_split_at_problem(s.baseline_gpus, s)) return problem;
  if (Problem problem = find_file_server_problem(s.baseline_gpus, s)) return problem;
  return find_measured_all_reduce_problem(pointer, s.baseline_gpus, s);
}

}  // namespace

std::optional<ScenarioProblem> find_problem(const WorkersSpec& workers, int gpus, const Scenario& s) {
  const int aggregate = workers.aggregate_of(gpus);
  if (aggregate < 1 || aggregate > gpus)
    return {{workers.aggregate > 0 ? "/workers/aggregate" : "/workers/backups",
             std::to_string(aggregate) + " of " + std::to_string(gpus) + " gradients cannot make an update",
             "allowed: 1 to all of them"}};
  return find_separate_problem("/workers/servers", workers.server_nodes(), gpus, s);
}

std::optional<ScenarioProblem> find_problem(const Scenario& s) {
  if (Problem problem = find_algorithm_problem(s)) return problem;
  if (Problem problem = find_recomputation_problem(s)) return problem;
  if (Problem problem = find_split_problem(s)) return problem;
  if (Problem problem = find_profile_problem(s)) return problem;
  if (Problem problem = find_bucket_copies_problem(s)) return problem;
  if (Problem problem = find_half_parameters_problem(s)) return problem;
  if (Problem problem = find_half_kernel_speed_problem(s)) return problem;
  if (Problem problem = find_master_weights_problem(s)) return problem;
  if (Problem problem = find_convergence_problem(s)) return problem;
  if (Problem problem = find_background_problem(s)) return problem;
  if (Problem problem = find_gpus_problem("/baseline/gpus", s.baseline_gpus, s)) return problem;
  if (Problem problem = find_nodes_used_problem("/baseline/gpus", s.baseline_gpus, s)) return problem;
  for (std::size_t i = 0; i < s.gpus.size(); ++i)
    if (Problem problem = find_point_problem("/gpus/" + std::to_string(i), s.gpus[i], s)) return problem;
  if (Problem problem = find_baseline_problem(s)) return problem;
  if (s.model.parameter_count() == 0) return {{"/model", "the model has no parameters to train", ""}};
  if (s.cluster.gpu.peak_flops(s.compute.precision) <= 0)
    return {
        {"/compute/precision", "the cluster's GPU has no peak rate for \"" + name_of(s.compute.precision) + "\"", ""}};
  const bool is_narrow = s.compute.precision == Precision::fp8 || s.compute.precision == Precision::fp4;
  if (is_narrow && std::max(s.cluster.gpu.fp16_flops, s.cluster.gpu.bf16_flops) <= 0)
    return {{"/compute/precision",
             "the cluster's GPU has no peak rate in half precision, in which part of \"" +
                 name_of(s.compute.precision) + "\" is computed",
             "allowed: with gpu/peak/fp16 or gpu/peak/bf16"}};
  return {};
}

std::optional<ScenarioProblem> find_uncovered_training(const Scenario& s) {
  if (!s.convergence || !s.convergence->profile) return {};
  if (s.trains_learners() && s.learners.auto_tune) return {};  // the number of learners is not known yet
  const ConvergenceProfile& profile = *s.convergence->profile;
  for (const int gpus : s.gpus) {
    const auto why = why_not_covered(profile, *profile.target_named(s.convergence->target), training_setting(s, gpus));
    if (why) return {{"/convergence/profile", "at " + std::to_string(gpus) + " GPUs " + *why, ""}};
  }
  return {};
}

void check(const Scenario& s) {
  Problem problem = find_problem(s);
  if (!problem) problem = find_uncovered_training(s);
  if (problem)
    throw InputError(s.name + ": " + problem->pointer + ": " + problem->wrong +
                     (problem->allowed.empty() ? "" : "; " + problem->allowed));
}

}  // namespace lockstep::sim::scenario
