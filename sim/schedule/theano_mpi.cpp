#include "sim/schedule/theano_mpi.hpp"

#include "engine/base/index.hpp"

namespace lockstep::sim::schedule {
namespace {

constexpr int kExchange = kOwnStreams;

// Exchanges tensors one after another. Each function returns the last work.
class Exchanger {
 public:
  Exchanger(Enqueue& gpu, const std::vector<Bucket>& tensors, const TheanoMpi& options, const TheanoMpiPlans& plans)
      : gpu_(gpu), tensors_(tensors), options_(options) {
    std::vector<Bucket> on_wire = tensors;
    if (options.exchange == ParameterExchange::asa16)
      for (Bucket& tensor : on_wire) tensor.bytes /= 2;
    if (options.exchange == ParameterExchange::ar) {
      host_ = plans_of_buckets(gpu, on_wire, options.gpus, plans.host_all_reduce);
    } else {
      all_to_all_ = plans_of_buckets(gpu, on_wire, options.gpus, plans.all_to_all);
      all_gather_ = plans_of_buckets(gpu, on_wire, options.gpus, plans.all_gather);
    }
  }

  int exchange(int trained) {
    int last = trained;
    for (int t = 0; t < static_cast<int>(tensors_.size()); ++t)
      last = options_.exchange == ParameterExchange::ar ? by_host(t, last) : by_gpu(t, last);
    return last;
  }

 private:
  int by_host(int t, int after) {
    const double copy_s = static_cast<double>(tensors_[to_index(t)].bytes) / options_.staging_bytes_per_s;
    const int on_host = gpu_.host(kExchange, "to host", copy_s, {after});
    gpu_.collective(kExchange, "all-reduce " + tensors_[to_index(t)].name, host_[to_index(t)], options_.launch_s,
                    {on_host});
    return gpu_.host(kExchange, "from host", copy_s, {});
  }

  int by_gpu(int t, int after) {
    const double bytes = static_cast<double>(tensors_[to_index(t)].bytes);
    const double n = options_.gpus;
    const bool is_half = options_.exchange == ParameterExchange::asa16;
    const double wire_bytes = is_half ? bytes / 2 : bytes;
    std::vector<int> inputs{after};
    // A conversion reads one precision and writes the other: 6 bytes per element of 4.
    if (is_half) inputs = {gpu_.host(kExchange, "to half", pass_s(1.5 * bytes), inputs)};
    gpu_.collective(kExchange, "all-to-all " + tensors_[to_index(t)].name, all_to_all_[to_index(t)], options_.launch_s,
                    inputs);
    // The sum reads n shares of 1/n and writes one.
    gpu_.host(kExchange, "sum", pass_s((n + 1) / n * wire_bytes), {});
    const int gathered = gpu_.collective(kExchange, "all-gather " + tensors_[to_index(t)].name,
                                         all_gather_[to_index(t)], options_.launch_s, {});
    return is_half ? gpu_.host(kExchange, "to single", pass_s(1.5 * bytes), {}) : gathered;
  }

  double pass_s(double bytes) const { return bytes / options_.pass_bytes_per_s; }

  Enqueue& gpu_;
  const std::vector<Bucket>& tensors_;
  const TheanoMpi& options_;
  std::vector<int> host_, all_to_all_, all_gather_;  // indices of plans, by tensor
};

}  // namespace

Program theano_mpi(const model::Graph& graph, const ModelCost& cost, const std::vector<Bucket>& tensors,
                   const TheanoMpi& options, const TheanoMpiPlans& plans) {
  Enqueue gpu(options.gpus, {"input", "copy", "compute", "exchange"});
  Exchanger exchanger(gpu, tensors, options, plans);
  const int last_layer = static_cast<int>(graph.layers.size()) - 1;
  const Segment forward = forward_segment(graph, cost, 0, last_layer);
  const Segment backward = backward_segment(graph, cost, last_layer, 0);
  InputPipeline input(gpu, options, kInput, kCopy);
  int ended = -1;

  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    gpu.begin_iteration();
    std::vector<int> inputs{input.next(ended)};
    if (ended >= 0) inputs.push_back(ended);
    input.used_by(gpu.compute(kCompute, "forward", forward.seconds, inputs, forward.parts));
    gpu.compute(kCompute, "backward", backward.seconds, {}, backward.parts);
    ended = gpu.compute(kCompute, "update", cost.update_s, {});
    if (options.gpus > 1) ended = exchanger.exchange(ended);
    gpu.end_iteration(ended);
  }
  return gpu.finish();
}

}  // namespace lockstep::sim::schedule
