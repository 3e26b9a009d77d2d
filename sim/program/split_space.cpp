#include "sim/program/split_space.hpp"

#include <algorithm>

#include "sim/scenario/check.hpp"
#include "sim/split/transformer_shape.hpp"

namespace lockstep::sim::program {
namespace {

std::vector<int> divisors_of(int number, int most) {
  std::vector<int> all;
  for (int d = 1; d <= std::min(number, most); ++d)
    if (number % d == 0) all.push_back(d);
  return all;
}

std::vector<int> powers_of_two(int most) {
  std::vector<int> all;
  for (int n = 1; n <= most; n *= 2) all.push_back(n);
  return all;
}

bool fits_model(const TransformerShape& shape, const ParallelSpec& spec) {
  try {
    check_divisible(shape, spec);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

class Space {
 public:
  Space(const Scenario& scenario, int gpus, const SplitQuestion& question)
      : question_(question),
        gpus_(gpus),
        gpus_per_node_(scenario.cluster.gpus_per_node),
        shape_(scenario.model.transformer->spec, scenario.model.transformer->job) {}

  std::vector<ParallelSpec> all() {
    const ParallelSpec& stated = question_.stated;
    const std::vector<int> tensors = tensors_to_try();
    const std::vector<int> contexts = powers_of_two(std::max(1, shape_.sequence / kLeastTokensOfRank));
    const std::vector<int> experts = divisors_of(std::max(1, shape_.mixture.count), std::min(gpus_, kMostExpertRanks));
    for (int tensor : of("tensor", stated.tensor, ParallelDimension::tensor, tensors))
      for (int context : of("context", stated.context, ParallelDimension::context, contexts))
        for (int expert : of("expert", stated.expert, ParallelDimension::expert, experts)) {
          ParallelSpec spec = stated;
          spec.tensor = tensor;
          spec.context = context;
          spec.expert = expert;
          for (const int expert_tensor : places_of_experts(tensor, expert)) {
            spec.expert_tensor = expert_tensor;
            add_ranks(spec);
          }
        }
    return std::move(splits_);
  }

 private:
  std::vector<int> tensors_to_try() const {
    const std::vector<int> of_node = divisors_of(gpus_per_node_, std::min(gpus_, kMostTensorRanks));
    if (!question_.has_wide_tensor) return of_node;
    std::vector<int> wide;
    for (const int ranks : divisors_of(gpus_, kMostWideTensorRanks))
      if (ranks > of_node.back() && ranks % of_node.back() == 0) wide.push_back(ranks);
    return wide;
  }

  // Lists values of expert_tensor to try: tensor ranks divide an expert's matrices, or hold whole experts. For software
  // that always holds whole experts, the value is fixed.
  std::vector<int> places_of_experts(int tensor, int expert) const {
    const int stated = question_.stated.expert_tensor;
    if (question_.is_fixed("expert_tensor") || tensor == 1) return {stated};
    if (expert == 1) return {0};
    return stated == 0 ? std::vector<int>{0, 1} : std::vector<int>{stated};
  }

  void add_ranks(ParallelSpec spec) {
    if (!has_place(spec)) return;
    if (!question_.is_fixed("sequence")) spec.sequence = spec.tensor > 1 && question_.abilities.splits_sequences;
    if (!question_.is_fixed("expert_overlap"))
      spec.expert_overlap = spec.expert > 1 && question_.abilities.overlaps_experts;
    if (!question_.is_fixed("expert_dispatch") && spec.expert > 1)
      spec.expert_dispatch = question_.abilities.expert_dispatch;
    if (spec.expert == 1 && !question_.is_fixed("expert")) {
      spec.expert_overlap = false;
      spec.expert_dispatch = ExpertDispatch::all_to_all;
    }
    if (spec.tensor == 1) spec.tensor_overlap = TensorOverlap::none;
    if (gpus_ % (spec.tensor * spec.context) == 0 && fits_model(shape_, spec)) add_pipelines(spec);
  }

  std::vector<int> of(const std::string& key, int stated, const std::vector<int>& otherwise) const {
    return question_.is_fixed(key) ? std::vector<int>{stated} : otherwise;
  }
  std::vector<int> of(const std::string& key, int stated, ParallelDimension dimension,
                      const std::vector<int>& otherwise) const {
    return of(key, stated, question_.abilities.has(dimension) ? otherwise : std::vector<int>{1});
  }

  // True if experts can be placed on the tensor ranks as given.
  static bool has_place(const ParallelSpec& spec) {
    if (spec.expert == 1) return !spec.folds_experts();
    if (spec.expert_tensor > 1) return spec.expert_tensor == spec.tensor;
    return !spec.folds_experts() || spec.expert % spec.tensor == 0;
  }

  void add_pipelines(ParallelSpec spec) {
    const int left = gpus_ / (spec.tensor * spec.context);
    for (int pipeline : of("pipeline", spec.pipeline, ParallelDimension::pipeline, divisors_of(left, shape_.layers))) {
      spec.pipeline = pipeline;
      if (left % pipeline != 0 || pipeline > shape_.layers) continue;
      spec.data = left / pipeline;
      if (spec.data % spec.expert_replicas() == 0) add_batches(spec);
    }
  }

  void add_batches(ParallelSpec spec) {
    if (spec.global_batch % spec.data != 0) return;
    const int share = spec.global_batch / spec.data;
    for (int micro_batch : of("micro_batch", spec.micro_batch, micro_batches_of(share))) {
      spec.micro_batch = micro_batch;
      if (share % micro_batch == 0 && accumulates(share / micro_batch)) add_chunks(spec);
    }
  }

  std::vector<int> micro_batches_of(int share) const {
    if (question_.accumulation == 0) return powers_of_two(share);
    return {std::max(1, share / question_.accumulation)};
  }
  bool accumulates(int micro_batches) const {
    return question_.accumulation == 0 || micro_batches == question_.accumulation;
  }

  // Returns the layers per stage; embedding and output, or one of them, may count as layers. 0: none of these divides.
  int units_of_stage(int pipeline) const {
    for (const int beside : {0, 1, 2})
      if ((shape_.layers + beside) % pipeline == 0) return (shape_.layers + beside) / pipeline;
    return 0;
  }

  // Adds schedules with two chunks per stage, if the model has enough layers.
  void add_folded(ParallelSpec spec) {
    if (spec.pipeline == 1 || question_.is_fixed("schedule")) return;
    spec.virtual_stages = 1;
    for (const PipelineSchedule schedule : question_.abilities.schedules) {
      spec.schedule = schedule;
      const bool is_stated_otherwise = question_.is_fixed("virtual_stages") && question_.stated.virtual_stages != 2;
      if (spec.has_two_chunks() && !is_stated_otherwise && has_layers(spec)) add_sharding(spec);
    }
  }

  bool has_layers(const ParallelSpec& spec) const {
    return shape_.layers >= (spec.has_two_copies() ? 1 : spec.chunks()) * spec.pipeline;
  }

  void add_chunks(const ParallelSpec& spec) {
    add_folded(spec);
    if (question_.is_fixed("schedule") && spec.has_two_chunks() && spec.pipeline > 1) {
      if (has_layers(spec)) add_sharding(spec);
      return;
    }
    const int units = units_of_stage(spec.pipeline);
    std::vector<int> chunks{1};
    if (spec.pipeline > 1 && units > 0) chunks = divisors_of(units, shape_.layers / spec.pipeline);
    for (int count : of("virtual_stages", spec.virtual_stages, chunks)) {
      ParallelSpec with_chunks = spec;
      with_chunks.virtual_stages = count;
      if (!question_.is_fixed("schedule")) {
        with_chunks.schedule = count > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
        const bool can = question_.abilities.schedules.count(with_chunks.schedule) > 0;
        if (!can && !question_.is_fixed("virtual_stages")) continue;
      }
      add_sharding(with_chunks);
    }
  }

  void add_sharding(const ParallelSpec& spec) {
    for (const Choice<ShardingStage>& stage : choices_of(ShardingStage())) {
      if (question_.is_fixed("sharding") && stage.value != spec.sharding) continue;
      if (!question_.is_fixed("sharding") && !may_shard(stage.value, spec)) continue;
      std::vector<int> groups{0};
      if (question_.abilities.has_sharding_groups) groups.push_back(ranks_of_node(spec));
      for (int group : of("sharding_group", spec.sharding_group, groups)) {
        const bool is_none = stage.value == ShardingStage::none;
        // A group of all ranks is equivalent to no group.
        if (!question_.is_fixed("sharding_group") && group > 0 &&
            (is_none || group == 1 || group >= spec.gradient_ranks()))
          continue;
        ParallelSpec sharded = spec;
        sharded.sharding = stage.value;
        sharded.sharding_group = group;
        add(sharded);
      }
    }
  }

  // A single rank has nothing to shard.
  bool may_shard(ShardingStage stage, const ParallelSpec& spec) const {
    const std::set<ShardingStage>& can = question_.abilities.sharding;
    if (spec.gradient_ranks() == 1) return stage == ShardingStage::none || can.count(ShardingStage::none) == 0;
    return can.count(stage) > 0;
  }

  // Returns how many ranks of one pipeline stage of a replica fit on a node.
  int ranks_of_node(const ParallelSpec& spec) const { return std::max(1, gpus_per_node_ / spec.tensor); }

  void add(const ParallelSpec& spec) {
    if (!find_problem(spec, gpus_) && !find_batch_problem(spec, spec.data)) splits_.push_back(spec);
  }

  const SplitQuestion& question_;
  int gpus_, gpus_per_node_;
  TransformerShape shape_;
  std::vector<ParallelSpec> splits_;
};

}  // namespace

SplitQuestion all_splits(const Scenario& scenario, int gpus) {
  if (!scenario.parallel)
    throw InputError(scenario.name +
                     ": /parallel is missing, whose batch a split must keep; allowed: with global_batch");
  SplitQuestion question;
  question.stated = scenario.parallel_at(gpus);
  question.stated.global_batch = static_cast<int>(global_batch_of(question.stated, question.stated.data));
  question.stated.micro_batches = 0;
  question.stated.recompute = Recomputation::none;
  question.stated.data = 0;
  return question;
}

std::vector<ParallelSpec> splits_of(const Scenario& scenario, int gpus, const SplitQuestion& question) {
  if (!scenario.model.transformer)
    throw InputError("/model: " + scenario.model.title + " is no transformer by its numbers, which a split goes by");
  return Space(scenario, gpus, question).all();
}

std::string why_no_split(const Scenario& scenario, int gpus, const SplitQuestion& question) {
  const auto has_any = [&](const SplitQuestion& changed) { return !splits_of(scenario, gpus, changed).empty(); };
  const std::string batch = "the global batch of " + std::to_string(question.stated.global_batch);
  SplitQuestion open = question;
  open.accumulation = 0;
  if (question.accumulation > 0 && has_any(open))
    return "divides " + batch + " into " + std::to_string(question.accumulation) + " micro-batches of each replica";
  open.fixed.erase("micro_batch");
  if (question.is_fixed("micro_batch") && has_any(open))
    return "divides " + batch + " into micro-batches of " + std::to_string(question.stated.micro_batch);
  open = question;
  open.accumulation = 0;
  for (const int times : {1, 2, 4, 8, 16}) {  // pipelines need several micro-batches
    open.stated.global_batch = gpus * std::max(1, question.stated.micro_batch) * times;
    if (has_any(open)) return "divides " + batch;
  }
  return "divides the model";
}

std::vector<RecomputeChoice> recomputations_of(const SplitQuestion& question) {
  if (question.is_fixed("recompute")) return {{question.stated.recompute, question.stated.recompute_modules}};
  return question.abilities.recomputations;
}

std::string recompute_text(const ParallelSpec& spec) {
  std::string text = name_of(spec.recompute), parts;
  for (RecomputeModule module : spec.recompute_modules) parts += (parts.empty() ? "" : ", ") + name_of(module);
  if (spec.recompute_interval > 1) parts = std::to_string(spec.recompute_interval) + " layers at once";
  if (spec.recompute_layers > 0) parts = std::to_string(spec.recompute_layers) + " layers of each chunk";
  return parts.empty() ? text : text + " (" + parts + ")";
}

std::string split_text(const ParallelSpec& spec) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto add_size = [&](const char* name, int size) {
    if (size > 1) add(std::string(name) + " " + std::to_string(size));
  };
  add_size("tensor", spec.tensor);
  add_size("context", spec.context);
  add_size("expert", spec.expert);
  if (spec.expert_dispatch != ExpertDispatch::all_to_all)
    add(spec.expert_dispatch == ExpertDispatch::deepep ? "tokens by DeepEP" : "tokens by HybridEP");
  if (spec.expert_overlap) add("their exchange overlaps passes");
  add_size("pipeline", spec.pipeline);
  if (spec.virtual_stages > 1) add(std::to_string(spec.virtual_stages) + " virtual stages");
  const bool is_told_by_chunks =
      spec.schedule == PipelineSchedule::one_f_one_b || spec.schedule == PipelineSchedule::interleaved;
  if (!is_told_by_chunks) add(name_of(spec.schedule));
  add_size("data", spec.data);
  if (spec.sharding != ShardingStage::none) add(name_of(spec.sharding));
  if (spec.sharding_group > 0) add("in groups of " + std::to_string(spec.sharding_group));
  add(spec.recompute == Recomputation::none ? "no recomputation" : recompute_text(spec) + " recomputation");
  if (spec.offload_layers > 0) add("activations of " + std::to_string(spec.offload_layers) + " layers on the host");
  add("micro-batch " + std::to_string(spec.micro_batch));
  return text;
}

}  // namespace lockstep::sim::program
