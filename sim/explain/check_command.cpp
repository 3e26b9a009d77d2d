#include "sim/explain/check_command.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "calib/import/event_file.hpp"
#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/nccl_debug.hpp"
#include "calib/import/step_trace.hpp"
#include "calib/import/training_log.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/explain/pair_copies.hpp"
#include "sim/explain/transfer.hpp"
#include "sim/job/gpu_name.hpp"

namespace lockstep::sim::explain {
namespace {

using IsGiven = std::function<bool(const std::string&)>;

// Fills facts of a job that the command line leaves out by those of a log.
struct FactsOfLog {
  const IsGiven& is_given;

  template <class Field>
  void operator()(const FieldName& name, Field& ours, Field& logged, Range = {}) {
    if (name.option == nullptr || !is_given(name.option)) ours = logged;
  }
};

void fill_split(GivenSplit& ours, const Json& facts, const IsGiven& is_given) {
  for (const SplitFieldName& field : split_fields()) {
    if (field.record.empty() || is_given(field.option) || ours.has(field.key)) continue;
    const auto fact = facts.contains(field.record) ? facts.find(field.record) : facts.find(field.key);
    if (fact != facts.end()) ours.give(field.key, *fact, field.option);
  }
}

void check_number(const std::string& file, const Json& facts, const char* key, const std::string& option,
                  std::int64_t given) {
  const auto fact = facts.find(key);
  if (given > 0 && fact != facts.end() && fact->get<std::int64_t>() != given)
    throw InputError(file + ": has " + key + " " + fact->dump() + ", and " + option + " " + std::to_string(given) +
                     " is given; allowed: one of the two");
}

JobQuestion question_of_log(const CheckOptions& o, const calib::TrainingLog& log, const IsGiven& is_given) {
  Json facts = log.job;
  const bool names_model = !o.question.job.model.stated.empty();
  check_number(log.file, facts, "gpus", o.defaults.gpus_option, o.question.gpus.empty() ? 0 : o.question.gpus.front());
  check_number(log.file, facts, "global_batch", o.defaults.global_batch_option, o.question.job.global_batch);
  if (names_model)
    for (const char* key : {"params", "layers", "hidden", "heads", "vocab"}) facts.erase(key);
  if (is_given("--batch") || is_given("--accumulation")) facts.erase("global_batch");
  JobQuestion question = o.question;
  Job logged;
  read_job(JsonDocument::parse(facts.dump(), log.file).root(), logged);
  FactsOfLog fill{is_given};
  visit_job_fields(fill, question.job, logged);
  fill_split(question.job.split, facts, is_given);
  if (question.gpus.empty() && facts.contains("gpus")) question.gpus = {facts.at("gpus").get<int>()};
  return question;
}

void fill_defaults(MeasuredStep& step, const MeasuredDefaults& defaults) {
  JobQuestion& question = step.question;
  Job& job = question.job;
  if (job.gpu.stated.empty()) job.gpu.stated = defaults.gpu;
  const bool has_batch = job.batch_per_gpu > 0 || job.global_batch > 0 || job.accumulation > 0;
  if (has_batch || question.gpus.size() != 1) return;
  job.batch_per_gpu = defaults.batch_per_gpu;
  job.accumulation = defaults.accumulation;
  const double samples = defaults.samples_per_gpu * question.gpus.front();
  if (samples == std::floor(samples)) job.global_batch = static_cast<std::int64_t>(samples);
  step.is_batch_assumed = job.batch_per_gpu > 0 || job.global_batch > 0 || job.accumulation > 0;
}

// `ranks` is the size of NCCL's largest communicator in the log, 0 without one.
MeasuredStep step_of(const CheckOptions& o, const calib::TrainingLog& log, const IsGiven& is_given, int ranks) {
  const std::string& file = log.file;
  MeasuredStep step;
  step.file = file;
  step.question = question_of_log(o, log, is_given);
  if (step.question.gpus.empty() && ranks > 0) step.question.gpus = {ranks};
  fill_defaults(step, o.defaults);
  const double seconds = log.steady.median_s;
  (log.unit == calib::StepUnit::step     ? step.seconds
   : log.unit == calib::StepUnit::sample ? step.sample_s
                                         : step.gpu_token_s) = seconds;
  step.scatter = log.steady.spread_s / log.steady.median_s;
  step.logged = log.job;
  step.note = "Steady: " + calib::steady_text(log.steady, log.unit != calib::StepUnit::step);
  if (log.steady.slower_since_line > 0)
    step.note +=
        "; slower from line " + std::to_string(log.steady.slower_since_line) + " to the end, which is compared";
  const double pauses = log.steady.mean_of_all_s / log.steady.median_s - 1;
  if (pauses > 0.01)
    step.note += "; pauses and slow steps add " + short_number(std::round(100 * pauses)) + " % to the mean";
  step.is_mean = log.steps.size() == 1 && !log.said.empty();
  step.precision_is_logged = log.job.contains("precision");
  step.recomputation_is_logged = log.job.contains("recompute");
  return step;
}

void check_complete(const JobQuestion& question, const std::string& what, const MeasuredDefaults& defaults) {
  std::string missing;
  if (question.job.model.stated.empty() && question.job.shape.hidden == 0) missing += " --model";
  if (question.job.gpu.stated.empty()) missing += " --gpu";
  if (question.gpus.size() != 1) missing += " " + defaults.gpus_option;
  if (question.job.batch_per_gpu == 0 && question.job.global_batch == 0 && question.job.accumulation == 0)
    missing += " " + defaults.batch_option;
  if (!missing.empty()) throw InputError(what + ": the job is not complete; also give" + missing);
}

// The GPU as given, else by the name that the log has of it.
std::string gpu_of(const std::string& given, const std::string& logged, const Catalogue& catalogue,
                   const std::string& file, const std::string& otherwise = "") {
  const GpuEntry* const named = read_gpu_name(catalogue.gpus, logged).entry;
  if (given.empty() && named == nullptr && !otherwise.empty()) return otherwise;
  if (given.empty() && named == nullptr)
    throw InputError(file + ": does not name the GPU" + (logged.empty() ? "" : " in words that the catalogue has") +
                     "; allowed: with --gpu");
  if (given.empty()) return named->id;
  const GpuEntry* const ours = read_gpu_name(catalogue.gpus, given).entry;
  if (named != nullptr && ours != nullptr && ours->file.empty() && ours->id != named->id)
    throw InputError(file + ": is of " + logged + ", and --gpu is " + given + " (" + ours->name +
                     "); allowed: leave --gpu out");
  return given;
}

// Standard deviation of log(seconds) among the repetitions of a size: cycles, in place and out of place. Sizes up to
// kLatencyBytes and larger ones are pooled, each by itself.
double scatter_of(const std::map<std::int64_t, std::vector<double>>& seconds, bool is_small) {
  double squares = 0, freedom = 0;
  for (const auto& [bytes, repetitions] : seconds) {
    if ((static_cast<double>(bytes) <= kLatencyBytes) != is_small) continue;
    std::vector<double> logs;
    for (double s : repetitions) logs.push_back(std::log(s));
    const double deviation = standard_deviation(logs), own_freedom = static_cast<double>(logs.size()) - 1;
    squares += deviation * deviation * own_freedom;
    freedom += own_freedom;
  }
  return freedom > 0 ? std::sqrt(squares / freedom) : 0;
}

// Out of place where both were timed, as nccl-tests prints it first; several cycles by their median.
std::vector<MeasuredCollective> collectives_of(const CheckOptions& o, const Catalogue& catalogue,
                                               const std::string& text, const std::string& file,
                                               const calib::NcclFacts& nccl, std::vector<std::string>& left_out) {
  struct Curve {
    std::map<std::int64_t, std::map<bool, double>> medians_s;  ///< by size, and whether in place
    std::map<std::int64_t, std::vector<double>> seconds;
  };
  calib::NcclTestsOptions options{o.operation, o.ranks, o.nodes};
  const bool lists_ranks = text.find("#  Rank ") != std::string::npos || text.find("#   Rank ") != std::string::npos;
  if (!lists_ranks && options.ranks == 0 && nccl.sizes.size() == 1) {
    options.ranks = nccl.largest.ranks;
    if (options.nodes == 0 && !nccl.largest.is_mnnvl) options.nodes = nccl.largest.nodes;
  }
  const calib::Imported log = calib::import_nccl_tests(text, file, options);
  left_out.insert(left_out.end(), log.refused.begin(), log.refused.end());
  std::map<std::pair<std::string, std::pair<int, int>>, Curve> curves;
  for (const calib::Sample& sample : log.samples) {
    const std::string operation = sample.key.value("operation", "send-receive");  // of two GPUs: a copy
    if (!is_checked_operation(operation))
      throw InputError(file + ": is of " + operation + "; allowed: logs of all-reduce, all-gather, reduce-scatter");
    Curve& curve = curves[{operation, {sample.key.at("ranks").get<int>(), sample.key.at("nodes").get<int>()}}];
    const auto bytes = sample.key.at("bytes").get<std::int64_t>();
    curve.medians_s[bytes][sample.key.value("in_place", false)] = median(sample.seconds);
    std::vector<double>& all = curve.seconds[bytes];
    all.insert(all.end(), sample.seconds.begin(), sample.seconds.end());
  }
  const std::string logged = log.device.name == calib::kUnknownGpu ? "" : log.device.name;
  const std::string gpu = gpu_of(o.question.job.gpu.stated, logged, catalogue, file);
  std::vector<MeasuredCollective> all;
  for (const auto& [key, curve] : curves) {
    const auto& [operation, where] = key;
    MeasuredCollective one{file, operation, {}, {}};
    const Job& job = o.question.job;
    one.question.gpu = gpu;
    one.question.link = job.link.stated;
    one.question.network = job.network.stated;
    one.question.gpus = {where.first};
    one.question.gpus_per_node = job.gpus_per_node > 0 ? job.gpus_per_node : where.first / std::max(1, where.second);
    const double scatter = scatter_of(curve.seconds, false), scatter_of_small = scatter_of(curve.seconds, true);
    for (const auto& [bytes, medians_s] : curve.medians_s)
      if (bytes > 0)
        one.points.push_back({bytes, medians_s.begin()->second,
                              static_cast<double>(bytes) <= kLatencyBytes ? scatter_of_small : scatter});
    if (!one.points.empty()) all.push_back(one);
  }
  return all;
}

MeasuredStep traced_step_of(const CheckOptions& o, std::vector<calib::StepTrace> ranks, const Catalogue& catalogue) {
  MeasuredStep step;
  step.traced = join_ranks(std::move(ranks));
  const calib::StepTrace& first = step.traced.ranks.front();
  step.file = first.file;
  step.question = o.question;
  step.question.job.gpu.stated = gpu_of(o.question.job.gpu.stated, first.gpu, catalogue, first.file, o.defaults.gpu);
  if (first.world_size > 1) {
    step.logged = {{"gpus", first.world_size}};
    check_number(first.file, step.logged, "gpus", o.defaults.gpus_option,
                 o.question.gpus.empty() ? 0 : o.question.gpus.front());
    step.question.gpus = {first.world_size};
  } else if (step.question.gpus.empty() && o.defaults.is_of_one_gpu) {
    step.question.gpus = {1};
  }
  fill_defaults(step, o.defaults);
  check_complete(step.question, first.file, o.defaults);
  step.seconds = step.traced.seconds();
  step.scatter = step.traced.scatter();
  const std::size_t steps = first.steps.size(), traced = step.traced.ranks.size();
  step.note = "Traced: step " + std::to_string(step.traced.step) + ", whose duration is the median of " +
              std::to_string(steps) + (steps == 1 ? " step, on " : " steps, on ") + std::to_string(traced) + " of " +
              std::to_string(step.question.gpus.front()) + " GPUs";
  return step;
}

// nccl-tests prints the bus bandwidth, and trainings do not.
bool is_nccl_tests(const std::string& text) {
  return text.find("busbw") != std::string::npos || text.find("nccl-tests") != std::string::npos ||
         text.find("rccl-tests") != std::string::npos;
}

// A file is read as the output of one program. Says which other output it has.
void note_other_programs(const std::string& text, const std::string& file, std::vector<std::string>& left_out) {
  std::vector<std::string> programs;  // in the order in which read_measurements() decides
  if (calib::is_torch_trace(text)) return;
  if (calib::is_perftest(text)) programs.emplace_back("perftest");
  if (calib::is_p2p_bandwidth(text)) programs.emplace_back("p2pBandwidthLatencyTest");
  if (is_nccl_tests(text)) programs.emplace_back("nccl-tests");
  for (std::size_t i = 1; i < programs.size(); ++i)
    left_out.push_back(file + ": the output of " + programs[i] + ", because it also has that of " + programs.front() +
                       "; give each program a file of its own");
}

// The machine of a collective follows from these options; all others describe a training.
bool is_of_machine(const std::string& option) {
  return option == "--gpu" || option == "--link" || option == "--network" || option == "--gpus-per-node";
}

struct GivenOptions {
  const IsGiven& is_given;
  std::vector<std::string>& names;

