// Recipes and composed configurations: Hydra, NeMo's factories and precision plugins, torchtitan's Python functions.
#include <filesystem>

#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

std::string use_of_key(const sim::LaunchedJob& job, const std::string& written) {
  for (const sim::launch::LaunchSetting& setting : job.settings.all())
    if (setting.written == written) return name_of(setting.use) + ": " + setting.why;
  return "absent";
}

const std::string kNemo =
    "trainer: {num_nodes: 2, devices: 8, precision: bf16}\n"
    "model: {micro_batch_size: 1, global_batch_size: 64, encoder_seq_length: 2048, max_position_embeddings: 2048, "
    "num_layers: 4, hidden_size: 1024, num_attention_heads: 16, tensor_model_parallel_size: 2, "
    "pipeline_model_parallel_size: 1}\n";

}  // namespace

TEST_CASE("Hydra: a missing configuration asks for what it may give") {
  const std::string command =
      "torchrun --nproc_per_node 8 pretrain.py --config-path conf --config-name gpt trainer.num_nodes=2 "
      "trainer.devices=8 model.micro_batch_size=1 model.num_layers=4 model.hidden_size=1024 "
      "model.num_attention_heads=16 model.encoder_seq_length=2048\n";
  const std::string needed = needed_of(launched_text(command));
  for (const char* option : {"--sharding", "--recompute", "--precision", "--tensor", "--pipeline", "--global-batch"})
    CHECK_THAT(needed, Contains(std::string(option) + " the file is not there, and may give it"));
  CHECK_THAT(needed_of(launched_text("torchrun --nproc_per_node 8 p.py --config-path=conf --config-name=$C "
                                     "trainer.devices=8 model.micro_batch_size=1\n")),
             Contains("--tensor cannot be evaluated, and may give it"));
}

TEST_CASE("Hydra: references see the command's values, and groups are files of their own") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("conf/model"));
  folder.write("conf/gpt.yaml", kNemo + "dp: ${trainer.num_nodes}\n");
  const std::string command = "python p.py --config-path conf --config-name gpt ";
  const auto read = [&](const std::string& name, const std::string& text) {
    return sim::read_launch({folder.write(name, text), {}, {}}, launch_catalogue());
  };
  std::string text = kNemo;
  text.replace(text.find("num_nodes: 2"), 12, "num_nodes: '${nodes}'");
  folder.write("conf/ref.yaml", "nodes: 2\n" + text);
  CHECK(option_of(read("a.sh", "python p.py --config-path conf --config-name ref nodes=4\n"), "--gpus") == "32");
  CHECK(option_of(read("a.sh", "python p.py --config-path conf --config-name ref\n"), "--gpus") == "16");
  const std::size_t model = kNemo.find("model: ");
  folder.write("conf/top.yaml",
               "defaults:\n  - _self_\n  - model: small\n  - override hydra/launcher: x\n" + kNemo.substr(0, model));
  std::string keys = kNemo.substr(model + 7);
  folder.write("conf/model/small.yaml", keys);
  keys.replace(keys.find("num_layers: 4"), 13, "num_layers: 8");
  folder.write("conf/model/large.yaml", keys);
  const std::string top = "python p.py --config-path conf --config-name top";
  CHECK_THAT(option_of(read("a.sh", top + "\n"), "--model"), Contains("\"num_layers\":4"));
  CHECK_THAT(option_of(read("a.sh", top + " model=large\n"), "--model"), Contains("\"num_layers\":8"));
  CHECK_THAT(use_of_key(read("a.sh", top + " model=large\n"), "model"), Contains("read"));
  CHECK_THAT(error_of([&] { read("a.sh", top + " model=none\n"); }), Contains("conf/model/none.yaml is not there"));
}

TEST_CASE("values that decide a prediction and cannot be evaluated need an option") {
  const std::string axolotl = "base_model: gpt2\nsequence_len: 512\nmicro_batch_size: 2\nbf16: true\n";
  CHECK_THAT(needed_of(launched_text(axolotl + "adapter: ${a}\n", "a.yaml")),
             Contains("--task ${a} cannot be evaluated"));
  CHECK_THAT(
      needed_of(launched_text("model: {name: llama3, flavor: 8B}\ntraining: {local_batch_size: 1, seq_len: 2048}\n"
                              "optimizer: {name: '${o}'}\n",
                              "a.yaml")),
      Contains("--optimizer ${o} cannot be evaluated"));
  const std::string ds =
      "train_micro_batch_size_per_gpu: 1\nzero_optimization: {stage: 3, offload_param: {device: '${d}'}}\n";
  CHECK_THAT(needed_of(launched_text(ds, "a.yaml")), Contains("--offload-optimizer ${d} cannot be evaluated"));
}

