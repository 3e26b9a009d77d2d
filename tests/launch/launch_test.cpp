// Laws that hold for all launch files, then values of some by hand.
#include <CLI/CLI.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/model/zoo/zoo.hpp"
#include "sim/api/job_options.hpp"
#include "sim/launch/from_option.hpp"
#include "sim/launch/shell.hpp"
#include "sim/launch/tree.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/cli/process.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

// The part of `simulate job` that reads options.
struct Command {
  CLI::App app{"job"};
  sim::JobQuestion question;
  std::string tokens;
  sim::FromOptions from;

  Command() {
    sim::declare_from(app, from);
    sim::declare_job(app, question);
    sim::declare_gpu_counts(app, question, "");
    app.add_option("--tokens", tokens);
    app.add_option("--batch-ramp", question.batch_ramp);
  }
  void parse(const std::string& line) {
    std::vector<std::string> words;
    for (const sim::launch::ShellCommand& command : sim::launch::read_shell("x " + line, "line").commands)
      for (std::size_t i = command.words.size(); i-- > 1;) words.push_back(command.words[i].text);
    app.parse(words);  // CLI11 expects them in reverse
  }
  Json facts() const {
    Json json = sim::job_json(question.job);
    json["batch"] = question.job.batch_per_gpu;
    json["gpu counts"] = question.gpus;
    json["tokens"] = tokens;
    json["batch ramp"] = question.batch_ramp;
    json["split keys"] = question.job.split.keys;
    return json;
  }
};

// Returns the options that a configuration alone may lack.
std::string needed_beside(const sim::LaunchedJob& job) {
  std::string text;
  for (const auto& [name, value] :
       {std::pair<std::string, std::string>{"--model", "llama3_8b@4096"}, {"--gpu", "H100"}, {"--gpus", "64"}})
    if (option_of(job, name) == "absent") text += " " + name + " " + value;
  return text;
}

}  // namespace

TEST_CASE("every key of every launch file is read, or listed with the reason, or listed as unknown") {
  const std::set<std::string> unknown{"--frobnicate", "--per_gpu_batch"};
  REQUIRE(launch_files().size() + launch_files(kBrokenLaunches).size() >= 30);
  for (const std::string& name : launch_files()) {
    const sim::LaunchedJob job = launched(name);
    INFO(name);
    CHECK(job.settings.all().size() > 3);
    std::size_t listed = 0;
    const Json json = sim::launch_json(job, {});
    for (const sim::launch::LaunchSetting& setting : job.settings.all()) {
      INFO(setting.text() << ": " << name_of(setting.use));
      CHECK(setting.use != sim::launch::Use::unread);
      CHECK(
          (setting.use == sim::launch::Use::read || setting.use == sim::launch::Use::unknown || !setting.why.empty()));
      CHECK((setting.use != sim::launch::Use::unknown || unknown.count(setting.written) > 0));
      ++listed;
    }
    CHECK(json.at("settings").size() == listed);
  }
}

TEST_CASE("all leaves of a tree are settings") {
  const Json tree{{"a", 1}, {"b", {{"c", true}, {"d", {1, 2}}, {"e", Json::object()}}}, {"f", {{{"g", "x"}}, 7}}};
  const auto settings = sim::launch::read_tree(tree.dump(), "t.json", sim::launch::TreeSyntax::json);
  std::string keys;
  for (const auto& setting : settings.all()) keys += setting.key + " ";
  CHECK(keys == "a b.c b.d b.e f.0.g f.1 ");
  const auto yaml = sim::launch::read_tree("a: 1\nb:\n  c: ${a}\n  d: ${.c}\n  e: ${X:9}\n  f: ${oc.env:Y}\n  g: '8'\n",
                                           "t.yaml", sim::launch::TreeSyntax::yaml);
  Json values;
  for (const auto& setting : yaml.all()) values[setting.key] = setting.unknown.empty() ? setting.value : Json("?");
  CHECK(values.dump() == R"({"a":1,"b.c":1,"b.d":1,"b.e":"9","b.f":"?","b.g":"8"})");
}

