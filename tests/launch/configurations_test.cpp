// Configurations without a file's ending, those that a command names, and those of NeMo, Megatron-Bridge and Primus.
#include <filesystem>

#include "sim/launch/tree_syntax.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/launch/corpus.hpp"

namespace lockstep::tests {
namespace {

using sim::launch::find_syntax;
using sim::launch::TreeSyntax;

const std::string kBridge =
    "_target_: megatron.bridge.training.config.ConfigContainer\n"
    "train: {micro_batch_size: 1, global_batch_size: 64}\n"
    "mixed_precision: bf16_mixed\n"
    "ddp: {use_distributed_optimizer: true}\n"
    "model: {seq_length: 4096, num_layers: 32, hidden_size: 4096, num_attention_heads: 32, "
    "expert_tensor_parallel_size: 1, expert_model_parallel_size: 1, tensor_model_parallel_size: 4}\n";

sim::LaunchedJob read_in(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  return sim::read_launch({folder.write(name, text), {}, {}}, launch_catalogue());
}

std::string use_of(const sim::LaunchedJob& job, const std::string& written) {
  for (const sim::launch::LaunchSetting& setting : job.settings.all())
    if (setting.written == written) return name_of(setting.use) + ": " + setting.why;
  return "absent";
}

}  // namespace

TEST_CASE("a text without a file's ending is a configuration if its first line is one") {
  const auto syntax = [](const std::string& text) { return find_syntax("text", text); };
  CHECK(syntax("# a comment\n\nmodel:\n  a: 1\n") == TreeSyntax::yaml);
  CHECK(syntax("---\na: 1\n") == TreeSyntax::yaml);
  CHECK(syntax("\"a b\": 1\n") == TreeSyntax::yaml);
  CHECK(syntax("_target_: a.B\n") == TreeSyntax::yaml);
  CHECK(syntax("[job]\na = 1\n") == TreeSyntax::toml);
  CHECK(syntax("[[a.b]] # c\n") == TreeSyntax::toml);
  CHECK(syntax("a.b = 1\n") == TreeSyntax::toml);
  CHECK(syntax("{\"a\": 1}") == TreeSyntax::json);
  CHECK(syntax("{'a': None, 'b': True}") == TreeSyntax::python);
  CHECK(syntax("Config(a=1)") == TreeSyntax::python);
  for (const char* script : {"torchrun a.py\n", "A=1\n", "[ -f a ] && b\n", "#!/bin/sh\na: 1\n", ": ${A:=1}\n",
                             "[[ $A == 1 ]]\n", "#SBATCH -N 1\n#SBATCH -n 1\nsrun a\n", "export A='b: c'\n", ""})
    CHECK_FALSE(syntax(script).has_value());
  CHECK_FALSE(find_syntax("a.sh", "a: 1\n").has_value());
  CHECK(find_syntax("a.yaml", "torchrun a.py") == TreeSyntax::yaml);
}

TEST_CASE("configurations are read from texts, whatever their syntax") {
  CHECK(option_of(launched_text(kBridge, "text"), "--tensor") == "4");
  const std::string toml =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = 4096\n";
  CHECK(option_of(launched_text(toml, "text"), "--model") == "llama3_8b@4096");
  CHECK(option_of(launched_text("{'per_device_train_batch_size': 4, 'bf16': True}", "text"), "--micro-batch") == "4");
  const sim::LaunchedJob logged = launched_text(
      "[rank0]:Starting\n[rank0]:Running with args: {\"model\": {\"name\": \"llama3\", \"flavor\": \"8B\"},\n"
      " \"training\": {\"local_batch_size\": 1, \"seq_len\": 8192}}\nmore\n",
      "log.txt");
  CHECK(option_of(logged, "--model") == "llama3_8b@8192");
  CHECK(logged.format == sim::launch::LaunchFormat::torchtitan);
}

TEST_CASE("values that cannot be evaluated end no reader, whatever key has them") {
  for (const char* command :
       {"nemo llm pretrain --factory \"llama3_8b(num_nodes=$N)\"", "nemo llm pretrain --factory $F",
        "nemo llm pretrain --factory llama3_8b model.config.num_layers=$L",
        "nemo llm pretrain --factory llama3_8b train.micro_batch_size=$M trainer.plugins.fp8=false",
        "torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config $C",
        "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --grpo-iterations $X",
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-experts $E --mlp-type $T --num-layers 8"}) {
    INFO(command);
    CHECK(error_of([&] { launched_text(std::string("read F\nread N\n") + command + "\n", "a.sh"); }).find('\n') ==
          std::string::npos);
  }
}

TEST_CASE("arithmetic: ** binds tighter than * and /, and groups from the right") {
  for (const auto& [expression, value] : {std::pair("2*3**2", "18"), std::pair("2**3**2", "512"),
                                          std::pair("100/2**2", "25"), std::pair("2**2*3", "12")}) {
    const std::string script = std::string("torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 8 ") +
                               "--hidden-size 1024 --num-attention-heads 16 --seq-length 512 " +
                               "--max-position-embeddings 512 --micro-batch-size $((" + expression + "))\n";
    INFO(expression);
    CHECK(option_of(launched_text(script, "a.sh"), "--micro-batch") == value);
  }
}

TEST_CASE("YAML: merge keys are followed, several documents are refused, yes and no are booleans") {
  const sim::LaunchedJob merged = launched_text(
      "base: &b {per_device_train_batch_size: 2, bf16: yes, max_length: 512}\nother: &o {max_steps: 5, bf16: false}\n"
      "<<: [*b, *o]\nmax_length: 1024\nmodel_name_or_path: gpt2\ngradient_checkpointing: no\n",
      "a.yaml");
  CHECK(option_of(merged, "--model") == "gpt2@1024");  // its own value precedes the merged one
  CHECK(option_of(merged, "--micro-batch") == "2");
  CHECK(option_of(merged, "--precision") == "bf16");  // the first merged mapping precedes the second
  CHECK(option_of(merged, "--recompute") == "none");
  CHECK_THAT(error_of([] { launched_text("a: 1\n---\n---\nb: 2\n", "a.yaml"); }),
             Contains("a.yaml:4: a second document"));
  CHECK_THAT(
      error_of([] { launched_text("{\"num-layers\": 32,\n \"optimizer\": {}},\n \"train-iters\": 8}\n", "a.yaml"); }),
      Contains("a.yaml:2: no YAML: text after the end of the document"));
  CHECK_THAT(error_of([] { launched_text("<<: 3\n", "a.yaml"); }), Contains("needs a mapping"));
}

TEST_CASE("YAML: a key that a mapping has twice is refused with both lines, as in JSON") {
  const auto error = [](const std::string& text) { return error_of([&] { launched_text(text, "a.yaml"); }); };
  CHECK(error("model:\n  layers: 2\n  width: 3\n  layers: 4\n") ==
        "a.yaml:4: duplicate key \"layers\", also in line 2; remove one of them");
  CHECK_THAT(error("tokens: {a: 1}\nmodel: 2\ntokens: {b: 2}\n"), Contains("a.yaml:3: duplicate key \"tokens\""));
  CHECK_THAT(error("a: {b: 1, b: 1}\n"), Contains("a.yaml:1: duplicate key \"b\""));
  // Keys of different mappings, and those that a mapping overrides by "<<", are not duplicates.
  CHECK_THAT(error("base: &b {a: 1}\none:\n  <<: *b\n  a: 2\ntwo: {a: 3}\n"), !Contains("duplicate"));
}

TEST_CASE("a configuration's environment variables are those of the script, or are noted as not set") {
  const std::string model =
      "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 128\n"
      "  tensor_model_parallel_size: ${oc.env:TP_X,2}\n  pipeline_model_parallel_size: 1\n  encoder_seq_length: 2048\n"
      "  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n  max_position_embeddings: 2048\n";
  const sim::LaunchedJob alone = launched_text(model, "n.yaml");
  CHECK(option_of(alone, "--tensor") == "2");
  CHECK_THAT(notes_of(alone), Contains("taken as not set in the environment: TP_X"));
  const std::string command = "cat > n.yaml <<'E'\n" + model + "E\npython train.py --config-path . --config-name n\n";
  const sim::LaunchedJob set = launched_text("export TP_X=4\n" + command);
  CHECK(option_of(set, "--tensor") == "4");
  CHECK_THAT(notes_of(set), !Contains("TP_X"));
  CHECK_THAT(notes_of(launched_text("TP_X=4\n" + command)), Contains("not set in the environment: TP_X"));
  CHECK_THAT(needed_of(launched_text("export TP_X=$(get_tp)\n" + command)), Contains("--tensor"));
}

TEST_CASE("the configuration that a command names is read even if the other arguments suffice for a format") {
  const TemporaryFolder folder;
  folder.write("t.toml",
               "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n"
               "[activation_checkpoint]\nmode = \"full\"\n");
  const std::string titan = "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file ";
  const sim::LaunchedJob job = read_in(folder, "a.sh",
                                       titan +
                                           "t.toml --training.seq_len 4096 "
                                           "--parallelism.tensor_parallel_degree 2\n");
  CHECK(option_of(job, "--model") == "llama3_8b@4096");
  CHECK(option_of(job, "--micro-batch") == "2");
  CHECK(option_of(job, "--tensor") == "2");
  CHECK(option_of(job, "--recompute") == "full");
  const std::string options = " --training.seq_len 4096 --parallelism.tensor_parallel_degree 2\n";
  CHECK_THAT(error_of([&] { read_in(folder, "b.sh", titan + "none.toml" + options); }),
             Contains("the file is not there"));
  CHECK_THAT(error_of([&] { read_in(folder, "b.sh", titan + "$1.toml" + options); }), Contains("cannot be evaluated"));
  folder.write("lf.yaml", "model_name_or_path: gpt2\nfinetuning_type: lora\ncutoff_len: 512\nbf16: true\n");
  const sim::LaunchedJob factory =
      read_in(folder, "c.sh", "llamafactory-cli train lf.yaml finetuning_type=full per_device_train_batch_size=3\n");
  CHECK(option_of(factory, "--lora-rank") == "absent");
  CHECK(option_of(factory, "--model") == "gpt2@512");
  CHECK(option_of(factory, "--micro-batch") == "3");
  folder.write("trl.yaml", "model_name_or_path: gpt2\nmax_length: 256\nbf16: true\n");
  const std::string trl = "python sft.py --per_device_train_batch_size 4 --config ";
  CHECK(option_of(read_in(folder, "d.sh", trl + "trl.yaml\n"), "--model") == "gpt2@256");
  CHECK_THAT(needed_of(read_in(folder, "e.sh", trl + "none.yaml --model_name_or_path gpt2\n")),
             Contains("--precision") && Contains("--sharding") && Contains("--recompute"));
}

TEST_CASE("torchtitan's configurations in Python are not read: only their names and overrides are known") {
  const sim::LaunchedJob job = launched_text(
      "torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b --training.seq_len 4096 "
      "--parallelism.tensor_parallel_degree 2\n");
  CHECK(option_of(job, "--model") == "llama3_8b@4096");
  CHECK(option_of(job, "--tensor") == "2");
  CHECK(option_of(job, "--recompute") == "absent");
  CHECK(option_of(job, "--pipeline") == "absent");
  CHECK_THAT(needed_of(job), Contains("--micro-batch the configuration in Python sets it"));
}

TEST_CASE("configurations of Hydra, GPT-NeoX, torchtune and Composer are found as their commands name them") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("conf"));
  folder.write("conf/gpt.yaml",
               "trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel: {micro_batch_size: 4, global_batch_size: "
               "64, num_layers: 12, hidden_size: 768, num_attention_heads: 12, encoder_seq_length: 2048, "
               "activations_checkpoint_granularity: selective}\n");
  const std::string nemo = "python megatron_gpt_pretraining.py trainer.num_nodes=2 ";
  for (const char* name : {"--config-path=conf --config-name=gpt.yaml", "--config-path conf --config-name gpt"}) {
    const sim::LaunchedJob job = read_in(folder, "a.sh", nemo + name + "\n");
    CHECK(option_of(job, "--gpus") == "16");
    CHECK(option_of(job, "--recompute") == "selective");
  }
  folder.write("conf/125M.yml",
               "{\"pipe-parallel-size\": 1, \"model-parallel-size\": 2, \"num-layers\": 12, "
               "\"hidden-size\": 768, \"num-attention-heads\": 12, \"seq-length\": 2048, "
               "\"max-position-embeddings\": 2048, \"train_micro_batch_size_per_gpu\": 4}\n");
  folder.write("conf/more.yml", "{\"gradient_accumulation_steps\": 4}\n");
  const sim::LaunchedJob neox = read_in(folder, "b.sh", "python ./deepy.py train.py -d conf 125M.yml more\n");
  CHECK(option_of(neox, "--tensor") == "2");
  CHECK(option_of(neox, "--accumulation") == "4");
  CHECK_THAT(error_of([&] { read_in(folder, "c.sh", "python deepy.py train.py none.yml\n"); }),
             Contains("the file is not there"));
  folder.write("tune.yaml",
               "model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\nbatch_size: 2\ndtype: bf16\n"
               "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 8192}\n");
  const sim::LaunchedJob tune = read_in(
      folder, "d.sh", "tune run --nproc_per_node 4 full_finetune_distributed --config tune.yaml batch_size=3\n");
  CHECK(option_of(tune, "--gpus") == "4");
  CHECK(option_of(tune, "--micro-batch") == "3");
  folder.write("f.yaml",
               "model: {name: mpt_causal_lm, d_model: 768, n_layers: 12, n_heads: 12, max_seq_len: 2048, "
               "vocab_size: 50368}\nmax_seq_len: 2048\nglobal_train_batch_size: 64\n"
               "device_train_microbatch_size: 4\nprecision: amp_bf16\nmax_duration: 10ba\n");
  CHECK(option_of(read_in(folder, "e.sh", "composer -n 8 train.py f.yaml\n"), "--gpus") == "8");
}

