#include "sim/records/translate.hpp"

#include <algorithm>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/records/job_keys.hpp"
#include "sim/records/names_in_texts.hpp"
#include "sim/records/translate_parts.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

const StackEntry& stack_of(const Record& record, const Catalogue& catalogue) {
  return stack_in_texts(catalogue, record.source + " | " + record.system + " | " + record.algorithm);
}

// "128 tokens", "seq_len 512", "msl=384".
int tokens_stated(const Record& record) {
  static const std::regex length(R"((?:seq(?:uence)?s?[ _-]?(?:len(?:gth)?)?|msl)[ =:_-]*(?:of )?([0-9]{2,5}))"),
      tokens(R"(([0-9]{1,2},?[0-9]{3}|[0-9]{2,5})[ -]tokens)");
  for (const std::string& text : {record.model, record.unit, record.notes, record.algorithm})
    for (const std::regex* pattern : {&length, &tokens}) {
      const std::string small = lower_case(text);
      std::smatch found;
      if (!std::regex_search(small, found, *pattern)) continue;
      std::string digits = found[1].str();
      digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
      return std::stoi(digits);
    }
  return 0;
}

// By its name, the tokens of a sequence where they are stated, and the software, whose AlexNet may be its own.
const ModelEntry* model_in_texts(const Record& record, const JobSpec& job, const Catalogue& catalogue) {
  const int tokens = job.shape.sequence;
  // MLPerf calls its benchmark of image classification "resnet".
  const bool is_resnet = job.is_mlperf() && lower_case(record.model) == "resnet";
  const ModelEntry* plain = model_in_text(catalogue, is_resnet ? "ResNet-50" : record.model);
  if (plain != nullptr && plain->tokens > 0) {
    if (tokens == 0 || plain->tokens == tokens) return plain;
    const ModelEntry* longer = model_in_text(catalogue, record.model + " " + std::to_string(tokens));
    return longer != nullptr && longer->tokens == tokens ? longer : nullptr;
  }
  if (plain != nullptr && plain->id == record.model) return plain;
  const ModelEntry* of_software = model_in_text(catalogue, record.model + " " + job.software.id);
  return of_software != nullptr && plain != nullptr ? of_software : plain;
}

std::optional<RecordPrecision> precision_in_texts(const std::string& text) {
  if (says(text, {"bf16-true", "pure bf16"})) return RecordPrecision::bf16_true;
  if (says(text, {"mixed", "amp"})) return RecordPrecision::mixed;
  if (says(text, {"tf32", "tensorfloat"})) return RecordPrecision::tf32;
  if (says(text, {"fp32", "single", "wire", "float32", "32-bit", "32 bit"})) return RecordPrecision::fp32;
  if (says(text, {"fp16", "bf16", "half", "float16", "16-bit", "16 bit", "tensor core"})) return RecordPrecision::mixed;
  return std::nullopt;
}

std::optional<Wire> wire_in_texts(const Record& record) {
  for (const std::string& text : {record.precision, record.algorithm})
    if (says(text, {"fp16 wire", "fp16 all-reduce", "fp16 exchange", "fp16 on the wire", "fp16 compression",
                    "half-precision gradients"}))
      return Wire::fp16;
  if (mentions(record.precision, "fp32 wire") || mentions(record.algorithm, "fp32 all-reduce")) return Wire::fp32;
  return std::nullopt;
}

bool says_anywhere(std::initializer_list<const std::string*> texts, std::initializer_list<const char*> parts) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string* text) { return says(*text, parts); });
}

void translate_software(const Record& record, JobSpec& job, const ModelEntry* model) {
  if (says_anywhere({&record.system, &record.algorithm, &record.notes, &record.model},
                    {"flash", "fused attention", "fmha", "sdpa", "xformers"}))
    job.fused_attention = true;
  const bool is_of_sequences = model != nullptr && model->is_of_sequences();
  if (is_of_sequences && says_anywhere({&record.system, &record.algorithm, &record.notes}, {"lamb"}))
    job.optimizer = Optimizer::lamb;
  if (says_anywhere({&record.system, &record.notes, &record.id},
                    {"cudnn4", "cudnn r4", "cudnn v4", "cudnn 4", "cudnn3", "cudnn v3", "cudnn r3"}))
    job.fast_convolutions = false;
}

void translate_work(const Record& record, JobSpec& job, const Catalogue& catalogue) {
  job.shape.sequence = tokens_stated(record);
  const ModelEntry* model = model_in_texts(record, job, catalogue);
  const GpuEntry* gpu = gpu_in_text(catalogue, record.gpu);
  job.model = {record.model, model == nullptr ? "" : model->id, ""};
  job.gpu = {record.gpu, gpu == nullptr ? "" : gpu->id, ""};
  job.precision = precision_in_texts(record.precision);
  job.wire = wire_in_texts(record);
  translate_software(record, job, model);
}

// What stands in numbers, whoever says the rest.
JobSpec facts_in_numbers(const Record& record) {
  JobSpec job;
  job.record = &record;
  job.id = record.id;
  job.role = record.role;
  job.group = record.group;
  job.source = record.source;
  job.system = record.system;
  job.value = record.value;
  job.bytes = record.params_bytes;
  job.gpus = record.gpus;
  job.gpus_per_node = record.gpus_per_node;
  job.batch_per_gpu = record.batch_per_gpu;
  job.global_batch = record.global_batch;
  return job;
}

}  // namespace

bool says(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return mentions(text, part); });
}

bool has_word(const std::string& text, std::initializer_list<const char*> words) {
  const std::vector<std::string> in_text = words_of(text);
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return std::count(in_text.begin(), in_text.end(), word) > 0; });
}

int JobSpec::batch() const {
  if (batch_per_gpu > 0) return batch_per_gpu;
  if (global_batch > 0 && gpus > 0) return static_cast<int>(std::max<std::int64_t>(1, global_batch / gpus));
  return 0;
}

std::string JobSpec::why_assumed(const std::string& key) const {
  const auto found = assumed.find(key);
  return found == assumed.end() ? "" : found->second;
}

double value_in_si(const JobSpec& job, double value) {
  const Measure& measure = job.measure;
  const double gpus = measure.is_per_gpu ? std::max(1, job.gpus) : 1;
  const double images = measure.counted == Counted::iterations ? double(std::max(1, job.gpus)) * job.batch() : 1;
  if (measure.tokens > 0) {
    const double batch = job.global_batch > 0 ? double(job.global_batch) : double(job.gpus) * job.batch();
    const double each = value / measure.per_si / (measure.is_of_all_gpus ? std::max(1, job.gpus) : 1);
    return each * batch * job.shape.sequence / measure.tokens;
  }
  return value / measure.per_si * gpus * images;
}

JobSpec job_of(const Record& record, const Catalogue& catalogue) {
  JobSpec job = facts_in_numbers(record);
  if (record.is_explicit()) {
    take_keys(record, job, catalogue);
  } else {
    job.software.id = stack_of(record, catalogue).id;
    job.measure = measure_in_texts(record);
    translate_work(record, job, catalogue);
    translate_algorithm(record, job, catalogue);
    translate_machine(record, job, catalogue);
    translate_conditions(record, job);
    take_keys(record, job, catalogue);
  }
  if (job.value && job.measure.why_not.empty()) job.value_si = value_in_si(job, *job.value);
  return job;
}

}  // namespace records
}  // namespace lockstep::sim
