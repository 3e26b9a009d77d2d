#include "sim/program/learners.hpp"

#include <algorithm>

#include "sim/cost/occupancy.hpp"
#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"

namespace lockstep::sim::program {
namespace {

OccupancyDevice occupancy_device(const OccupancySpec& spec) {
  return {spec.multiprocessors, spec.streaming_threads, spec.matrix_threads, spec.outputs_per_thread};
}

// Kernels that pass over the parameters, which are contiguous in memory. They are bound by memory, and do not use the
// GPU during their launch.
class ParameterKernels {
 public:
  explicit ParameterKernels(const Scenario& scenario)
      : device_(describe_device(scenario)),
        elements_(static_cast<double>(scenario.model.parameter_count())),
        occupancy_(scenario.learners.fill.empty()
                       ? streaming_occupancy(elements_, occupancy_device(scenario.learners.occupancy))
                       : 1) {}
  TaskCost passes(int count) const {
    const double busy_s = count * 4 * elements_ / (device_.memory_bandwidth_bytes_per_s * device_.memory_efficiency);
    const double seconds = device_.launch_s + busy_s;
    return {seconds, occupancy_ * busy_s / seconds};
  }
  // Adds kernels that run one after the other. `counts` are their numbers of passes.
  TaskCost passes(const std::vector<int>& counts) const {
    TaskCost all{0, 0};
    for (int count : counts) {
      const TaskCost kernel = passes(count);
      all.fill += kernel.fill * kernel.seconds;
      all.seconds += kernel.seconds;
    }
    all.fill /= all.seconds;
    return all;
  }

 private:
  DeviceCost device_;
  double elements_;
  double occupancy_;
};

// Returns the passes on each GPU if the host synchronises. The sum is cleared. Each learner's replica is copied; its
// difference from the average model moves the replica, and is added to the sum.
std::vector<int> passes_of_differences(int learners) {
  std::vector<int> passes{1};
  for (int j = 0; j < learners; ++j) passes.insert(passes.end(), {2, 3, 3, 3});
  return passes;
}

// Returns the passes around the all-reduce. Its result is cleared, gets the momentum, is kept for the next iteration,
// and moves the average.
std::vector<int> passes_of_average(bool has_momentum) {
  return has_momentum ? std::vector<int>{1, 3, 2, 3} : std::vector<int>{1, 3};
}

// Returns the layers' times, scaled so that an iteration with its update agrees with the scenario's rates.
ModelCost learning_cost(const Scenario& scenario, int batch, double update_s) {
  ModelCost cost = model_cost(scenario, batch);
  if (scenario.compute.rates.empty()) return cost;
  const double learning_s = cost.forward_s() + cost.backward_s();
  cost.scale(std::max(0.01, (cost.iteration_s() - update_s) / learning_s));
  return cost;
}

// Returns a step per layer and direction, each with its own fill. If the fill is given, returns one step.
std::vector<LearningStep> learning_steps(const Scenario& scenario, int batch, double update_s) {
  const ModelCost cost = learning_cost(scenario, batch, update_s);
  if (!scenario.learners.fill.empty())
    return {{"learn", cost.forward_s() + cost.backward_s(), scenario.learners.fill_at(batch)}};

  const std::vector<LayerFill> fills =
      layer_fills(scenario.model, roofline_cost(scenario, batch), describe_device(scenario), batch,
                  occupancy_device(scenario.learners.occupancy));
  const std::vector<model::Layer>& layers = scenario.model.layers;
  std::vector<LearningStep> steps;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (cost.layers[i].forward_s > 0) steps.push_back({layers[i].name, cost.layers[i].forward_s, fills[i].forward});
  for (std::size_t i = layers.size(); i-- > 0;)
    if (cost.layers[i].backward_s > 0) steps.push_back({layers[i].name, cost.layers[i].backward_s, fills[i].backward});
  return steps;
}

}  // namespace

SmaCost sma_cost(const Scenario& scenario, int batch) {
  const ParameterKernels kernel(scenario);
  const int learners = scenario.learners.per_gpu;
  const int update_count = model::update_arrays(scenario.compute.optimizer).passes();
  SmaCost cost;
  cost.update = kernel.passes(update_count);
  cost.local = kernel.passes(update_count + 2);
  if (learners > 1) cost.aggregate = kernel.passes(learners + 1);
  cost.average = scenario.learners.by_host ? kernel.passes(passes_of_average(scenario.algorithm != Algorithm::ea_sgd))
                                           : kernel.passes(scenario.algorithm == Algorithm::ea_sgd ? 3 : 5);
  cost.differences = kernel.passes(passes_of_differences(learners));
  cost.learning = learning_steps(scenario, batch, cost.update.seconds);
  cost.wire_bytes = scenario.model.parameter_count() * bytes_of(scenario.communication.wire);
  return cost;
}

SmaOptions sma_options(const Scenario& scenario, int gpus, int batch, int iterations) {
  const LearnersSpec& spec = scenario.learners;
  SmaOptions options;
  options.gpus = gpus;
  options.learners = spec.per_gpu;
  options.iterations = iterations;
  options.tau = spec.tau;
  options.overlap = spec.overlap;
  options.round_robin = spec.round_robin;
  options.by_host = spec.by_host;
  options.host_wait_s = spec.host_wait_s;
  static_cast<Loading&>(options) =
      loading_of(scenario, gpus, batch,
                 spec.preprocessed_per_s() > 0 ? spec.preprocessed_per_s() : scenario.input.samples_per_s_per_node);
  options.launch_s = scenario.communication.launch_overhead_s;
  return options;
}

LearnerMemory learner_memory(const Scenario& scenario, int batch) {
  LearnerMemory memory;
  memory.model_bytes = 4 * static_cast<double>(scenario.model.parameter_count());
  memory.outputs_bytes = activation_arena_bytes(scenario.model, batch, activation_bytes(scenario.compute.precision));
  memory.workspace_bytes = scenario.learners.workspace_bytes;
  const model::KeptPrecisions& kept = scenario.compute.kept;
  memory.optimizer_state_bytes = static_cast<double>(scenario.model.parameter_count()) *
                                 (kept.state ? bytes_of(*kept.state) : 4) *
                                 model::update_arrays(scenario.compute.optimizer).state;
  memory.input_bytes = scenario.input.prefetch * double(batch) * scenario.input.bytes_per_sample;
  return memory;
}

int most_learners(const Scenario& scenario, int batch) {
  const GpuSpec& gpu = scenario.cluster.gpu;
  const int most = learner_memory(scenario, batch).most_learners(gpu.memory_bytes - gpu.reserved_bytes);
  return scenario.ignores_memory ? std::max(1, most) : most;
}

}  // namespace lockstep::sim::program