TEST_CASE("accelerate launch: its options override the file that it names") {
  const TemporaryFolder folder;
  folder.write("fsdp.yaml",
               "distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\n"
               "mixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n");
  const sim::LaunchedJob job = read_in(folder, "a.sh",
                                       "accelerate launch --config_file fsdp.yaml --num_machines 4 --num_processes 32 "
                                       "--mixed_precision fp16 --fsdp_sharding_strategy SHARD_GRAD_OP train.py "
                                       "--model_name_or_path gpt2 --per_device_train_batch_size 4\n");
  CHECK(option_of(job, "--gpus") == "32");
  CHECK(option_of(job, "--gpus-per-node") == "8");
  CHECK(option_of(job, "--precision") == "fp16");
  CHECK(option_of(job, "--sharding") == "zero2");
  CHECK_THAT(use_of(job, "num_machines"), Contains("overridden") && Contains("a.sh:1"));
}

TEST_CASE("adapters are read from NeMo, Megatron-Bridge and Primus; other methods are refused") {
  CHECK(option_of(launched_text(kBridge, "a.yaml"), "--lora-rank") == "absent");
  CHECK(option_of(launched("megatron_bridge_lora.yaml"), "--lora-rank") == "16");
  CHECK(option_of(launched("megatron_bridge_lora.yaml"), "--model") == "llama3_8b@4096");
  CHECK(option_of(launched_text(kBridge + "peft: null\n", "a.yaml"), "--lora-rank") == "absent");
  const std::string lora = "peft: {_target_: megatron.bridge.peft.lora.LoRA, dim: 16}\n";
  CHECK(option_of(launched_text(kBridge + lora, "a.yaml"), "--lora-rank") == "16");
  CHECK(option_of(launched_text(kBridge + "peft: {_target_: megatron.bridge.peft.dora.DoRA}\n", "a.yaml"),
                  "--lora-rank") == "32");
  const std::string nemo =
      "trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
      "  encoder_seq_length: 4096\n  data: {train_ds: {max_seq_length: 2048}}\n  num_layers: 32\n"
      "  hidden_size: 4096\n  num_attention_heads: 32\n  peft: {peft_scheme: ";
  const sim::LaunchedJob tuned = launched_text(nemo + "lora, lora_tuning: {adapter_dim: 8}}\n", "a.yaml");
  CHECK(option_of(tuned, "--lora-rank") == "8");
  CHECK_THAT(option_of(tuned, "--model"), Contains("@2048"));
  CHECK(option_of(launched_text(nemo + "none}\n", "a.yaml"), "--lora-rank") == "absent");
  CHECK_THAT(error_of([&] { launched_text(nemo + "ptuning}\n", "a.yaml"); }), Contains("cannot be predicted"));
  const sim::LaunchedJob primus = launched_text(
      "modules:\n  post_trainer:\n    framework: megatron_bridge\n    model: qwen3_32b.yaml\n    overrides: {peft: "
      "lora, "
      "seq_length: 8192, precision_config: bf16_mixed, micro_batch_size: 1, global_batch_size: 32}\n",
      "a.yaml");
  CHECK(option_of(primus, "--lora-rank") == "32");
  CHECK(option_of(primus, "--model") == "qwen3_32b@8192");
  CHECK(option_of(primus, "--precision") == "bf16");
}

