#pragma once
// Looks up a job's names from command lines and records. Each name must match the catalogue as a whole, the network
// must match its grammar, and the algorithm the table below. Parts of names are never matched.
//
// For an unknown name, the reason and the nearest names are stored. A record reports them. A command refuses the job.
#include <optional>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job/job.hpp"

namespace lockstep::sim::job {

/// A way in which a job exchanges its gradients, and the facts that the way's name implies.
struct JobAlgorithm {
  std::string id;
  std::string title;
  std::vector<std::string> aliases;
  std::optional<Algorithm> algorithm;  ///< none: synchronous SGD with all-reduces or servers
  Transport transport = Transport::nccl;
  std::optional<AllReduceKind> all_reduce{};  ///< none: the software's default, or there is no all-reduce
  std::optional<ServerScheme> scheme{};
  bool overlaps = true;          ///< false: the exchange starts after the whole backward pass
  bool needs_no_numbers = true;  ///< false: it requires numbers that only a scenario can give
};

/// Lists the algorithms of simulate, and the all-reduces and exchanges that S-SGD can use.
const std::vector<JobAlgorithm>& job_algorithms();

/// Returns nullptr for an unknown name.
const JobAlgorithm* job_algorithm_named(const std::string& name);
/// Returns the ids of the algorithms with the nearest names.
std::vector<std::string> nearest_algorithms(const std::string& name);

/// Looks up software, model (with its sequence length in tokens), GPU, link and network. If the exchange's name implies
/// other facts, sets those that are not among the job's `given` keys.
void resolve_names(Job& job, const Catalogue& catalogue);
/// Sets the job's software by name, and looks it up.
void set_software(Job& job, const std::string& name, const Catalogue& catalogue);
/// Joins nodes that NVLink connects in a rack into one node. It does so if the GPU's or network's text says so
/// ("NVL72"), or if the catalogue has such racks for the GPU and no link is given. Sets `gpus_per_node`, `trays` and
/// the network's ports to those of the larger node.
void join_nodes(Job& job, const std::vector<int>& gpus_of_jobs, const Catalogue& catalogue);
/// Returns the node that join_nodes() would make, from the texts of GPU, network and link and from `gpus_per_node`. If
/// `gpus_per_node` is not given, it is the largest part of a rack that suits the jobs (joined_node()). It has 0 GPUs if
/// the catalogue has no racks for the GPU.
JoinedNode joined_node_of(const Job& job, const std::vector<int>& gpus_of_jobs, const Catalogue& catalogue);

/// Throws InputError for an unknown name of a command line, "--gpu H1000: ...", with the three nearest names.
void check_names(const Job& job, const Catalogue& catalogue, bool needs_model = true);

/// Lists all known names, "models: alexnet_bn_jizhi, ..." and so on, and the grammar of networks. Every listed name can
/// be given as it is.
std::string names_text(const Catalogue& catalogue);

}  // namespace lockstep::sim::job
