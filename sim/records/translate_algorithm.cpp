// The algorithm of a publication: who moves the gradients, in what order and how much of them at a time.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/records/translate_parts.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

bool is_of_poseidon(const Record& record) {
  return says(record.source + record.system, {"poseidon"});
}

// Project Adam's exchange, as Poseidon compares with; elsewhere Adam is an optimiser.
bool is_adam(const Record& record) {
  return has_word(record.algorithm, {"adam"}) && is_of_poseidon(record);
}

Transport transport_of(const Record& record) {
  const std::string& text = record.algorithm;
  if (says(text, {"alltoall", "cuda-aware"}) || has_word(text, {"asa", "asa16", "asa32"})) return Transport::mpi_on_gpu;
  if (says(text, {"mpi_allreduce", "host-staged", "osu"})) return Transport::mpi_on_host;
  if (says(text, {"kvstore", "dist_device", "dist_sync"})) return Transport::kvstore;
  if (says(text, {"ps on gpu"})) return Transport::servers_on_gpu;
  const bool servers = has_word(text, {"ps", "pserver", "server", "servers", "sfb", "wfbp"});
  if (servers || says(text, {"parameter_server", "distributed_replicated", "without nccl", "hybcomm", "1-bit"}))
    return Transport::servers_on_host;
  if (mentions(text, "hybrid") && mentions(record.system, "poseidon")) return Transport::servers_on_host;
  return says(text, {"baidu"}) ? Transport::baidu_ring : Transport::nccl;
}

bool is_served(Transport transport) {
  return transport == Transport::servers_on_host || transport == Transport::servers_on_gpu ||
         transport == Transport::kvstore;
}

// BytePS's servers on the workers' own machines take a ring's bytes, and NCCL adds up inside the nodes.
std::optional<ServerScheme> scheme_of(const Record& record, Transport transport) {
  const std::string& text = record.algorithm;
  if (says(text, {"1-bit", "1 bit", "onebit"})) return ServerScheme::one_bit;
  if (is_adam(record)) return ServerScheme::adam;
  if (says(text, {"sfb", "sufficient"}))
    return says(text, {"hybrid", "ps"}) ? ServerScheme::best : ServerScheme::factors;
  if (!is_served(transport)) return std::nullopt;
  return says(text, {"hybrid", "hybcomm"}) ? ServerScheme::best : ServerScheme::server;
}

std::optional<AllReduceKind> all_reduce_of(const std::string& text, const StackEntry& stack) {
  if (mentions(text, "torus")) return AllReduceKind::torus;
  if (mentions(text, "hierarchical"))
    return mentions(text, "hybrid") ? AllReduceKind::hybrid : AllReduceKind::hierarchical;
  if (mentions(text, "hybrid") && stack.all_reduce == "hybrid") return AllReduceKind::hybrid;
  if (says(text, {"halving", "rabenseifner", "butterfly"})) return AllReduceKind::halving_doubling;
  if (has_word(text, {"tree", "trees"})) return AllReduceKind::double_binary_tree;
  if (mentions(text, "ring")) return AllReduceKind::ring;
  return std::nullopt;
}

// What is not synchronous SGD that uses every gradient is not simulated for records.
bool is_refused(const std::string& text) {
  return says(
      text, {"async", "backup", "sync, n=", "sparse", "model parallel", "pipeline", "statistics", "simulated", "top-k",
             "powersgd", "local sgd", "gossip", "decentralized", "offload", "infinity", "tensor parallel", "diloco"});
}

bool shards_parameters(const std::string& text) {
  if (says(text, {"zero-3", "zero 3", "zero3", "zero stage 3", "stage-3"})) return true;
  return says(text, {"fsdp", "fully sharded"}) && !says(text, {"shard_grad_op", "no reshard", "hybrid"});
}

std::optional<Algorithm> algorithm_of(const std::string& text) {
  if (mentions(text, "async")) return Algorithm::async_sgd;
  if (shards_parameters(text)) return Algorithm::sharded;
  if (has_word(text, {"sma"})) return Algorithm::sma;
  return says(text, {"ea-sgd", "easgd"}) ? std::optional<Algorithm>(Algorithm::ea_sgd) : std::nullopt;
}

// An algorithm of a name that says nothing to the translator is taken for an all-reduce, which is said.
bool is_unheard_of(const std::string& text, const JobSpec& job) {
  if (text.empty() || text == "none") return false;
  const bool is_of_mpi = job.transport == Transport::mpi_on_host || job.transport == Transport::mpi_on_gpu;
  if (job.algorithm || !job.other_algorithm.empty() || is_of_mpi) return false;
  return !says(text, {"all-reduce", "allreduce",   "nccl",       "horovod", "ring",  "ddp",          "ssgd",
                      "bsp",        "synchronous", "replicated", "tree",    "torus", "hierarchical", "hybrid",
                      "halving",    "mpi",         "sgd",        "kvstore", "dist_", "data parallel"});
}

// Poseidon and BytePS cut parameters into pairs, MXNet into parts of a million numbers; TensorFlow and naive servers
// place whole tensors.
bool places_tensors(const Record& record, const JobSpec& job) {
  if (job.is_sequential || mentions(record.algorithm, "tensor-granular")) return true;
  return job.software.id == "tensorflow" && job.transport == Transport::servers_on_host &&
         !mentions(record.system, "poseidon");
}

}  // namespace

void translate_algorithm(const Record& record, JobSpec& job, const Catalogue& catalogue) {
  const std::string& text = record.algorithm;
  const StackEntry& stack = *catalogue.stacks.with_id(job.software.id);
  job.transport = transport_of(record);
  job.is_sequential = says(text, {"sequential", "not overlapped"});
  job.scheme = scheme_of(record, job.transport);
  job.places_tensors = is_served(job.transport) && places_tensors(record, job);
  job.all_reduce = all_reduce_of(text, stack);
  job.algorithm = algorithm_of(text);
  job.is_simulated_staleness = mentions(text, "simulated");
  if (is_refused(text)) job.other_algorithm = text;
  if (says(text, {"no fusion", "per tensor"})) job.fusion = false;
  if (says(text, {"no overlap", "sequential", "not overlapped", "without overlap", "host-staged", "alltoall",
                  "tree reduce", "reduction tree", "1-bit"}))
    job.overlap = false;
  // The trees of Caffe and FireCaffe pass the whole model on at once.
  if (says(text, {"tree reduce", "reduction tree"})) job.tree_slices = 1;
  if (mentions(text, "nvls off")) job.in_switch = false;
  if (is_unheard_of(text, job)) job.assumed["algorithm"] = in_quotes(text) + " is not one that is simulated";
}

}  // namespace records
}  // namespace lockstep::sim
