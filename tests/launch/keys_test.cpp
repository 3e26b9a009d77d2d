// Keys whose meaning depends on the software: DeepSpeed, Megatron-DeepSpeed, torchtitan, the Trainer, Primus.
#include <filesystem>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

std::string why_of(const sim::LaunchedJob& job, const std::string& written) {
  for (const sim::launch::LaunchSetting& setting : job.settings.all())
    if (setting.written == written) return name_of(setting.use) + ": " + setting.why;
  return "absent";
}

sim::LaunchedJob read_on(const std::string& text, const std::string& path, int gpus) {
  return sim::read_launch_text(text, {path, {}, {gpus}}, launch_catalogue());
}

const std::string kDeepSpeed =
    "deepspeed --num_gpus 8 p.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 "
    "--max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 8 --deepspeed ";

}  // namespace

TEST_CASE("DeepSpeed: the batch of a rank follows from the given number of GPUs") {
  const std::string text =
      "{\"train_batch_size\": 256, \"gradient_accumulation_steps\": 4, \"bf16\": {\"enabled\": true}}";
  CHECK(option_of(read_on(text, "ds.json", 32), "--micro-batch") == "2");
  CHECK(option_of(read_on(text, "ds.json", 48), "--micro-batch") == "absent");  // 256 is no multiple of 4 x 48
}

TEST_CASE("DeepSpeed: old switches and optimizers that compress") {
  const std::string text =
      "{\"train_micro_batch_size_per_gpu\": 2, \"optimizer\": {\"type\": \"OneBitAdam\"}, "
      "\"zero_optimization\": ";
  const sim::LaunchedJob off = launched_text(text + "false}", "ds.json");
  CHECK(option_of(off, "--sharding") == "none");
  CHECK(option_of(off, "--optimizer") == "adam");
  CHECK_THAT(why_of(off, "optimizer.type"), Contains("not simulated") && Contains("uncompressed"));
  CHECK(option_of(launched_text(text + "true}", "ds.json"), "--sharding") == "zero1");
}

TEST_CASE("Megatron-DeepSpeed: bf16 without ZeRO divides the optimizer's state in the pipeline engine") {
  CHECK(option_of(launched_text(kDeepSpeed + "--bf16 --zero-stage 0\n"), "--sharding") == "zero1");
  CHECK(option_of(launched_text(kDeepSpeed + "--bf16\n"), "--sharding") == "zero1");
  CHECK(option_of(launched_text(kDeepSpeed + "--fp16 --zero-stage 0\n"), "--sharding") == "none");
  CHECK(option_of(launched_text(kDeepSpeed + "--bf16 --no-pipeline-parallel\n"), "--sharding") == "none");
  CHECK(option_of(launched_text(kDeepSpeed + "--bf16 --zero-stage 2\n"), "--sharding") == "zero2");
}

TEST_CASE("Megatron-DeepSpeed: experts in every second layer, one per token") {
  const std::string model = option_of(launched_text(kDeepSpeed + "--fp16 --num-experts 8\n"), "--model");
  CHECK_THAT(model, Contains("\"moe_layer_freq\":[0,1,0,1]") && Contains("\"moe_router_topk\":1"));
  const std::string every =
      option_of(launched_text(kDeepSpeed + "--fp16 --num-experts 8 8 --expert-interval 1 --topk 2\n"), "--model");
  CHECK_THAT(every, Contains("\"moe_layer_freq\":[1,1,1,1]") && Contains("\"moe_router_topk\":2"));
  CHECK_THAT(needed_of(launched_text(kDeepSpeed + "--fp16 --num-experts 8 --mlp-type residual\n")),
             Contains("residual MLP"));
  CHECK_THAT(error_of([] { launched_text(kDeepSpeed + "--fp16 --grpo-iterations 1\n"); }),
             Contains("reinforcement learning"));
  CHECK_THAT(needed_of(launched_text(kDeepSpeed + "--fp16 --num-experts 4 8\n")),
             Contains("different numbers of experts"));
}

