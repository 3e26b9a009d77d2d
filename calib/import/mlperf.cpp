#include "calib/import/mlperf.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "calib/import/log_text.hpp"
#include "calib/import/mlperf_system.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

constexpr const char* kMark = ":::MLLOG";
constexpr int kScored = 5;  // runs from which the best and the worst do not count

// Holds facts about a benchmark from the rules of MLPerf Training.
struct Benchmark {
  const char* name;
  const char* model;    ///< of the catalogue; empty: none is the same
  int tokens;           ///< of a sequence; 0: the model's, or no sequences
  const char* task;     ///< "lora": adapters alone are trained; empty: all weights
  double target;        ///< accuracy; 0: its metric falls, or changed from round to round
  bool counts_samples;  ///< "epoch_num" counts samples
  const char* data;
  bool came_later = false;  ///< after the first rounds, which had another software
};

const std::vector<Benchmark> kBenchmarks{{"resnet", "resnet50_v15", 0, "", 0.759, false, "ImageNet"},
                                         {"bert", "bert_large", 0, "", 0, true, "Wikipedia"},
                                         {"ssd", "", 0, "", 0, false, "OpenImages"},
                                         {"retinanet", "retinanet", 0, "", 0.34, false, "OpenImages", true},
                                         {"maskrcnn", "", 0, "", 0, false, "COCO"},
                                         {"unet3d", "unet3d", 0, "", 0.908, false, "KiTS19", true},
                                         {"rnnt", "", 0, "", 0, false, "LibriSpeech"},
                                         {"gpt3", "gpt3_175b", 2048, "", 0, true, "C4", true},
                                         {"llama2_70b_lora", "llama2_70b", 8192, "lora", 0, true, "GovReport", true},
                                         {"llama31_8b", "llama3_1_8b", 8192, "", 0, true, "C4", true},
                                         {"llama31_405b", "llama3_1_405b", 8192, "", 0, true, "C4", true}};

const Benchmark* benchmark_named(const std::string& name) {
  for (const Benchmark& one : kBenchmarks)
    if (name == one.name) return &one;
  return nullptr;
}

// Logs of "ssd" are of SSD on COCO's 117,266 images up to round 1.1, of RetinaNet on OpenImages' 1,170,301 from 2.0 on.
constexpr double kMostImagesOfSsd = 5e5;

struct Evaluation {
  double samples, accuracy;
};

struct Run {
  std::string file, benchmark, org, platform, seed;
  double global_batch = 0, train_samples = 0, tokens = 0;
  double start_ms = -1, stop_ms = -1;
  bool is_success = false;
  std::vector<Evaluation> evaluations;
  std::vector<double> rates, block_rates, step_rates;

  double seconds() const { return (stop_ms - start_ms) / 1e3; }
  std::string group() const {
    return (org.empty() ? std::string("unknown") : org) + " " + platform + " " + benchmark + " " +
           short_number(global_batch);
  }
};

class RunLog {
 public:
  RunLog(const std::string& text, const std::string& name) {
    run_.file = name;
    std::istringstream lines(text);
    std::string raw;
    for (int number = 1; std::getline(lines, raw); ++number) {
      const std::string line = plain_line(raw);
      const std::size_t mark = line.find(kMark);
      if (mark == std::string::npos) continue;
      const std::string where = name + " line " + std::to_string(number);
      take(JsonDocument::parse(line.substr(mark + std::string(kMark).size()), where).root());
    }
    if (run_.start_ms < 0)
      throw InputError(name + ": no run_start; allowed: a log of MLPerf Training (lines of " + kMark + ")");
    if (run_.benchmark == "ssd" && run_.train_samples > kMostImagesOfSsd) run_.benchmark = "retinanet";
    if (run_.benchmark.empty()) throw InputError(name + ": no submission_benchmark; allowed: a log that names it");
    if (!(run_.global_batch > 0)) throw InputError(name + ": no global_batch_size; allowed: a log that has it");
    for (const double seconds : step_seconds_) run_.step_rates.push_back(run_.global_batch / seconds);
  }

  const Run& run() const { return run_; }