TEST_CASE("nemo --factory: each argument of the recipe is read, or listed with the reason") {
  const sim::LaunchedJob job = launched_text(
      "nemo llm finetune --factory \"llama3_8b(num_nodes=2, num_gpus_per_node=8, peft_scheme='lora', seq_length=4096, "
      "dir='/x', packed_sequence=True, performance_mode=True, frob=1)\" trainer.strategy.tensor_model_parallel_size=2 "
      "trainer.strategy.pipeline_model_parallel_size=1 data.micro_batch_size=1 data.global_batch_size=32 "
      "trainer.plugins.precision=bf16-mixed\n");
  CHECK(option_of(job, "--gpus") == "16");
  CHECK(option_of(job, "--lora-rank") == "32");
  CHECK(option_of(job, "--model") == "llama3_8b@4096");
  CHECK(option_of(job, "--precision") == "bf16");
  CHECK_THAT(use_of_key(job, "--factory dir"), Contains("no effect"));
  CHECK_THAT(use_of_key(job, "--factory packed_sequence"), Contains("not simulated"));
  CHECK_THAT(use_of_key(job, "--factory performance_mode"), Contains("not simulated"));
  CHECK_THAT(use_of_key(job, "--factory frob"), Contains("unknown"));
  const sim::LaunchedJob ranks = launched_text(
      "nemo llm pretrain --factory \"nemotron3_8b(tensor_parallelism=4, pipeline_parallelism=1, num_nodes=4, "
      "micro_batch_size=2, global_batch_size=64, precision='bf16-mixed', max_steps=10)\"\n");
  CHECK(option_of(ranks, "--tensor") == "4");
  CHECK(option_of(ranks, "--micro-batch") == "2");
  CHECK(option_of(ranks, "--global-batch") == "64");
  CHECK(option_of(ranks, "--precision") == "bf16");
  CHECK_THAT(needed_of(launched_text("nemo llm pretrain --factory \"llama3_8b(num_nodes=$N)\"\n")),
             Contains("--gpus $N cannot be evaluated"));
}

TEST_CASE("NeMo: precisions by their names; unknown ones need --precision") {
  const std::string nemo2 =
      "trainer: {num_nodes: 1, devices: 8, strategy: {tensor_model_parallel_size: 1}, plugins: PLUGINS}\n"
      "data: {micro_batch_size: 1, global_batch_size: 8, seq_length: 2048}\n"
      "model: {config: {_target_: nemo.collections.llm.Llama3Config8B}}\n";
  const auto read = [&](const std::string& plugins) {
    std::string text = nemo2;
    text.replace(text.find("PLUGINS"), 7, plugins);
    return launched_text(text, "a.yaml");
  };
  for (const auto& [plugins, precision] :
       {std::pair("{precision: bf16-mixed}", "bf16"), std::pair("{precision: 16-mixed}", "fp16"),
        std::pair("{precision: transformer-engine}", "fp8"), std::pair("transformer-engine", "fp8"),
        std::pair("[{_target_: lightning.TransformerEnginePrecision}]", "fp8"), std::pair("{precision: 32}", "fp32"),
        std::pair("{precision: bf16-mixed, fp8: hybrid}", "fp8")}) {
    INFO(plugins);
    CHECK(option_of(read(plugins), "--precision") == precision);
  }
  CHECK_THAT(needed_of(read("{precision: posit-8}")), Contains("--precision \"posit-8\" is no known precision"));
  std::string nemo1 = kNemo;
  nemo1.replace(nemo1.find("bf16"), 4, "odd");
  CHECK_THAT(needed_of(launched_text(nemo1, "a.yaml")), Contains("--precision \"odd\" is no known precision"));
}

TEST_CASE("torchtitan's configurations in Python: recognised by --module and --config, and precision is asked for") {
  const sim::LaunchedJob job =
      launched_text("torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b\n");
  CHECK(job.format == sim::launch::LaunchFormat::torchtitan);
  CHECK(option_of(job, "--software") == "torchtitan");
  const std::string needed = needed_of(job);
  for (const char* option : {"--precision", "--seq-length", "--micro-batch"})
    CHECK_THAT(needed, Contains(std::string(option) + " the configuration in Python sets it"));
  const sim::LaunchedJob given = launched_text(
      "torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b --training.seq_len 4096 "
      "--training.local_batch_size 2 --training.mixed_precision_param float32\n");
  CHECK(needed_of(given).empty());
  CHECK(option_of(given, "--precision") == "fp32");
  CHECK(option_of(given, "--model") == "llama3_8b@4096");
}

