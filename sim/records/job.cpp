#include "sim/records/job.hpp"

#include <algorithm>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "sim/records/job_memory.hpp"
#include "sim/records/job_names.hpp"
#include "sim/records/job_read.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim {
namespace {

const char* const kGroup = "job";

Record described(const Job& job, const NamesRead& names, int gpus) {
  Record record;
  record.names = names;
  record.group = kGroup;
  record.system = names.stack->name;
  record.model = names.model->id;
  record.gpu = names.gpu->name;
  record.gpus = gpus;
  record.gpus_per_node = std::min(gpus, job.gpus_of_node());
  record.intra_node_link = job.intra_node_link;
  record.network = names.network ? network_words(*names.network) : "";
  record.algorithm = names.algorithm;
  record.precision = job.precision;
  record.batch_per_gpu = job.batch_per_gpu;
  return record;
}

Record asked(const Job& job, const NamesRead& names, int gpus, const std::string& metric, const std::string& unit) {
  Record record = described(job, names, gpus);
  record.id = std::to_string(gpus) + " GPUs: " + metric;
  record.metric = metric;
  record.unit = unit;
  return record;
}

Record measured_rate(const Job& job, const NamesRead& names) {
  Record record = asked(job, names, 1, "images_per_s", "images/s");
  record.id = "rate of one GPU";
  record.role = Role::input;
  record.value = job.rate_samples_per_s;
  return record;
}

std::vector<Record> records_of(const Job& job, const NamesRead& names) {
  std::vector<Record> records;
  for (int gpus : job.gpus) {
    records.push_back(asked(job, names, gpus, "images_per_s", "images/s"));
    records.push_back(asked(job, names, gpus, "scaling_efficiency", "over one GPU"));
    records.back().notes = "vs 1 GPU";
    if (job.epochs == 0) continue;
    records.push_back(asked(job, names, gpus, "training_time_s", "s"));
    records.back().notes = short_number(job.epochs) + " epochs";
  }
  if (job.rate_samples_per_s > 0) records.push_back(measured_rate(job, names));
  return records;
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

// Each once, in the order in which the predictions came upon them.
std::vector<Assumption> inputs_of(const std::vector<Prediction>& predictions) {
  std::vector<Assumption> inputs;
  for (const Prediction& p : predictions)
    for (const Assumption& a : p.mapped.assumptions) {
      const auto is_same = [&](const Assumption& b) { return b.pointer == a.pointer && b.value == a.value; };
      if (std::none_of(inputs.begin(), inputs.end(), is_same)) inputs.push_back(a);
    }
  return inputs;
}

std::string inputs_text(const std::vector<Assumption>& inputs) {
  std::string text = "Left open, and assumed:\n";
  int others = 0;
  for (const Assumption& input : inputs) {
    const bool is_of_job = input.source.rfind("not stated", 0) == 0;
    if (is_of_job)
      text += "  " + input.pointer + " " +
              (input.value.is_string() ? input.value.get<std::string>() : input.value.dump()) + " (" + input.source +
              ")\n";
    else
      ++others;
  }
  if (static_cast<int>(inputs.size()) == others) text.clear();
  return text + "It rests on " + std::to_string(others) +
         " further inputs (--json lists all with their sources). Efficiency is against one GPU; low and high are to "
         "hold the truth four times of five.\n";
}

}  // namespace

JobPrediction predict_job(const Job& job, const Catalogue& catalogue, int jobs) {
  if (job.rate_samples_per_s > 0 && job.batch_per_gpu == 0)
    throw InputError("--rate: at which batch it was measured is not said; allowed: with --batch");
  const int of_node = job.gpus_of_node();
  for (int gpus : job.gpus)
    if (gpus > of_node && gpus % of_node != 0)
      throw InputError("--gpus: " + std::to_string(gpus) + " GPUs do not fill whole nodes; allowed: up to " +
                       std::to_string(of_node) + ", or a multiple of it");
  JobPrediction predicted;
  predicted.names = read_names(job, catalogue);
  predicted.records = records_of(job, predicted.names);
  predicted.predictions = predict_records(targets_of(predicted.records), predicted.records, catalogue, jobs);
  for (const Prediction& p : predicted.predictions)
    if (!p.is_mapped())
      throw InputError("simulate job: " + p.mapped.unmapped + "; allowed: what simulate job --help says");
  if (job.gpus_per_node == 0)
    for (Prediction& p : predicted.predictions)
      p.mapped.assumptions.push_back(
          {"gpus_per_node", p.record->gpus_per_node, "assumed", "not stated; at most 8, as is usual of servers"});
  const Scenario& scenario = predicted.predictions.front().mapped.target.front().scenario;
  if (!job.precision.empty() && name_of(scenario.compute.precision) != job.precision)
    throw InputError("simulate job: precision " + job.precision + ": " + scenario.cluster.gpu.name +
                     " does not have it; allowed: fp32, and what its data sheet has");
  check_job_memory(job, predicted.predictions);
  return predicted;
}

std::string job_table(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue) {
  const std::vector<Prediction>& predictions = predicted.predictions;
  const int quantities = job.epochs > 0 ? 3 : 2;
  TextTable table;
  std::vector<std::string> names{"GPUs", "batch/GPU", "samples/s", "low", "high", "efficiency", "low", "high"};
  if (quantities > 2) names.insert(names.end(), {short_number(job.epochs) + " epochs", "low", "high"});
  table.add(names);
  for (std::size_t i = 0; i < predictions.size(); i += quantities) table.add(row_of(&predictions[i], quantities));
  return read_text(read_of(job, predicted, catalogue)) + "\n" + table.text() + job_memory_line(predictions) + "\n" +
         inputs_text(inputs_of(predictions));
}

Json job_json(const Job& job, const JobPrediction& predicted, const Catalogue& catalogue) {
  Json json = predictions_json(predicted.predictions);
  json["read"] = read_json(read_of(job, predicted, catalogue));
  return json;
}

}  // namespace lockstep::sim
