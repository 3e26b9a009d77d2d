#pragma once
// A small transformer split over the GPUs of even nodes: four to a node on a switch, links without delay.
#include "sim/point/point.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {

/// Four GPUs per node on a switch of 100 GB/s per GPU, four NICs of 10 GB/s. Only bytes and arithmetic take time.
inline Json switched_cluster() {
  return Json::parse(R"({
    "schema": "lockstep/cluster/1", "name": "switched", "nodes": 64, "gpus_per_node": 4,
    "gpu": {"name": "G", "memory": "80 GB", "memory_bandwidth": "2000 GB/s", "peak": {"fp32": "20 TFLOP/s"}},
    "host": {"memory_bandwidth": "1000 GB/s"},
    "intra_node": {"kind": "nvswitch", "gpu_link": {"bandwidth": "100 GB/s", "latency": "0 us"},
                   "pcie_link": {"bandwidth": "100 GB/s", "latency": "0 us"}},
    "nic": {"per_node": 4, "bandwidth": "10 GB/s", "latency": "0 us", "gpudirect": true},
    "fabric": {"kind": "star", "bandwidth": "40 GB/s", "latency": "0 us"}})");
}

/// Makes eight layers of 512 features in 8 heads, hardly any words, and 256 tokens per sequence.
inline Json small_transformer() {
  return Json::parse(R"({"sequence": 256, "attention": "fused", "config": {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 512,
    "intermediate_size": 2048, "max_position_embeddings": 4096, "num_attention_heads": 8, "num_hidden_layers": 8,
    "num_key_value_heads": 8, "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "vocab_size": 16,
    "attention_bias": false, "rope_theta": 10000.0}})");
}

/// The same with eight experts, of which a token uses two.
inline Json small_mixture() {
  return Json::parse(R"({"sequence": 256, "attention": "fused", "config": {
    "model_type": "mixtral", "hidden_act": "silu", "hidden_size": 512, "intermediate_size": 2048,
    "max_position_embeddings": 4096, "num_attention_heads": 8, "num_hidden_layers": 8, "num_key_value_heads": 8,
    "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 16, "rms_norm_eps": 1e-5,
    "tie_word_embeddings": false, "rope_theta": 1e6}})");
}

inline Json split_scenario(const Json& parallel, const std::vector<int>& gpus) {
  Json scenario = small_scenario();
  scenario.erase("batch_per_gpu");
  scenario["model"] = small_transformer();
  scenario["gpus"] = gpus;
  scenario["parallel"] = parallel;
  scenario["communication"] = Json::parse(R"({"all_reduce": "ring", "message_overhead": "0 us",
                                              "launch_overhead": "0 us", "fusion_threshold": "0 B"})");
  return scenario;
}

inline sim::PointResult predicted(const sim::Scenario& scenario) {
  sim::PointRequest request;
  request.gpus = scenario.gpus.front();
  request.batch_per_gpu = scenario.batch_at(request.gpus);
  request.fidelity = scenario.fidelity;
  request.iterations = 3;
  return sim::predict_point(scenario, request);
}

inline sim::Scenario split_of(const Json& parallel, int gpus, const Json& cluster = switched_cluster()) {
  return SmallFiles(split_scenario(parallel, {gpus}), cluster).one();
}

}  // namespace lockstep::tests