TEST_CASE("ms-swift: its Trainer and its Megatron-Core commands, with its own defaults") {
  const sim::LaunchedJob full = launched("swift_sft.sh"), lora = launched("swift_lora.yaml");
  CHECK(full.format == sim::launch::LaunchFormat::ms_swift);
  CHECK(option_of(full, "--gpus") == "16");
  CHECK(option_of(full, "--sharding") == "zero3");
  CHECK(option_of(full, "--precision") == "bf16");  // DeepSpeed keeps fp32 weights
  CHECK(option_of(full, "--task") == "sft");
  CHECK(option_of(lora, "--lora-rank") == "16");
  const std::string command = "NPROC_PER_NODE=4 swift sft --model Qwen/Qwen3-8B --max_length 2048";
  const sim::LaunchedJob defaults = launched_text(command + "\n");
  CHECK(option_of(defaults, "--lora-rank") == "8");
  CHECK(option_of(defaults, "--recompute") == "full");
  CHECK(option_of(defaults, "--micro-batch") == "1");
  CHECK(option_of(defaults, "--accumulation") == "4");  // 16 samples on four GPUs
  CHECK(option_of(launched_text(command + " --train_type full\n"), "--precision") == "bf16-true");
  CHECK(option_of(launched_text(command + " --train_type full --deepspeed zero2_offload\n"), "--offload-optimizer") ==
        "");
  CHECK(option_of(launched_text(command + " --quant_bits 4 --quant_method bnb\n"), "--frozen-weights") == "nf4");
  CHECK_THAT(error_of([&] { launched_text(command + " --train_type reft\n"); }), Contains("give full or lora"));
  CHECK_THAT(error_of([] { launched_text("NPROC_PER_NODE=8 swift rlhf --rlhf_type dpo --model Qwen/Qwen3-8B\n"); }),
             Contains("give pt or sft"));
  const TemporaryFolder folder;
  folder.write("s.yaml", "model: Qwen/Qwen3-8B\nmax_length: 2048\nper_device_train_batch_size: 3\n");
  const sim::LaunchedJob named =
      sim::read_launch({folder.write("a.sh", "NPROC_PER_NODE=8 swift sft --config s.yaml --train_type full\n"), {}, {}},
                       launch_catalogue());
  CHECK(option_of(named, "--micro-batch") == "3");
  CHECK(option_of(named, "--model") == "qwen3_8b@2048");
  const sim::LaunchedJob megatron = launched("swift_megatron.sh");
  CHECK(option_of(megatron, "--model") == "qwen3_30b_a3b@4096");
  CHECK(option_of(megatron, "--expert") == "8");
  CHECK(option_of(megatron, "--sharding") == "zero1");
  const sim::LaunchedJob plain = launched_text(
      "NPROC_PER_NODE=8 megatron pt --load Qwen3-8B-mcore --max_length 2048 --tensor_model_parallel_size 2\n");
  CHECK(option_of(plain, "--model") == "qwen3_8b@2048");
  CHECK(option_of(plain, "--recompute") == "selective");
  CHECK(option_of(plain, "--global-batch") == "16");
  CHECK(option_of(plain, "--precision") == "bf16");
  CHECK(option_of(plain, "--task") == "absent");
}

TEST_CASE("NeMo Automodel: sections of its recipes, on the command line of its launchers") {
  const sim::LaunchedJob job = launched("automodel_llama3_8b.yaml");
  for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{{"--model", "llama3_1_8b@4096"},
                                                                                      {"--gpus", "16"},
                                                                                      {"--tensor", "2"},
                                                                                      {"--sharding", "zero3"},
                                                                                      {"--precision", "bf16-true"},
                                                                                      {"--recompute", "full"},
                                                                                      {"--global-batch", "64"},
                                                                                      {"--task", "sft"}})
    CHECK(option_of(job, option) == value);
  const TemporaryFolder folder;
  const std::string recipe =
      "step_scheduler: {global_batch_size: 32, local_batch_size: 4}\n"
      "model: {pretrained_model_name_or_path: meta-llama/Llama-3.1-8B, torch_dtype: float32}\n"
      "dataset: {seq_len: 2048}\npeft: {dim: 16}\n"
      "distributed: {_target_: a.FSDP2Manager, tp_size: none, pp_size: 4, dp_replicate_size: 2, pipeline: "
      "{pp_schedule: "
      "interleaved1f1b, layers_per_stage: 4, pp_microbatch_size: 1}}\n";
  folder.write("r.yaml", recipe);
  const auto read = [&](const std::string& command) {
    return sim::read_launch({folder.write("a.sh", command), {}, {}}, launch_catalogue());
  };
  const sim::LaunchedJob command = read("automodel r.yaml --nproc-per-node 8\n");
  CHECK(command.format == sim::launch::LaunchFormat::automodel);
  CHECK(option_of(command, "--gpus") == "8");
  CHECK(option_of(command, "--pipeline") == "4");
  CHECK(option_of(command, "--virtual-stages") == "2");  // 32 layers, 4 of a stage, 4 ranks
  CHECK(option_of(command, "--micro-batch") == "1");
  CHECK(option_of(command, "--lora-rank") == "16");
  CHECK(option_of(command, "--precision") == "bf16");
  const sim::LaunchedJob torchrun =
      read("torchrun --nproc-per-node=8 finetune.py --config r.yaml --distributed.pp_size 1\n");
  CHECK(option_of(torchrun, "--pipeline") == "1");
  CHECK(option_of(torchrun, "--micro-batch") == "4");
  CHECK(option_of(torchrun, "--chunked-loss") == "absent");
  const auto chunked_loss = [&](const std::string& loss) {
    return option_of(launched_text(recipe + "loss_fn: {_target_: " + loss + "}\n", "r.yaml"), "--chunked-loss");
  };
  CHECK(chunked_loss("nemo_automodel.components.loss.linear_ce.FusedLinearCrossEntropy") == "");
  CHECK(chunked_loss("FusedLinearCrossEntropy") == "");
  CHECK(chunked_loss("my.FusedLinearCrossEntropyWithLogits") == "absent");
  CHECK_THAT(
      needed_of(launched_text(recipe.substr(0, recipe.find("dataset")) + "distributed: {strategy: odd}\n", "r.yaml")),
      Contains("--seq-length") && Contains("--sharding \"odd\" is no known strategy"));
}

