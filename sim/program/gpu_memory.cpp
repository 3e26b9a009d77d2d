#include "sim/program/gpu_memory.hpp"

#include "sim/cost/memory.hpp"
#include "sim/program/learners.hpp"
#include "sim/program/scenario_cost.hpp"

namespace lockstep::sim {
namespace {

double state_bytes_per_parameter(const Scenario& s, int activation_bytes) {
  const double master = activation_bytes < 4 ? 4 : 0, momentum = s.compute.optimizer == Optimizer::sgd ? 0 : 4;
  return 2 * activation_bytes + master + momentum;
}

}  // namespace

double memory_bytes_per_gpu(const Scenario& s, int gpus, int batch_per_gpu) {
  if (s.trains_learners())
    return learner_memory(s, batch_per_gpu).total_bytes(s.learners.auto_tune ? 1 : s.learners.per_gpu);
  const int activation_bytes = device_cost(s).activation_bytes;
  const double parameters = static_cast<double>(s.model.parameter_count());
  double state = parameters * state_bytes_per_parameter(s, activation_bytes);
  if (s.algorithm == Algorithm::sharded)
    state = state / gpus + 2.0 * (1 + s.sharding.units_ahead) * static_cast<double>(s.sharding.unit_bytes);
  return state + plan_outputs(s.model, batch_per_gpu, activation_bytes).bytes +
         s.input.prefetch * double(batch_per_gpu) * s.input.bytes_per_sample;
}

}  // namespace lockstep::sim