TEST_CASE("torchtitan: chunks of layers per rank, and flavors with shapes of other models") {
  const std::string text =
      "[model]\nname = \"deepseek_v3\"\nflavor = \"671B\"\n[training]\nlocal_batch_size = 8\n"
      "seq_len = 4096\n[parallelism]\npipeline_parallel_degree = 7\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"\n";
  CHECK(option_of(launched_text(text, "t.toml"), "--virtual-stages") == "2");
  const std::string layers = "pipeline_parallel_layers_per_stage = ";
  CHECK(option_of(launched_text(text + layers + "3\n", "t.toml"), "--virtual-stages") == "3");  // (61 + 2) / 3 / 7
  CHECK_THAT(error_of([&] { launched_text(text + layers + "4\n", "t.toml"); }), Contains("do not divide into 7 ranks"));
  CHECK_THAT(error_of([&] { launched_text(text + layers + "9\n", "t.toml"); }), Contains("two chunks of layers"));
  const auto flavor = [](const std::string& name, const std::string& size) {
    return option_of(launched_text("[model]\nname = \"" + name + "\"\nflavor = \"" + size +
                                       "\"\n[training]\nlocal_batch_size = 1\nseq_len = 2048\n",
                                   "t.toml"),
                     "--model");
  };
  CHECK(flavor("deepseek_v3", "16B") == "deepseek_v2_lite@2048");
  CHECK(flavor("deepseek_v3", "236B") == "deepseek_v2@2048");
  CHECK(flavor("llama3", "1B") == "llama3_2_1b@2048");
  CHECK(flavor("flux", "flux-dev") == "flux1_dev");
}

TEST_CASE("the Trainer: recomputation and precision however they are written, and JSON in an argument") {
  const std::string axolotl = "base_model: gpt2\nsequence_len: 512\nmicro_batch_size: 2\n";
  const auto read = [&](const std::string& more, const std::string& option) {
    return option_of(launched_text(axolotl + more, "a.yaml"), option);
  };
  for (const char* off : {"no", "off", "false", "'no'", "'False'", "0"})
    CHECK(read(std::string("gradient_checkpointing: ") + off + "\n", "--recompute") == "none");
  CHECK(read("gradient_checkpointing: unsloth\n", "--recompute") == "full");
  CHECK(read("bfloat16: true\n", "--precision") == "bf16-true");
  CHECK(read("float16: true\n", "--precision") == "fp16");
  CHECK(read("bf16: full\n", "--precision") == "bf16-true");
  CHECK(read("bf16: auto\n", "--precision") == "bf16");
  const std::string trainer =
      "deepspeed --num_gpus 8 t.py --model_name_or_path gpt2 --per_device_train_batch_size 1 "
      "--bf16 True ";
  CHECK(option_of(launched_text(trainer + "--deepspeed '{\"zero_optimization\": {\"stage\": 3}}'\n"), "--sharding") ==
        "zero3");
  const std::string fsdp = "--fsdp full_shard --fsdp_config '{\"activation_checkpointing\": true}'\n";
  CHECK(option_of(launched_text(trainer + fsdp), "--recompute") == "full");
  const sim::LaunchedJob missing = launched_text(trainer + "--deepspeed none.json\n");
  CHECK(option_of(missing, "--sharding") == "absent");
  CHECK_THAT(needed_of(missing), Contains("--sharding the file is not there"));
}

TEST_CASE("a named file is sought in the repository and in the folders that the script names, nowhere else") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("r/examples/train"));
  std::filesystem::create_directories(folder.path("r/conf"));
  const auto write = [&](const std::string& place, int stage) {
    folder.write(place, "{\"zero_optimization\": {\"stage\": " + std::to_string(stage) + "}}");
  };
  write("r/ds.json", 3);
  write("r/conf/ds.json", 2);
  const auto read = [&](const std::string& name, const std::string& text) {
    return sim::read_launch({folder.write("r/examples/train/" + name, text), {}, {}}, launch_catalogue());
  };
  const std::string yaml =
      "model_name_or_path: gpt2\nfinetuning_type: full\ncutoff_len: 64\nbf16: true\ndeepspeed: ds.json\n";
  const std::string command =
      "torchrun --nproc_per_node 8 t.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 True "
      "--deepspeed ds.json\n";
  CHECK_THAT(needed_of(read("a.yaml", yaml)), Contains("--sharding the file is not there"));
  std::filesystem::create_directories(folder.path("r/.git"));
  const sim::LaunchedJob job = read("a.yaml", yaml);
  CHECK(option_of(job, "--sharding") == "zero3");
  CHECK_THAT(notes_of(job), Contains("ds.json is read from ") && Contains("r/ds.json"));
  CHECK(option_of(read("a.sh", command), "--sharding") == "zero3");
  CHECK(option_of(read("a.sh", "cd ../../conf\n" + command), "--sharding") == "zero2");
  CHECK(option_of(read("a.sh", "cd \"$(dirname \"$0\")/../../conf\"\n" + command), "--sharding") == "zero2");
  CHECK(option_of(
            read("a.sh",
                 "D=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\nexport PYTHONPATH=$D/../../conf:$PYTHONPATH\n" +
                     command),
            "--sharding") == "zero2");
  write("r/examples/train/ds.json", 1);
  const sim::LaunchedJob own = read("a.sh", command);
  CHECK(option_of(own, "--sharding") == "zero1");  // the script's folder precedes the repository
  CHECK(notes_of(own).find("is read from") == std::string::npos);
}