TEST_CASE("what a recipe of Megatron-Bridge or NeMo sets is not guessed") {
  const std::string command = "torchrun --nproc_per_node 8 run_recipe.py --recipe llama3_8b_pretrain_config ";
  const sim::LaunchedJob job = launched_text(command +
                                             "train.micro_batch_size=1 train.global_batch_size=64 "
                                             "model.tensor_model_parallel_size=2 model.seq_length=8192\n");
  CHECK(option_of(job, "--model") == "llama3_8b@8192");
  CHECK(option_of(job, "--sharding") == "zero1");
  for (const char* open : {"--recompute", "--context", "--no-sequence-parallel", "--precision", "--pipeline"})
    CHECK(option_of(job, open) == "absent");
  CHECK_THAT(needed_of(job), Contains("--pipeline the recipe sets it") && Contains("--precision the recipe sets it"));
  CHECK_THAT(notes_of(job), Contains("the search chooses what it sets: --context") && Contains("--recompute"));
  CHECK(option_of(launched_text(kBridge, "a.yaml"), "--recompute") == "none");  // a whole configuration lists all
  const sim::LaunchedJob nemo = launched_text(
      "nemo llm pretrain --factory 'llama3_8b(num_nodes=2)' data.micro_batch_size=1 data.global_batch_size=64 "
      "data.seq_length=8192 trainer.strategy.tensor_model_parallel_size=2 trainer.devices=8\n");
  CHECK(option_of(nemo, "--gpus") == "16");
  CHECK(option_of(nemo, "--model") == "llama3_8b@8192");
  CHECK(option_of(nemo, "--tensor") == "2");
  CHECK_THAT(needed_of(nemo), Contains("--pipeline the recipe sets it"));
}

