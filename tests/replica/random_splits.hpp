#pragma once
// Random splits of a small transformer over up to 128 GPUs, by a seed.
#include <random>

#include "tests/replica/small_split.hpp"

namespace lockstep::tests {

/// Random choices that follow from a seed.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  template <class T>
  T of(const std::vector<T>& choices) {
    return choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random_)];
  }

 private:
  std::mt19937 random_;
};

inline Json with_latency() {
  Json cluster = switched_cluster();
  cluster["intra_node"]["gpu_link"]["latency"] = "1 us";
  cluster["nic"]["latency"] = "1.5 us";
  return cluster;
}

/// Draws a split with up to eight tensor ranks, stages, context ranks and replicas, on at most 128 GPUs; null: each
/// replica is one GPU.
inline Json random_split(Draw& draw, int& gpus) {
  const int tensor = draw.of<int>({1, 2, 4, 8}), pipeline = draw.of<int>({1, 2, 4});
  const int context = draw.of<int>({1, 1, 2}), data = draw.of<int>({1, 2, 4, 8});
  gpus = tensor * pipeline * context * data;
  if (gpus > 128 || gpus < 2) return {};
  Json parallel{
      {"tensor", tensor}, {"pipeline", pipeline}, {"context", context}, {"micro_batch", draw.of<int>({1, 2})}};
  parallel["micro_batches"] = pipeline * draw.of<int>({1, 2});
  parallel["sequence"] = draw.of<bool>({false, true}) && tensor > 1;
  parallel["sharding"] = draw.of<std::string>({"none", "zero1", "zero2", "zero3"});
  parallel["recompute"] = draw.of<std::string>({"none", "selective", "full"});
  parallel["tensor_overlap"] = draw.of<std::string>({"none", "backward", "all"});
  if (draw.of<bool>({false, false, true})) parallel["lora_rank"] = 16;
  if (draw.of<bool>({false, false, true})) parallel["offload_optimizer"] = true;
  if (context > 1) parallel["context_exchange"] = draw.of<std::string>({"ring", "all-gather"});
  if (pipeline > 1)
    parallel["schedule"] =
        draw.of<std::string>({"1f1b", "gpipe", "interleaved", "zb-h1", "zb-v", "dualpipe", "dualpipe-v"});
  const std::string schedule = parallel.value("schedule", "");
  if (schedule == "interleaved") parallel["virtual_stages"] = 2;
  if (schedule.find("dualpipe") == 0) parallel["micro_batches"] = 2 * parallel["micro_batches"].get<int>();
  if (parallel["sharding"] != "none" && data > 2 && draw.of<bool>({false, true})) parallel["sharding_group"] = 2;
  if (parallel["sharding"] == "zero3" && !parallel.contains("lora_rank") && schedule.find("zb") != 0 &&
      schedule.find("dualpipe") != 0 && draw.of<bool>({false, true}))
    parallel["sharding_calls"] = "tensors";
  if (tensor * pipeline * context == 1 && parallel["sharding"] == "none") return {};
  return parallel;
}

/// Some of the splits have experts, over replicas or also over tensor ranks, if these divide eight experts. Excluded
/// are those that exchange data of experts in each micro-batch (zero2, zero3). These exchanges wait for nothing else.
/// The closed form counts them pass by pass, but a pipeline's idle times hide part of them.
inline bool takes_experts(Draw& draw, Json& parallel, int gpus) {
  if (parallel.contains("sharding_group") || parallel.contains("lora_rank") || parallel.at("sharding") == "zero2" ||
      parallel.at("sharding") == "zero3" || !draw.of<bool>({false, true}))
    return false;
  const int tensor = parallel.at("tensor"),
            of_replica = tensor * parallel.at("context").get<int>() * parallel.at("pipeline").get<int>();
  const bool is_folded = tensor > 1 && draw.of<bool>({false, true});
  const int expert = draw.of<int>({1, 2, 4}) * (is_folded ? tensor : 1);
  parallel["sequence"] = tensor > 1;
  if (expert == 1 || expert > 8 || gpus / of_replica % (is_folded ? expert / tensor : expert) != 0) return true;
  parallel["expert"] = expert;
  if (is_folded) parallel["expert_tensor"] = 1;
  parallel["expert_overlap"] = draw.of<bool>({false, true});
  parallel["expert_dispatch"] = draw.of<const char*>({"all-to-all", "deepep", "hybridep"});
  return true;
}

inline sim::Scenario random_split_scenario(Draw& draw) {
  Json parallel;
  int gpus = 0;
  while (parallel.is_null()) parallel = random_split(draw, gpus);
  const bool has_experts = takes_experts(draw, parallel, gpus);
  Json scenario = split_scenario(parallel, {gpus});
  if (has_experts) scenario["model"] = small_mixture();
  if (draw.of<bool>({false, true}))
    scenario["communication"] = {{"all_reduce", "nccl"}, {"nccl", {{"generation", "hopper"}}}};
  scenario["communication"]["fusion_threshold"] = draw.of<std::string>({"0 B", "4 MB", "25 MB"});
  scenario["communication"]["overlap"] = draw.of<bool>({true, true, false});
  if (draw.of<bool>({false, true}))
    scenario["compute"]["jitter"] = {{"distribution", "normal"}, {"coefficient_of_variation", 0.05}};
  Json cluster = with_latency();
  Draw slowdowns(
      static_cast<unsigned>(scenario.dump().size()));  // of its own, so that the other draws stay as they are
  if (slowdowns.of<bool>({false, true})) scenario["compute"]["overlap_slowdown"] = 1.1;
  if (slowdowns.of<bool>({false, true})) cluster["gpu"]["multiprocessors"] = 100;
  return SmallFiles(scenario, cluster).one();
}

}  // namespace lockstep::tests