 private:
  void take(const JsonNode& entry) {
    const std::string key = entry.at("key").text();
    // Differences of whole milliseconds lose nothing, wherever they begin: today is 1.8e12 ms after 1970.
    const double at_ms = entry.at("time_ms").number({0, 1e15});
    if (key == "run_start") run_.start_ms = at_ms;
    if (key == "run_stop") stop(entry, at_ms);
    if (key == "submission_benchmark") run_.benchmark = entry.at("value").text();
    if (key == "submission_org") run_.org = entry.at("value").text();
    if (key == "submission_platform") run_.platform = entry.at("value").text();
    if (key == "seed") run_.seed = entry.at("value").json().dump();
    if (key == "global_batch_size") run_.global_batch = entry.at("value").number({1, 1e12});
    if (key == "max_sequence_length") run_.tokens = entry.at("value").number({1, 1e9});
    if (key == "train_samples" && run_.evaluations.empty()) run_.train_samples = entry.at("value").number({1, 1e15});
    if (key == "eval_accuracy") evaluate(entry);
    if (key == "tracked_stats") track(entry);
    if (key == "block_start") begin_block(entry, at_ms);
    if (key == "block_stop") end_block(entry, at_ms);
  }

  void stop(const JsonNode& entry, double at_ms) {
    run_.stop_ms = at_ms;
    const auto metadata = entry.find("metadata");
    const auto status = metadata ? metadata->find("status") : std::nullopt;
    run_.is_success = status && status->text() == "success";
  }

  // Samples of training so far; below 0 where the entry does not tell.
  double samples_of(const JsonNode& entry, const char* epochs) const {
    const auto metadata = entry.find("metadata");
    if (!metadata) return -1;
    if (const auto samples = metadata->find("samples_count")) return samples->number({0, 1e15});
    const auto epoch = metadata->find(epochs);
    const Benchmark* benchmark = benchmark_named(run_.benchmark);
    if (!epoch || !epoch->is_number() || benchmark == nullptr) return -1;
    const double count = epoch->number({0, 1e15});
    if (benchmark->counts_samples) return count;
    return run_.train_samples > 0 ? count * run_.train_samples : -1;
  }

  void evaluate(const JsonNode& entry) {
    const double samples = samples_of(entry, "epoch_num");
    if (!entry.at("value").is_number()) return;
    const double accuracy = entry.at("value").number({-1e9, 1e9});
    if (samples > 0 && (run_.evaluations.empty() || samples > run_.evaluations.back().samples))
      run_.evaluations.push_back({samples, accuracy});
  }

  void track(const JsonNode& entry) {
    const JsonNode value = entry.at("value");
    if (!value.is_object()) return;
    if (const auto rate = value.find("throughput"); rate && rate->is_number() && rate->json().get<double>() > 0)
      run_.rates.push_back(rate->number({0, 1e15}));
    if (const auto step = value.find("train_step_time"); step && step->is_number() && step->json().get<double>() > 0)
      step_seconds_.push_back(step->number({0, 1e9}));
  }

  // A count in the metadata; below 0 if there is none.
  static double count_of(const JsonNode& entry, const char* name) {
    const auto metadata = entry.find("metadata");
    const auto count = metadata ? metadata->find(name) : std::nullopt;
    return count && count->is_number() ? count->number({0, 1e15}) : -1;
  }

  void begin_block(const JsonNode& entry, double at_ms) {
    block_begin_ms_ = at_ms;
    block_from_ = count_of(entry, "samples_count");
    block_from_step_ = count_of(entry, "step");
    block_samples_ = block_from_ < 0 ? samples_of(entry, "epoch_count") : -1;
  }

  // Up to MLPerf v4, samples_count is the number since the start of the training. From v5 on it is the block's own
  // number, and the same at both ends of the block.
  void end_block(const JsonNode& entry, double at_ms) {
    const double to = count_of(entry, "samples_count"), to_step = count_of(entry, "step");
    double samples = block_samples_;
    if (to >= 0 && block_from_ >= 0) samples = to == block_from_ ? to : to - block_from_;
    if (samples <= 0 && block_from_step_ >= 0) samples = (to_step - block_from_step_) * run_.global_batch;
    if (block_begin_ms_ >= 0 && samples > 0 && at_ms > block_begin_ms_)
      run_.block_rates.push_back(samples / (at_ms - block_begin_ms_) * 1e3);
    block_begin_ms_ = -1;
  }

  Run run_;
  double block_begin_ms_ = -1, block_from_ = -1, block_from_step_ = -1, block_samples_ = -1;
  std::vector<double> step_seconds_;
};

// A number, or the digits at the start of a text ("8", "8 (per node)"); 0 if there is none.
double count_in(const Json& system, const char* name) {
  const auto member = system.find(name);
  if (member == system.end()) return 0;
  const double count = member->is_number()   ? member->get<double>()
                       : member->is_string() ? std::atof(member->get<std::string>().c_str())
                                             : 0;
  return count >= 0 && count <= (1 << 20) ? count : 0;
}

