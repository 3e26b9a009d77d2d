// Launch scripts and configurations: a reader for each format, with the file ending that identifies it.
#include <filesystem>

#include "sim/launch/from_file.hpp"
#include "tests/fuzz/reader.hpp"

namespace lockstep::fuzz {
namespace {

const sim::Catalogue& catalogue() {
  static const sim::Catalogue one = sim::load_catalogue(LOCKSTEP_SOURCE_DIR "/scenarios/catalogue");
  return one;
}

// Reads as far as `simulate job --from` does.
Json launch_of(const std::string& text, const std::string& file) {
  const sim::LaunchedJob job = sim::read_launch_text(text, {file, {}, {}}, catalogue());
  return {{"json", sim::launch_json(job, {})}, {"text", sim::launch_text(job, {})}};
}

Reader reader(const std::string& name, const std::string& file, const std::vector<std::string>& files) {
  std::vector<std::string> corpus;
  for (const std::string& one : files) corpus.push_back("scenarios/launch/" + one);
  return {name, [file](const std::string& text) { return launch_of(text, file); }, file, corpus};
}

}  // namespace

std::vector<Reader> readers_of_launch() {
  return {
      reader("launch-megatron", "train.sh",
             {"megatron_llama3_8b.sh", "megatron_gpt3_175b.sh", "megatron_mixtral.sh", "megatron_deepseek_v3.sh",
              "megatron_own_shape.sh"}),
      reader("launch-megatron-deepspeed", "train.sh", {"megatron_deepspeed_zero.sh"}),
      reader("launch-huggingface-script", "train.sh", {"hf_trainer_ddp.sh"}),
      reader("launch-huggingface", "args.yaml", {"training_arguments.yaml"}),
      reader("launch-deepspeed", "ds.json", {"ds_config_zero2.json", "ds_config_offload.json", "ds_z3.json"}),
      reader("launch-accelerate", "accelerate.yaml", {"accelerate_fsdp.yaml", "accelerate_deepspeed.yaml"}),
      reader("launch-llama-factory", "sft.yaml", {"llama_factory_lora_sft.yaml"}),
      reader("launch-axolotl", "axolotl.yaml", {"axolotl_fft.yaml"}),
      reader("launch-torchtitan", "titan.toml", {"torchtitan_llama3_8b.toml", "torchtitan_llama3_405b.toml"}),
      reader("launch-torchtitan-dump", "titan.json", {"torchtitan_dump.json"}),
      reader("launch-torchtitan-printed", "titan.txt", {"torchtitan_printed.txt"}),
      reader("launch-nemo", "nemo.yaml", {"nemo_megatron_gpt.yaml"}),
      reader("launch-megatron-bridge", "bridge.yaml", {"megatron_bridge_llama3_8b.yaml"}),
      reader("launch-primus", "primus.yaml", {"primus_llama3_8b.yaml", "primus_torchtitan.yaml"}),
      reader("launch-maxtext", "maxtext.yml", {"maxtext_llama2_70b.yml"}),
      reader("launch-gpt-neox", "neox.yml", {"gpt_neox_6b.yml"}),
      reader("launch-nanotron", "nanotron.yaml", {"nanotron_llama.yaml"}),
      reader("launch-torchtune", "torchtune.yaml", {"torchtune_lora.yaml"}),
      reader("launch-llm-foundry", "foundry.yaml", {"llm_foundry_mpt.yaml"}),
      reader("launch-ms-swift", "swift.yaml", {"swift_lora.yaml"}),
      reader("launch-ms-swift-script", "swift.sh", {"swift_sft.sh", "swift_megatron.sh"}),
      reader("launch-nemo-automodel", "automodel.yaml", {"automodel_llama3_8b.yaml"}),
      reader("launch-skypilot", "sky.yaml", {"skypilot_torchtitan.yaml"}),
      reader("launch-mlperf", "config.sh", {"mlperf_config_DGXH100_16x8.sh"}),
      reader("launch-program", "train.slurm", {"program_srun_mpi.slurm", "program_deepspeed_hosts.sh"}),
      reader("launch-machine", "machine.sh", {"megatron_mpirun.sh", "bloom_shape.slurm"}),
      reader("launch-text", "text",
             {"megatron_bridge_lora.yaml", "torchtitan_llama3_8b.toml", "torchtitan_dump.json",
              "torchtitan_printed.txt", "megatron_shell_forms.sh"}),
      reader("launch-shell-forms", "forms.sh", {"megatron_shell_forms.sh"}),
      reader("launch-nemo-2", "nemo.yaml", {"nemo2_llama3_1_8b.yaml"}),
      reader("launch-model-config", "model_config.yaml", {"megatron_model_config.yaml"}),
  };
}

}  // namespace lockstep::fuzz
