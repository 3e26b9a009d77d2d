// Defaults of frameworks' launchers and recipes, and Hydra's lists of defaults.
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

sim::LaunchedJob job_beside(const std::string& name, const std::string& text,
                            const std::vector<std::pair<std::string, std::string>>& files) {
  const TemporaryFolder folder;
  for (const auto& [path, content] : files) folder.write(path, content);
  return sim::read_launch({folder.write(name, text), {}, {}}, launch_catalogue());
}

}  // namespace

TEST_CASE("Hydra: the file wins over its groups, unless _self_ comes first") {
  const std::string command =
      "python megatron_gpt_pretraining.py --config-path conf --config-name top model.micro_batch_size=1\n";
  const std::string own =
      "trainer:\n  devices: 8\n  num_nodes: 2\nmodel:\n  global_batch_size: 64\n  tensor_model_parallel_size: 2\n";
  const std::string group =
      "tensor_model_parallel_size: 4\npipeline_model_parallel_size: 2\nnum_layers: 32\nhidden_size: 4096\n"
      "num_attention_heads: 32\nencoder_seq_length: 2048\n";
  const auto tensor_of = [&](const std::string& defaults) {
    return option_of(job_beside("train.sh", command,
                                {{"conf/top.yaml", "defaults:\n" + defaults + own},
                                 {"conf/base.yaml", "trainer:\n  precision: bf16\n"},
                                 {"conf/model/gpt.yaml", "defaults:\n  - small\n" + group},
                                 {"conf/model/small.yaml", "context_parallel_size: 2\n"}}),
                     "--tensor");
  };
  CHECK(tensor_of("  - model: gpt\n  - base\n") == "2");
  CHECK(tensor_of("  - model: gpt\n  - _self_\n") == "2");
  CHECK(tensor_of("  - _self_\n  - model: gpt\n  - cluster: bcm\n") == "4");
  const sim::LaunchedJob job = job_beside("train.sh", command,
                                          {{"conf/top.yaml", "defaults:\n  - model/gpt\n  - base\n" + own},
                                           {"conf/base.yaml", "trainer:\n  precision: bf16\n"},
                                           {"conf/model/gpt.yaml", "defaults:\n  - small\n" + group},
                                           {"conf/model/small.yaml", "context_parallel_size: 2\n"}});
  CHECK(option_of(job, "--context") == "2");
  CHECK(option_of(job, "--precision") == "bf16");
  CHECK(option_of(job, "--pipeline") == "2");
  CHECK_THAT(error_of([&] { tensor_of("  - model: none\n"); }), Contains("conf/model/none.yaml is not there"));
}

TEST_CASE("GPT-NeoX: num_gpus counts the GPUs of a node") {
  const std::string keys =
      "pipe_parallel_size: 1\nmodel_parallel_size: 1\nnum_layers: 12\nhidden_size: 768\nnum_attention_heads: 12\n"
      "seq_length: 2048\nmax_position_embeddings: 2048\ntrain_micro_batch_size_per_gpu: 4\nnum_gpus: 8\n"
      "precision: bfloat16\nhostfile: hosts\n";
  const std::vector<std::pair<std::string, std::string>> hosts{{"hosts", "a slots=8\nb slots=8 # rack\n\n"}};
  CHECK(option_of(job_beside("neox.yml", keys, hosts), "--gpus") == "16");
  CHECK(option_of(job_beside("neox.yml", keys + "num_nodes: -1\n", hosts), "--gpus") == "16");
  CHECK(option_of(job_beside("neox.yml", keys + "num_nodes: 4\n", hosts), "--gpus") == "32");
  CHECK_THAT(needed_of(job_beside("neox.yml", keys, {})), Contains("--gpus the host file is not there"));
}

TEST_CASE("torchtitan and torchtune: values that the command or the software gives") {
  const sim::LaunchedJob titan = launched_text(
      "torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b "
      "--training.global_batch_size 512\n");
  CHECK(option_of(titan, "--global-batch") == "512");
  const std::string tune =
      "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\ntokenizer:\n  max_seq_len: 2048\n"
      "batch_size: 2\ndtype: bf16\n";
  CHECK(option_of(launched_text(tune, "c.yaml"), "--lora-rank") == "8");
}

TEST_CASE("NeMo Automodel: packed samples, pipelines, sharding and recomputation") {
  const std::string recipe =
      "step_scheduler:\n  local_batch_size: 8\n  global_batch_size: 64\nmodel:\n"
      "  pretrained_model_name_or_path: meta-llama/Llama-3.1-8B\ndataset:\n  seq_len: 512\n";
  const auto read = [&](const std::string& more) { return launched_text(recipe + more, "c.yaml"); };
  CHECK_THAT(option_of(read("packed_sequence:\n  packed_sequence_size: 4096\n"), "--model"), Contains("@4096"));
  CHECK_THAT(option_of(read("packed_sequence:\n  packed_sequence_size: 0\n"), "--model"), Contains("@512"));
  const std::string pipeline = "distributed:\n  strategy: fsdp2\n  pp_size: 2\n";
  CHECK(option_of(read(pipeline), "--micro-batch") == "1");
  CHECK(option_of(read(pipeline), "--sharding") == "zero2");
  CHECK(option_of(read(pipeline + "  reshard_after_forward: true\n"), "--sharding") == "zero3");
  CHECK(option_of(read("distributed:\n  strategy: fsdp2\n  reshard_after_forward: false\n"), "--sharding") == "zero2");
  const std::string recompute = "distributed:\n  strategy: fsdp2\n  activation_checkpointing: ";
  CHECK(option_of(read(recompute + "selective\n"), "--recompute") == "selective");
  CHECK(option_of(read(recompute + "full\n"), "--recompute") == "full");
  CHECK(option_of(read(recompute + "true\n"), "--recompute") == "full");
  CHECK(option_of(read(recompute + "false\n"), "--recompute") == "none");
}

TEST_CASE("ms-swift: types of weights, accumulation, packing and files") {
  const std::string command = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 2048 ";
  CHECK(option_of(launched_text(command + "--train_type full --torch_dtype float32\n"), "--precision") == "fp16");
  CHECK(option_of(launched_text(command + "--train_type full --sequence_parallel_size 4\n"), "--accumulation") == "2");
  CHECK_THAT(needed_of(launched_text(command + "--train_type full --packing true --packing_length 8192\n")),
             Contains("--seq-length the packed samples"));
  const sim::LaunchedJob megatron =
      job_beside("train.sh", "NPROC_PER_NODE=8 megatron sft c.yaml\n",
                 {{"c.yaml",
                   "model: Qwen/Qwen2.5-7B-Instruct\ntuner_type: full\nmax_length: 2048\n"
                   "tensor_model_parallel_size: 2\nmicro_batch_size: 1\nglobal_batch_size: 16\n"}});
  CHECK(option_of(megatron, "--tensor") == "2");
}

TEST_CASE("NeMo: a recipe that fine-tunes needs the rank of its adapters") {
  const std::string command = "nemo llm finetune --factory ";
  CHECK_THAT(needed_of(launched_text(command + "llama3_8b\n")), Contains("--lora-rank the recipe trains adapters"));
  CHECK_THAT(needed_of(launched_text(command + "'llama3_8b(peft_scheme=None)'\n")), !Contains("--lora-rank"));
}

}  // namespace lockstep::tests