double scored(std::vector<double> seconds) {
  if (static_cast<int>(seconds.size()) < kScored) return median(seconds);
  std::sort(seconds.begin(), seconds.end());
  return mean(std::vector<double>(seconds.begin() + 1, seconds.end() - 1));
}

std::string list_of(const std::vector<double>& values) {
  std::vector<std::string> words;
  for (double value : values) words.push_back(short_number(value));
  return joined(words);
}

class Results {
 public:
  explicit Results(const MlperfOptions& options) : options_(options) {}

  void take(const Run& run) {
    if (run.stop_ms < 0 || !run.is_success)
      results_.said.push_back(run.file + ": the run " + (run.stop_ms < 0 ? "did not stop" : "did not succeed") +
                              ": no time to train");
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const std::vector<Run>& runs) { return runs.front().group() == run.group(); });
    if (group == groups_.end()) group = groups_.insert(groups_.end(), std::vector<Run>());
    group->push_back(run);
  }

  MlperfResults finish() {
    if (!options_.system.is_null() && count_in(options_.system, "number_of_nodes") > 1 &&
        network_of_system(options_.system).empty())
      results_.said.push_back(
          "the system's host_networking has no rate: records have no network, and predictions assume "
          "the GPU's usual one");
    for (const std::vector<Run>& runs : groups_) add_records(runs);
    add_convergence();
    return results_;
  }

 private:
  std::string model_of(const Run& run) const {
    if (!options_.model.empty()) return options_.model;
    const Benchmark* benchmark = benchmark_named(run.benchmark);
    return benchmark != nullptr && benchmark->model[0] != 0 ? benchmark->model : run.benchmark;
  }

  int gpus() const {
    if (options_.gpus > 0) return options_.gpus;
    if (options_.system.is_null()) return 0;
    const double nodes = std::max(1.0, count_in(options_.system, "number_of_nodes"));
    return static_cast<int>(nodes * count_in(options_.system, "accelerators_per_node"));
  }

  Json common(const std::vector<Run>& runs, const std::string& suffix) const {
    const Run& first = runs.front();
    std::string id = "MLPerf-" + first.group() + "-" + suffix, files;
    std::replace(id.begin(), id.end(), ' ', '-');
    for (const Run& run : runs) files += (files.empty() ? "" : ", ") + run.file;
    const std::string source = options_.source.empty() ? "MLPerf Training" : options_.source;
    Json record{{"id", id},
                {"group", first.group()},
                {"source", source + " logs"},
                {"where", files},
                {"system", (first.org.empty() ? "" : first.org + " ") + first.platform},
                {"model", model_of(first)},
                {"global_batch", first.global_batch},
                {"algorithm", "ssgd"},
                {"role", "target"}};
    if (const int count = gpus(); count > 0) {
      record["gpus"] = count;
      record["batch_per_gpu"] = first.global_batch / count;
    }
    const Benchmark* benchmark = benchmark_named(first.benchmark);
    if (options_.model.empty() && benchmark != nullptr) {
      if (benchmark->tokens > 0) record["seq"] = first.tokens > 0 ? static_cast<int>(first.tokens) : benchmark->tokens;
      if (benchmark->task[0] != 0) record["task"] = benchmark->task;
      if (benchmark->model[0] == 0) record["not_predicted"] = "no model of the catalogue is that of " + first.benchmark;
    }
    // The software of the first rounds follows from the source; these benchmarks came later.
    if (benchmark != nullptr && benchmark->came_later) record["software"] = "mlperf";
    if (options_.system.is_null()) return record;
    const std::map<std::string, std::string> facts{{"gpu", text_in(options_.system, "accelerator_model_name")},
                                                   {"intra_node_link", link_of_system(options_.system)},
                                                   {"network", network_of_system(options_.system)}};
    for (const auto& [key, text] : facts)
      if (!text.empty()) record[key] = text;
    if (const double each = count_in(options_.system, "accelerators_per_node"); each > 0)
      record["gpus_per_node"] = static_cast<int>(each);
    return record;
  }

  void add_records(const std::vector<Run>& runs) {
    std::vector<double> seconds, rates, block_rates, step_rates, epochs;
    for (const Run& run : runs) {
      rates.insert(rates.end(), run.rates.begin(), run.rates.end());
      block_rates.insert(block_rates.end(), run.block_rates.begin(), run.block_rates.end());
      step_rates.insert(step_rates.end(), run.step_rates.begin(), run.step_rates.end());
      if (!run.is_success) continue;
      seconds.push_back(run.seconds());
      if (run.train_samples > 0 && !run.evaluations.empty())
        epochs.push_back(run.evaluations.back().samples / run.train_samples);
    }
    const auto add = [&](const std::string& suffix, const std::string& metric, const std::string& unit, double value,
                         const std::string& notes) {
      Json record = common(runs, suffix);
      record.update(Json{{"metric", metric}, {"value", value}, {"unit", unit}, {"notes", notes}});
      results_.records.push_back(record);
    };
    const std::string of = "of " + std::to_string(seconds.size()) + (seconds.size() == 1 ? " run" : " runs");
    if (!seconds.empty())
      add("tta", "time_to_accuracy_s", "s", scored(seconds),
          "run_start to run_stop, " +
              std::string(seconds.size() >= kScored ? "mean without best and worst " : "median ") + of + ": " +
              list_of(seconds) + " s");
    if (!rates.empty())
      add("rate", "images_per_s", "images/s", median(rates), "median of logged throughputs");
    else if (!block_rates.empty())
      add("rate", "images_per_s", "images/s", median(block_rates), "median of blocks, samples over their time");
    else if (!step_rates.empty())
      add("rate", "images_per_s", "images/s", median(step_rates), "global batch over the median of train_step_time");
    else
      results_.said.push_back(runs.front().file +
                              ": no rate: neither throughput nor train_step_time, nor blocks with a count of samples");
    if (!epochs.empty())
      add("epochs", "epochs_to_accuracy", "epochs", median(epochs), "to the last evaluation, median " + of);
  }

  // The benchmark's, where all runs are of one whose accuracy rises.
  double target_of(const Run& run) const {
    if (options_.target > 0) return options_.target;
    const Benchmark* benchmark = benchmark_named(run.benchmark);
    return benchmark != nullptr ? benchmark->target : 0;
  }

  Json convergence_run(const Run& run, double target) const {
    const int workers = std::max(1, gpus());
    Json reached;
    double before = 0;
    for (const Evaluation& evaluation : run.evaluations) {
      const double iterations = evaluation.samples / run.global_batch;
      if (evaluation.accuracy >= target) {
        reached = {{"iterations", iterations}, {"above", before}};
        break;
      }
      before = iterations;
    }
    if (reached.is_null()) reached = {{"more_than", before}};
    std::uint64_t seed = std::strtoull(run.seed.c_str(), nullptr, 10);
    return {{"cell", "batch-" + short_number(run.global_batch)},
            {"algorithm", "s-sgd"},
            {"batch", run.global_batch / workers},
            {"workers", workers},
            {"seed", seed & 0x7fffffffffffffffULL},
            {"targets", Json::array({reached})},
            {"source", run.file}};
  }

  void add_convergence() {
    Json runs = Json::array();
    const Run* first = nullptr;
    for (const std::vector<Run>& group : groups_)
      for (const Run& run : group) {
        const double target = target_of(run);
        if (run.evaluations.empty() || !(target > 0) || !(run.train_samples > 0)) continue;
        if (first != nullptr && first->benchmark != run.benchmark)
          throw InputError(run.file + ": is of " + run.benchmark + ", and " + first->file + " of " + first->benchmark +
                           "; allowed: runs of one benchmark");
        if (first == nullptr) first = &run;
        runs.push_back(convergence_run(run, target));
      }
    if (first == nullptr) {
      results_.said.push_back(groups_.front().front().file +
                              ": no iterations to a target: they need evaluations, train_samples and --target");
      return;
    }
    const double target = target_of(*first);
    const Benchmark* benchmark = benchmark_named(first->benchmark);
    results_.convergence = {
        {"schema", "lockstep/convergence/1"},
        {"name", first->benchmark + ", MLPerf Training"},
        {"model", model_of(*first)},
        {"data", benchmark != nullptr ? benchmark->data : first->benchmark},
        {"train_samples", first->train_samples},
        {"kind", "published"},
        {"source", (options_.source.empty() ? "MLPerf Training" : options_.source) +
                       " logs, first evaluation that reaches the target"},
        {"targets", Json::array({{{"name", short_number(100 * target) + " % accuracy"}, {"accuracy", target}}})},
        {"runs", runs}};
  }

  const MlperfOptions& options_;
  std::vector<std::vector<Run>> groups_;
  MlperfResults results_;
};

}  // namespace

MlperfResults import_mlperf(const std::vector<std::pair<std::string, std::string>>& logs,
                            const MlperfOptions& options) {
  Results results(options);
  for (const auto& [text, name] : logs) results.take(RunLog(text, name).run());
  return results.finish();
}

}  // namespace lockstep::calib
