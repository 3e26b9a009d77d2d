#include "sim/records/job.hpp"

#include <algorithm>
#include <cstdio>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/catalogue/name_index.hpp"
#include "sim/records/job_memory.hpp"
#include "sim/records/job_names.hpp"
#include "sim/records/job_read.hpp"
#include "sim/records/job_split.hpp"
#include "sim/records/job_tokens.hpp"
#include "sim/records/stated_split.hpp"
#include "sim/records/usual.hpp"
#include "sim/report/split_ranking.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

const char* const kGroup = "job";

int largest_of(const Job& job) {
  return *std::max_element(job.gpus.begin(), job.gpus.end());
}

// One GPU, or with a split the fewest.
int baseline_of(const Job& job) {
  return job.is_split() ? *std::min_element(job.gpus.begin(), job.gpus.end()) : 1;
}

void check_numbers(const Job& job, const Catalogue& catalogue) {
  if (job.is_split() && job.batch_per_gpu > 0)
    throw InputError("--batch: a split has batches of its own; allowed: --global-batch, --micro-batch");
  if (job.is_split() && job.global_batch == 0 && !job.searches_split)
    throw InputError("--global-batch is missing: sequences of an iteration over all GPUs; allowed: 1 to 268435456");
  if (job.usd_per_gpu_hour > 0 && job.tokens == 0)
    throw InputError("--price: of what work is not said; allowed: with --tokens");
  if (job.rate_samples_per_s > 0 && job.batch_per_gpu == 0)
    throw InputError("--rate: at which batch it was measured is not said; allowed: with --batch");
  check_whole_nodes(job.gpus, gpus_of_node(job, catalogue));
}

std::vector<Measure> measures_of(const Job& job) {
  std::vector<Measure> measures{{Metric::images_per_s}, {Metric::scaling_efficiency}};
  if (job.epochs > 0) measures.push_back({Metric::training_s});
  return measures;
}

Record asked(const JobSpec& spec, const Measure& measure, int gpus) {
  Record record;
  record.metric = name_of(measure.metric);
  record.id = std::to_string(gpus) + " GPUs: " + record.metric;
  record.unit = measure.metric == Metric::images_per_s ? "images/s"
                : measure.metric == Metric::training_s ? "s"
                                                       : "over one GPU";
  record.gpus = gpus;
  record.gpus_per_node = spec.gpus_per_node;
  return record;
}

std::vector<JobSpec> measured_rate(const Job& job, JobSpec spec) {
  if (job.rate_samples_per_s <= 0) return {};
  spec.id = "rate of one GPU";
  spec.role = Role::input;
  spec.measure = {Metric::images_per_s};
  spec.value = spec.value_si = job.rate_samples_per_s;
  spec.gpus = spec.gpus_per_node = 1;
  return {spec};
}

MappedRecord mapped(const JobPrediction& predicted, const Measure& measure, const std::vector<JobSpec>& given,
                    const Catalogue& catalogue) {
  JobSpec spec = predicted.spec;
  spec.measure = measure;
  spec.record = &predicted.records.front();
  MapOptions options;
  options.needs_room = false;
  MappedRecord result = map_job(spec, given, catalogue, options);
  if (!result.unmapped.empty())
    throw InputError(
        "simulate job: " + result.unmapped +
        (result.unmapped.find("; allowed: ") == std::string::npos ? "; allowed: what simulate job --help says" : ""));
  return result;
}

Scenario scenario_of(const Job& job, const JobSpec& spec, const RecordRun& run, const MappedRecord* training) {
  Scenario scenario = run.scenario;
  scenario.name = scenario.model.title + " on " + scenario.cluster.gpu.name;
  scenario.description = "Made by simulate job, with links, overheads and all-reduce as it has them for " +
                         std::to_string(run.gpus) + " GPUs.";
  scenario.cluster.name = scenario.cluster.gpu.name + ", " + std::to_string(spec.gpus_per_node) + " per node";
  scenario.gpus = job.gpus;
  scenario.baseline_gpus = baseline_of(job);
  scenario.batch = {{kMostGpus, run.batch_per_gpu}};
  if (scenario.parallel) scenario.parallel->data = 0;
  scenario.ignores_memory = job.ignores_memory;
  if (training != nullptr)
    scenario.convergence = ConvergenceSpec{short_number(job.epochs) + " epochs", training->samples, job.epochs};
  return scenario;
}