TEST_CASE("the options that are printed give the same job, fact by fact") {
  for (const std::string& name : launch_files()) {
    INFO(name);
    const sim::LaunchedJob job = launched(name);
    const std::string beside = needed_beside(job);
    Command from, pasted;
    from.parse("--from " + kLaunchCorpus + name + beside);
    const std::vector<int> gpus = from.question.gpus;
    const sim::AppliedLaunch applied = sim::apply_from(from.app, from.from, gpus, launch_catalogue());
    CHECK(applied.overriding.empty());
    pasted.parse(sim::command_text(applied.job.options) + beside);
    CHECK(from.facts().dump(1) == pasted.facts().dump(1));
  }
}

TEST_CASE("a growing batch of Megatron-LM becomes a batch ramp in tokens") {
  const sim::LaunchedJob job = launched("megatron_gpt3_175b.sh");
  const auto ramp = std::find_if(job.options.begin(), job.options.end(),
                                 [](const auto& option) { return option.name == "--batch-ramp"; });
  REQUIRE(ramp != job.options.end());
  CHECK(ramp->value == "16+16:12000000000");  // 5,859,375 samples of 2,048 tokens
}

TEST_CASE("broken launch files are refused in a line that names the file") {
  for (const std::string& name : launch_files(kBrokenLaunches)) {
    const std::string path = kBrokenLaunches + name;
    Command command;
    const std::string error = error_of([&] {
      command.parse("--from " + path + " --gpu H100");
      sim::apply_from(command.app, command.from, {}, launch_catalogue());
    });
    INFO(name << ": " << error);
    CHECK(error.compare(0, path.size(), path) == 0);
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("a Megatron-LM script for Llama 3 8B, by hand") {
  const sim::LaunchedJob job = launched("megatron_llama3_8b.sh");
  for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{{"--model", "llama3_8b@8192"},
                                                                                      {"--gpus", "8"},
                                                                                      {"--gpus-per-node", "8"},
                                                                                      {"--software", "Megatron-LM"},
                                                                                      {"--tensor", "2"},
                                                                                      {"--pipeline", "1"},
                                                                                      {"--sequence-parallel", ""},
                                                                                      {"--sharding", "zero1"},
                                                                                      {"--precision", "bf16"},
                                                                                      {"--recompute", "none"},
                                                                                      {"--micro-batch", "1"},
                                                                                      {"--global-batch", "128"},
                                                                                      {"--tokens", "16000000000"}}) {
    INFO(option);
    CHECK(option_of(job, option) == value);
  }
}

TEST_CASE("shapes of models are found in the catalogue, or described by their numbers") {
  CHECK(option_of(launched("megatron_gpt3_175b.sh"), "--model") == "gpt3_175b@2048");
  CHECK(option_of(launched("megatron_mixtral.sh"), "--model") == "mixtral_8x7b@4096");
  CHECK(option_of(launched("megatron_deepseek_v3.sh"), "--model") == "deepseek_v3@4096");
  CHECK(option_of(launched("nemo_megatron_gpt.yaml"), "--model") == "llama2_13b@4096");
  const std::string own = option_of(launched("megatron_own_shape.sh"), "--model");
  CHECK_THAT(own, Contains("\"model_type\":\"megatron\"") && Contains("\"num_layers\":30") && Contains("}@2048"));
}

TEST_CASE("a decoder by Megatron-LM's numbers has the parameters of the published model") {
  std::map<std::string, std::string> inputs;
  const auto parameters_of = [&](const std::string& text) { return model::graph_of(text, inputs).parameter_count(); };
  const std::string llama =
      R"({"model_type": "megatron", "num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
          "num_query_groups": 8, "ffn_hidden_size": 14336, "max_position_embeddings": 8192, "vocab_size": 128256,
          "swiglu": true, "normalization": "RMSNorm", "position_embedding_type": "rope", "add_bias_linear": false,
          "untie_embeddings_and_output_weights": true})";
  CHECK(parameters_of(llama + "@4096") == 8030261248);
  CHECK(model::graph_of(llama + "@4096", inputs).tokens == 4096);
  // GPT-2 medium: 24 layers of 12 h^2 + 13 h, tables of words and positions, and the last norm.
  CHECK(parameters_of(R"({"model_type": "megatron", "num_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
                          "max_position_embeddings": 1024, "vocab_size": 50257, "swiglu": false})") ==
        24LL * (12 * 1024 * 1024 + 13 * 1024) + (50257 + 1024) * 1024 + 2 * 1024);
  CHECK_THAT(error_of([&] { parameters_of(R"({"model_type": "megatron", "num_layers": 2})"); }),
             Contains("hidden_size"));
}

