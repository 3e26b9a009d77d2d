// Names of exchanges in `simulate` and elsewhere, and the facts that each name implies.
#include "sim/job/job_names.hpp"

namespace lockstep::sim::job {
namespace {

using A = Algorithm;
using T = Transport;
using R = AllReduceKind;
using S = ServerScheme;

JobAlgorithm all_reduce(const char* id, const char* title, std::vector<std::string> aliases, R kind,
                        T transport = T::nccl) {
  return {id, title, std::move(aliases), std::nullopt, transport, kind};
}

JobAlgorithm servers(const char* id, const char* title, std::vector<std::string> aliases, S scheme,
                     T transport = T::servers_on_host, bool overlaps = true) {
  return {id, title, std::move(aliases), std::nullopt, transport, std::nullopt, scheme, overlaps};
}

JobAlgorithm training(const char* id, const char* title, std::vector<std::string> aliases, A algorithm) {
  return {id, title, std::move(aliases), algorithm};
}

// Makes an algorithm that requires numbers which its name does not give.
JobAlgorithm of_scenarios(const char* id, const char* title, std::vector<std::string> aliases,
                          std::optional<A> algorithm) {
  JobAlgorithm named{id, title, std::move(aliases), algorithm};
  named.needs_no_numbers = false;
  return named;
}

}  // namespace

const std::vector<JobAlgorithm>& job_algorithms() {
  static const std::vector<JobAlgorithm> all{
      {"s-sgd",
       "all-reduce of gradients",
       {"ssgd", "synchronous SGD", "BSP", "DDP", "data parallel", "all-reduce", "NCCL", "NCCL all-reduce", "Horovod"},
       std::nullopt},
      all_reduce("ring", "ring all-reduce", {"NCCL ring"}, R::ring),
      all_reduce("double-binary-tree", "double binary trees", {"NCCL tree"}, R::double_binary_tree),
      all_reduce("tree", "tree all-reduce", {}, R::tree),
      all_reduce("halving-doubling", "halving and doubling",
                 {"recursive halving-doubling", "Rabenseifner", "butterfly"}, R::halving_doubling),
      all_reduce("hierarchical", "hierarchical all-reduce", {}, R::hierarchical),
      all_reduce("hybrid", "hybrid of rings and groups", {"hybrid all-reduce"}, R::hybrid),
      all_reduce("torus", "torus all-reduce", {"2-D torus", "2D torus all-reduce"}, R::torus),
      all_reduce("baidu-ring", "ring all-reduce of MPI messages", {"Baidu RingAllReduce"}, R::ring, T::baidu_ring),
      servers("parameter-server", "parameter servers", {"parameter server", "PS", "pserver"}, S::server),
      servers("ps-gpu", "parameter servers on GPUs", {"PS on GPU"}, S::server, T::servers_on_gpu),
      servers("kvstore", "MXNet's key-value store", {"dist_sync_device", "dist_device_sync"}, S::server, T::kvstore),
      servers("sfb", "sufficient factors", {"factors", "sufficient factor broadcasting"}, S::factors),
      servers("hybcomm", "servers or factors for each layer", {"best", "PS + SFB"}, S::best),
      servers("one-bit", "one bit for each gradient", {"1-bit", "1-bit SGD"}, S::one_bit, T::servers_on_host, false),
      training("sharded", "sharded parameters", {"FSDP", "fully sharded", "ZeRO-3", "ZeRO stage 3"}, A::sharded),
      training("sma", "synchronous model averaging", {"synchronous model averaging"}, A::sma),
      training("ea-sgd", "elastic averaging", {"EASGD"}, A::ea_sgd),
      {"theano-mpi",
       "host-staged MPI all-reduce",
       {"host-staged", "MPI_Allreduce"},
       std::nullopt,
       T::mpi_on_host,
       std::nullopt,
       std::nullopt,
       false},
      {"cuda-aware", "CUDA-aware MPI", {"CUDA-aware MPI", "ASA"}, std::nullopt, T::mpi_on_gpu},
      of_scenarios("backup-workers", "backup workers", {"backup"}, A::backup_workers),
      of_scenarios("async-sgd", "asynchronous SGD", {"async", "stale"}, A::async_sgd),
      of_scenarios("async-easgd", "asynchronous elastic averaging", {}, A::async_easgd),
      of_scenarios("local-sgd", "local SGD", {}, A::local_sgd),
      of_scenarios("profile", "a profile's all-reduce", {"profile-average"}, std::nullopt),
  };
  return all;
}

}  // namespace lockstep::sim::job
