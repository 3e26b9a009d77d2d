#include "sim/job_prediction/job_question.hpp"
#include "sim/job_prediction/batch_ramp.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/json.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job/sized_name.hpp"
#include "sim/job_prediction/carried_rate.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

void check_mlperf_target(const JobQuestion& q, int works) {
  if (!q.trains_to_mlperf_target || q.has_whole_replicas) return;
  if (works > 0 || q.job.epochs > 0)
    throw InputError(
        "--mlperf-target: the work is given twice; allowed: without --epochs, --tokens, --samples and others");
  if (q.job.global_batch == 0)
    throw InputError("--mlperf-target: the samples to the target depend on the batch; allowed: with --global-batch");
}

void check_numbers(const JobQuestion& q, const Catalogue& catalogue) {
  if (q.is_split() && q.job.batch_per_gpu > 0 && q.job.global_batch > 0)
    throw InputError("--batch: --global-batch says it too; allowed: one of them, and --micro-batch");
  std::vector<std::string> given;
  for (const auto& [option, is_given] :
       {std::pair("--tokens", q.tokens > 0 && !q.derives_tokens), std::pair("--samples", q.samples > 0),
        std::pair("--loss", q.loss > 0), std::pair("--flops", q.flops > 0)})
    if (is_given) given.emplace_back(option);
  const int works = static_cast<int>(given.size());
  check_mlperf_target(q, works);
  if (works > 1)
    throw InputError(joined(given) + ": the work is given " + (works == 2 ? "twice" : "several times") +
                     "; allowed: one of --tokens, --samples, --loss, --flops");
  if (!q.batch_ramp.empty() && works == 0)
    throw InputError("--batch-ramp: the work is not given; allowed: with --tokens, --samples, --loss or --flops");
  if (!q.batch_ramp.empty() && q.job.global_batch > 0) (void)read_batch_ramp(q.batch_ramp, q.job.global_batch);
  if (q.samples > 0 && q.job.epochs > 0)
    throw InputError("--samples: --epochs says how much is trained, too; allowed: one of the two");
  if (q.usd_per_gpu_hour > 0 && works == 0 && q.job.epochs == 0 && !q.trains_to_mlperf_target)
    throw InputError(
        "--price: the work is not given; allowed: with --epochs, --samples, or of sequences --tokens, --loss, --flops");
  if (q.rate_samples_per_s > 0 && q.job.batch_per_gpu == 0)
    throw InputError("--rate: at which batch it was measured is not said; allowed: with --batch");
  if (!q.rate_gpu.empty() && q.rate_samples_per_s == 0)
    throw InputError("--rate-gpu: which rate was measured on it is not said; allowed: with --rate");
  const bool has_step = q.step.seconds > 0 || q.fitted_step;
  for (const auto& [option, is_given] :
       {std::pair("--step-gpus", q.step.gpus > 0), std::pair("--step-batch", q.step.global_batch > 0),
        std::pair("--step-gpu", !q.step.gpu.empty()), std::pair("--step-network", !q.step.network.empty())})
    if (is_given && !has_step)
      throw InputError(std::string(option) + ": the measured time is not given; allowed: with --step-time");
  if (has_step && q.rate_samples_per_s > 0)
    throw InputError("--step-time: --rate says how fast the GPU computes, too; allowed: one of them");
  check_whole_nodes(q.gpus, joined_gpus_of(q, catalogue));
}

// Returns the id of the user's model. A model given as a JSON object on the command line has no file name for it.
std::string id_of_own_model(const std::string& stated, model::ModelNameKind kind, const model::Graph& graph) {
  if (kind != model::ModelNameKind::object) return stated;
  if (!graph.transformer) return graph.name;
  const model::TransformerSpec& spec = graph.transformer->spec;
  return spec.name + "_" + std::to_string(spec.layers) + "x" + std::to_string(spec.hidden);
}

// Appends the length of sequences (--seq-length) to the model's name, where the catalogue and model files expect it.
void name_sequence_length(Job& job) {
  const int length = std::exchange(job.shape.sequence, 0);
  if (length == 0) return;
  std::string& name = job.model.stated;
  const std::string tokens = split_sized_name(name).tokens;
  if (tokens.empty())
    name += "@" + std::to_string(length);
  else if (tokens != std::to_string(length))
    throw InputError("--seq-length " + std::to_string(length) + ": --model " + name +
                     " gives another length; allowed: one of the two");
}

// Builds the model from the user's model file or HuggingFace configuration. "config.json@4096" sets the length of a
// sequence.
void build_own_model(Job& job) {
  const std::string& file = job.model.stated;
  const model::ModelNameKind kind = model::kind_of_model_name(file);
  if (kind == model::ModelNameKind::zoo) return;
  std::map<std::string, std::string> inputs;
  auto own = std::make_shared<OwnModel>();
  own->graph = model::graph_of(file, inputs);
  own->entry.id = id_of_own_model(file, kind, own->graph);
  own->entry.tokens = own->graph.tokens;
  if (own->graph.transformer) own->architecture = own->graph.transformer->spec.name;
  const bool has_length =
      kind == model::ModelNameKind::sized_file || (kind == model::ModelNameKind::object && file.back() != '}');
  if (own->graph.tokens > 0 && !has_length)
    job.record_default("tokens of a sequence",
                       std::to_string(own->graph.tokens) + " by the file, which may be its context");
  job.own_model = own;
}