TEST_CASE("short names and meshes whose nodes are not known") {
  const std::string neox =
      "{\"pipe-parallel-size\": 1, \"num-layers\": 4, \"hidden-size\": 64, \"num-attention-heads\": 4, "
      "\"seq-length\": 128, \"max-position-embeddings\": 128, \"train_micro_batch_size_per_gpu\": 4, \"gas\": 3, "
      "\"num_nodes\": 2, \"num_gpus\": 8}";
  const sim::LaunchedJob job = launched_text(neox, "a.yml");
  CHECK(option_of(job, "--accumulation") == "3");
  CHECK(option_of(job, "--gpus") == "16");
  const std::string maxtext =
      "python3 -m MaxText.train base.yml model_name=llama2-7b per_device_batch_size=1 max_target_length=2048 "
      "ici_fsdp_parallelism=8 dcn_fsdp_parallelism=4 dtype=bfloat16 quantization=fp8";
  CHECK(option_of(launched_text(maxtext + "\n"), "--gpus") == "absent");  // dcn_data_parallelism is -1
  CHECK(option_of(launched_text(maxtext + " dcn_data_parallelism=1\n"), "--gpus") == "32");
  CHECK_THAT(use_of_key(launched_text(maxtext + "\n"), "dtype"), Contains("no effect"));
}

TEST_CASE("SkyPilot: the machines of a task, and its script with its variables") {
  const sim::LaunchedJob job = launched("skypilot_torchtitan.yaml");
  CHECK(job.title == "a SkyPilot task with torchtitan's configuration");
  CHECK(option_of(job, "--gpu") == "H100");
  CHECK(option_of(job, "--gpus") == "32");
  CHECK(option_of(job, "--model") == "llama3_8b@8192");
  CHECK_THAT(use_of_key(job, "setup"), Contains("no effect"));
  CHECK_THAT(use_of_key(job, "resources.infra"), Contains("not simulated"));
  const std::string run =
      "run: |\n  torchrun --nnodes $SKYPILOT_NUM_NODES --nproc_per_node $SKYPILOT_NUM_GPUS_PER_NODE t.py "
      "--model_name_or_path $MODEL --per_device_train_batch_size 1 --bf16 True\n";
  const auto read = [&](const std::string& head) { return launched_text(head + run, "sky.yaml"); };
  const std::string envs = "envs: {MODEL: gpt2}\n";
  CHECK(option_of(read(envs + "num_nodes: 2\nresources: {accelerators: {A100: 4}}\n"), "--gpus") == "8");
  CHECK(option_of(read(envs + "resources: {accelerators: L40S}\n"), "--gpus") == "1");
  const sim::LaunchedJob choice = read(envs + "resources: {accelerators: ['H100:8', 'A100:8']}\n");
  CHECK(option_of(choice, "--gpus") == "8");
  CHECK(option_of(choice, "--gpu") == "absent");
  CHECK_THAT(needed_of(read(envs + "resources: {accelerators: ['H100:8', 'A100:4']}\n")), Contains("--gpus"));
  CHECK_THAT(needed_of(read("envs: {MODEL: null}\nresources: {accelerators: 'H100:8'}\n")),
             Contains("--model $MODEL cannot be evaluated"));
  CHECK_THAT(error_of([&] { launched_text("num_nodes: 2\nrun: \"\"\n", "sky.yaml"); }), Contains("no command"));
}

}  // namespace lockstep::tests
