// Reads logs of torchtitan, HuggingFace's Trainer, nanoGPT, llm.c and nanotron.
#include "calib/import/training_formats.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>

#include "calib/import/log_text.hpp"

namespace lockstep::calib {
namespace {

constexpr double kLargestLoggedNumber = 1e15;

// Behind `key`; null where the line does not have it as a word of its own.
const char* text_after(const std::string& line, const std::string& key) {
  for (std::size_t at = line.find(key); at != std::string::npos; at = line.find(key, at + 1)) {
    const bool is_word = at == 0 || !(std::isalnum(static_cast<unsigned char>(line[at - 1])) || line[at - 1] == '_');
    const std::size_t end = line.find_first_not_of(" \t'\":=", at + key.size());
    if (is_word && end != std::string::npos && end > at + key.size()) return line.c_str() + end;
  }
  return nullptr;
}

std::optional<double> checked(double value) {
  return std::isfinite(value) && value > 0 && value < kLargestLoggedNumber ? std::optional<double>(value)
                                                                           : std::nullopt;
}

// A number with commas of thousands; `end` is behind it.
double read_number(const char* text, const char** end) {
  std::string digits;
  while (std::isdigit(static_cast<unsigned char>(*text)) || *text == '.' || *text == '-' || *text == '+' ||
         ((*text == 'e' || *text == 'E') && !digits.empty()) ||
         (*text == ',' && std::isdigit(static_cast<unsigned char>(text[1]))))
    if (*text++ != ',') digits += text[-1];
  *end = text;
  return digits.empty() ? 0 : std::strtod(digits.c_str(), nullptr);
}

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(std::llround(value));
}

void set_number(TrainingLogBuilder& log, const std::string& line, const std::string& key, const char* fact) {
  if (const auto value = number_after(line, key)) log.set_fact(fact, whole(*value));
}

// Reads "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=64, cp=1, tp=1, ep=1", and the older
// "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]".
std::map<std::string, int> mesh_of(const std::string& line) {
  std::map<std::string, int> mesh;
  for (const char* name : {"pp", "dp_replicate", "dp_shard", "cp", "tp", "ep"})
    if (const auto size = number_after(line, name)) mesh[name] = static_cast<int>(*size);
  const std::size_t names = line.find("device mesh with ["), sizes = line.find("], [");
  if (names == std::string::npos || sizes == std::string::npos) return mesh;
  mesh.clear();
  std::vector<std::string> words;
  for (std::size_t at = line.find('\'', names); at < sizes; at = line.find('\'', at + 1)) {
    const std::size_t end = line.find('\'', at + 1);
    if (end == std::string::npos) break;
    words.push_back(line.substr(at + 1, end - at - 1));
    at = end;
  }
  const char* text = line.c_str() + sizes + 4;
  for (const std::string& word : words) {
    mesh[word] = static_cast<int>(std::strtol(text, const_cast<char**>(&text), 10));
    while (*text == ',' || *text == ' ') ++text;
  }
  return mesh;
}

void read_mesh(const std::string& line, TrainingLogBuilder& log) {
  std::map<std::string, int> mesh = mesh_of(line);
  std::int64_t gpus = 1;
  for (const auto& [name, size] : mesh) {
    if (size < 1 || size > kMostRanks) return;
    if (name != "ep") gpus *= size;
  }
  if (mesh.empty() || gpus > kMostRanks) return;
  log.set_fact("gpus", gpus);
  for (const char* name : {"pp", "cp", "tp", "ep"}) log.set_fact(name, mesh.count(name) > 0 ? mesh[name] : 1);
  if (mesh["dp_shard"] > 1) log.set_fact("sharding", "zero3");
  if (mesh["dp_shard"] > 1 && mesh["dp_replicate"] > 1) log.set_fact("sharding_group", mesh["dp_shard"]);
}

void read_torchtitan_header(const std::string& text, TrainingLogBuilder& log) {
  if (has_text(text, "device mesh with")) read_mesh(text, log);
  // The line says "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory".
  const std::size_t capacity = text.find("CUDA capacity: "), with = text.find(" with ", capacity);
  if (capacity != std::string::npos && with != std::string::npos)
    log.set_fact("gpu", text.substr(capacity + 15, with - capacity - 15));
  if (has_text(text, "local batch size")) {
    set_number(log, text, "global batch size", "global_batch");
    set_number(log, text, "local batch size", "microbatch");
    set_number(log, text, "sequence length", "seq");
  }
  if (has_text(text, "activation checkpointing to the model"))
    log.set_fact("recompute", has_text(text, "selective") ? "alternate-matrices" : "full");
  if (has_text(text, "Saving the checkpoint") || has_text(text, "Saving a full checkpoint"))
    log.note_interruption("checkpoint");
}

// "100/1000 [04:11<37:40,  2.51s/it]" of tqdm.
void read_bar(const LogLine& line, TrainingLogBuilder& log) {
  const std::size_t bracket = line.text.rfind('[', line.text.rfind('<'));
  if (bracket == std::string::npos || bracket < 2 || line.text.find('<', bracket) == std::string::npos) return;
  const std::size_t slash = line.text.rfind('/', bracket);
  if (slash == std::string::npos || slash == 0) return;
  std::size_t begin = slash;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line.text[begin - 1]))) --begin;
  TrainingLogBuilder::Bar bar;
  bar.done = std::atoll(line.text.c_str() + begin);
  bar.of = std::atoll(line.text.c_str() + slash + 1);
  bar.line = line.number;
  double part = 0;
  for (std::size_t at = bracket + 1; at < line.text.size() && line.text[at] != '<'; ++at) {
    const char c = line.text[at];
    if (std::isdigit(static_cast<unsigned char>(c)))
      part = 10 * part + (c - '0');
    else if (c == ':')
      bar.elapsed_s = 60 * (bar.elapsed_s + part), part = 0;
    else
      return;
  }
  bar.elapsed_s += part;
  if (begin < slash && bar.done > 0 && bar.of >= bar.done && bar.elapsed_s < 1e9) log.bars.push_back(bar);
}

