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

}  // namespace lockstep::tests