TEST_CASE("NeMo 2: ranks below trainer.strategy, batch below data, model by its class") {
  const std::string head =
      "trainer:\n  devices: 8\n  num_nodes: 4\n  max_steps: 10\n"
      "  plugins: {precision: bf16-mixed}\n  strategy: {tensor_model_parallel_size: 2, context_parallel_size: 2, "
      "sequence_parallel: true}\noptim: {config: {use_distributed_optimizer: true}}\n"
      "data: {micro_batch_size: 1, global_batch_size: 64, seq_length: 8192}\nmodel:\n  config:\n    _target_: "
      "nemo.collections.llm.gpt.model.llama.";
  const sim::LaunchedJob job = launched_text(head + "Llama31Config8B\n", "a.yaml");
  CHECK(option_of(job, "--model") == "llama3_1_8b@8192");
  CHECK(option_of(job, "--gpus") == "32");
  CHECK(option_of(job, "--context") == "2");
  CHECK(option_of(job, "--precision") == "bf16");
  CHECK(option_of(job, "--sharding") == "zero1");
  CHECK(option_of(job, "--tokens") == std::to_string(10LL * 64 * 8192));
  const sim::LaunchedJob shipped = launched("nemo2_llama3_1_8b.yaml");
  CHECK(option_of(shipped, "--tensor") == "2");
  CHECK(option_of(shipped, "--global-batch") == "256");
  CHECK_THAT(needed_of(launched_text(head + "Llama3Config8B\n    num_layers: 4\n", "a.yaml")),
             Contains("--model it changes the shape"));
  CHECK_THAT(needed_of(launched_text(head + "NoSuchConfig8B\n", "a.yaml")), Contains("no model of the catalogue"));
}

