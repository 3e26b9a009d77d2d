// Laws of replicas that are divided over GPUs.
#include <algorithm>

#include "tests/laws/law.hpp"

namespace lockstep::tests {
namespace {

CommandJob with_twice_the_data(const CommandJob& job) {
  CommandJob more = job;
  for (const char* option : {"--gpus", "--global-batch"}) more.give(option, 2.0 * std::stoi(job.value(option)));
  return more;
}

// Returns the GPUs that hold the same stage: tensor ranks, then context and data ranks are adjacent.
int gpus_of_a_stage(const CommandJob& job) {
  return std::stoi(job.value("--gpus")) / std::stoi(job.value("--pipeline"));
}

// Only if replicas already exchange over the network.
Case split_more_gpus(Draws& draws) {
  const CommandJob job = random_split(draws);
  if (gpus_of_a_stage(job) <= std::stoi(job.value("--gpus-per-node"))) return std::nullopt;
  return no_slower(job, with_twice_the_data(job));
}

// More replicas share the optimizer's state, so only whole ones are compared.
Case split_no_gain_from_more_gpus(Draws& draws) {
  CommandJob job = random_split(draws);
  job.give("--sharding", "none");
  const CommandJob more = with_twice_the_data(job);
  return Compared{answer(more).samples_per_s / answer(job).samples_per_s / 2 - 1, {job.command(), more.command()}};
}

Case split_faster_network(Draws& draws) {
  return on_faster_network(random_split(draws));
}

Case split_lower_precision(Draws& draws) {
  return in_lower_precision(random_split(draws), draws);
}

// Every GPU has the whole model. Without recomputation, such replicas are timed as data parallelism.
CommandJob random_whole_replicas(Draws& draws) {
  CommandJob job = random_split(draws);
  job.give("--tensor", 1).give("--pipeline", 1).give("--context", 1).give("--sharding", "none");
  job.give("--software", draws.of({"pytorch", "megatron"}));
  const double micro_batches = std::stod(job.value("--gpus")) * draws.of({1, 4, 8});
  return job.give("--global-batch", micro_batches * std::stod(job.value("--micro-batch")));
}

// Lists the levels of recomputation from full to none.
std::vector<CommandJob> levels_of(Draws& draws) {
  const CommandJob job = draws.one_in(3) ? random_whole_replicas(draws) : random_split(draws);
  std::vector<CommandJob> levels(3, job);
  levels[0].give("--recompute", "full");
  levels[1].give("--recompute", "selective");
  levels[2].give("--recompute", "none");
  const int at = draws.of({0, 1});
  return {levels[static_cast<std::size_t>(at)], levels[static_cast<std::size_t>(at) + 1]};
}

Case recomputing_is_no_faster(Draws& draws) {
  const std::vector<CommandJob> levels = levels_of(draws);
  return no_slower(levels[0], levels[1]);
}

Case recomputing_needs_no_more_memory(Draws& draws) {
  const std::vector<CommandJob> levels = levels_of(draws);
  return Compared{answer(levels[0]).memory_bytes / answer(levels[1]).memory_bytes - 1,
                  {levels[0].command(), levels[1].command()}};
}

// From two on, because one has no gradients to which it adds.
Case more_micro_batches(Draws& draws) {
  CommandJob job = random_split(draws);
  job.give("--global-batch", 2.0 * std::stoi(job.value("--global-batch")));
  CommandJob more = job;
  more.give("--global-batch", 2.0 * std::stoi(job.value("--global-batch")));
  return no_slower(job, more);
}

Case sharding_needs_no_more_memory(Draws& draws) {
  CommandJob job = random_split(draws);
  job.give("--software", "megatron");  // others shard within groups, too
  CommandJob sharded = job;
  const int at = draws.of({0, 1, 2});
  const std::vector<std::string> levels{"none", "zero1", "zero2", "zero3"};
  job.give("--sharding", levels[static_cast<std::size_t>(at)]);
  sharded.give("--sharding", levels[static_cast<std::size_t>(at) + 1]);
  return Compared{answer(sharded).memory_bytes / answer(job).memory_bytes - 1, {job.command(), sharded.command()}};
}

Case longer_sequences_need_more_memory(Draws& draws) {
  CommandJob job = random_split(draws);
  const std::string model = job.value("--model");
  const int tokens = draws.of({256, 512});
  job.give("--model", model + "@" + std::to_string(tokens));
  CommandJob longer = job;
  longer.give("--model", model + "@" + std::to_string(2 * tokens));
  return Compared{answer(job).memory_bytes / answer(longer).memory_bytes - 1, {job.command(), longer.command()}};
}

Case larger_micro_batch_needs_more_memory(Draws& draws) {
  CommandJob job = random_split(draws);
  CommandJob larger = job;
  larger.give("--micro-batch", 2.0 * std::stoi(job.value("--micro-batch")));
  larger.give("--global-batch", 2.0 * std::stoi(job.value("--global-batch")));
  return Compared{answer(job).memory_bytes / answer(larger).memory_bytes - 1, {job.command(), larger.command()}};
}

Case searched_beats_stated(Draws& draws) {
  CommandJob stated = random_split(draws);
  stated.give("--software", "megatron").leave_out("--ignore-memory").leave_out("--context");
  const int gpus = std::stoi(stated.value("--gpus"));
  const auto ranks = [&](const char* option) { return stated.has(option) ? std::stoi(stated.value(option)) : 1; };
  const int data = gpus / ranks("--tensor") / ranks("--pipeline");
  stated.give("--sharding", "zero1");
  stated.give("--global-batch", double(data) * std::stoi(stated.value("--micro-batch")) * 8);
  CommandJob open = stated;
  for (const char* option :
       {"--tensor", "--pipeline", "--micro-batch", "--recompute", "--sharding", "--expert", "--virtual-stages"})
    open.leave_out(option);
  return no_slower(stated, open);
}

}  // namespace

const std::vector<Law>& laws_of_splits() {
  static const std::vector<Law> all{
      {"twice the replicas, no fewer samples/s", 0.005, split_more_gpus},
      {"twice the whole replicas, at most twice the samples/s", 0.005, split_no_gain_from_more_gpus},
      {"split: a network of twice the rate is no slower", 0.005, split_faster_network},
      {"split: a lower precision with units is no slower", 0.005, split_lower_precision},
      {"recomputing is no faster", 1e-9, recomputing_is_no_faster},
      {"recomputing needs no more memory", 1e-9, recomputing_needs_no_more_memory},
      {"twice the micro-batches have no lower rate", 0.005, more_micro_batches},
      {"sharding needs no more memory", 1e-9, sharding_needs_no_more_memory},
      {"memory does not fall with the sequence", 1e-9, longer_sequences_need_more_memory},
      {"memory does not fall with the micro-batch", 1e-9, larger_micro_batch_needs_more_memory},
      {"a searched split is no slower than a stated one", 1e-9, searched_beats_stated}};
  return all;
}

}  // namespace lockstep::tests