  template <class Field>
  void operator()(const FieldName& name, Field&, Field&, Range = {}) {
    if (name.option != nullptr && !is_of_machine(name.option) && is_given(name.option)) names.push_back(name.option);
  }
};

// Refuses options of a training if only collectives and copies were measured.
void check_options(const Measurements& measured, const IsGiven& is_given) {
  if (!measured.steps.empty()) return;
  std::vector<std::string> names;
  GivenOptions given{is_given, names};
  Job a, b;
  visit_job_fields(given, a, b);
  for (const SplitFieldName& field : split_fields())
    if (!field.option.empty() && is_given(field.option)) names.push_back(field.option);
  if (is_given("--gpus")) names.emplace_back("--gpus");
  if (names.empty()) return;
  throw InputError(joined(names) + ": the files have no training, only collectives or copies, which do not depend on " +
                   (names.size() == 1 ? "it" : "them") +
                   "; allowed: without, or with the log of a training or --step-time");
}

}  // namespace

// Returns the file as a training log; none: it only has lines of NCCL, among others.
std::optional<calib::TrainingLog> training_log_of(const std::string& text, const std::string& file) {
  if (calib::is_nccl_debug_file(text)) return std::nullopt;
  try {
    return calib::read_training_log(text, file);
  } catch (const InputError&) {
    if (!calib::has_nccl_lines(text)) throw;
    return std::nullopt;
  }
}

Measurements read_measurements(const CheckOptions& o, const Catalogue& catalogue, const IsGiven& is_given) {
  Measurements measured;
  std::vector<calib::StepTrace> ranks;
  for (const std::string& file : o.files) {
    const std::string bytes = calib::log_bytes(file);
    const bool is_event_file = calib::is_event_file(bytes);
    const std::string text = is_event_file ? "" : calib::text_from(bytes, file);
    calib::NcclFacts nccl;
    if (calib::has_nccl_lines(text)) {
      nccl = calib::read_nccl_debug(text);
      measured.nccl.push_back({file, nccl});
    }
    if (!is_event_file) note_other_programs(text, file, measured.left_out);
    if (is_event_file) {
      measured.steps.push_back(step_of(o, calib::read_event_log(bytes, file), is_given, 0));
      check_complete(measured.steps.back().question, file, o.defaults);
    } else if (calib::is_torch_trace(text)) {
      ranks.push_back(calib::read_step_trace(text, file));
    } else if (calib::is_perftest(text)) {
      const Job& job = o.question.job;
      const std::vector<MeasuredCollective> transfers =
          measured_transfers(text, file, job.network.stated, job.gpus_per_node, catalogue);
      measured.collectives.insert(measured.collectives.end(), transfers.begin(), transfers.end());
    } else if (calib::is_p2p_bandwidth(text)) {
      const Job& job = o.question.job;
      const std::string logged = calib::import_p2p_bandwidth(text, file).device.name;
      const CheckedMachine machine{gpu_of(job.gpu.stated, logged == calib::kUnknownGpu ? "" : logged, catalogue, file),
                                   job.link.stated};
      const std::vector<MeasuredCollective> pairs = measured_pairs(text, file, machine, catalogue);
      measured.collectives.insert(measured.collectives.end(), pairs.begin(), pairs.end());
    } else if (is_nccl_tests(text)) {
      const std::vector<MeasuredCollective> collectives =
          collectives_of(o, catalogue, text, file, nccl, measured.left_out);
      measured.collectives.insert(measured.collectives.end(), collectives.begin(), collectives.end());
    } else if (const std::optional<calib::TrainingLog> log = training_log_of(text, file)) {
      measured.steps.push_back(step_of(o, *log, is_given, nccl.largest.ranks));
      check_complete(measured.steps.back().question, file, o.defaults);
    }
  }
  if (!ranks.empty()) measured.steps.push_back(traced_step_of(o, std::move(ranks), catalogue));
  if (o.step_time_s) {
    MeasuredStep step;
    step.file = "--step-time";
    step.question = o.question;
    step.seconds = *o.step_time_s;
    step.is_mean = true;
    check_complete(step.question, "--step-time", o.defaults);
    measured.steps.push_back(step);
  }
  if (measured.collectives.empty() && measured.steps.empty())
    throw InputError("calibrate check: nothing measured; allowed: FILE..., or --step-time SECONDS");
  return measured;
}

std::optional<Measurements> read_good_log(const CheckOptions& o, const Catalogue& catalogue, const IsGiven& is_given) {
  if (o.good_file.empty()) return std::nullopt;
  CheckOptions good = o;
  good.files = {o.good_file};
  good.step_time_s.reset();
  return read_measurements(good, catalogue, is_given);
}

CLI::App* declare_check(CLI::App& app, CheckOptions& o) {
  CLI::App* const sub = app.add_subcommand(
      "check",
      "Compares logs of nccl-tests and perftest, logs or traces of trainings with their prediction, and names causes");
  sub->add_option("files", o.files,
                  "Logs of nccl-tests, rccl-tests, perftest (ib_write_bw), p2pBandwidthLatencyTest, or of trainings; "
                  "PyTorch profiler traces, of a job one "
                  "for each rank; files with NCCL's lines (NCCL_DEBUG=INFO)");
  sub->add_option("--against", o.good_file,
                  "Log of a good machine or job of the same kind, which is the expectation in place of the prediction");
  sub->add_option("--step-time", o.step_time_s, "Seconds of an iteration, instead of a log")
      ->check(number_between(1e-6, 1e6));
  api::declare_job(*sub, o.question);
  api::declare_gpu_counts(*sub, o.question, "Number of GPUs of the training, where its log does not have it")
      ->expected(1);
  sub->add_option("--operation", o.operation, "nccl-tests: the collective, where the log does not say")
      ->check(CLI::IsMember({"all-reduce", "all-gather", "reduce-scatter"}));
  sub->add_option("--ranks", o.ranks, "nccl-tests: GPUs, where the log does not list them")
      ->check(CLI::Range(2, 1 << 20));
  sub->add_option("--nodes", o.nodes, "nccl-tests: number of nodes, if the log does not list hosts")
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--at-least", o.least,
                  "Exit code 0 if the measured speed is at least this share of the expected one (default: if it is not "
                  "below the 80 % prediction interval)")
      ->check(number_between(1e-3, 10.0));
  sub->add_option("--json", o.json, "Writes the result (schema lockstep/check/1); - is standard output");
  sub->add_option("--html", o.html, "Writes the result as a page, of traces with timelines");
  sub->add_option("--catalogue", o.catalogue, "Folder of the names and constants (default: installed)");
  sub->footer("Example:\n  calibrate check all_reduce.log --network \"8x 400 Gb/s InfiniBand\"");
  return sub;
}