TEST_CASE("keys of experts have no effect on a model without experts") {
  const sim::LaunchedJob job = launched_text(kBridge, "a.yaml");
  CHECK(option_of(job, "--expert-tensor") == "absent");
  CHECK(option_of(job, "--expert") == "absent");
  CHECK(use_of(job, "model.expert_tensor_parallel_size") == "no effect on speed: the model has no experts");
  CHECK(option_of(launched("megatron_mixtral.sh"), "--expert") == "4");
}

TEST_CASE("Primus: a file extends others, and fp4 replaces the default precision") {
  const TemporaryFolder folder;
  folder.write("base.yaml",
               "modules:\n  pre_trainer:\n    framework: megatron\n    model: llama3_8B.yaml\n    overrides: "
               "{micro_batch_size: 2, global_batch_size: 64, seq_length: 4096}\n");
  const std::string more = "modules: {pre_trainer: {overrides: {micro_batch_size: 4, fp4: e2m1}}}\n";
  const sim::LaunchedJob job = read_in(folder, "a.yaml", "extends: [./base.yaml]\n" + more);
  CHECK(option_of(job, "--micro-batch") == "4");
  CHECK(option_of(job, "--global-batch") == "64");
  CHECK(option_of(job, "--precision") == "fp4");
  CHECK_THAT(error_of([&] { read_in(folder, "b.yaml", "extends: [./none.yaml]\n" + more); }),
             Contains("none.yaml: the file is not there"));
}

