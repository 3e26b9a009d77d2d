#include "sim/program/split_job.hpp"

#include "sim/split/software_memory.hpp"

namespace lockstep::sim::program {
namespace {

std::vector<ModelPart> parts_of(const TransformerShape& shape, const ParallelSpec& spec) {
  if (shape.layers % (spec.pipeline * spec.virtual_stages) == 0)
    return partition(shape.layers, spec.pipeline, spec.virtual_stages);
  const BlockCosts alike{1, std::vector<double>(static_cast<std::size_t>(shape.layers), 1.0), 1};
  return balanced_partition(alike, spec.pipeline, spec.virtual_stages);
}

TrafficOptions traffic_of(const Scenario& scenario) {
  TrafficOptions options;
  options.activation_bytes = activation_bytes(scenario.compute.precision);
  options.weight_bytes = activation_bytes(scenario.compute.precision);
  options.gradient_bytes = bytes_of(scenario.communication.wire);
  return options;
}

SplitMemoryOptions memory_of(const Scenario& scenario, const ParallelSpec& spec) {
  SoftwareMemory software;
  software.precision = scenario.compute.precision;
  software.optimizer = scenario.compute.optimizer;
  software.sent_gradient_bytes = bytes_of(scenario.communication.wire);
  software.has_half_state = scenario.compute.half_parameters;
  software.has_loss_in_single = scenario.compute.loss_bytes_per_logit > 0;
  software.reserved_bytes = scenario.cluster.gpu.reserved_bytes;
  return memory_options(spec, software);
}

}  // namespace

std::vector<StageOps> SplitJob::ops() const {
  return pipeline_ops(spec.pipeline == 1 ? PipelineSchedule::one_f_one_b : spec.schedule, pipeline());
}

SplitJob split_job(const Scenario& scenario, int gpus) {
  if (!scenario.model.transformer) throw InputError("/model: no transformer by its numbers, which a split goes by");
  SplitJob job;
  job.spec = scenario.parallel_at(gpus);
  job.shape = TransformerShape(scenario.model.transformer->spec, scenario.model.transformer->job);
  check_fits(job.shape, job.spec);
  job.micro_batches = micro_batches(job.spec, static_cast<int>(global_batch_of(job.spec, job.spec.data)));
  job.parts = parts_of(job.shape, job.spec);
  job.traffic = traffic_of(scenario);
  job.memory = memory_of(scenario, job.spec);
  return job;
}

}  // namespace lockstep::sim::program