void read_summary(const std::string& text, TrainingLogBuilder& log) {
  const auto steps = number_after(text, "train_steps_per_second");
  const auto runtime = number_after(text, "train_runtime");
  if (!steps || !runtime) return;
  // Two or three digits are printed of a slow rate.
  const auto samples = number_after(text, "train_samples_per_second");
  if (samples && *samples > *steps) {
    const double batch = std::round(*samples / *steps);
    if (std::abs(*samples / *steps - batch) < 0.02 * batch) log.set_fact("global_batch", whole(batch));
  }
  log.say("train_runtime includes evaluations, checkpoints and the first step: a lower bound of the steady rate");
  LogLine line{text, 0};
  if (log.log().steps.empty()) log.add_step(whole(*steps * *runtime), 1 / *steps, line);
}

// A line of the configuration that nanotron prints: "parallelism=ParallelismArgs(dp=8,", "pp=1,", "sequence_length=2048,".
void read_nanotron_config(const std::string& line, TrainingLogBuilder& log) {
  const std::vector<std::string> words = words_of(line.substr(0, 400));
  if (words.empty()) return;
  std::string word = words.back();
  if (const std::size_t open = word.rfind('('); open != std::string::npos) word.erase(0, open + 1);
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return;
  static const std::map<std::string, const char*> keys{
      {"dp", "dp"}, {"pp", "pp"}, {"tp", "tp"}, {"sequence_length", "seq"}, {"micro_batch_size", "microbatch"}};
  const auto key = keys.find(word.substr(0, equals));
  const int value = std::atoi(word.c_str() + equals + 1);
  if (key != keys.end() && value > 0) log.set_fact(key->second, value);
}

}  // namespace

std::optional<double> number_after(const std::string& line, const std::string& key) {
  const char* text = text_after(line, key);
  if (text == nullptr) return std::nullopt;
  const char* end = text;
  return checked(read_number(text, &end));
}

bool has_value_after(const std::string& line, const std::string& key) {
  return text_after(line, key) != nullptr;
}

std::optional<double> scaled_number_after(const std::string& line, const std::string& key) {
  const char* text = text_after(line, key);
  if (text == nullptr) return std::nullopt;
  const char* end = text;
  const double value = read_number(text, &end);
  const double scale = *end == 'K'                  ? 1e3
                       : *end == 'M'                ? 1e6
                       : *end == 'G' || *end == 'B' ? 1e9
                       : *end == 'T'                ? 1e12
                                                    : 1;
  return checked(value * scale);
}

bool read_torchtitan_line(const LogLine& line, TrainingLogBuilder& log) {
  const std::string& text = line.text;
  const std::size_t step = text.find("step:"), rate = text.find("tps:");
  if (step == std::string::npos || rate == std::string::npos || !has_text(text, "GiB")) {
    read_torchtitan_header(text, log);
    return false;
  }
  const std::string before = text.substr(0, step);
  if (has_text(before, "validate") || has_text(before, "evaluation")) {
    log.note_interruption("evaluation");
    return true;
  }
  const auto number = number_after(text, "step"), tokens = number_after(text, "tps");
  if (!number || !tokens) return false;
  log.add_step(whole(*number), 1 / *tokens, line, StepUnit::gpu_token);
  log.set_fact("software", "torchtitan");
  return true;
}