TEST_CASE("the matrices with adapters: as listed, or the software's default") {
  const std::string trainer = "model_name_or_path: gpt2\nfinetuning_type: lora\ncutoff_len: 512\nbf16: true\n";
  const auto target = [&](const std::string& text, const std::string& file = "a.yaml") {
    return option_of(launched_text(text, file), "--lora-target");
  };
  CHECK(target(trainer) == "all");  // LLaMA-Factory's default
  CHECK(target(trainer + "lora_target: q_proj,v_proj\n") == "attention");
  CHECK(target(trainer + "lora_target: q_proj,gate_proj\n") == "all");
  CHECK(target(trainer + "lora_target: '*_proj'\n") == "all");
  CHECK(target(trainer + "lora_target: '.*(q_proj|up_proj).*'\n") == "all");
  CHECK(target(trainer + "lora_target: [attention_qkv, mlp_fc1]\n") == "all");
  CHECK(target(trainer + "lora_target: [query_key_value, dense]\n") == "attention");
  const std::string axolotl =
      "base_model: NousResearch/Meta-Llama-3-8B\nadapter: lora\nlora_r: 16\nsequence_len: 2048\nmicro_batch_size: 2\n"
      "bf16: auto\n";
  CHECK(target(axolotl) == "absent");
  CHECK(target(axolotl + "lora_target_linear: true\n") == "all");
  CHECK(target(axolotl + "lora_target_modules: [q_proj, o_proj]\n") == "attention");
  CHECK(option_of(launched_text(axolotl + "gptq: true\n", "a.yaml"), "--frozen-weights") == "gptq");
  const std::string bridge = kBridge + "peft: {_target_: megatron.bridge.peft.lora.LoRA, dim: 16";
  CHECK(target(bridge + "}\n") == "all");
  CHECK(target(bridge + ", target_modules: [linear_qkv, linear_proj]}\n") == "attention");
  const std::string tune =
      "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\n  apply_lora_to_mlp: True\n"
      "tokenizer:\n  max_seq_len: 2048\nbatch_size: 2\ndtype: bf16\n";
  CHECK(target(tune, "c.yaml") == "all");
}

