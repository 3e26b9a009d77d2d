// The variables that NVIDIA's MLPerf submissions export (config_DGXH100_*.sh) and run.sub passes to NeMo.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/other_configs.hpp"

namespace lockstep::sim::launch {
namespace {

std::string first_of(const LaunchSettings& s, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (s.has("env." + name)) return "env." + name;
  return "";
}

void give_mlperf_count(LaunchSettings& s, Facts& f, const char* name,
                       void (Facts::*give)(std::int64_t, const Place&, const std::string&)) {
  const auto value = s.whole(std::string("env.") + name, "--gpus");
  if (value) (f.*give)(*value, s.take(std::string("env.") + name)->place, name);
}

// Handles names such as "config_DGXH100_64x8x128x4x8_mbs2.sh".
void note_system_of_name(const LaunchSettings& s, Facts& f) {
  for (const LaunchSetting& setting : s.all())
    if (setting.key == "env.MINIBS" && setting.place.file.find("DGX") != std::string::npos)
      f.notes.push_back("the file's name may say which GPU it is for; --gpu gives it");
}

void read_mlperf(LaunchSettings& s, Facts& f, const Catalogue&, const ReadNamedFile&) {
  const bool is_nemo = !s.has("env.BATCHSIZE");
  f.give_default("--software", is_nemo ? "NeMo" : "MLPerf Training", "NVIDIA's submissions");
  note_system_of_name(s, f);
  give_mlperf_count(s, f, "DGXNNODES", &Facts::give_nodes);
  give_mlperf_count(s, f, "DGXNGPU", &Facts::give_gpus_per_node);
  const std::vector<std::pair<std::vector<std::string>, std::string>> kRanks{
      {{"TENSOR_MODEL_PARALLEL", "TP"}, "--tensor"},
      {{"PIPELINE_MODEL_PARALLEL", "PP"}, "--pipeline"},
      {{"CONTEXT_PARALLEL", "CP"}, "--context"}};
  for (const auto& [names, option] : kRanks) {
    const std::string key = first_of(s, names);
    key.empty() ? f.give_default(option, "1", "MLPerf's default") : f.give_whole(option, s, key);
  }
  if (s.has("env.INTERLEAVED_PIPELINE") && f.number_of("--pipeline", 1) > 1)
    f.give_whole("--virtual-stages", s, "env.INTERLEAVED_PIPELINE");
  if (const auto batch = s.whole("env.BATCHSIZE", "--batch")) {  // per GPU, in submissions of BERT
    const std::int64_t steps = std::max<std::int64_t>(1, s.whole("env.GRADIENT_STEPS", "--accumulation").value_or(1));
    f.micro_batch = std::max<std::int64_t>(1, *batch / steps);
    f.accumulation = steps;
    return f.give_default("--precision", "fp16", "NVIDIA's submissions of BERT");
  }
  f.micro_batch = s.whole("env.MICRO_BATCH_SIZE", "--micro-batch").value_or(1);
  // MINIBS is the number of samples per data-parallel rank and iteration.
  const auto batch = s.whole("env.MINIBS", "--accumulation");
  if (batch && *batch >= 1)
    f.accumulation = std::max<std::int64_t>(1, *batch / std::max<std::int64_t>(1, *f.micro_batch));
  const bool is_fp8 = s.is_on("env.FP8", "--precision");
  is_fp8 ? f.give_from("--precision", "fp8", s, "env.FP8") : f.give_default("--precision", "bf16", "without FP8");
  if (s.is_on("env.USE_DIST_OPTIMIZER", "--sharding")) f.give_from("--sharding", "zero1", s, "env.USE_DIST_OPTIMIZER");
  if (f.number_of("--tensor", 1) > 1) {
    f.give_default("--sequence-parallel", "", "its configuration of NeMo");
    if (s.is_on("env.TP_COMM_OVERLAP", "--tensor-overlap"))
      f.give_from("--tensor-overlap", "all", s, "env.TP_COMM_OVERLAP");
  }
}

const std::vector<UnreadKeys>& mlperf_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "times, paths, logs and numbers on which no kernel's time depends",
       "env.WALLTIME* env.DGXSYSTEM env.LR env.MAX_STEPS env.*CHECKPOINT* env.EXTRA_ARGS env.VAL_* env.SKIP_EVALS "
       "env.*LIMIT* env.*STEP* env.NEMO_* env.SEED env.OPT_* env.MLPERF* env.TRAIN_ONLY env.LOAD_* env.OVERRIDE_* "
       "env.EVAL* env.TARGET* env.INIT_* env.LAMB_* env.START_* env.WARMUP_* env.END_* env.MAX_SAMPLES* "
       "env.*_INTERVAL env.DATA* env.SLURM* env.CONT env.POSSIBLE_* env.HANG* env.*LOG* env.*_PATH env.ADDNL* "
       "env.LEGACY_DATASET env.DGXHT env.DGXSOCKETCORES env.DGXNSOCKET"},
      {Use::not_simulated, "predicted as the software's default", "env.*"},
  };
  return all;
}

}  // namespace

LaunchReader mlperf_reader() {
  return {LaunchFormat::mlperf, "the variables of an MLPerf submission",
          [](const LaunchSettings& s) {
            return has_any_key(s, {"env.MINIBS", "env.BATCHSIZE"}) && s.has("env.DGXNNODES");
          },
          read_mlperf, mlperf_unread()};
}

}  // namespace lockstep::sim::launch