TEST_CASE("layers of a hybrid are those of its pattern") {
  const sim::LaunchedJob job = launched("megatron_nemotron3_nano.sh");
  CHECK(option_of(job, "--model") == "nemotron3_nano_30b@8192");
  CHECK(option_of(job, "--expert") == "8");
  const std::string hybrid =
      "torchrun --nproc-per-node 8 pretrain_mamba.py --micro-batch-size 1 --seq-length 128 --hidden-size 256 "
      "--num-attention-heads 4 ";
  CHECK_THAT(option_of(launched_text(hybrid + "--hybrid-layer-pattern 'M-|M*/M'"), "--model"),
             Contains("\"hybrid_layer_pattern\":\"M-M*\"") && Contains("\"num_layers\":4"));
  CHECK_THAT(option_of(launched_text(hybrid + "--hybrid-override-pattern M*"), "--model"),
             Contains("\"hybrid_layer_pattern\":\"M*\""));
  CHECK_THAT(needed_of(launched_text(hybrid + "--num-layers 3 --hybrid-layer-pattern 'M-M*'")),
             Contains("--model") && Contains("has 4 layers"));
  CHECK_THAT(needed_of(launched_text(hybrid + "--hybrid-layer-pattern 'MG'")),
             Contains("--model") && Contains("kind that is not known"));
}

TEST_CASE("stages, experts, recomputation and precision of Megatron-LM, by hand") {
  const sim::LaunchedJob gpt = launched("megatron_gpt3_175b.sh"), moe = launched("megatron_deepseek_v3.sh");
  CHECK(option_of(gpt, "--virtual-stages") == "2");  // 96 layers over 16 stages in chunks of 3
  CHECK(option_of(gpt, "--recompute") == "selective");
  CHECK(option_of(gpt, "--precision") == "fp16");
  CHECK(option_of(gpt, "--gpu") == "h100");
  CHECK(option_of(gpt, "--gpus") == "128");
  CHECK(option_of(gpt, "--tokens") == std::to_string(500000LL * 1536 * 2048));
  CHECK(option_of(moe, "--expert") == "32");
  CHECK(option_of(moe, "--expert-tensor") == "1");
  CHECK(option_of(moe, "--expert-overlap") == "");
  CHECK(option_of(moe, "--recompute-modules") == "mla_up_proj,layernorm,act");
  CHECK(option_of(moe, "--precision") == "fp8");
  CHECK(option_of(moe, "--gpus") == "256");
  CHECK(option_of(launched("megatron_mixtral.sh"), "--no-expert-overlap") == "");
}

TEST_CASE("the flexible dispatcher of Megatron-LM is DeepEP, or HybridEP where it is named") {
  const std::string experts =
      "torchrun --nnodes 2 --nproc_per_node 8 p.py --num-layers 2 --micro-batch-size 1 --num-experts 8 "
      "--moe-router-topk 2 --expert-model-parallel-size 8";
  const auto dispatch = [&](const std::string& more) {
    return option_of(launched_text(experts + more), "--expert-dispatch");
  };
  CHECK(dispatch("") == "all-to-all");
  CHECK(dispatch(" --moe-token-dispatcher-type alltoall") == "all-to-all");
  CHECK(dispatch(" --moe-flex-dispatcher-backend hybridep") == "all-to-all");  // read by the flexible one alone
  CHECK(dispatch(" --moe-token-dispatcher-type flex --moe-enable-deepep") == "deepep");
  CHECK(dispatch(" --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep") == "hybridep");
}