TEST_CASE("layers that are one kernel each: Liger, Unsloth, axolotl's switches, torch.compile; and unfused attention") {
  const std::string trainer = "model_name_or_path: gpt2\nfinetuning_type: full\ncutoff_len: 512\nbf16: true\n";
  const auto fused = [&](const std::string& text) {
    const sim::LaunchedJob job = launched_text(trainer + text, "a.yaml");
    std::string all;
    for (const char* option : {"--fused-norms", "--fused-rotary", "--fused-gelu", "--fused-loss", "--chunked-loss"})
      all += option_of(job, option) == "absent" ? "-" : "1";
    return all;
  };
  CHECK(fused("") == "-----");
  CHECK(fused("enable_liger_kernel: false\n") == "-----");
  CHECK(fused("enable_liger_kernel: true\n") == "11--1");
  CHECK(fused("use_unsloth: true\n") == "11-1-");
  CHECK(fused("torch_compile: true\n") == "1111-");
  CHECK(fused("liger_rms_norm: true\n") == "1----");
  CHECK(fused("liger_rope: true\n") == "-1---");
  CHECK(fused("enable_liger_kernel: true\nliger_rms_norm: false\nliger_rope: true\n") == "-1--1");
  CHECK(fused("cut_cross_entropy: true\n") == "----1");
  CHECK(fused("enable_liger_kernel: true\nliger_fused_linear_cross_entropy: false\n") == "11---");
  CHECK(fused("liger_cross_entropy: true\n") == "---1-");
  const auto attention = [&](const std::string& text) {
    return option_of(launched_text(trainer + text, "a.yaml"), "--no-fused-attention");
  };
  CHECK(attention("flash_attn: fa2\n") == "absent");
  CHECK(attention("flash_attn: disabled\n") == "");
  CHECK(attention("attn_implementation: eager\n") == "");
  CHECK(option_of(launched_text("swift sft --model Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --attn_impl eager",
                                "a.sh"),
                  "--no-fused-attention") == "");
}

TEST_CASE("DeepSpeed under a HuggingFace trainer has the layers of Transformers") {
  const std::string swift =
      "swift sft --model Qwen/Qwen2.5-7B --tuner_type full --per_device_train_batch_size 1 --max_length 4096 "
      "--deepspeed zero3 ";
  CHECK(option_of(launched_text(swift, "a.sh"), "--software") == "Transformers with DeepSpeed");
  const sim::LaunchedJob liger = launched_text(swift + "--use_liger_kernel true", "a.sh");
  CHECK(option_of(liger, "--fused-norms") == "");
  CHECK(option_of(liger, "--chunked-loss") == "");
}

TEST_CASE("whether gradients are exchanged during the backward pass: as given, or by the defaults of each software") {
  const auto overlap = [](const std::string& text, const std::string& file) {
    const sim::LaunchedJob job = launched_text(text, file);
    return std::string(option_of(job, "--overlap-gradients").empty()      ? "during"
                       : option_of(job, "--no-overlap-gradients").empty() ? "after"
                                                                          : "by the software");
  };
  const std::string megatron =
      "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 16 --hidden-size 2048 "
      "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 "
      "--global-batch-size 64 --train-iters 100 --bf16 --vocab-size 50304 --tokenizer-type NullTokenizer";
  CHECK(overlap(megatron + "\n", "a.sh") == "after");
  CHECK(overlap(megatron + " --overlap-grad-reduce\n", "a.sh") == "during");
  const auto deepspeed = [&](const std::string& zero) {
    return overlap(
        "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}, \"zero_optimization\": {" + zero + "}}",
        "ds.json");
  };
  CHECK(deepspeed("\"stage\": 3") == "during");
  CHECK(deepspeed("\"stage\": 2") == "after");
  CHECK(deepspeed("\"stage\": 2, \"overlap_comm\": null") == "after");
  CHECK(deepspeed("\"stage\": 2, \"overlap_comm\": true") == "during");
  CHECK(deepspeed("\"stage\": 3, \"overlap_comm\": false") == "after");
}

TEST_CASE("DeepSpeed's configuration decides about the exchange of gradients in a script of Megatron-DeepSpeed") {
  const TemporaryFolder folder;
  folder.write("ds.json",
               "{\"zero_optimization\": {\"stage\": 2, \"overlap_comm\": true}, \"bf16\": {\"enabled\": true}}");
  const sim::LaunchedJob job = read_in(
      folder, "a.sh",
      "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length "
      "2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --train-iters 100 --bf16 "
      "--vocab-size 50304 --tokenizer-type NullTokenizer --deepspeed --deepspeed_config ds.json\n");
  CHECK(option_of(job, "--overlap-gradients").empty());
  CHECK(option_of(job, "--no-overlap-gradients") == "absent");
}

}  // namespace lockstep::tests