bool read_huggingface_line(const LogLine& line, TrainingLogBuilder& log) {
  const std::string& text = line.text;
  if (has_text(text, "train_steps_per_second")) {
    read_summary(text, log);
    return true;
  }
  const bool is_banner = has_text(text, "Total train batch size (w. parallel, distributed & accumulation)");
  if (is_banner) set_number(log, text, "accumulation)", "global_batch");
  set_number(log, text, "Instantaneous batch size per device", "microbatch");
  if (text.find('<') != std::string::npos) read_bar(line, log);
  return is_banner || (has_text(text, "{'loss': ") && has_text(text, "'epoch': "));
}

bool read_nanogpt_line(const LogLine& line, TrainingLogBuilder& log) {
  const std::string& text = line.text;
  if (const auto tokens = number_after(text, "tokens per iteration will be")) log.set_tokens_per_step(*tokens);
  if (text.rfind("block_size = ", 0) == 0) set_number(log, text, "block_size", "seq");
  if (text.rfind("step ", 0) == 0 && has_text(text, ": train loss ")) log.note_interruption("evaluation");
  if (text.rfind("saving checkpoint to ", 0) == 0) log.note_interruption("checkpoint");
  if (text.rfind("iter ", 0) != 0 || !has_text(text, ", time ") || !has_text(text, "ms, mfu ")) return false;
  const auto ms = number_after(text, "time");
  if (!ms) return false;
  log.add_step(std::atoll(text.c_str() + 5), *ms / 1e3, line);
  log.set_fact("software", "pytorch");
  return true;
}

bool read_llmc_line(const LogLine& line, TrainingLogBuilder& log) {
  static const std::map<std::string, const char*> rows{{"micro batch size B", "microbatch"},
                                                       {"sequence length T", "seq"},
                                                       {"num_layers L", "layers"},
                                                       {"num_heads NH", "heads"},
                                                       {"channels C", "hidden"},
                                                       {"padded_vocab_size Vp", "vocab"},
                                                       {"num_parameters", "params"},
                                                       {"num_processes", "gpus"}};
  const std::string& text = line.text;
  const std::size_t bar = text.rfind("| ", 0) == 0 ? text.find("| ", 2) : std::string::npos;
  if (bar != std::string::npos) {
    const char* value = text.c_str() + bar + 2;
    for (const auto& [row, key] : rows)
      if (text.compare(2, row.size() + 1, row + " ") == 0)
        if (const auto number = checked(std::atof(value))) log.set_fact(key, whole(*number));
    if (text.rfind("| total batch size ", 0) == 0) log.set_tokens_per_step(std::atof(value));
    const std::size_t end = text.find_last_not_of(" |");
    if (text.rfind("| device ", 0) == 0 && end > bar) log.set_fact("gpu", text.substr(bar + 2, end - bar - 1));
    if (text.rfind("| zero_stage ", 0) == 0) log.set_fact("sharding", std::atoi(value) > 0 ? "zero1" : "none");
    if (text.rfind("| precision ", 0) == 0)
      log.set_fact("precision", std::string(value, 4) == "BF16" ? "bf16" : "fp32");
    return false;
  }
  if (text.rfind("val loss ", 0) == 0) log.note_interruption("evaluation");
  if (text.rfind("step ", 0) != 0 || !has_text(text, " tok/s") || !has_text(text, " ms | ")) return false;
  const std::size_t end = text.find(" ms | "), begin = text.rfind(' ', end - 1);
  const auto ms = checked(std::atof(text.c_str() + (begin == std::string::npos ? 0 : begin)));
  if (!ms) return false;
  log.add_step(std::atoll(text.c_str() + 5), *ms / 1e3, line);
  log.set_fact("software", "pytorch");
  log.say("llm.c is no software of the catalogue: predicted as PyTorch");
  return true;
}

bool read_nanotron_line(const LogLine& line, TrainingLogBuilder& log) {
  const std::string& text = line.text;
  read_nanotron_config(text, log);
  if (has_text(text, "Saving weights")) log.note_interruption("checkpoint");
  const auto ms = scaled_number_after(text, "elapsed_time_per_iteration_ms");
  const auto number = scaled_number_after(text, "iteration");
  if (!ms || !number) return false;
  if (const auto batch = scaled_number_after(text, "global_batch_size"); batch && *batch < 1000)
    log.set_fact("global_batch", whole(*batch));
  log.add_step(whole(*number), *ms / 1e3, line);
  log.set_fact("software", "megatron");
  log.say("nanotron is no software of the catalogue: predicted as Megatron-LM; its log has three digits of a time");
  return true;
}

const std::vector<TrainingFormat>& training_readers() {
  static const std::vector<TrainingFormat> all{
      {"megatron", read_megatron_line},       {"nemo", read_nemo_line},          {"torchtitan", read_torchtitan_line},
      {"huggingface", read_huggingface_line}, {"nanogpt", read_nanogpt_line},    {"llm.c", read_llmc_line},
      {"nanotron", read_nanotron_line},       {"deepspeed", read_deepspeed_line}};
  return all;
}

}  // namespace lockstep::calib