TEST_CASE("sources that contradict each other are refused, and both are named") {
  const std::string error = error_of([] {
    launched_text("#SBATCH --nodes=4\ntorchrun --nnodes 8 --nproc_per_node 8 p.py --num-layers 2 --micro-batch-size 1");
  });
  CHECK(error.find("train.sh:2 (--nnodes)") == 0);
  CHECK_THAT(error, Contains("train.sh:1 (#SBATCH --nodes)") && Contains("\"8\"") && Contains("\"4\""));
}

TEST_CASE("numbers of GPUs follow from each launcher") {
  const std::string rest = " p.py --num-layers 2 --micro-batch-size 1";
  const auto gpus_of = [&](const std::string& line) {
    const sim::LaunchedJob job = launched_text(line + rest);
    return option_of(job, "--gpus") + "/" + option_of(job, "--gpus-per-node");
  };
  CHECK(gpus_of("torchrun --nproc_per_node=4") == "4/4");
  CHECK(gpus_of("torchrun --nnodes 2 --nproc-per-node 8") == "16/8");
  CHECK(gpus_of("srun -N 2 -n 16 --ntasks-per-node=8 python -u") == "16/8");
  CHECK(gpus_of("srun -N 2 --ntasks-per-node=1 torchrun --nproc_per_node 8") == "16/8");
  CHECK(gpus_of("mpirun -np 32 --npernode 8 -x A=b python3") == "32/8");
  CHECK(gpus_of("deepspeed --num_nodes 2 --num_gpus 4") == "8/4");
  CHECK(gpus_of("accelerate launch --num_machines 2 --num_processes 16") == "16/8");
  CHECK(gpus_of("python -m torch.distributed.launch --nproc_per_node 8") == "8/8");
  CHECK(gpus_of("#SBATCH -N 4\n#SBATCH --gres=gpu:a100:8\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8") ==
        "32/8");
  CHECK(gpus_of("N=2\nsbatch <<EOF\n#SBATCH --gres=gpu:8\nsrun -N $N torchrun --nproc_per_node 8 p.py --num-layers 2 "
                "--micro-batch-size 1\nEOF\necho") == "16/8");
  CHECK(gpus_of("nsys profile -o x uv run torchrun --nproc_per_node 8") == "8/8");
  CHECK(gpus_of("numactl --cpunodebind 0 python") == "absent/absent");
  CHECK(gpus_of("deepspeed --include localhost:0,1,3") == "3/3");
  CHECK(gpus_of("deepspeed --include 'a:0,1@b:0,1'") == "4/2");
  CHECK(gpus_of("deepspeed --num_nodes=2 --num_gpus=8 --hostfile none") == "16/8");
  CHECK(gpus_of("mpirun -H a:8,b:8 python") == "16/8");
  CHECK(gpus_of("mpirun -np 16 -H a:8,b:8,c:8 python") == "16/absent");
  CHECK(gpus_of("srun -N 3 -n 12 --gpus-per-node=4 python") == "12/4");
  CHECK(gpus_of("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-task=1\nsrun python") == "8/4");
  CHECK(gpus_of("jsrun -n 4 -g 6 -a 6 -r 1 python") == "24/6");
  CHECK(gpus_of("CUDA_VISIBLE_DEVICES=0,2 torchrun") == "2/2");
  CHECK(gpus_of("export L='python -u'\nsrun -n 8 --ntasks-per-node 8 bash -c '$L" + rest + "'; echo") == "8/8");
}

