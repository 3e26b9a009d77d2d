// Keys that a reader does not know are listed as unknown, and never as without effect. Scripts that bash does not accept.
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

// Returns the names of the keys with this use, each with a blank behind it.
std::string keys_with(const sim::LaunchedJob& job, sim::launch::Use use) {
  std::string keys;
  for (const sim::launch::LaunchSetting& setting : job.settings.all())
    if (setting.use == use) keys += setting.written + " ";
  return keys;
}

std::string unknown_keys(const sim::LaunchedJob& job) {
  return keys_with(job, sim::launch::Use::unknown);
}

// Returns a run of two processes by the Trainer. `file`: an argument without an option.
std::string trainer_line(const std::string& file = "") {
  return "torchrun --nproc_per_node 2 sft.py " + file +
         " --model_name_or_path meta-llama/Llama-2-7b-hf --max_seq_length 2048 --per_device_train_batch_size 1 --bf16 ";
}

}  // namespace

TEST_CASE("an invented key of Accelerate, FSDP, nanotron or torchtitan is unknown, and a known one is not") {
  const std::string accelerate =
      "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 4\nnum_processes: 32\nfsdp_config:\n"
      "  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_use_orig_params: true\n  fsdp_backward_prefetch: BACKWARD_PRE\n"
      "  fsdp_state_dict_type: SHARDED_STATE_DICT\n  fsdp_surprise: 1\n";
  CHECK(unknown_keys(launched_text(accelerate, "a.yaml")) == "fsdp_config.fsdp_surprise ");
  const std::string fsdp =
      "cat > f.json <<E\n{\"transformer_layer_cls_to_wrap\": [\"LlamaDecoderLayer\"], \"activation_checkpointing\": "
      "true,"
      " \"backward_prefetch\": \"backward_pre\", \"weird\": 1}\nE\n" +
      trainer_line() + "--fsdp full_shard --fsdp_config f.json\n";
  CHECK(unknown_keys(launched_text(fsdp)) == "weird ");
  const std::string nanotron =
      "model:\n  ddp_bucket_cap_mb: 25\n  dtype: bfloat16\n  model_config: {hidden_act: silu, hidden_size: 2048, "
      "intermediate_size: 8192, is_llama_config: true, max_position_embeddings: 4096, num_attention_heads: 32, "
      "num_hidden_layers: 24, num_key_value_heads: 8, vocab_size: 49152, width: 3}\n"
      "optimizer: {zero_stage: 1, accumulate_grad_in_fp32: true}\n"
      "parallelism: {dp: 8, pp: 1, tp: 1, tp_mode: REDUCE_SCATTER, tp_linear_async_communication: true, magic: 2}\n"
      "tokens: {batch_accumulation_per_replica: 8, micro_batch_size: 2, sequence_length: 4096, train_steps: 10}\n";
  CHECK(unknown_keys(launched_text(nanotron, "n.yaml")) == "model.model_config.width parallelism.magic ");
  const std::string titan =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n[parallelism]\n"
      "tensor_parallel_degree = 8\nmagic = 1\n[weird]\nx = 1\n";
  CHECK(unknown_keys(launched_text(titan, "t.toml")) == "parallelism.magic weird.x ");
}

TEST_CASE(
    "a misspelt key in a section of DeepSpeed or torchtitan is unknown, and a foreign batch is not without effect") {
  const std::string deepspeed =
      R"({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": "auto", "bf16": {"enabled": true, "odd": 1},
          "zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": "auto", "stage3_max_live_parameters": 1e9,
                                "stage3_odd": 4},
          "tensor_parallel": {"autotp_size": 2, "tp_size": 4}, "pipeline": {"stages": 4},
          "elasticity": {"enabled": true, "max_train_batch_size": 2000}})";
  const sim::LaunchedJob job = launched_text(deepspeed, "ds.json");
  CHECK(unknown_keys(job) == "bf16.odd zero_optimization.stage3_odd tensor_parallel.tp_size ");
  CHECK_THAT(keys_with(job, sim::launch::Use::not_simulated),
             Contains("pipeline.stages") && Contains("elasticity.enabled"));
  CHECK_THAT(notes_of(job), Contains("gradient_accumulation_steps is \"auto\"") && Contains("--accumulation"));
  const std::string titan =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n[parallelism]\n"
      "tensor_parallel_degree = 8\ntensor_parallel_degre = 4\npipeline_parallel_odd = 1\nfsdp_odd = 1\n"
      "enable_async_tensor_parallel = true\n[activation_checkpoint]\nmode = \"full\"\nodd = 2\n";
  const std::string unknown = unknown_keys(launched_text(titan, "t.toml"));
  for (const char* key : {"tensor_parallel_degre ", "pipeline_parallel_odd", "fsdp_odd", "activation_checkpoint.odd"})
    CHECK_THAT(unknown, Contains(key));
  CHECK_THAT(unknown, !Contains("enable_async"));
}

