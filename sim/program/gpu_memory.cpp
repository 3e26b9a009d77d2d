#include "sim/program/gpu_memory.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/index.hpp"
#include "engine/base/text.hpp"
#include "engine/model/checkpoints.hpp"
#include "sim/program/learners.hpp"
#include "sim/program/split_fits.hpp"
#include "sim/program/split_job.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/schedule/fusion.hpp"
#include "sim/schedule/sharded.hpp"

namespace lockstep::sim::program {
namespace {

constexpr int kMostBatch = 1 << 30;

bool updates_on_servers(const Scenario& s) {
  if (s.algorithm != Algorithm::parameter_server) return traits_of(s.algorithm).updates_on_servers;
  return s.parameter_server->scheme != ServerScheme::factors && s.parameter_server->scheme != ServerScheme::best;
}

double largest_bucket_bytes(const Scenario& s, std::int64_t threshold_bytes) {
  std::int64_t largest = 0;
  for (const Bucket& bucket : fuse_gradients(s.model, bytes_of(s.communication.wire), threshold_bytes))
    largest = std::max(largest, bucket.bytes);
  return static_cast<double>(largest);
}

double fusion_bytes(const Scenario& s) {
  const CommunicationSpec& c = s.communication;
  if (c.first_bucket_bytes() >= 0) return static_cast<double>(s.model.parameter_count()) * bytes_of(c.wire);
  if (c.bucket_bytes() > 0) return largest_bucket_bytes(s, c.bucket_bytes());
  return bytes_of(c.wire) == activation_bytes(s.compute.precision) ? 0 : largest_bucket_bytes(s, 0);
}

// Returns the most bytes of consecutive units that are in memory together: one is computed, `units_ahead` are gathered.
double units_in_flight_bytes(const Scenario& s) {
  const std::vector<ShardingUnit> units =
      sharding_units(s.model, activation_bytes(s.compute.precision), s.sharding.unit_bytes);
  std::int64_t most = 0;
  for (std::size_t first = 0; first < units.size(); ++first) {
    std::int64_t sum = 0;
    for (std::size_t i = first; i < std::min(units.size(), first + 1 + s.sharding.units_ahead); ++i)
      sum += units[i].bytes;
    most = std::max(most, sum);
  }
  return static_cast<double>(most);
}

double communication_bytes(const Scenario& s, int gpus) {
  const double parameters = static_cast<double>(s.model.parameter_count());
  if (gpus == 1) return 0;
  if (traits_of(s.algorithm).fuses) return fusion_bytes(s);
  if (s.algorithm == Algorithm::sharded) return (s.sharding.gathers_again ? 2 : 1) * units_in_flight_bytes(s);
  if (s.algorithm == Algorithm::parameter_server)
    return s.parameter_server->scheme == ServerScheme::one_bit ? 4 * parameters : 0;
  if (s.algorithm != Algorithm::theano_mpi || s.theano_mpi.exchange == ParameterExchange::ar) return 0;
  return parameters * (s.theano_mpi.exchange == ParameterExchange::asa16 ? 2 : 4);
}

void count_learners(const Scenario& s, GpuMemory& memory) {
  const LearnerMemory of_one = learner_memory(s, memory.batch_per_gpu);
  const int learners = s.learners.auto_tune ? 1 : s.learners.per_gpu;
  memory.weights_bytes = learners * of_one.model_bytes;
  memory.gradients_bytes = learners * of_one.model_bytes;
  memory.optimizer_state_bytes = learners * of_one.optimizer_state_bytes;
  memory.averages_bytes = learners * of_one.model_bytes + of_one.shared_bytes();
  memory.activations_bytes = learners * of_one.outputs_bytes;
  memory.input_bytes = learners * of_one.input_bytes;
  memory.workspace_bytes = learners * of_one.workspace_bytes;
}

// Returns the bytes of a single-precision loss beyond the logits, which activation_arena_bytes() counts in half
// precision.
double loss_bytes(const Scenario& s, int batch) {
  if (s.compute.loss_bytes_per_logit == 0 || activation_bytes(s.compute.precision) != 2) return 0;
  double scores = 0;
  for (const model::Layer& layer : s.model.layers)
    if (layer.kind == model::LayerKind::softmax) scores += static_cast<double>(layer.out.elements());
  return scores * batch * kTorchLoss.working;
}

// If a GELU is computed in steps in single precision, it keeps three tensors of four bytes per element: its input, the
// output of its hyperbolic tangent, and one more.
//
// GPT-2 with such GELUs takes 24.5 GB of an H100, and 17.2 GB with one kernel per pass. That is 12.0 bytes for each of
// 604 million elements (results/h100/2026-11-26).
constexpr double kKeptByGeluInSteps = 4 + 4 + 4;

double gelu_bytes(const Scenario& s, int batch) {
  if (s.compute.gelu_bytes == 0) return 0;
  double elements = 0;
  for (const model::Layer& layer : s.model.layers)
    if (layer.kind == model::LayerKind::gelu) elements += static_cast<double>(layer.out.elements());
  return elements * batch * kKeptByGeluInSteps;
}

// A softmax in single precision keeps its output in four bytes, and a copy in two bytes that is multiplied by the
// values. This is 6.0 bytes per score of GPT-2 on an H100 (results/h100/2026-11-26).
//
// With a dropout, the copy is the dropout's output, and its mask adds a byte. Layer::kept_elements counts the scores
// once, and twice with a dropout.
constexpr double kKeptOfScore = 4 + 2, kKeptMask = 1;

double softmax_bytes(const Scenario& s, int batch) {
  const int bytes = activation_bytes(s.compute.precision);
  if (s.compute.softmax_bytes == 0 || bytes != 2) return 0;
  double sum = 0;
  for (const model::Layer& layer : s.model.layers) {
    if (layer.kind != model::LayerKind::attention || layer.attention.fused) continue;
    const double kept = kKeptOfScore + (layer.attention.dropout ? kKeptMask : 0);
    const int counted = layer.attention.dropout ? 2 : 1;
    sum += static_cast<double>(layer.kept_elements) / counted * (kept - counted * bytes);
  }
  return sum * batch;
}

int count_blocks(const model::Graph& graph) {
  const std::vector<int> blocks = model::checkpointed_blocks(graph);
  return blocks.empty() ? 1 : std::max(1, 1 + *std::max_element(blocks.begin(), blocks.end()));
}

// Returns the graph in which the output matrix and the loss have the rows of a chunk.
model::Graph with_loss_in_chunks(model::Graph graph, int batch) {
  graph.arenas = nullptr;
  std::vector<model::Layer>& layers = graph.layers.edit();
  model::Layer& loss = layers.back();
  if (loss.kind != model::LayerKind::softmax) return graph;
  model::Layer& output = layers[to_index(loss.inputs.front())];
  const double chunk =
      split::tokens_of_loss_chunk(static_cast<double>(loss.out.height) * batch, loss.out.channels, output.in.channels);
  const int rows = std::max(1, static_cast<int>(std::ceil(chunk / batch)));
  output.out.height = loss.in.height = loss.out.height = rows;
  return graph;
}

void count_replica(const Scenario& s, int gpus, GpuMemory& memory) {
  const int bytes = activation_bytes(s.compute.precision);
  const double parameters = static_cast<double>(s.model.parameter_count());
  const double share = s.algorithm == Algorithm::sharded ? 1.0 / gpus : 1;
  const bool keeps_weights = s.algorithm == Algorithm::sharded && !s.sharding.gathers_again;
  memory.weights_bytes = parameters * bytes * (keeps_weights ? 1 : share);
  const bool keeps_gradients = s.algorithm == Algorithm::sharded && s.sharding.keeps_gradients;
  memory.gradients_bytes = parameters * bytes * (keeps_gradients ? 1 : share);
  if (!updates_on_servers(s)) {
    const int of_update = s.compute.update_element_bytes();
    const model::KeptPrecisions& kept = s.compute.kept;
    const double of_master = kept.master ? bytes_of(*kept.master) : of_update;
    const double of_state = kept.state ? bytes_of(*kept.state) : of_update;
    memory.master_weights_bytes = bytes < of_update ? parameters * of_master * share : 0;
    memory.optimizer_state_bytes = parameters * of_state * model::update_arrays(s.compute.optimizer).state * share;
  }
  const int batch = memory.batch_per_gpu;
  const bool repeats = s.compute.recomputes_blocks;
  const model::Graph& graph = s.compute.chunks_loss ? with_loss_in_chunks(s.model, batch) : s.model;
  memory.activations_bytes = activation_arena_bytes(graph, batch, bytes, repeats) + loss_bytes(s, batch) +
                             (gelu_bytes(s, batch) + softmax_bytes(s, batch)) / (repeats ? count_blocks(s.model) : 1);
  memory.input_bytes = s.input.prefetch * double(memory.batch_per_gpu) * s.input.bytes_per_sample;
  memory.communication_bytes = communication_bytes(s, gpus);
}

void set_split(const SplitMemory& of_stage, const ParameterBytes& bytes, GpuMemory& memory) {
  const double master = bytes.master / std::max(1e-9, bytes.master + bytes.state);
  memory.weights_bytes = of_stage.weights_bytes;
  memory.gradients_bytes = of_stage.gradients_bytes;
  memory.master_weights_bytes = of_stage.optimizer_bytes * master;
  memory.optimizer_state_bytes = of_stage.optimizer_bytes * (1 - master);
  memory.activations_bytes = of_stage.activations_bytes;
  memory.workspace_bytes = of_stage.working_bytes;
  memory.communication_bytes = of_stage.buffers_bytes;
  memory.margin_bytes = of_stage.margin_bytes;
  memory.reserved_bytes = of_stage.reserved_bytes;
}

void count_split(const Scenario& s, int gpus, GpuMemory& memory) {
  const SplitJob job = split_job(s, gpus);
  set_split(largest_split_memory(job.shape, job.spec, job.parts, job.micro_batches, job.memory), job.memory.parameters,
            memory);
}

// Amounts are printed in nvidia-smi's unit. In that unit an "80 GB" GPU has 79.6.
double unit_bytes(double capacity_bytes) {
  return capacity_bytes >= kGibi ? kGibi : kMebi;
}

std::string unit_name(double capacity_bytes) {
  return capacity_bytes >= kGibi ? " GiB" : " MiB";
}

std::string amount_text(double bytes, double capacity_bytes) {
  const double amount = bytes / unit_bytes(capacity_bytes);
  return formatted(amount < 1000 ? "%.1f" : "%.0f", amount);
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

constexpr double kToldShare = 0.05;  // least share of a part that a line about a stage names

std::vector<GpuMemory>::const_iterator fullest_of(const std::vector<GpuMemory>& stages) {
  return std::max_element(stages.begin(), stages.end(),
                          [](const GpuMemory& a, const GpuMemory& b) { return a.total_bytes() < b.total_bytes(); });
}

Json parts_json(const GpuMemory& memory) {
  Json parts = Json::object();
  for (const MemoryPart& part : memory.parts()) parts[part.name] = part.bytes;
  return parts;
}

constexpr double kRoomForBuffers = 0.02;  // share of the GPU that stays free: sharding software has further buffers

// Returns the largest batch of at most `batch` that fits in the changed scenario, with room for buffers; 0: none.
int fitting_batch(const Scenario& changed, int gpus, int batch) {
  GpuMemory memory = gpu_memory(changed, gpus, batch);
  memory.capacity_bytes *= 1 - kRoomForBuffers;
  return std::min(batch, memory.largest_batch());
}

Scenario sharded_scenario(Scenario s) {
  s.algorithm = Algorithm::sharded;
  return s;
}

// Returns ", or CHANGE", with the batch that then fits if it is smaller. Returns an empty text if none fits.
std::string change_that_fits(const std::string& change, const Scenario& changed, int gpus, int batch) {
  const int fitting = fitting_batch(changed, gpus, batch);
  if (fitting == 0) return "";
  return ", or " + change + (fitting < batch ? " with a batch of at most " + std::to_string(fitting) : "");
}

// Names sharding and recomputation of whole replicas as changes, if the algorithm supports them.
std::string replica_changes(const Scenario& s, int gpus, int batch) {
  if (s.trains_learners()) return "";
  std::string changes;
  if (gpus > 1 && s.algorithm != Algorithm::sharded)
    changes = change_that_fits("the algorithm sharded (--algorithm sharded)", sharded_scenario(s), gpus, batch);
  const bool has_recomputation = s.algorithm == Algorithm::s_sgd || s.algorithm == Algorithm::sharded;
  if (s.model.transformer || !has_recomputation || s.compute.recomputes_blocks ||
      model::checkpointed_blocks(s.model).empty())
    return changes;
  Scenario repeats = s;
  repeats.compute.recomputes_blocks = true;
  return changes + change_that_fits("recomputed activations (--recompute full)", repeats, gpus, batch);
}

std::string allowed_instead(const Scenario& s, int gpus, const GpuMemory& memory) {
  if (s.parallel) return suggest_fitting_split(s, gpus);
  const int largest = memory.largest_batch();
  if (largest > 0)
    return (s.communication.accumulation > 1 ? "a micro-batch of at most " : "a batch of at most ") +
           std::to_string(largest) + (s.trains_learners() ? ", fewer learners" : "");
  if (s.trains_learners() && s.learners.per_gpu > 1) return "fewer learners";
  const std::string split = s.model.transformer ? ", or a split over GPUs (/parallel, --tensor and others)" : "";
  const std::string changes = replica_changes(s, gpus, memory.batch_per_gpu);
  if (s.algorithm == Algorithm::sharded && fitting_batch(s, kMostGpus, memory.batch_per_gpu) == memory.batch_per_gpu)
    return "more GPUs, or GPUs of more memory" + changes + split;
  return "GPUs of more memory" + changes + split;
}

}  // namespace

std::vector<MemoryPart> GpuMemory::parts() const {
  return {{"weights", weights_bytes},
          {"gradients", gradients_bytes},
          {"master_weights", master_weights_bytes},
          {"optimizer_state", optimizer_state_bytes},
          {"averages", averages_bytes},
          {"activations", activations_bytes},
          {"input", input_bytes},
          {"communication", communication_bytes},
          {"workspace", workspace_bytes},
          {"margin", margin_bytes},
          {"reserved", reserved_bytes}};
}

double GpuMemory::total_bytes() const {
  double sum = 0;
  for (const MemoryPart& part : parts()) sum += part.bytes;
  return sum;
}

MemoryPart GpuMemory::largest_part() const {
  const std::vector<MemoryPart> all = parts();
  return *std::max_element(all.begin(), all.end(),
                           [](const MemoryPart& a, const MemoryPart& b) { return a.bytes < b.bytes; });
}

int GpuMemory::largest_batch() const {
  const double of_batch = activations_bytes + input_bytes;
  const double left = capacity_bytes - (total_bytes() - of_batch);
  if (left <= 0) return 0;
  return static_cast<int>(std::min<double>(kMostBatch, std::floor(left / of_batch * batch_per_gpu)));
}

GpuMemory gpu_memory(const Scenario& scenario, int gpus, int batch_per_gpu) {
  GpuMemory memory;
  memory.batch_per_gpu = batch_per_gpu;
  memory.capacity_bytes = scenario.cluster.gpu.memory_bytes;
  memory.reserved_bytes = scenario.cluster.gpu.reserved_bytes;
  if (scenario.trains_learners())
    count_learners(scenario, memory);
  else if (scenario.parallel && scenario.model.transformer)
    count_split(scenario, gpus, memory);
  else
    count_replica(scenario, gpus, memory);
  return memory;
}

std::vector<GpuMemory> stage_memories(const Scenario& s, int gpus) {
  std::vector<GpuMemory> stages;
  if (!s.parallel || s.parallel->pipeline == 1 || !s.model.transformer) return stages;
  const SplitJob job = split_job(s, gpus);
  for (int stage = 0; stage < job.spec.pipeline; ++stage) {
    GpuMemory memory;
    memory.batch_per_gpu = job.spec.micro_batch;
    memory.capacity_bytes = s.cluster.gpu.memory_bytes;
    set_split(split_memory(job.shape, job.spec, job.parts, stage, job.micro_batches, job.memory), job.memory.parameters,
              memory);
    stages.push_back(memory);
  }
  return stages;
}

double checkpoint_bytes(const Scenario& s) {
  const model::KeptPrecisions& kept = s.compute.kept;
  const double of_update = s.compute.update_element_bytes();
  const double of_weights = kept.master == model::MasterWeights::none ? activation_bytes(s.compute.precision)
                            : kept.master                             ? bytes_of(*kept.master)
                                                                      : of_update;
  const double of_state = kept.state ? bytes_of(*kept.state) : of_update;
  return static_cast<double>(s.model.parameter_count()) *
         (of_weights + of_state * model::update_arrays(s.compute.optimizer).state);
}

std::string memory_text(double bytes, double capacity_bytes) {
  return amount_text(bytes, capacity_bytes) + " of " + amount_text(capacity_bytes, capacity_bytes) +
         unit_name(capacity_bytes);
}

std::string memory_text(const GpuMemory& memory) {
  return memory_text(memory.total_bytes(), memory.capacity_bytes);
}

std::string barely_fits_text(const GpuMemory& memory) {
  if (!memory.barely_fits()) return "";
  const double capacity = memory.capacity_bytes;
  return "It fits with " + amount_text(memory.spare_bytes(), capacity) + unit_name(capacity) + " to spare of " +
         amount_text(capacity, capacity) + "; the error of predicted memory is " +
         formatted("%.0f %%", 100 * kMemoryError) + ", so it may not fit.";
}

std::string memory_line(const std::vector<std::pair<int, GpuMemory>>& points) {
  std::vector<std::pair<std::string, std::vector<int>>> amounts;  // text of an amount -> numbers of GPUs that need it
  for (const auto& [gpus, memory] : points) {
    const std::string text = memory_text(memory);
    if (amounts.empty() || amounts.back().first != text) amounts.push_back({text, {}});
    amounts.back().second.push_back(gpus);
  }
  std::string line;
  for (const auto& [text, gpus] : amounts) {
    const std::string to = gpus.size() > 1 ? " to " + std::to_string(gpus.back()) : "";
    line += (line.empty() ? "" : ", ") + text;
    if (amounts.size() > 1)
      line += " at " + std::to_string(gpus.front()) + to + (gpus == std::vector<int>{1} ? " GPU" : " GPUs");
  }
  return "Memory per GPU: " + line + ".\n";
}

std::string fullest_stage_line(const std::vector<GpuMemory>& stages) {
  if (stages.empty()) return "";
  const auto fullest = fullest_of(stages);
  const double capacity = fullest->capacity_bytes, total = fullest->total_bytes();
  std::string parts;
  for (const MemoryPart& part : fullest->parts())
    if (part.bytes > kToldShare * total)
      parts += (parts.empty() ? "" : ", ") + spaced(part.name) + " " + amount_text(part.bytes, capacity);
  double least = total, most = 0;
  for (auto stage = stages.begin(); stage != stages.end(); ++stage) {
    if (stage == fullest) continue;
    least = std::min(least, stage->total_bytes());
    most = std::max(most, stage->total_bytes());
  }
  const std::string low = amount_text(least, capacity), high = amount_text(most, capacity);
  return "Fullest of " + std::to_string(stages.size()) + " stages: stage " + std::to_string(fullest - stages.begin()) +
         ", with " + parts + unit_name(capacity) + "; the others need " + (low == high ? low : low + " to " + high) +
         ".\n";
}

Json stages_json(const std::vector<GpuMemory>& stages) {
  if (stages.empty()) return {};
  Json each = Json::array();
  for (const GpuMemory& stage : stages) each.push_back({{"bytes", stage.total_bytes()}, {"parts", parts_json(stage)}});
  return {{"fullest", fullest_of(stages) - stages.begin()}, {"each", each}};
}

Json memory_json(const GpuMemory& memory) {
  const Json parts = parts_json(memory);
  return {{"bytes", memory.total_bytes()},
          {"capacity_bytes", memory.capacity_bytes},
          {"spare_bytes", memory.spare_bytes()},
          {"barely_fits", memory.barely_fits()},
          {"parts", parts}};
}

std::string why_not_in_memory(const Scenario& scenario, int gpus, const GpuMemory& memory) {
  if (memory.fits()) return "";
  const double capacity = memory.capacity_bytes, over = memory.total_bytes() - capacity;
  const auto amount = [&](double bytes) { return amount_text(bytes, capacity) + unit_name(capacity); };
  const MemoryPart largest = memory.largest_part();
  const bool is_micro_batch = scenario.parallel || scenario.communication.accumulation > 1;
  std::string text =
      std::string("memory: ") + (is_micro_batch ? "micro-batch " : "batch ") + std::to_string(memory.batch_per_gpu);
  if (scenario.trains_learners() && !scenario.learners.auto_tune)
    text +=
        " of " + std::to_string(scenario.learners.per_gpu) + (scenario.learners.per_gpu > 1 ? " learners" : " learner");
  text += " needs " + memory_text(memory) + " a GPU, " + amount(over) + " too much, the largest part " +
          spaced(largest.name) + " of " + amount(largest.bytes);
  const bool fits_none = !scenario.parallel && memory.largest_batch() == 0;
  return text + (fits_none ? " (no batch fits)" : "") + "; allowed: " + allowed_instead(scenario, gpus, memory);
}

void check_memory(const Scenario& scenario, int gpus, int batch_per_gpu, const std::string& where) {
  if (scenario.ignores_memory) return;
  const std::string why = why_not_in_memory(scenario, gpus, gpu_memory(scenario, gpus, batch_per_gpu));
  if (!why.empty()) throw NotEnoughMemory(where + ": " + why + ", or --ignore-memory");
}

}  // namespace lockstep::sim::program
