// Laws of machines that differ in one property: network latency, links of a node, a GPU's peak, memory bandwidth.
#include <algorithm>
#include <fstream>

#include "engine/base/json.hpp"
#include "engine/base/units.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/report/result.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catalogue/catalogue.hpp"
#include "tests/laws/law.hpp"

namespace lockstep::tests {
namespace {

double samples_per_s(const Json& scenario) {
  const TemporaryFolder folder;
  return sim::predict(sim::load_scenario(folder.write("job.json", scenario.dump()), {}), 1, {})
      .points.at(0)
      .point.samples_per_s();
}

void multiply(Json& quantity, Dimension dimension, double factor) {
  Json& text = quantity.is_object() ? quantity.at("value") : quantity;
  double value = 0;
  parse_quantity_or_explain(text.get<std::string>(), dimension, value);
  const char* const unit = dimension == Dimension::time ? " s" : dimension == Dimension::bandwidth ? " B/s" : " FLOP/s";
  text = formatted("%.17g", factor * value) + unit;
}

// Compares the job's scenario with one whose quantity of the cluster is `factor` times as large; it may be no slower.
Case with_cluster(const CommandJob& job, const std::vector<std::string>& pointers, Dimension dimension, double factor) {
  const Json scenario = sim::job_scenario(predict(job), catalogue());
  Json changed = scenario;
  for (const std::string& pointer : pointers) {
    const Json::json_pointer at("/cluster" + pointer);
    if (changed.contains(at)) multiply(changed.at(at), dimension, factor);
  }
  if (changed == scenario) return std::nullopt;
  std::string all;
  for (const std::string& pointer : pointers) all += " /cluster" + pointer;
  return Compared{
      samples_per_s(scenario) / samples_per_s(changed) - 1,
      {job.command() + " --scenario job.json", formatted("simulate job.json, with %g times", factor) + all}};
}

Case lower_latency(Draws& draws) {
  const CommandJob job = random_job(draws);
  if (job.value("--gpus") == job.value("--gpus-per-node")) return std::nullopt;
  return with_cluster(job, {"/nic/latency", "/fabric/latency"}, Dimension::time, 0.5);
}

Case faster_links(Draws& draws) {
  const CommandJob job = random_job(draws);
  if (job.value("--gpus-per-node") == "1") return std::nullopt;
  return with_cluster(
      job, {"/intra_node/gpu_link/bandwidth", "/intra_node/pcie_link/bandwidth", "/intra_node/link/bandwidth"},
      Dimension::bandwidth, 2);
}

const Json& entry_of(const std::string& id) {
  static const Json all = [] {
    std::ifstream file(LOCKSTEP_SOURCE_DIR "/scenarios/catalogue/gpus.json");
    return Json::parse(file);
  }();
  const Json& gpus = all.is_array() ? all : all.at("gpus");
  return *std::find_if(gpus.begin(), gpus.end(), [&](const Json& gpu) { return gpu.at("id") == id; });
}

// Puts the job's GPU into a file, with properties changed by `change`; the second job may be no slower.
template <class Change>
Case with_gpu(CommandJob job, const std::string& what, const Change& change) {
  const std::string id = job.value("--gpu");
  const TemporaryFolder folder;
  Json gpu = entry_of(id);
  gpu["id"] = "own";
  gpu["name"] = "Own";
  gpu["aliases"] = Json::array();
  CommandJob faster = job;
  job.give("--gpu", folder.write("own.json", gpu.dump()));
  change(gpu);
  faster.give("--gpu", folder.write("faster.json", gpu.dump()));
  return Compared{answer(job).samples_per_s / answer(faster).samples_per_s - 1,
                  {job.give("--gpu", "own.json").command() + "  # the catalogue's " + id + " under another name",
                   faster.give("--gpu", "faster.json").command() + "  # the same with " + what}};
}

Case higher_peak(Draws& draws) {
  return with_gpu(random_job(draws), "twice the peaks", [](Json& gpu) {
    for (Json& peak : gpu.at("peak")) multiply(peak, Dimension::compute, 2);
  });
}

Case faster_memory(Draws& draws) {
  return with_gpu(random_job(draws), "twice the memory bandwidth",
                  [](Json& gpu) { multiply(gpu.at("memory_bandwidth"), Dimension::bandwidth, 2); });
}

// Returns true if a GPU has at least as much of everything as another one in the same node.
bool dominates(const sim::GpuEntry& a, const sim::GpuEntry& b, sim::Precision precision) {
  return a.spec.peak_flops(precision) >= b.spec.peak_flops(precision) && b.spec.peak_flops(precision) > 0 &&
         a.spec.memory_bandwidth_bytes_per_s >= b.spec.memory_bandwidth_bytes_per_s &&
         a.compute_capability >= b.compute_capability && a.vendor == b.vendor && a.has_gpudirect >= b.has_gpudirect &&
         a.has_pcie_peers >= b.has_pcie_peers && a.nvlink_domain == b.nvlink_domain;
}

// True if the prediction for one GPU rests on measurements of that GPU alone. Two such GPUs need not keep the order of
// their data sheets. Either their kernels were measured one by one, or published results fitted the speed of one.
bool has_other_measurements(const CommandJob& one, const CommandJob& other) {
  const JobAnswer a = answer(one), b = answer(other);
  return a.speed_constant != b.speed_constant || (a.kernels != b.kernels && !a.kernels.empty() && !b.kernels.empty());
}

// Uses a network that NCCL's search counts equally on all GPUs. It tries 12, then 6 GB/s per channel on Hopper, 7 GB/s
// on others: a port of 56 Gb/s counts as 6 GB/s on an H800 and as 7 on an L40S (nccl_generations.hpp).
Case with_dominating_gpu(CommandJob job, Draws& draws) {
  job.give("--link", "PCIe 3").give("--network", "1x 100 Gb/s InfiniBand");
  const std::string precision = draws.of({"fp32", "tf32", "mixed", "fp8"});
  job.give("--precision", precision);
  const sim::GpuEntry& gpu = *catalogue().gpus.with_id(job.value("--gpu"));
  std::vector<std::string> better;
  const sim::Precision in_layers = sim::layers_precision(*sim::find_choice_in_words<sim::RecordPrecision>(precision));
  for (const sim::GpuEntry& other : catalogue().gpus)
    if (other.id != gpu.id && dominates(other, gpu, in_layers)) better.push_back(other.id);
  if (better.empty()) return std::nullopt;
  CommandJob faster = job;
  faster.give("--gpu", draws.of(better));
  if (has_other_measurements(job, faster)) return std::nullopt;
  return no_slower(job, faster);
}

Case dominated_gpu(Draws& draws) {
  return with_dominating_gpu(random_replicas(draws), draws);
}

Case split_dominated_gpu(Draws& draws) {
  return with_dominating_gpu(random_split(draws), draws);
}

// Returns a decoder by its numbers, with `layers` layers.
std::string decoder(int layers, int hidden) {
  return Json{{"model_type", "llama"},          {"hidden_size", hidden},       {"intermediate_size", 4 * hidden},
              {"num_attention_heads", 16},      {"num_hidden_layers", layers}, {"vocab_size", 32000},
              {"max_position_embeddings", 4096}}
             .dump() +
         "@2048";
}

Case more_layers(Draws& draws) {
  CommandJob job = random_split(draws);
  const int hidden = draws.of({1024, 2048, 4096}), layers = draws.of({16, 32, 48});
  job.give("--model", decoder(layers, hidden));
  CommandJob deeper = job;
  deeper.give("--model", decoder(2 * layers, hidden));
  return Compared{answer(job).memory_bytes / answer(deeper).memory_bytes - 1, {job.command(), deeper.command()}};
}

}  // namespace

const std::vector<Law>& laws_of_machines() {
  static const std::vector<Law> all{{"half the network's latency is no slower", 0.005, lower_latency},
                                    {"links of twice the bandwidth in a node are no slower", 0.005, faster_links},
                                    {"twice the GPU's peak is no slower", 0.005, higher_peak},
                                    {"twice the GPU's memory bandwidth is no slower", 0.005, faster_memory},
                                    {"a GPU with more of everything is no slower", 0.005, dominated_gpu},
                                    {"split: a GPU with more of everything is no slower", 0.005, split_dominated_gpu},
                                    {"memory does not fall with the layers", 1e-9, more_layers}};
  return all;
}

}  // namespace lockstep::tests