int answer_check(const CheckOptions& o, CLI::App& app, int jobs, const std::vector<std::string>& argv) {
  std::vector<std::string> inputs = o.files;
  if (!o.good_file.empty()) inputs.push_back(o.good_file);
  check_outputs({o.json, o.html}, inputs);
  const std::string folder = o.catalogue.empty() ? default_catalogue_folder() : o.catalogue;
  Catalogue catalogue = load_catalogue(folder);
  add_gpus_of_files(catalogue, {o.question.job.gpu.stated});
  const auto is_given = [&app](const std::string& name) {
    const CLI::Option* option = name.empty() ? nullptr : app.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  };
  const Measurements measured = read_measurements(o, catalogue, is_given);
  check_options(measured, is_given);
  for (const std::string& why : measured.left_out) std::fprintf(stderr, "calibrate: left out: %s\n", why.c_str());
  const CheckResult result = check(measured, catalogue, jobs, read_good_log(o, catalogue, is_given));
  if (!o.json.empty()) {
    Json json = check_json(result, o.least);
    std::map<std::string, std::string> hashes;
    for (const std::string& file : inputs) hashes[file] = sha256_file(file);
    json["provenance"] = provenance(argv, Cluster::network_model(), hashes);
    write_json_atomically(o.json, json, 2);
  }
  if (!o.html.empty()) write_file_atomically(o.html, check_page(result, o.least));
  print_result(o.json, check_text(result, o.least));
  return result.is_accepted(o.least) ? 0 : 1;
}

}  // namespace lockstep::sim::explain