TEST_CASE("accelerate's gpu_ids are a machine's GPUs, and an accumulation that is not used is named") {
  const std::string arguments =
      " sft.py --model_name_or_path meta-llama/Llama-2-7b-hf --max_seq_length 2048 --per_device_train_batch_size 1 ";
  CHECK(option_of(launched_text("accelerate launch --gpu_ids 0,1,2,3" + arguments), "--gpus") == "4");
  CHECK(option_of(launched_text("accelerate launch --gpu_ids 0,1,2,3 --num_processes 2" + arguments), "--gpus") == "2");
  CHECK(option_of(launched_text("accelerate launch --gpu_ids all --num_processes 8" + arguments), "--gpus") == "8");
  const std::string file =
      "cat > a.yaml <<E\ndistributed_type: DEEPSPEED\nnum_machines: 2\ngpu_ids: 0,1\ndeepspeed_config:\n"
      "  zero_stage: 2\n  gradient_accumulation_steps: 4\nE\naccelerate launch --config_file a.yaml" +
      arguments;
  const sim::LaunchedJob read = launched_text(file);
  CHECK(option_of(read, "--gpus") == "4");
  CHECK(option_of(read, "--accumulation") == "4");
  CHECK(notes_of(read).empty());
  const sim::LaunchedJob both = launched_text(file + "--gradient_accumulation_steps 8");
  CHECK(option_of(both, "--accumulation") == "8");
  CHECK_THAT(notes_of(both), Contains("gradient_accumulation_steps 4 is not used"));
}

TEST_CASE("an option of a launcher is known for launchers alone") {
  const sim::LaunchedJob job = launched_text(
      "cat > t.toml <<E\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n"
      "local_batch_size = 1\nseq_len = 8192\n[parallelism]\n"
      "tensor_parallel_degree = 8\nE\n"
      "torchrun --nproc_per_node 8 --role rank --tee 3 -m torchtitan.train "
      "--job.config_file t.toml --blub.x 3 --blub.time 4\n");
  CHECK(unknown_keys(job) == "--blub.x --blub.time ");
  CHECK_THAT(keys_with(job, sim::launch::Use::no_effect), Contains("--role ") && Contains("--tee "));
}

TEST_CASE("a configuration without --config is listed as unknown, with what to do") {
  const std::string written = "cat > config.yaml <<E\nlearning_rate: 1\nE\n";
  for (const std::string& file : {written, std::string()}) {
    const sim::LaunchedJob job = launched_text(file + trainer_line("config.yaml"));
    CHECK(unknown_keys(job) == "config.yaml ");
    CHECK_THAT(sim::launch_text(job, {}), Contains("write --config before its name"));
  }
  CHECK(unknown_keys(launched_text(written + trainer_line("--config config.yaml"))).empty());
}

TEST_CASE("the rank of adapters alone trains all weights, and a note says so") {
  const sim::LaunchedJob full = launched_text(trainer_line() + "--lora_r 16");
  CHECK(option_of(full, "--lora-rank") == "absent");
  CHECK_THAT(notes_of(full), Contains("train.sh:1: --lora_r 16: without --use_peft the software trains all weights"));
  const sim::LaunchedJob adapters = launched_text(trainer_line() + "--lora_r 16 --use_peft");
  CHECK(option_of(adapters, "--lora-rank") == "16");
  CHECK_THAT(notes_of(adapters), !Contains("--use_peft"));
  const std::string axolotl = "base_model: NousResearch/Llama-2-13b-hf\nsequence_len: 2048\nlora_r: 8\n";
  CHECK_THAT(notes_of(launched_text(axolotl, "a.yaml")), Contains("without adapter: lora"));
  CHECK(option_of(launched_text(axolotl + "adapter: lora\n", "a.yaml"), "--lora-rank") == "8");
}

TEST_CASE("line ends of Windows are read as newlines, with a note") {
  const std::string script =
      "ARGS=\"--num-layers 2 \\\n  --hidden-size 8 --tp-comm-overlap \\\n  --num-attention-heads 2\"\n"
      "for n in 8\ndo\n  torchrun --nproc_per_node $n p.py $ARGS \\\n    --seq-length 16 --micro-batch-size 1\ndone\n";
  std::string windows;
  for (const char c : script) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const sim::LaunchedJob unix_job = launched_text(script), windows_job = launched_text(windows);
  CHECK(sim::command_text(windows_job.options) == sim::command_text(unix_job.options));
  CHECK_THAT(notes_of(windows_job), Contains("line ends of Windows"));
  CHECK_THAT(notes_of(unix_job), !Contains("Windows"));
}

TEST_CASE("a script that reads itself is refused in a short line at its place") {
  const TemporaryFolder folder;
  const std::string path = folder.write("rec.sh", "echo\nsource ./rec.sh\ntorchrun --nproc_per_node 8 p.py\n");
  const std::string error = error_of([&] { sim::read_launch({path, {}, {}}, launch_catalogue()); });
  CHECK(error == path + ":2: ./rec.sh reads or starts itself without end; correct or simplify the script");
}

TEST_CASE("a precision of the file that the GPU does not have is refused at the file's line, with the option to give") {
  const TemporaryFolder folder;
  folder.write("train.sh",
               "torchrun --nproc_per_node 8 p.py --num-layers 2 --hidden-size 8 --num-attention-heads 2 \\\n"
               " --seq-length 16 --micro-batch-size 1 --bf16 --fp8-format hybrid\n");
  const auto simulate = [&](const std::string& options) {
    return run_program(folder.path(""), "simulate", "job --from train.sh " + options);
  };
  const Outcome refused = simulate("--gpu A100");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Contains("train.sh:2: --fp8-format: ") && Contains("has no fp8; give --precision bf16"));
  CHECK(simulate("--gpu A100 --precision bf16").code == 0);
  CHECK(simulate("--gpu H100").code == 0);
}

}  // namespace lockstep::tests
