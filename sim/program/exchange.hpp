#pragma once
// Programs of the scenario algorithms "local-sgd", "sharded" and "theano-mpi", and NCCL's calls as plans.
#include "sim/collective/nccl.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim {

/// NCCL's plan of an operation, by the scenario's /communication/nccl.
AllReduce nccl_operation(const Scenario& scenario, NcclOperation operation);

Program local_sgd_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations);
Program sharded_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations);
Program theano_mpi_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations);

/// The buckets in which the scenario's gradients travel.
std::vector<Bucket> buckets_of(const Scenario& scenario);

/// Iterations after which the algorithm comes round: those between two averagings of local SGD, otherwise 1.
int iterations_of_round(const Scenario& scenario);

}  // namespace lockstep::sim
