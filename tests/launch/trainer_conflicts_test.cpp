// Arguments of HuggingFace's Trainer: switches without a value, and contradictions with DeepSpeed's configuration.
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

const std::string kTrainer =
    "torchrun --nproc_per_node 2 sft.py --model_name_or_path meta-llama/Llama-2-7b-hf --max_seq_length 2048 ";

// A script that writes DeepSpeed's configuration and starts the Trainer with it.
std::string script_with(const std::string& configuration, const std::string& arguments) {
  return "cat > ds.json <<E\n" + configuration + "\nE\n" + kTrainer + arguments + " --deepspeed ds.json\n";
}

std::string error_with(const std::string& configuration, const std::string& arguments) {
  return error_of([&] { launched_text(script_with(configuration, arguments)); });
}

}  // namespace

TEST_CASE("a switch without a value is true, as in HfArgumentParser, and an empty value of a file is not") {
  const std::string adapters = kTrainer + "--per_device_train_batch_size 1 --use_peft --lora_r 16 ";
  for (const auto& [written, weights] :
       std::vector<std::pair<std::string, std::string>>{{"--load_in_4bit", "nf4"},
                                                        {"--load_in_8bit", "int8"},
                                                        {"--load_in_4bit true", "nf4"},
                                                        {"--load_in_4bit=false", "absent"},
                                                        {"--load_in_8bit False", "absent"},
                                                        {"--load_in_4bit 0", "absent"}}) {
    INFO(written);
    CHECK(option_of(launched_text(adapters + written + " --bf16"), "--frozen-weights") == weights);
    CHECK(option_of(launched_text(adapters + written), "--frozen-weights") == weights);
  }
  CHECK(option_of(launched_text(adapters + "--gradient_checkpointing"), "--recompute") == "full");
  CHECK(option_of(launched_text(adapters + "--fp16"), "--precision") == "fp16");
  const std::string swift = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 2048 ";
  CHECK(option_of(launched_text(swift + "--load_in_4bit"), "--frozen-weights") == "nf4");
  const std::string axolotl =
      "base_model: NousResearch/Llama-2-13b-hf\nadapter: qlora\nlora_r: 8\nsequence_len: 2048\n";
  const sim::LaunchedJob empty =
      launched_text(axolotl + "load_in_4bit:\ngradient_checkpointing:\nfp16:\nbf16: true\n", "a.yaml");
  CHECK(option_of(empty, "--frozen-weights") == "absent");
  CHECK(option_of(empty, "--recompute") == "none");
  CHECK(option_of(empty, "--precision") == "bf16");
  const std::string command = "cat > a.yaml <<E\n" + axolotl + "load_in_4bit: true\nE\naxolotl train a.yaml ";
  for (const char* argument : {"", "--load_in_4bit", "--load_in_4bit true"})
    CHECK(option_of(launched_text(command + argument), "--frozen-weights") == "nf4");
  CHECK(option_of(launched_text(command + "--load_in_4bit false"), "--frozen-weights") == "absent");
}

}  // namespace lockstep::tests