TEST_CASE("configurations of other frameworks, by hand") {
  const sim::LaunchedJob titan = launched("torchtitan_llama3_405b.toml");
  CHECK(option_of(titan, "--model") == "llama3_1_405b@8192");
  CHECK(option_of(titan, "--tensor-overlap") == "all");
  CHECK(option_of(titan, "--precision") == "fp8");
  const sim::LaunchedJob hf = launched("hf_deepspeed_zero3.sh");
  CHECK(option_of(hf, "--software") == "Transformers with DeepSpeed");
  CHECK(option_of(hf, "--sharding") == "zero3");
  CHECK(option_of(hf, "--sharding-group") == "16");
  CHECK(option_of(hf, "--accumulation") == "4");
  CHECK(option_of(launched("ds_config_offload.json"), "--offload-optimizer") == "");
  CHECK(option_of(launched("accelerate_fsdp.yaml"), "--gpus") == "16");
  CHECK(option_of(launched("llama_factory_lora_sft.yaml"), "--lora-rank") == "8");
  CHECK(option_of(launched("axolotl_fft.yaml"), "--recompute") == "full");
  CHECK(option_of(launched("primus_llama3_8b.yaml"), "--precision") == "fp8");
  CHECK(option_of(launched("primus_torchtitan.yaml"), "--software") == "torchtitan");
  const sim::LaunchedJob jax = launched("maxtext_launch.sh");
  CHECK(option_of(jax, "--micro-batch") == "2");  // the command's value wins over the file's 4
  CHECK(option_of(jax, "--gpus") == "128");
  CHECK(option_of(launched("megatron_bridge_llama3_8b.yaml"), "--context") == "2");
}

TEST_CASE("Megatron-LM's layers with activations in host memory are read, unless activations stay") {
  const std::string line = "torchrun --nnodes 1 --nproc_per_node 8 p.py --num-layers 4 --micro-batch-size 1 ";
  CHECK(option_of(launched_text(line + "--cpu-offloading-num-layers 3"), "--offload-layers") == "3");
  CHECK(option_of(launched_text(line + "--cpu-offloading-num-layers 0"), "--offload-layers") == "absent");
  CHECK(option_of(launched_text(line), "--offload-layers") == "absent");
}

TEST_CASE("recomputation and groups of sharding are what the software does, not what is not written") {
  const std::string line = "torchrun --nnodes 4 --nproc_per_node 8 p.py ";
  const std::string megatron = line + "--num-layers 2 --micro-batch-size 1 ";
  CHECK(option_of(launched_text(megatron), "--recompute") == "none");
  const std::string full = megatron + "--recompute-granularity full --recompute-num-layers 2 --recompute-method ";
  CHECK(option_of(launched_text(full + "block"), "--recompute-layers") == "2");
  CHECK(option_of(launched_text(full + "uniform"), "--recompute-layers") == "absent");
  CHECK(option_of(launched_text(full + "uniform"), "--recompute-interval") == "2");
  CHECK(option_of(launched_text(megatron + "--checkpoint-activations --deepspeed-activation-checkpointing"),
                  "--recompute") == "full");
  CHECK(option_of(launched_text(megatron + "--deepspeed-activation-checkpointing"), "--recompute") == "none");
  const std::string trainer = line + "--model_name_or_path gpt2 --per_device_train_batch_size 2 ";
  CHECK(option_of(launched_text(trainer + "--fsdp \"hybrid_shard auto_wrap\""), "--sharding-group") == "8");
  CHECK(option_of(launched_text(trainer + "--fsdp \"full_shard auto_wrap\""), "--sharding-group") == "32");
  // Accelerate counts strategies from 1: hybrid sharding, over the GPUs of a node, is the fourth.
  for (const char* hybrid : {"HYBRID_SHARD", "4"})
    CHECK(option_of(
              launched_text("accelerate launch --num_machines 2 --num_processes 16 --use_fsdp "
                            "--fsdp_sharding_strategy " +
                            std::string(hybrid) + " p.py --model_name_or_path gpt2 --per_device_train_batch_size 2"),
              "--sharding-group") == "8");
  CHECK(option_of(launched("llama_factory_lora_sft.yaml"), "--recompute") == "full");  // its default

  const auto titan = [&](const std::string& mode) {
    const std::string text =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n[parallelism]\n"
        "tensor_parallel_degree = 8\ndata_parallel_replicate_degree = 2\n[activation_checkpoint]\nmode = \"" +
        mode + "\"\n";
    return sim::read_launch_text(text, {"train.toml", {}, {128}}, launch_catalogue());
  };
  CHECK(option_of(titan("none"), "--recompute") == "none");
  CHECK(option_of(titan("full"), "--recompute") == "full");
  CHECK(option_of(titan("none"), "--sharding-group") == "8");  // 128 GPUs / 8 tensor ranks / 2 copies
}