RecordRun run_of(RecordRun run, const JobPrediction& predicted, int gpus) {
  run.scenario = scenario_at(predicted, gpus);
  run.gpus = gpus;
  run.batch_per_gpu = run.scenario.batch_at(gpus);
  return run;
}

// The same at another number of GPUs.
MappedRecord at_gpus(MappedRecord result, const RecordRun& run, const JobPrediction& predicted, int gpus) {
  result.target = {run_of(run, predicted, gpus)};
  if (!result.baseline.empty()) result.baseline = {run_of(run, predicted, predicted.scenario.baseline_gpus)};
  return result;
}

std::vector<std::string> row_of(const Prediction* of_job, int quantities) {
  const RecordRun& task = of_job->mapped.target.front();
  std::vector<std::string> cells{std::to_string(task.gpus), std::to_string(task.batch_per_gpu)};
  const auto add = [&](const Prediction& p, std::string (*text)(double)) {
    for (double value : {p.predicted, p.low, p.high}) cells.push_back(text(value));
  };
  add(of_job[0], with_thousands);
  add(of_job[1], [](double share) { return formatted("%.1f %%", 100 * share); });
  if (quantities > 2) add(of_job[2], duration_text);
  return cells;
}

std::string inputs_text(const Job& job, const std::vector<Assumption>& inputs) {
  std::string text = "Left open, and assumed:\n";
  int others = 0;
  for (const Assumption& input : inputs) {
    const bool is_of_job =
        input.source.rfind("not stated", 0) == 0 || input.pointer == "algorithm" || input.pointer == "software";
    if (is_of_job)
      text += "  " + input.pointer + " " +
              (input.value.is_string() ? input.value.get<std::string>() : input.value.dump()) + " (" + input.source +
              ")\n";
    else
      ++others;
  }
  if (static_cast<int>(inputs.size()) == others) text.clear();
  return text + "It rests on " + std::to_string(others) +
         " further inputs (--json lists all with their sources). Efficiency is against " +
         (job.is_split() ? std::to_string(baseline_of(job)) + " GPUs" : std::string("one GPU")) +
         "; low and high are to "
         "hold the truth four times of five.\n";
}

std::string three_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// A fitted constant is a factor on what is usual, a narrower one on that; none where the prediction did not ask for it.
std::optional<double> value_told(const std::string& constant, const std::vector<Assumption>& inputs) {
  const UsualValue& usual = usual_of(constant);
  std::optional<double> value;
  for (const Assumption& input : inputs) {
    if (input.pointer.rfind(constant, 0) != 0) continue;
    if (!value) value = usual.value;
    if (input.kind == "fitted") *value *= input.value.get<double>();
  }
  if (value) value = std::min(*value, usual.most);
  return value;
}

// What one scenario for all rows means for them, and what a training's time is.
std::string meaning_text(const Job& job, const std::vector<Assumption>& inputs, const Catalogue& catalogue) {
  const int least = *std::min_element(job.gpus.begin(), job.gpus.end()), most = largest_of(job);
  std::string text;
  if (1 < least && least <= gpus_of_node(job, catalogue) && most > gpus_of_node(job, catalogue))
    text += "All rows are of one scenario: links, overheads and all-reduce are those of " + std::to_string(most) +
            " GPUs.\n";
  return text + training_text(inputs);
}

// A model file of one's own, or a HuggingFace configuration, "config.json@4096" for another length of sequence.
std::shared_ptr<const OwnModel> own_model(const std::string& file, JobSpec& spec) {
  const model::ModelName name = model::model_name_of(file);
  if (name == model::ModelName::zoo) return nullptr;
  std::map<std::string, std::string> inputs;
  auto own = std::make_shared<OwnModel>();
  own->graph = model::graph_of(file, inputs);
  own->entry.id = file;
  own->entry.tokens = own->graph.tokens;
  if (own->graph.transformer) own->architecture = own->graph.transformer->spec.name;
  if (own->graph.tokens > 0 && name == model::ModelName::file)
    spec.assumed["tokens of a sequence"] =
        "not stated; " + std::to_string(own->graph.tokens) + " by the file, which may be its context";
  return own;
}

}  // namespace