TEST_CASE("programs of preference tuning and reinforcement learning are refused") {
  const std::string more = " --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 True\n";
  for (const char* program :
       {"accelerate launch --num_processes 8 trl/scripts/dpo.py", "python run_grpo.py", "trl dpo"})
    CHECK_THAT(error_of([&] { launched_text(program + more); }),
               Contains("reinforcement learning cannot be predicted"));
  CHECK(option_of(launched_text("trl sft" + more), "--model") == "gpt2");
  CHECK(option_of(launched_text("python support.py" + more), "--model") == "gpt2");
}

TEST_CASE("a model's configuration is found from the script's folder") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("m"));
  folder.write("m/config.json", "{\"model_type\": \"gpt2\"}");
  const std::string command = "torchrun --nproc_per_node 8 t.py --per_device_train_batch_size 1 --block_size 64 ";
  for (const char* option : {"--config_name m/config.json", "--model_name_or_path ./m", "--model_name_or_path m/"}) {
    const sim::LaunchedJob job =
        sim::read_launch({folder.write("t.sh", command + option + "\n"), {}, {}}, launch_catalogue());
    CHECK_THAT(option_of(job, "--model"), Contains("config.json@64"));
  }
}

TEST_CASE("Megatron-LM's --yaml-cfg has sections, and LitGPT's configuration is another format's") {
  const sim::LaunchedJob job = launched_text(
      "language_model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, ffn_hidden_size: 11008, "
      "normalization: RMSNorm, activation_func: swiglu, add_bias_linear: false}\n"
      "model_parallel: {tensor_model_parallel_size: 2, bf16: true, sequence_parallel: true}\n"
      "micro_batch_size: 1\nglobal_batch_size: 8\nseq_length: 4096\nmax_position_embeddings: 4096\n",
      "a.yaml");
  CHECK(option_of(job, "--tensor") == "2");
  CHECK(option_of(job, "--precision") == "bf16");
  CHECK_THAT(option_of(job, "--model"), Contains("\"num_layers\":32") && Contains("\"swiglu\":true"));
  CHECK_THAT(error_of([] {
               launched_text("model_name: pythia-1b\nout_dir: o\ntrain: {global_batch_size: 8, micro_batch_size: 1}\n",
                             "a.yaml");
             }),
             Contains("no known format"));
}

TEST_CASE("Primus: adapters by dim, models by their files' names") {
  const auto primus = [](const std::string& framework, const std::string& model, const std::string& more) {
    return launched_text("modules: {pre_trainer: {framework: " + framework + ", model: " + model +
                             ".yaml, overrides: {" + more + "}}}\n",
                         "a.yaml");
  };
  const std::string megatron = "micro_batch_size: 1, global_batch_size: 8, seq_length: 4096";
  CHECK(option_of(primus("megatron", "llama3_8B", megatron + ", lora: {enabled: true, dim: 16}"), "--lora-rank") ==
        "16");
  CHECK(option_of(primus("megatron", "mixtral_8x7B_v0.1", megatron), "--model") == "mixtral_8x7b@4096");
  CHECK(option_of(primus("megatron", "llama4_17B16E", megatron), "--model") == "llama4_scout@4096");
  CHECK_THAT(needed_of(primus("megatron", "grok2", megatron)), Contains("no model of the catalogue"));
  const std::string titan = "training: {local_batch_size: 1, seq_len: 4096}, activation_checkpoint: {mode: none}";
  const sim::LaunchedJob eight = primus("torchtitan", "llama3.1_8B-fp8", titan);
  CHECK(option_of(eight, "--model") == "llama3_1_8b@4096");
  CHECK(option_of(eight, "--precision") == "fp8");
  CHECK(option_of(primus("torchtitan", "deepseek_v3_16b", titan), "--model") == "deepseek_v2_lite@4096");
}

}  // namespace lockstep::tests
