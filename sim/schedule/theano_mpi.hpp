#pragma once
// Theano-MPI (Ma, Mao & Taylor 2016): bulk-synchronous training. In every iteration each worker trains on its batch.
// After the whole back-propagation the parameters (or updates) are exchanged tensor by tensor, without overlap:
//
//   `AR`     Copies them to the host, runs MPI_Allreduce between the hosts, copies them back.
//   `ASA`    All-to-all of n-ths between the GPUs; each GPU sums its n-th; all-gather of the sums. MPI is CUDA-aware:
//            routes decide which messages are staged in host memory.
//   `ASA16`  The same with half-precision messages and single-precision sums: half of the bytes, and passes over the
//            vector before and after that convert it.
#include "sim/scenario/choices.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::schedule {

struct TheanoMpi : SSgd {
  ParameterExchange exchange = ParameterExchange::asa;
  double staging_bytes_per_s = 0;  ///< AR: rate of copies between a GPU and its host
  double pass_bytes_per_s = 0;     ///< ASA: rate at which sums and conversions read and write GPU memory
};

struct TheanoMpiPlans {
  AllReduce host_all_reduce;
  AllReduce all_to_all;
  AllReduce all_gather;
};

/// Streams: "input", "copy", "compute", "exchange". `tensors` are in single precision, 4 bytes an element, in the order
/// in which they are exchanged. SSgd's overlap and accumulation do not apply.
Program theano_mpi(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& tensors,
                   const TheanoMpi& options, const TheanoMpiPlans& plans);

}  // namespace lockstep::sim::schedule
