#include "tests/laws/command_job.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "sim/api/answers.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/job_prediction/job_split.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/replica/rank_cost.hpp"
#include "sim/report/result.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catalogue/catalogue.hpp"

namespace lockstep::tests {

CommandJob& CommandJob::give(const std::string& option, const std::string& value) {
  for (auto& [name, given] : options_)
    if (name == option) {
      given = value;
      return *this;
    }
  options_.emplace_back(option, value);
  return *this;
}

CommandJob& CommandJob::give(const std::string& option, double value) {
  return give(option, value == std::floor(value) ? std::to_string(static_cast<std::int64_t>(value))
                                                 : formatted("%.17g", value));
}

CommandJob& CommandJob::leave_out(const std::string& option) {
  options_.erase(std::remove_if(options_.begin(), options_.end(), [&](const auto& one) { return one.first == option; }),
                 options_.end());
  return *this;
}

std::string CommandJob::value(const std::string& option) const {
  for (const auto& [name, value] : options_)
    if (name == option) return value;
  return "";
}

bool CommandJob::has(const std::string& option) const {
  return std::any_of(options_.begin(), options_.end(), [&](const auto& one) { return one.first == option; });
}

std::string CommandJob::command(const std::string& program) const {
  std::string text = program;
  for (const auto& [name, value] : options_) {
    text += " " + name;
    if (value.empty()) continue;
    const char* const quote = value.find('"') != std::string::npos   ? "'"
                              : value.find(' ') != std::string::npos ? "\""
                                                                     : "";
    text += " " + (quote + value + quote);
  }
  return text;
}

Json CommandJob::options() const {
  Json options = Json::object();
  for (const auto& [name, value] : options_) {
    std::string key = name.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    options[key] = value.empty() ? Json(true) : Json(value);
  }
  return options;
}

sim::JobQuestion CommandJob::question() const {
  return sim::read_job_question(options());
}

sim::JobPrediction predict(const CommandJob& job) {
  if (std::getenv("LOCKSTEP_LAW_TRACE") != nullptr) std::fprintf(stderr, "%s\n", job.command().c_str());
  try {
    if (!sim::is_gpu_file(job.value("--gpu"))) return sim::predict_job(job.question(), catalogue(), 0);
    sim::Catalogue with_file = catalogue();
    sim::add_gpus_of_files(with_file, {job.value("--gpu")});
    return sim::predict_job(job.question(), with_file, 0);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(job.command() + "\n  " + error.what());
  }
}

JobAnswer answer(const CommandJob& job) {
  const sim::JobPrediction predicted = predict(job);
  const sim::JobRow& row = predicted.largest();
  const sim::Workload& run = row.samples_per_s.task.target.front();
  JobAnswer answer;
  answer.gpus = row.gpus;
  answer.samples_per_s = row.samples_per_s.predicted;
  answer.low = row.samples_per_s.low;
  answer.high = row.samples_per_s.high;
  answer.samples_per_iteration = run.samples() * run.accumulation;
  answer.memory_bytes = static_cast<double>(sim::gpu_memory(run.scenario, run.gpus, run.batch_per_gpu).total_bytes());
  answer.kernels = run.scenario.compute.kernels.gpus;
  for (const Assumption& input : row.samples_per_s.task.assumptions)
    for (const sim::GpuEntry& gpu : catalogue().gpus)
      if (input.pointer.rfind("speed/" + gpu.id + "/", 0) == 0) answer.speed_constant = input.pointer;
  const double peak = sim::utilisation_peak_flops(run.scenario.cluster.gpu, run.scenario.compute.precision);
  if (peak > 0 && run.scenario.model.tokens > 0)
    answer.mfu = sim::model_flops_per_gpu(run.scenario, answer.samples_per_s, row.gpus) / peak;
  return answer;
}

namespace {

struct PassTimes {
  std::vector<double> passes_s;  // forward and backward, of each layer of a split, or of all layers together
  double attention_s = 0;        // of kernels alone, which wait for no processor
};

double attention_s(const sim::Workload& run) {
  const sim::Scenario& scenario = run.scenario;
  sim::DeviceCost device = sim::describe_device(scenario);
  device.host_launch_s = 0;
  const sim::ModelCost cost = sim::roofline_cost(scenario.model, device, scenario.compute.optimizer, run.batch_per_gpu);
  double seconds = 0;
  for (std::size_t i = 0; i < cost.layers.size(); ++i)
    if (scenario.model.layers[i].kind == model::LayerKind::attention)
      seconds += cost.layers[i].forward_s + cost.layers[i].backward_s;
  return seconds;
}

PassTimes pass_times(const CommandJob& job) {
  const sim::JobPrediction predicted = predict(job);
  const sim::Workload& run = predicted.largest().samples_per_s.task.target.front();
  PassTimes times{{}, attention_s(run)};
  if (run.scenario.parallel) {
    const sim::RankSeconds rank = sim::rank_seconds(run.scenario, sim::split_job(run.scenario, run.gpus));
    std::vector<sim::BlockSeconds> all = rank.blocks;
    all.insert(all.end(), {rank.embedding, rank.loss});
    for (const sim::BlockSeconds& one : all)
      times.passes_s.insert(times.passes_s.end(), {one.forward_s, one.backward_s});
    return times;
  }
  const sim::ModelCost cost = sim::model_cost(run.scenario, run.batch_per_gpu);
  times.passes_s = {cost.forward_s(), cost.backward_s()};
  return times;
}

}  // namespace

double slowdown_by_kernels(const CommandJob& first, const CommandJob& second) {
  if (answer(second).kernels.empty()) return 0;
  const PassTimes before = pass_times(first), after = pass_times(second);
  if (after.attention_s > before.attention_s * (1 + 1e-9)) return 0;
  double most = 0;
  for (std::size_t i = 0; i < before.passes_s.size(); ++i)
    if (before.passes_s[i] > 0) most = std::max(most, after.passes_s[i] / before.passes_s[i] - 1);
  return most;
}

sim::PointResult replay_scenario(const CommandJob& job) {
  const TemporaryFolder folder;
  const std::string path = folder.write("job.json", sim::job_scenario(predict(job), catalogue()).dump());
  return sim::predict(sim::load_scenario(path, {}), 1, {}).points.at(0).point;
}

}  // namespace lockstep::tests
