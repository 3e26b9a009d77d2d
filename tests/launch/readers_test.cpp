// Values of launch files by hand, for custom programs and for formats other than the first eleven.
#include "sim/launch/python_repr.hpp"
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {

TEST_CASE("programs with arguments of their own give what has HuggingFace's names, and ask for the batch") {
  const sim::LaunchedJob hosts = launched("program_deepspeed_hosts.sh");
  CHECK(option_of(hosts, "--gpus") == "16");
  CHECK(option_of(hosts, "--sharding") == "zero2");
  CHECK(option_of(hosts, "--model") == "bert_large@512");
  const sim::LaunchedJob own = launched_text("torchrun --nproc_per_node 4 train.py --lr 1 --width 7");
  CHECK(own.format == sim::launch::LaunchFormat::program);
  CHECK_THAT(needed_of(own), Contains("--batch"));
  CHECK(option_of(own, "--precision") == "absent");
  const sim::LaunchedJob lost = launched_text(
      "torchrun --nproc_per_node 4 r.py --per_device_train_batch_size 1 --model_name_or_path gpt2 --deepspeed "
      "none.json");
  CHECK_THAT(needed_of(lost), Contains("--sharding the file is not there"));
  CHECK(option_of(launched("hf_fsdp_file.sh"), "--recompute") == "full");  // in the file of --fsdp_config
  CHECK(option_of(launched("hf_fsdp_file.sh"), "--sharding") == "zero2");
}

TEST_CASE("scripts that share their parts with others are read with them") {
  const sim::LaunchedJob mpi = launched("megatron_mpirun.sh");
  CHECK(option_of(mpi, "--gpus") == "16");
  CHECK(option_of(mpi, "--global-batch") == "64");
  CHECK(option_of(mpi, "--sharding") == "zero1");  // the flag before "$@"
  CHECK(option_of(launched("megatron_deepspeed_template.sh"), "--sharding") == "zero1");
  CHECK(option_of(launched("megatron_arguments.sh"), "--model") == "qwen3_8b@4096");
  CHECK(option_of(launched("megatron_model_config.yaml"), "--virtual-stages") == "2");
  CHECK(option_of(launched("bloom_shape.slurm"), "--gpus") == "128");
  CHECK(option_of(launched("bridge_recipe.sh"), "--global-batch") == "128");
  CHECK_THAT(needed_of(launched_text("torchrun --nproc_per_node 8 run_recipe.py --recipe x train.global_batch_size=8")),
             Contains("--tensor the recipe sets it") && Contains("--micro-batch the recipe"));
  CHECK(option_of(launched("nemo_environment.yaml"), "--gpus") == "32");
}

TEST_CASE("configurations of GPT-NeoX, nanotron, torchtune, LLM Foundry and MLPerf, by hand") {
  const sim::LaunchedJob neox = launched("gpt_neox_6b.yml"), nano = launched("nanotron_llama.yaml");
  CHECK(option_of(neox, "--pipeline") == "2");
  CHECK(option_of(neox, "--accumulation") == "8");
  CHECK(option_of(neox, "--precision") == "fp16");
  CHECK(option_of(nano, "--gpus") == "64");
  CHECK(option_of(nano, "--software") == "nanotron");
  CHECK(option_of(nano, "--model") == "llama3_2_3b@4096");
  CHECK(option_of(nano, "--tokens") == std::to_string(3000LL * 8 * 16 * 2 * 4096));
  const sim::LaunchedJob tune = launched("torchtune_lora.yaml"), foundry = launched("llm_foundry_mpt.yaml");
  CHECK(option_of(tune, "--model") == "llama3_1_8b@8192");
  CHECK(option_of(tune, "--lora-rank") == "8");
  CHECK(option_of(foundry, "--micro-batch") == "4");
  CHECK(option_of(foundry, "--tokens") == std::to_string(20000LL * 512 * 2048));
  const sim::LaunchedJob mlperf = launched("mlperf_config_DGXH100_16x8.sh");
  CHECK(option_of(mlperf, "--gpus") == "128");
  CHECK(option_of(mlperf, "--accumulation") == "32");
  CHECK(option_of(mlperf, "--precision") == "fp8");
}

TEST_CASE("ranks of axolotl, Accelerate and LLaMA-Factory") {
  const sim::LaunchedJob axolotl = launched("axolotl_parallel.yaml"), parallel = launched("accelerate_parallel.yaml");
  CHECK(option_of(axolotl, "--tensor") == "2");
  CHECK(option_of(axolotl, "--context") == "2");
  CHECK(option_of(parallel, "--tensor") == "4");
  CHECK(option_of(parallel, "--sharding-group") == "4");
  CHECK(option_of(launched("llama_factory_v1.yaml"), "--lora-rank") == "16");
  CHECK(option_of(launched("llama_factory_v1.yaml"), "--sharding") == "zero3");
  CHECK(option_of(launched("llama_factory_nodes.sh"), "--gpus") == "8");
}

TEST_CASE("defaults are no facts where an open part of the command may give the option, or the program is another") {
  const std::string megatron = " p.py --num-layers 2 --micro-batch-size 1 ";
  const std::string open = "if [ -f x ]; then O='--bf16'; else O='--fp16'; fi\ntorchrun --nproc_per_node 8" + megatron;
  CHECK_THAT(needed_of(launched_text(open + "$O")), Contains("--precision cannot be evaluated, and may give it"));
  CHECK(needed_of(launched_text(open + "$NONE")).find("--precision") == std::string::npos);  // set nowhere: empty
  CHECK(needed_of(launched_text(open + "--bf16 $O")).find("--precision") == std::string::npos);
  const sim::LaunchedJob chat = launched_text(
      "deepspeed --num_gpus 4 main.py --model_name_or_path gpt2 --per_device_train_batch_size 2 --deepspeed "
      "--zero_stage 2");
  CHECK(option_of(chat, "--software") == "Transformers with DeepSpeed");
  CHECK(option_of(chat, "--precision") == "absent");
  const sim::LaunchedJob images =
      launched_text("torchrun --nproc_per_node 8" + megatron + "--hidden-size 8 --num-attention-heads 2 --img-h 336");
  CHECK_THAT(needed_of(images), Contains("--model the part that sees images"));
  const auto neox = [](const std::string& kind) {
    return needed_of(
        sim::read_launch_text("pipe_parallel_size: 1\nnum_layers: 2\nhidden_size: 8\nnum_attention_heads: 2\n"
                              "attention_config: [[[" +
                                  kind + "], 2]]\ntrain_micro_batch_size_per_gpu: 1\n",
                              {"a.yml", {}, {}}, launch_catalogue()));
  };
  CHECK_THAT(neox("mamba"), Contains("layers without attention"));
  CHECK(neox("flash").empty());
}

TEST_CASE("a dataclass as Python prints it is read as its tree") {
  const auto tree = sim::launch::tree_of_python_repr(
      "A(b=B(c='x\\'y', d=None, e=(1, 2.5,)), f=True, g={'h': -1e-8}, i=[], j=<K.L: 'm'>, n=torch.bfloat16)");
  REQUIRE(tree);
  CHECK(
      tree->dump() ==
      R"({"b":{"c":"x'y","d":null,"e":[1,2.5]},"f":true,"g":{"h":-1e-08},"i":[],"j":"K.L: 'm'","n":"torch.bfloat16"})");
  CHECK_FALSE(sim::launch::tree_of_python_repr("A(b=1"));
  CHECK_FALSE(sim::launch::tree_of_python_repr(std::string(100, '[')));
  CHECK_FALSE(sim::launch::is_python_repr("torchrun (a=1)"));
  const sim::LaunchedJob titan = launched("torchtitan_printed.txt");
  CHECK(option_of(titan, "--model") == "llama3_70b@8192");
  CHECK(option_of(titan, "--tensor") == "8");
  CHECK(option_of(titan, "--sharding-group") == "8");
}

}  // namespace lockstep::tests
