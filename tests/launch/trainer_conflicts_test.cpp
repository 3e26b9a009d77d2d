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

TEST_CASE("batches of DeepSpeed's configuration and of the Trainer agree, or are refused with both places") {
  const std::string one = "--per_device_train_batch_size 1 --bf16";
  const std::string micro = error_with(R"({"train_micro_batch_size_per_gpu": 2})", one);
  CHECK_THAT(micro, Contains("train.sh:4: --per_device_train_batch_size 1: contradicts train.sh: ds.json: "
                             "train_micro_batch_size_per_gpu 2; make them agree"));
  const std::string steps =
      error_with(R"({"gradient_accumulation_steps": 4})", one + " --gradient_accumulation_steps 8");
  CHECK_THAT(steps, Contains("--gradient_accumulation_steps 8: contradicts train.sh: ds.json: "
                             "gradient_accumulation_steps 4"));
  // 1 sample x 4 micro-batches x 2 GPUs = 8.
  const std::string all = one + " --gradient_accumulation_steps 4";
  CHECK_THAT(error_with(R"({"train_batch_size": 64})", all),
             Contains("ds.json: train_batch_size 64: is not 1 x 4 x 2: micro-batch x accumulation x replicas (") &&
                 Contains("train.sh:4: --per_device_train_batch_size 1, train.sh:4: --gradient_accumulation_steps 4"));
  CHECK_THAT(error_with(R"({"train_batch_size": 63})", one), Contains("is no multiple of 1 x 2"));
  for (const char* agreeing :
       {R"({"train_batch_size": 8})", R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})",
        R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "train_batch_size": 8})",
        R"({"gradient_accumulation_steps": "auto"})"}) {
    INFO(agreeing);
    const sim::LaunchedJob job = launched_text(script_with(agreeing, all));
    CHECK(option_of(job, "--micro-batch") == "1");
    CHECK((option_of(job, "--global-batch") == "8" || option_of(job, "--accumulation") == "4"));
  }
  const auto own = [](const std::string& text, int gpus) {
    return sim::read_launch_text(text, {"ds.json", {}, {gpus}}, launch_catalogue());
  };
  const std::string alone =
      R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})";
  CHECK(option_of(own(alone, 8), "--global-batch") == "64");
  CHECK_THAT(error_of([&] { own(alone, 2); }), Contains("is not 2 x 4 x 2"));
}

TEST_CASE("the accumulation of the program's arguments overrides that of Accelerate, which is listed as overridden") {
  const sim::LaunchedJob job = launched_text(
      "accelerate launch --num_processes 2 --use_deepspeed --zero_stage 2 --gradient_accumulation_steps 4 t.py "
      "--model_name_or_path gpt2 --per_device_train_batch_size 1 --gradient_accumulation_steps 8");
  CHECK(option_of(job, "--accumulation") == "8");
  int overridden = 0;
  for (const sim::launch::LaunchSetting& setting : job.settings.all())
    if (setting.use == sim::launch::Use::overridden) overridden += setting.value == Json("4") ? 1 : 0;
  CHECK(overridden == 1);
}

TEST_CASE("precisions of DeepSpeed's configuration and of the Trainer agree, or are refused with both places") {
  const std::string one = "--per_device_train_batch_size 1 ";
  CHECK_THAT(error_with(R"({"fp16": {"enabled": true}})", one + "--bf16"),
             Contains("train.sh:4: --bf16: contradicts train.sh: ds.json: fp16.enabled true; make them agree"));
  CHECK_THAT(error_with(R"({"bf16": {"enabled": false}})", one + "--bf16"), Contains("ds.json: bf16.enabled false"));
  CHECK_THAT(error_with(R"({"bf16": {"enabled": true}, "fp16": {"enabled": true}})", one), Contains("fp16.enabled"));
  CHECK_THAT(error_of([&] { launched_text(kTrainer + one + "--bf16 True --fp16 True"); }), Contains("--fp16 True"));
  for (const char* agreeing :
       {R"({"bf16": {"enabled": "auto"}})", R"({"bf16": {"enabled": true}})",
        R"({"bf16": {"enabled": true}, "fp16": {"enabled": false}})", R"({"fp16": {"enabled": "auto"}})"})
    CHECK(option_of(launched_text(script_with(agreeing, one + "--bf16")), "--precision") == "bf16");
  CHECK(option_of(launched_text(script_with(R"({"fp16": {"enabled": true}})", one)), "--precision") == "fp16");
}

TEST_CASE("the Trainer's sgd has no momentum, and optimizers of low rank are not simulated") {
  const std::string line = kTrainer + "--per_device_train_batch_size 1 --optim ";
  CHECK(option_of(launched_text(line + "sgd"), "--optimizer") == "sgd");
  for (const std::string name : {"galore_adamw", "galore_adamw_8bit", "galore_adafactor", "apollo_adamw_layerwise"}) {
    INFO(name);
    const sim::LaunchedJob job = launched_text(line + name);
    CHECK(option_of(job, "--optimizer") == "absent");
    CHECK(option_of(job, "--optimizer-state") == "absent");
    CHECK_THAT(sim::launch_text(job, {}), Contains("not simulated: --optim (its state of low rank"));
  }
}

}  // namespace lockstep::tests