TEST_CASE("precisions of what the optimizer keeps and of frozen weights are read") {
  const std::string line = "torchrun --nnodes 4 --nproc_per_node 8 p.py ";
  const std::string megatron = line + "--num-layers 2 --micro-batch-size 1 --bf16 --optimizer adam ";
  const std::string aware = megatron + "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype ";
  CHECK(option_of(launched_text(aware + "bf16"), "--optimizer-state") == "bf16");
  CHECK(option_of(launched_text(aware + "bf16"), "--master-weights") == "fp16");  // the bits that bf16 lacks
  CHECK(option_of(launched_text(aware + "fp8"), "--optimizer-state") == "absent");
  CHECK(option_of(launched_text(megatron + "--exp-avg-dtype bf16"), "--optimizer-state") == "absent");
  const std::string trainer = line + "--model_name_or_path gpt2 --per_device_train_batch_size 2 --optim ";
  for (const char* optimizer : {"adamw_bnb_8bit", "paged_adamw_8bit", "adamw_8bit"}) {
    CHECK(option_of(launched_text(trainer + optimizer), "--optimizer-state") == "8bit");
    CHECK(option_of(launched_text(trainer + optimizer), "--optimizer") == "adam");
  }
  CHECK(option_of(launched_text(trainer + "adafactor"), "--optimizer") == "adafactor");
  const std::string adapters = trainer + "adamw_torch --use_peft True --lora_r 16 ";
  CHECK(option_of(launched_text(adapters + "--load_in_4bit True"), "--frozen-weights") == "nf4");
  CHECK(option_of(launched_text(adapters + "--load_in_8bit True"), "--frozen-weights") == "int8");
  CHECK(option_of(launched_text(adapters), "--frozen-weights") == "absent");
}

TEST_CASE("torchtitan's schedules are those that are simulated, or named as not simulated") {
  const auto schedule = [&](const std::string& name) {
    const std::string text =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 16\n[parallelism]\n"
        "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"" +
        name + "\"\n";
    return option_of(sim::read_launch_text(text, {"train.toml", {}, {128}}, launch_catalogue()), "--schedule");
  };
  CHECK(schedule("1F1B") == "1f1b");
  CHECK(schedule("Interleaved1F1B") == "interleaved");
  CHECK(schedule("ZBVZeroBubble") == "zb-v");
  CHECK(schedule("DualPipeV") == "dualpipe-v");
  CHECK(schedule("InterleavedZeroBubble") == "absent");
}