int gpus_of_node(const Job& job, const Catalogue& catalogue) {
  JobSpec words;
  words.gpu.stated = job.gpu;
  words.network.stated = job.network;
  words.link.stated = job.intra_node_link;
  words.gpus_per_node = stated_gpus_of_node(job, catalogue);
  return joined_node_of(words, job.gpus, catalogue).gpus;
}

int stated_gpus_of_node(const Job& job, const Catalogue& catalogue) {
  const GpuEntry* gpu = read_gpu_name(catalogue.gpus, job.gpu).entry;
  return job.gpus_per_node > 0 ? job.gpus_per_node : gpu != nullptr ? gpu->gpus_per_node : kUsualGpusPerNode;
}

void check_whole_nodes(const std::vector<int>& gpus, int of_node) {
  for (int n : gpus)
    if (n > of_node && n % of_node != 0)
      throw InputError("--gpus: " + std::to_string(n) + " GPUs do not fill whole nodes; allowed: up to " +
                       std::to_string(of_node) + ", or a multiple of it");
}

std::string usual_software(const Job& job) {
  SplitSpec split = job.split;
  split.is_searched = job.searches_split;
  return usual_software(split);
}

std::vector<Assumption> inputs_of(const std::vector<Prediction>& predictions) {
  std::vector<Assumption> inputs;
  for (const Prediction& p : predictions)
    for (const Assumption& a : p.mapped.assumptions) {
      const auto is_same = [&](const Assumption& b) { return b.pointer == a.pointer && b.value == a.value; };
      if (std::none_of(inputs.begin(), inputs.end(), is_same)) inputs.push_back(a);
    }
  return inputs;
}

std::string training_text(const std::vector<Assumption>& inputs) {
  std::string text;
  if (const auto share = value_told(kEvaluationShare, inputs))
    text += "The time of epochs is that of their iterations, with " + three_digits(100 * *share) +
            " % more samples for evaluation.\n";
  if (const auto factor = value_told(kTrainingOverBenchmark, inputs))
    text +=
        "The time of epochs is " + three_digits(*factor) +
        " times that of their iterations: so much longer than benchmarks of their GPUs say did published trainings of "
        "images take. With a measured --rate it is not.\n";
  return text;
}

JobSpec job_spec(const Job& job, const Catalogue& catalogue) {
  JobSpec spec;
  spec.group = kGroup;
  spec.model.stated = job.model;
  spec.own_model = own_model(job.model, spec);
  spec.gpu.stated = job.gpu;
  spec.software.stated = job.software.empty() ? usual_software(job) : job.software;
  spec.link.stated = job.intra_node_link;
  spec.network.stated = job.network;
  spec.exchange = job.algorithm;
  spec.gpus = largest_of(job);
  spec.gpus_per_node = stated_gpus_of_node(job, catalogue);  // of networks "per GPU"
  spec.batch_per_gpu = job.batch_per_gpu;
  spec.precision = find_choice_in_words<RecordPrecision>(job.precision);
  spec.channels_last = job.channels_last;
  spec.decodes_on_host = job.decodes_on_host;
  if (!job.decodes_on_host)
    spec.assumed["input"] = "not stated; with --decodes-on-host what the nodes' processors decode is a limit";
  spec.split = job.split;
  spec.split.is_asked = job.is_split();
  spec.split.is_searched = job.searches_split;
  spec.global_batch = job.global_batch;
  spec.baseline_gpus = baseline_of(job);
  spec.epochs = job.epochs;
  resolve_names(spec, {}, catalogue);
  check_names(spec, catalogue);
  join_nodes(spec, job.gpus, catalogue);
  spec.gpus_per_node = std::min(spec.gpus, spec.gpus_per_node);
  return spec;
}

