// Names of exchanges, as simulate and as people have them.
#include "sim/records/job_names.hpp"

namespace lockstep::sim {

const std::vector<JobAlgorithm>& job_algorithms() {
  static const std::vector<JobAlgorithm> all{
      {"s-sgd",
       "all-reduce of gradients",
       {"ssgd", "synchronous SGD", "BSP", "DDP", "data parallel", "all-reduce", "NCCL", "NCCL all-reduce", "Horovod"},
       "",
       "NCCL all-reduce"},
      {"ring", "ring all-reduce", {"NCCL ring"}, "ring", "NCCL ring all-reduce"},
      {"double-binary-tree", "double binary trees", {"NCCL tree"}, "double-binary-tree", "NCCL double binary tree"},
      {"tree", "tree all-reduce", {}, "tree", "NCCL tree all-reduce"},
      {"halving-doubling",
       "halving and doubling",
       {"recursive halving-doubling", "Rabenseifner", "butterfly"},
       "halving-doubling",
       "halving-doubling all-reduce"},
      {"hierarchical", "hierarchical all-reduce", {}, "hierarchical", "hierarchical all-reduce"},
      {"hybrid", "hybrid of rings and groups", {"hybrid all-reduce"}, "hybrid", "hierarchical hybrid all-reduce"},
      {"torus", "torus all-reduce", {"2-D torus", "2D torus all-reduce"}, "torus", "2D torus all-reduce"},
      {"baidu-ring", "ring all-reduce of MPI messages", {"Baidu RingAllReduce"}, "ring", "Baidu ring all-reduce"},
      {"parameter-server", "parameter servers", {"parameter server", "PS", "pserver"}, "", "parameter server"},
      {"ps-gpu", "parameter servers on GPUs", {"PS on GPU"}, "", "ps on gpu"},
      {"kvstore", "MXNet's key-value store", {"dist_sync_device", "dist_device_sync"}, "", "kvstore"},
      {"factors", "sufficient factors", {"SFB", "sufficient factor broadcasting"}, "", "sfb"},
      {"best", "servers or factors for each layer", {"HybComm", "PS + SFB"}, "", "hybcomm"},
      {"one-bit", "one bit for each gradient", {"1-bit", "1-bit SGD"}, "", "1-bit"},
      {"sharded", "sharded parameters", {"FSDP", "fully sharded", "ZeRO-3", "ZeRO stage 3"}, "", "FSDP"},
      {"sma", "synchronous model averaging", {"synchronous model averaging"}, "", "sma"},
      {"ea-sgd", "elastic averaging", {"EASGD"}, "", "ea-sgd"},
      {"theano-mpi", "host-staged MPI all-reduce", {"host-staged", "MPI_Allreduce"}, "", "host-staged MPI_Allreduce"},
      {"cuda-aware", "CUDA-aware MPI", {"CUDA-aware MPI", "ASA"}, "", "CUDA-aware MPI"},
      {"backup-workers", "backup workers", {"backup"}, "", ""},
      {"async-sgd", "asynchronous SGD", {"async", "asynchronous SGD"}, "", ""},
      {"async-easgd", "asynchronous elastic averaging", {}, "", ""},
      {"local-sgd", "local SGD", {}, "", ""},
      {"profile", "a profile's all-reduce", {"profile-average"}, "", ""},
  };
  return all;
}

}  // namespace lockstep::sim