std::string list_text(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

int JobQuestion::largest() const {
  return *std::max_element(gpus.begin(), gpus.end());
}

int JobQuestion::baseline_gpus() const {
  return is_split() ? *std::min_element(gpus.begin(), gpus.end()) : 1;
}

bool JobQuestion::is_split() const {
  const GivenSplit& split = job.split;
  return split.is_searched || split.is_requested || !split.keys.empty() || job.global_batch > 0;
}

int gpus_per_node_of(const Job& job, const Catalogue& catalogue) {
  const GpuEntry* gpu = read_gpu_name(catalogue.gpus, job.gpu.stated).entry;
  if (job.gpus_per_node > 0) return job.gpus_per_node;
  if (gpu == nullptr) return kUsualGpusPerNode;
  return gpu->gpus_per_tray > 0 ? joined_node_of(job, {}, catalogue).gpus : gpu->gpus_per_node;
}

int joined_gpus_of(const JobQuestion& question, const Catalogue& catalogue) {
  Job job;
  job.gpu = question.job.gpu;
  job.network = question.job.network;
  job.link = question.job.link;
  job.gpus_per_node = question.job.gpus_per_node;
  const int joined = joined_node_of(job, question.gpus, catalogue).gpus;
  return joined > 0 ? joined : gpus_per_node_of(question.job, catalogue);
}

JobQuestion with_gpus_of_nodes(JobQuestion question, const Catalogue& catalogue) {
  if (question.nodes.empty()) return question;
  const std::vector<int> nodes = std::exchange(question.nodes, {});
  const bool has_both = !question.gpus.empty();
  const bool is_open = question.job.gpus_per_node == 0;
  const int usual = gpus_per_node_of(question.job, catalogue);
  int of_node = usual;
  if (has_both && is_open && question.gpus.front() % nodes.front() == 0)
    of_node = std::min(usual, question.gpus.front() / nodes.front());
  std::vector<int> gpus;
  for (const int count : nodes) {
    if (count > kMostGpus / of_node)
      throw InputError("--nodes " + std::to_string(count) + ": more than " + std::to_string(kMostGpus) + " GPUs at " +
                       std::to_string(of_node) + " GPUs per node; allowed: up to " +
                       std::to_string(kMostGpus / of_node) + " nodes");
    gpus.push_back(count * of_node);
  }
  if (has_both && gpus != question.gpus)
    throw InputError("--nodes " + list_text(nodes) + ": at " + std::to_string(of_node) + " GPUs per node these are " +
                     list_text(gpus) + " GPUs, but --gpus is " + list_text(question.gpus) +
                     "; allowed: one of the two, or another --gpus-per-node");
  if (of_node != usual) question.job.gpus_per_node = of_node;
  question.gpus = gpus;
  return question;
}

void check_whole_nodes(const std::vector<int>& gpus, int gpus_per_node) {
  for (int n : gpus)
    if (n > gpus_per_node && n % gpus_per_node != 0)
      throw InputError("--gpus: " + std::to_string(n) + " GPUs do not fill whole nodes; allowed: up to " +
                       std::to_string(gpus_per_node) + ", or a multiple of it");
}

Job resolve_job(const JobQuestion& question, const Catalogue& catalogue) {
  check_numbers(question, catalogue);
  Job job = question.job;
  name_sequence_length(job);
  build_own_model(job);
  if (job.software.stated.empty()) job.software.stated = usual_software(job.split);
  job.gpus = question.largest();
  // Networks given "per GPU", and join_nodes(), need the GPUs per node.
  if (job.gpus_per_node == 0) job.gpus_per_node = joined_gpus_of(question, catalogue);
  if (!job.decodes_on_host)
    job.record_default("input", "with --decodes-on-host what the nodes' processors decode is a limit");
  job.split.is_requested = question.is_split();
  resolve_names(job, catalogue);
  check_names(job, catalogue);
  join_nodes(job, question.gpus, catalogue);
  job.gpus_per_node = std::min(job.gpus, job.gpus_per_node);
  if (question.rate_samples_per_s > 0) {
    std::optional<Precision> precision;
    if (job.precision) precision = layers_precision(*job.precision);
    MeasuredRun rate{"rate of one GPU", 1, job.batch_per_gpu, question.rate_samples_per_s, precision, 0, false};
    if (!question.rate_gpu.empty()) {
      const CarriedRate carried = carry_rate(question, catalogue);
      if (carried.gpu != job.gpu.id) {
        rate.samples_per_s_per_gpu = carried.samples_per_s;
        rate.of_gpu = carried.gpu;
      }
    }
    job.measured.push_back(rate);
  }
  return job;
}

}  // namespace lockstep::sim::job_prediction