JobPrediction read_job(const Job& job, const Catalogue& catalogue) {
  check_numbers(job, catalogue);
  JobPrediction predicted;
  predicted.spec = job_spec(job, catalogue);
  const std::vector<Measure> measures = measures_of(job);
  for (int gpus : job.gpus)
    for (const Measure& measure : measures) predicted.records.push_back(asked(predicted.spec, measure, gpus));
  const std::vector<JobSpec> given = measured_rate(job, predicted.spec);
  std::vector<MappedRecord> of_measures;
  for (const Measure& measure : measures) of_measures.push_back(mapped(predicted, measure, given, catalogue));
  for (MappedRecord& of_measure : of_measures) {
    if (job.gpus_per_node == 0)
      of_measure.assumptions.push_back(
          {"gpus_per_node", predicted.spec.gpus_per_node, "assumed",
           "not stated; at most " + std::to_string(gpus_of_node(job, catalogue)) + ", as is usual of servers"});
    if (job.software.empty())
      of_measure.assumptions.push_back({"software", usual_software(job), "assumed",
                                        job.is_split() ? "not stated; usual for such a split" : "not stated; usual"});
  }
  const RecordRun& run = of_measures.front().target.front();
  const std::optional<RecordPrecision>& wanted = predicted.spec.precision;
  if (wanted && run.scenario.compute.precision != layers_precision(*wanted))
    throw InputError("simulate job: precision " + job.precision + ": " + run.scenario.cluster.gpu.name +
                     " does not have it; allowed: fp32, and what its data sheet has");
  predicted.scenario = scenario_of(job, predicted.spec, run, job.epochs > 0 ? &of_measures.back() : nullptr);
  if (job.searches_split) search_splits(job, predicted);
  if (!run.is_alone())
    for (int gpus : job.gpus) check(scenario_at(predicted, gpus));
  if (job.tokens > 0 && predicted.scenario.model.tokens == 0)
    throw InputError("--tokens: " + predicted.scenario.model.title + " does not train on tokens; allowed: --epochs");
  auto record = predicted.records.cbegin();
  for (int gpus : job.gpus)
    for (const MappedRecord& of_measure : of_measures)
      predicted.predictions.push_back({&*record++, at_gpus(of_measure, run, predicted, gpus)});
  return predicted;
}

void predict_read(const Job& job, JobPrediction& predicted, const Catalogue& catalogue, int jobs) {
  predict_mapped(predicted.predictions, catalogue, {jobs, true});
  for (const Prediction& p : predicted.predictions)
    if (!p.is_mapped())
      throw InputError("simulate job: " + job.model + " on " + job.gpu + ": " + p.mapped.unmapped +
                       "; allowed: another --algorithm");
}

JobPrediction predict_job(const Job& job, const Catalogue& catalogue, int jobs) {
  JobPrediction predicted = read_job(job, catalogue);
  check_job_memory(job, predicted.predictions);
  predict_read(job, predicted, catalogue, jobs);
  return predicted;
}

std::string job_table(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue) {
  const std::vector<Prediction>& predictions = predicted.predictions;
  const int quantities = static_cast<int>(measures_of(job).size());
  TextTable table;
  std::vector<std::string> names{
      "GPUs", job.is_split() ? "micro-batch" : "batch/GPU", "samples/s", "low", "high", "efficiency", "low", "high"};
  if (quantities > 2) names.insert(names.end(), {short_number(job.epochs) + " epochs", "low", "high"});
  table.add(names);
  for (std::size_t i = 0; i < predictions.size(); i += static_cast<std::size_t>(quantities))
    table.add(row_of(&predictions[i], quantities));
  const std::vector<Assumption> inputs = inputs_of(predictions);
  return read_text(read_of(job, predicted, catalogue)) + "\n" + job_splits_text(job, predicted) + table.text() +
         job_tokens_text(job, predicted) + job_memory_line(predictions) + "\n" + inputs_text(job, inputs) +
         meaning_text(job, inputs, catalogue);
}

Json job_json(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue) {
  Json json = predictions_json(predicted.predictions);
  if (const Json tokens = job_tokens_json(job, predicted); !tokens.empty()) json["tokens"] = tokens;
  for (const SplitRanking& ranking : predicted.rankings)
    json["splits"].push_back(split_ranking_json(predicted.scenario, ranking));
  json["read"] = read_json(read_of(job, predicted, catalogue));
  return json;
}

}  // namespace records
}  // namespace lockstep::sim