TEST_CASE("all that is missing is said at once, with the place and the option that gives it") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("train.sh",
                   "ARGS=\"--seq-length 4096 $A --micro-batch-size ${MBS} --tensor-model-parallel-size $TP\"\n"
                   "torchrun --nproc_per_node $GPUS pretrain_bert.py --num-layers 2 $ARGS\n");
  Command command;
  const std::string error = error_of([&] {
    command.parse("--from " + path);
    sim::apply_from(command.app, command.from, {}, launch_catalogue());
  });
  CHECK_THAT(error, Contains("--gpus (") && Contains("$GPUS cannot be evaluated") && Contains("--micro-batch (") &&
                        Contains("--tensor (") && Contains("--model (") && Contains("only decoders") &&
                        Contains("--gpu (the"));
  Command settled;
  settled.parse("--from " + path + " --gpus 8 --gpu H100 --model llama3_8b@4096 --micro-batch 1 --tensor 2");
  sim::apply_from(settled.app, settled.from, {8}, launch_catalogue());
  CHECK(settled.question.job.split.values.tensor == 2);
}

TEST_CASE("options beside --from win, and the ordinary checks hold for values of a file") {
  Command command;
  command.parse("--from " + kLaunchCorpus + "megatron_llama3_8b.sh --gpu H100 --tensor 4 --gpus 16,32");
  const sim::AppliedLaunch applied =
      sim::apply_from(command.app, command.from, command.question.gpus, launch_catalogue());
  CHECK(command.question.job.split.values.tensor == 4);
  CHECK(command.question.gpus == std::vector<int>{16, 32});
  CHECK(joined(applied.overriding) == "--gpus 16 32 instead of --gpus 8, --tensor 4 instead of --tensor 2");
  Command shorter;
  shorter.parse("--from " + kLaunchCorpus + "megatron_llama3_8b.sh --gpu H100 --sequence 4096");
  CHECK(joined(sim::apply_from(shorter.app, shorter.from, {}, launch_catalogue()).overriding) ==
        "--sequence 4096 instead of the length in --model llama3_8b@8192");
  CHECK(shorter.question.job.model.stated == "llama3_8b");
  CHECK(shorter.question.job.shape.sequence == 4096);
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "train.sh",
      "torchrun --nproc_per_node 8 p.py --num-layers 2 --hidden-size 8 --num-attention-heads 2 --micro-batch-size 1 "
      "\\\n --tensor-model-parallel-size 5000\n");
  Command wrong;
  const std::string error = error_of([&] {
    wrong.parse("--from " + path + " --gpu H100");
    sim::apply_from(wrong.app, wrong.from, {}, launch_catalogue());
  });
  CHECK_THAT(error, Contains("train.sh:2: --tensor-model-parallel-size") && Contains("1024"));
}

TEST_CASE("simulate job --from answers as the options that it prints, for every format") {
  const TemporaryFolder folder;
  std::set<std::string> formats;
  for (const std::string& name : launch_files()) {
    const sim::LaunchedJob job = launched(name);
    if (!formats.insert(name_of(job.format)).second) continue;
    const std::string beside = needed_beside(job) + " --ignore-memory --no-failures";
    const Outcome from = run_program(folder.path(""), "simulate", "job --from " + kLaunchCorpus + name + beside);
    INFO(name << "\n" << from.err << from.out);
    REQUIRE(from.code == 0);
    const std::string head = "read from " + kLaunchCorpus + name + ": ";
    REQUIRE(from.out.compare(0, head.size(), head) == 0);
    const std::string options = from.out.substr(head.size(), from.out.find('\n') - head.size());
    const Outcome pasted = run_program(folder.path(""), "simulate", "job " + options + beside);
    INFO(pasted.err);
    REQUIRE(pasted.code == 0);
    CHECK(from.out.substr(from.out.find("\nRead: ") + 1) == pasted.out);
  }
  CHECK(formats.size() == choice_names<sim::launch::LaunchFormat>().size());
}

TEST_CASE("plan job --from compares the job of a file") {
  const TemporaryFolder folder;
  const Outcome plan = run_program(
      folder.path(""), "plan", "job --quiet --from " + kLaunchCorpus + "megatron_llama3_8b.sh --gpu H100 --gpus 8,16");
  INFO(plan.err);
  CHECK(plan.code == 0);
  CHECK_THAT(plan.out, Contains("read from ") && Contains("llama3_8b"));
}

}  // namespace lockstep::tests
