// Laws of jobs in which each GPU holds the whole model.
#include <cmath>

#include "tests/catalogue/catalogue.hpp"
#include "tests/laws/law.hpp"

namespace lockstep::tests {
namespace {

// From two nodes on, because one node has no network.
Case more_gpus(Draws& draws) {
  const CommandJob job = random_replicas(draws);
  if (is_one_node(job)) return std::nullopt;
  CommandJob more = job;
  more.give("--gpus", 2.0 * std::stoi(job.value("--gpus")));
  return no_slower(job, more);
}

// Twice the GPUs train at most twice as fast. Not within one domain of NVLink: more GPUs give NVLS more channels there.
Case no_gain_from_more_gpus(Draws& draws) {
  const CommandJob job = random_replicas(draws);
  const int gpus = std::stoi(job.value("--gpus"));
  if (job.value("--algorithm") == "parameter-server") return std::nullopt;  // it has more servers
  if (2 * gpus <= catalogue().gpus.with_id(job.value("--gpu"))->nvlink_domain) return std::nullopt;
  CommandJob more = job;
  more.give("--gpus", 2.0 * gpus);
  return Compared{answer(more).samples_per_s / answer(job).samples_per_s / 2 - 1, {job.command(), more.command()}};
}

Case faster_network(Draws& draws) {
  return on_faster_network(random_replicas(draws));
}

// From two ports on: NCCL's tables predict nodes with several, the ring of older NCCL releases those with one.
Case more_ports(Draws& draws) {
  CommandJob job = random_replicas(draws);
  if (job.value("--gpus") == job.value("--gpus-per-node")) return std::nullopt;
  const std::string rate = draws.of({"25 GbE", "100 Gb/s InfiniBand", "200 Gb/s InfiniBand", "400 Gb/s InfiniBand"});
  const int ports = draws.of({2, 4});
  job.give("--network", std::to_string(ports) + "x " + rate);
  CommandJob more = job;
  more.give("--network", std::to_string(2 * ports) + "x " + rate);
  return no_slower(job, more);
}

Case faster_pcie(Draws& draws) {
  CommandJob job = random_replicas(draws);
  if (std::stoi(job.value("--gpus-per-node")) < 2) return std::nullopt;
  const int generation = draws.of({2, 3, 4});
  job.give("--link", "PCIe " + std::to_string(generation));
  CommandJob faster = job;
  faster.give("--link", "PCIe " + std::to_string(generation + 1));
  return no_slower(job, faster);
}

// From 32 samples on: if the processor that launches kernels is the limit, mixed precision adds casts to its work.
Case lower_precision(Draws& draws) {
  return in_lower_precision(random_replicas(draws).give("--batch", draws.of({32, 64, 128})), draws);
}

// Not with the kernels of an L40S, which were measured to lose rate with size at their limit of power. In fp32 a matrix
// of 768 x 768 reaches 62 TFLOP/s with 16,384 rows and 58 with 32,768 (simulate kernel gemm).
Case larger_batch(Draws& draws) {
  const CommandJob job = random_replicas(draws);
  const std::vector<std::string> kernels = answer(job).kernels;
  if (!kernels.empty() && kernels.front() == "l40s") return std::nullopt;
  CommandJob larger = job;
  larger.give("--batch", 2.0 * std::stoi(job.value("--batch")));
  return no_slower(job, larger);
}

Case less_memory_at_smaller_batch(Draws& draws) {
  const CommandJob job = random_replicas(draws);
  CommandJob larger = job;
  larger.give("--batch", 2.0 * std::stoi(job.value("--batch")));
  return Compared{answer(job).memory_bytes / answer(larger).memory_bytes - 1, {job.command(), larger.command()}};
}

Case rate_is_given(Draws& draws) {
  CommandJob job = random_replicas(draws);
  job.leave_out("--algorithm").give("--gpus", 1).give("--gpus-per-node", 1);
  const double rate = answer(job).samples_per_s * draws.of({10, 70, 120}) / 100;
  job.give("--rate", rate);
  return Compared{std::abs(std::log(answer(job).samples_per_s / rate)), {job.command()}};
}

}  // namespace

const std::vector<Law>& laws_of_replicas() {
  static const std::vector<Law> all{{"twice the GPUs, no fewer samples/s", 0.005, more_gpus},
                                    {"twice the GPUs, at most twice the samples/s", 0.005, no_gain_from_more_gpus},
                                    {"a network of twice the rate is no slower", 0.005, faster_network},
                                    {"twice the network ports are no slower", 0.005, more_ports},
                                    {"the next PCIe generation is no slower", 0.005, faster_pcie},
                                    {"a lower precision with units is no slower", 0.005, lower_precision},
                                    {"twice the batch has no lower rate", 0.005, larger_batch},
                                    {"memory does not fall with the batch", 1e-9, less_memory_at_smaller_batch},
                                    {"a measured rate is predicted on one GPU", 1e-9, rate_is_given}};
  return all;
}

}  // namespace lockstep::tests
