#include "tests/laws/random_job.hpp"

#include <algorithm>

#include "tests/catalogue/catalogue.hpp"

namespace lockstep::tests {
namespace {

std::string random_gpu(Draws& draws) {
  std::vector<std::string> ids;
  for (const sim::GpuEntry& gpu : catalogue().gpus) ids.push_back(gpu.id);
  return draws.of(ids);
}

std::string random_network(Draws& draws) {
  return draws.of({"10 GbE", "25 GbE", "100 GbE", "2x 25 GbE", "2x 100 Gb/s RoCE", "1x 56 Gb/s InfiniBand",
                   "1x 100 Gb/s InfiniBand", "2x 100 Gb/s InfiniBand", "4x 100 Gb/s InfiniBand",
                   "8x 100 Gb/s InfiniBand", "8x 200 Gb/s InfiniBand", "8x 400 Gb/s InfiniBand", "4x 200 Gb/s EFA",
                   "8x 100 Gb/s EFA", "8x 400 Gb/s RoCE"});
}

int random_node(Draws& draws, const std::string& gpu) {
  const int usual = catalogue().gpus.with_id(gpu)->gpus_per_node;
  return std::min(usual, draws.of({1, 2, 4, 8, 8, 8}));
}

std::string random_transformer(Draws& draws) {
  return draws.of({"gpt2_xl", "gpt3_2b7", "gpt3_13b", "llama2_7b", "llama3_8b", "llama3_70b", "mixtral_8x7b",
                   "qwen3_30b_a3b", "deepseek_v2_lite", "gemma2_9b", "falcon_7b", "olmo2_13b"});
}

std::string random_large_gpu(Draws& draws) {
  return draws.of({"a100-sxm4", "h100-sxm", "h100-sxm", "h200", "b200", "gb200", "b300", "h800-sxm", "a100-pcie",
                   "mi300x", "mi355x", "l40s"});
}

void give_machine(CommandJob& job, Draws& draws, int most_nodes) {
  const int node = random_node(draws, job.value("--gpu"));
  job.give("--gpus-per-node", node);
  int nodes = draws.of({1, 2, 4, 8, 16, 32});
  while (nodes > most_nodes) nodes /= 2;
  job.give("--gpus", node * nodes);
  job.give("--network", random_network(draws));
}

}  // namespace

CommandJob random_replicas(Draws& draws) {
  CommandJob job;
  job.give("--model", draws.of({"resnet50", "vgg16", "alexnet_owt", "inception_v3", "densenet121", "vit_b16",
                                "efficientnet_b0", "mobilenet_v2", "bert_large", "gpt2", "gpt2_xl", "llama3_2_1b"}));
  job.give("--gpu", random_gpu(draws));
  job.give("--batch", draws.of({1, 4, 16, 32, 64, 128}));
  give_machine(job, draws, 32);
  if (!draws.one_in(3)) job.give("--precision", draws.of(precisions_of(job.value("--gpu"))));
  if (draws.one_in(2))
    job.give("--software",
             draws.of({"pytorch", "pytorch-compiled", "tensorflow", "mxnet", "horovod", "mlperf", "jax"}));
  if (draws.one_in(4))
    job.give("--algorithm", draws.of({"ring", "hierarchical", "double-binary-tree", "parameter-server", "torus"}));
  return job.give("--ignore-memory");
}

CommandJob random_split(Draws& draws) {
  CommandJob job;
  job.give("--model", random_transformer(draws));
  job.give("--gpu", random_large_gpu(draws));
  give_machine(job, draws, 32);
  const int gpus = std::stoi(job.value("--gpus")), node = std::stoi(job.value("--gpus-per-node"));
  int left = gpus;
  const auto give_ranks = [&](const char* option, int ranks) {
    ranks = std::min(ranks, left);
    left /= ranks;
    job.give(option, ranks);
  };
  give_ranks("--tensor", std::min(node, draws.of({1, 1, 2, 4, 8})));
  give_ranks("--pipeline", draws.of({1, 1, 2, 4, 8}));
  job.give("--virtual-stages", 1).give("--expert", 1);
  give_ranks("--context", draws.of({1, 1, 1, 2}));
  const int micro_batch = draws.of({1, 1, 2, 4});
  job.give("--micro-batch", micro_batch);
  job.give("--global-batch", double(left) * micro_batch * draws.of({1, 4, 8, 32}));
  job.give("--sharding", draws.of({"none", "zero1", "zero1", "zero3"}));
  job.give("--recompute", draws.of({"none", "selective", "full"}));
  if (draws.one_in(2))
    job.give("--software", draws.of({"megatron", "nemo", "deepspeed", "pytorch-fsdp", "torchtitan", "jax"}));
  if (!draws.one_in(3)) job.give("--precision", draws.of(precisions_of(job.value("--gpu"))));
  return job.give("--ignore-memory");
}

CommandJob random_job(Draws& draws) {
  return draws.one_in(2) ? random_replicas(draws) : random_split(draws);
}

CommandJob random_open_job(Draws& draws) {
  CommandJob job;
  job.give("--model", random_transformer(draws));
  job.give("--gpu", random_large_gpu(draws));
  give_machine(job, draws, 32);
  if (draws.one_in(3)) job.give("--tensor", draws.of({2, 4, 8, 16}));
  if (draws.one_in(4)) job.give("--pipeline", draws.of({2, 3, 4, 16}));
  if (draws.one_in(4)) job.give("--micro-batch", draws.of({1, 2, 8}));
  if (draws.one_in(3)) job.give("--global-batch", draws.of({8, 96, 512, 2048}));
  if (draws.one_in(4)) job.give("--sharding", draws.of({"none", "zero1", "zero2", "zero3"}));
  if (draws.one_in(4)) job.give("--recompute", draws.of({"none", "selective", "full"}));
  if (draws.one_in(2))
    job.give("--software", draws.of({"megatron", "nemo", "deepspeed", "pytorch-fsdp", "torchtitan", "pytorch"}));
  return job;
}

bool is_one_node(const CommandJob& job) {
  const int domain = catalogue().gpus.with_id(job.value("--gpu"))->nvlink_domain;
  return std::stoi(job.value("--gpus")) <= std::max(domain, std::stoi(job.value("--gpus-per-node")));
}

std::vector<std::string> precisions_of(const std::string& gpu) {
  const sim::GpuSpec& spec = catalogue().gpus.with_id(gpu)->spec;
  std::vector<std::string> all{"fp32"};
  if (spec.peak_flops(sim::Precision::tf32) > 0) all.emplace_back("tf32");
  if (std::max(spec.fp16_flops, spec.bf16_flops) > spec.fp32_flops) all.emplace_back("mixed");
  if (spec.peak_flops(sim::Precision::fp8) > 0) all.emplace_back("fp8");
  if (spec.peak_flops(sim::Precision::fp4) > 0) all.emplace_back("fp4");
  return all;
}

std::optional<std::string> with_double_rate(const std::string& network) {
  const std::size_t times = network.find("x ");
  const std::size_t begin = times == std::string::npos ? 0 : times + 2;
  const std::size_t end = network.find_first_not_of("0123456789", begin);
  if (end == begin || end == std::string::npos) return std::nullopt;
  const int rate = std::stoi(network.substr(begin, end - begin));
  return network.substr(0, begin) + std::to_string(2 * rate) + network.substr(end);
}

}  // namespace lockstep::tests
