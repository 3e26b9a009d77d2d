// simulate: predicts throughput and time to accuracy of a scenario. See --help.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "engine/base/json_file.hpp"
#include "engine/base/log.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/api/all_reduce_options.hpp"
#include "sim/api/convergence_options.hpp"
#include "sim/api/job_command.hpp"
#include "sim/api/kernel_options.hpp"
#include "sim/api/loss_options.hpp"
#include "sim/api/names.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job_prediction/algorithm_template.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/launch/from_option.hpp"
#include "sim/report/expectation.hpp"
#include "sim/report/html.hpp"
#include "sim/report/optimise.hpp"
#include "sim/report/result.hpp"
#include "sim/report/split_ranking.hpp"
#include "sim/report/trace_file.hpp"
#include "sim/scenario/format_documents.hpp"
#include "sim/validation/suite.hpp"

namespace {

using namespace lockstep;

struct Options {
  std::string scenario;
  std::vector<int> gpus;
  std::string fidelity;
  std::optional<std::int64_t> seed;
  std::vector<std::string> settings, expectations;
  std::string json, csv, html, trace, layers;
  std::vector<int> trace_gpus;
  std::optional<double> dump_links_s;
  std::string records, catalogue;
  std::string optimise;
  std::string show_model;
  std::string show_schema;
  std::string scenario_template;
  bool list_models = false;
  bool ignore_memory = false;
  int jobs = 0;
};

constexpr const char* kSplit = "split";

std::vector<std::string> optimised_settings() {
  std::vector<std::string> settings = sim::optimise_targets();
  settings.emplace_back(kSplit);
  return settings;
}

// Declares --quiet and --log, which the program and each of its commands take.
void declare_reporting(CLI::App& app) {
  app.add_flag("--quiet", "No progress line");
  app.add_option_function<std::string>(
         "--log", [](const std::string& level) { set_log_level(*find_choice<LogLevel>(level)); },
         "Writes to standard error what was decided, why, and how long it took: info or debug")
      ->check(CLI::IsMember(choice_names<LogLevel>()));
}

void declare(CLI::App& app, Options& o) {
  app.footer("Example:\n  simulate scenarios/imagenet_64k.json --gpus 512,1024,2048 --json result.json");
  // The name is in capitals because CLI11 2.4 (Debian 13) refuses "job --scenario" if a positional has its name.
  app.add_option("SCENARIO", o.scenario, "Scenario file (JSON)");
  app.add_option("--gpus", o.gpus, "GPU counts, instead of the scenario's")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, sim::kMostGpus));
  app.add_option("--fidelity", o.fidelity, "message, fast or analytic")
      ->check(CLI::IsMember({"message", "fast", "analytic"}));
  app.add_option("--seed", o.seed, "Seed of the jitter, and of when asynchronous workers begin")->check(seed_check());
  app.add_option("--set", o.settings, "Overrides one value: /json/pointer=value (repeatable)")->allow_extra_args(false);
  app.add_option("--json", o.json, "Writes the result (schema lockstep/result/1); - is standard output");
  app.add_option("--csv", o.csv, "Writes one row per GPU count");
  app.add_option("--html", o.html, "Writes a page with charts and tables, one file that opens offline");
  app.add_option("--trace", o.trace, "Writes the largest point's timeline as Chrome trace events (for Perfetto)");
  app.add_option("--layers", o.layers,
                 "Writes the times of every layer on a GPU, a row each, at the batch of the largest number of GPUs");
  app.add_option("--trace-gpus", o.trace_gpus, "GPUs in the trace (default: the first 16 and the last)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, sim::kMostGpus - 1));
  app.add_option("--dump-links", o.dump_links_s,
                 "Lists links, their loads and messages at a time (s) of the largest point's replay, for debugging")
      ->check(number_between(0, 1e9));
  app.add_option("--jobs", o.jobs, "Simulations at a time (default: the number of cores)")->check(CLI::Range(1, 1024));
  app.add_option("--predict", o.records, "Predicts the records of published results in a file (JSON), no scenario");
  app.add_option("--catalogue", o.catalogue, "Folder of the names and constants for --predict (default: installed)");
  app.add_option("--optimise", o.optimise, "Searches a setting for the least time to the target; split: the fastest")
      ->check(CLI::IsMember(optimised_settings()));
  app.add_option("--schema", o.show_schema, "Prints the JSON Schema of a file's format")
      ->check(CLI::IsMember({"scenario", "cluster"}));
  app.add_option("--scenario-template", o.scenario_template,
                 "Prints a scenario to start from that trains by this algorithm, such as local-sgd, and runs as it is");
  app.add_flag("--list-models", o.list_models, "Lists the built-in models");
  app.add_option("--show-model", o.show_model,
                 "Shows a model layer by layer: a built-in one, or a .json file of your own");
  sim::declare_expectations(app, o.expectations);
  app.add_flag("--ignore-memory", o.ignore_memory, "Predicts what does not fit into a GPU's memory, too");
  declare_reporting(app);
}

std::vector<std::pair<std::string, std::string>> settings_of(const Options& o) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const std::string& text : o.settings) {
    const std::size_t equals = text.find('=');
    if (text.empty() || text[0] != '/' || equals == std::string::npos)
      throw InputError("--set " + text + ": not a setting; allowed: /json/pointer=value");
    settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (!o.fidelity.empty()) settings.emplace_back("/fidelity", o.fidelity);
  if (o.seed) settings.emplace_back("/seed", std::to_string(*o.seed));
  if (o.ignore_memory) settings.emplace_back("/ignore_memory", "true");
  return settings;
}

// Returns the requested GPUs, or else traced_gpus(), for the largest point.
std::vector<int> trace_gpus_of(const Options& o, const sim::Scenario& scenario) {
  if (o.trace.empty() && !o.trace_gpus.empty())
    throw InputError("--trace-gpus: no trace is asked for; allowed: beside --trace FILE");
  if (o.trace.empty()) return {};
  if (scenario.fidelity == sim::Fidelity::analytic && !sim::is_split(scenario))
    throw InputError("--trace " + o.trace + ": fidelity analytic has no timeline; allowed: message, fast");
  const int largest = *std::max_element(scenario.gpus.begin(), scenario.gpus.end());
  for (int gpu : o.trace_gpus)
    if (gpu >= largest)
      throw InputError("--trace-gpus " + std::to_string(gpu) + ": no such GPU; allowed: 0 to " +
                       std::to_string(largest - 1));
  if (o.trace_gpus.empty()) return sim::traced_gpus(scenario, largest);
  const std::set<int> each(o.trace_gpus.begin(), o.trace_gpus.end());
  return {each.begin(), each.end()};
}

void check_dump(const sim::Scenario& scenario) {
  if (scenario.fidelity != sim::Fidelity::fast || scenario.workers || sim::is_split(scenario))
    throw InputError(
        "--dump-links: links are listed where all GPUs run one program, by fidelity fast; allowed: "
        "--fidelity fast, no split, no backup workers, no asynchronous workers");
}

int all_cores() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int jobs_of(const Options& o) {
  return o.jobs > 0 ? o.jobs : all_cores();
}

void check_outputs_beside(const sim::LoadedScenario& loaded, const Options& o) {
  std::vector<std::string> inputs;
  for (const auto& [path, digest] : loaded.inputs) inputs.push_back(path);
  check_outputs({o.json, o.csv, o.html, o.trace, o.layers}, inputs);
}

sim::LoadedScenario load_scenario(const Options& o) {
  return sim::load_scenario(o.scenario, settings_of(o), o.gpus);
}

int simulate(const Options& o, const std::vector<std::string>& argv) {
  const std::vector<sim::Expectation> expectations = sim::read_expectations(o.expectations);
  const sim::LoadedScenario loaded = load_scenario(o);
  sim::TraceRequest trace{trace_gpus_of(o, loaded.variants.front()), {}, o.dump_links_s};
  if (o.dump_links_s) check_dump(loaded.variants.front());
  check_outputs_beside(loaded, o);
  sim::check_memory(loaded, o.scenario);
  std::optional<sim::TraceFile> trace_file;
  if (!o.trace.empty()) trace.sink = trace_file.emplace(o.trace).sink();
  const sim::Report report = sim::predict(loaded, jobs_of(o), trace);
  const sim::ExpectationResult expected =
      expectations.empty() ? sim::ExpectationResult()
                           : sim::check_expectations(expectations, sim::rows_of_points(sim::result_json(report, argv)));
  if (!o.json.empty()) write_json_atomically(o.json, sim::result_json(report, argv), 2);
  if (!o.html.empty()) write_file_atomically(o.html, sim::html_page(sim::result_json(report, argv)));
  if (!o.csv.empty()) write_file_atomically(o.csv, sim::csv_text(report));
  if (trace_file) trace_file->finish();
  if (!o.layers.empty()) {
    const sim::Scenario& first = loaded.variants.front();
    write_file_atomically(
        o.layers, sim::layers_csv(first, first.batch_at(*std::max_element(first.gpus.begin(), first.gpus.end()))));
  }
  print_result(o.json, sim::table_text(report) + expected.text);
  sim::print_failures(expected, o.json);
  return expected.exit_code();
}

void predict_from_records(const Options& o) {
  if (!o.scenario.empty())
    throw InputError("--predict " + o.records + ": no scenario beside it; allowed: --predict RECORDS.json alone");
  const JsonDocument document = JsonDocument::load(o.records);
  const std::vector<sim::Record> records = sim::read_records(document, sim::BadRecords::keep);
  check_outputs({o.json}, {o.records});
  const std::string folder = o.catalogue.empty() ? sim::default_catalogue_folder() : o.catalogue;
  const sim::Catalogue catalogue = sim::load_catalogue(folder);
  const std::vector<sim::Prediction> predictions = sim::predict_records(
      sim::targets_of(records), sim::with_known_facts(records, folder + "/../published"), catalogue, jobs_of(o));
  if (!o.json.empty()) write_json_atomically(o.json, sim::predictions_json(predictions), 2);
  print_result(o.json, sim::predictions_table(predictions));
}

sim::LoadedScenario load_scenario_to_search(const Options& o) {
  sim::LoadedScenario loaded = load_scenario(o);
  if (loaded.shares_cluster)
    throw InputError("--optimise " + o.optimise + ": " + o.scenario +
                     " has \"jobs\" or \"background\", which a search does not predict; allowed: without them");
  return loaded;
}

void search(const Options& o, const std::vector<std::string>& argv) {
  const sim::LoadedScenario loaded = load_scenario_to_search(o);
  check_outputs_beside(loaded, o);
  const std::vector<sim::Optimisation> curves = sim::optimise(loaded, o.optimise, jobs_of(o));
  if (!o.json.empty()) write_json_atomically(o.json, sim::optimisation_json(loaded, curves, argv), 2);
  print_result(o.json, sim::optimisation_text(curves));
}

void search_splits(const Options& o, const std::vector<std::string>& argv) {
  const sim::LoadedScenario loaded = load_scenario_to_search(o);
  check_outputs_beside(loaded, o);
  const std::vector<sim::RankedVariant> rankings = sim::rank_splits(loaded);
  if (!o.json.empty()) write_json_atomically(o.json, sim::split_rankings_json(loaded, rankings, argv), 2);
  print_result(o.json, sim::split_rankings_text(loaded, rankings));
}

struct JobOptions {
  sim::JobCommand command;
  sim::FromOptions from;
  std::string json, scenario, catalogue;
  std::vector<std::string> expectations;
  bool list = false;
};

CLI::App* declare_job(CLI::App& app, JobOptions& o) {
  CLI::App* sub = app.add_subcommand("job", "Predicts a job described by names, without a file");
  sub->footer(
      "Example:\n  simulate job --model resnet50 --gpu H100 --gpus 8,64,512 --batch 128 --rate 2700 --epochs 90");
  sim::declare_from(*sub, o.from);
  sim::declare_job_command(*sub, o.command);
  sub->add_option("--json", o.json,
                  "Writes the predictions and all they rest on (schema lockstep/predictions/1); - is standard output");
  sub->add_option("--scenario", o.scenario,
                  "Writes the job as a scenario, to change, to simulate and to plan with; - is standard output");
  sub->add_option("--catalogue", o.catalogue, "Folder of the names and constants (default: installed)");
  sim::declare_expectations(*sub, o.expectations);
  CLI::Option* const list =
      sub->add_flag("--list", o.list, "Lists the names that are known, and how a network is written");
  for (const char* name : {"--model", "--gpu", "--gpus"}) list->excludes(sub->get_option(name));
  return sub;
}

int answer(JobOptions& o, CLI::App& app) {
  const std::vector<sim::Expectation> expectations = sim::read_expectations(o.expectations);
  const std::string folder = o.catalogue.empty() ? sim::default_catalogue_folder() : o.catalogue;
  sim::Catalogue catalogue = sim::load_catalogue(folder);
  std::optional<sim::AppliedLaunch> launch;
  if (!o.from.path.empty()) launch = sim::apply_from(app, o.from, o.command.question.gpus, catalogue);
  sim::add_gpus_of_files(catalogue, {o.command.question.job.gpu.stated});
  if (o.list) {
    print(sim::names_text(catalogue));
    return 0;
  }
  const sim::JobQuestion question = sim::question_of(o.command);
  check_outputs({o.json, o.scenario}, {o.from.path});
  const std::string& on_output = o.scenario == kStandardOutput ? o.scenario : o.json;  // then the table is left out
  if (launch) print_result(on_output, sim::launch_text(launch->job, launch->overriding));
  const sim::JobPrediction predicted = sim::predict_job(question, catalogue, all_cores());
  if (!expectations.empty() && !predicted.refused.empty())
    throw NotEnoughMemory("simulate job: " + predicted.refused.front().why +
                          "; allowed: --expect with numbers of GPUs that fit");
  const sim::ExpectationResult expected =
      expectations.empty()
          ? sim::ExpectationResult()
          : sim::check_expectations(expectations, sim::rows_of_job(sim::job_json(predicted, catalogue)));
  const Json scenario = o.scenario.empty() ? Json() : sim::job_scenario(predicted, catalogue);
  if (!o.json.empty()) {
    Json json = sim::job_json(predicted, catalogue);
    if (launch) json["from"] = sim::launch_json(launch->job, launch->overriding);
    write_json_atomically(o.json, json, 2);
  }
  if (!o.scenario.empty()) write_json_atomically(o.scenario, scenario, 1);
  print_result(on_output, sim::job_table(predicted, catalogue) + expected.text);
  sim::print_failures(expected, on_output);
  return expected.exit_code();
}

// Refuses a requested output that this mode would not write.
void check_outputs_of_mode(const Options& o) {
  const bool predicts = !o.list_models && o.show_model.empty() && o.show_schema.empty() &&
                        o.scenario_template.empty() && o.records.empty();
  if (!o.expectations.empty() && (!predicts || !o.optimise.empty()))
    throw InputError("--expect " + o.expectations.front() + ": no rows of a scenario; allowed: with a scenario alone");
  const auto refuse = [](const char* option, const std::string& path, const char* why) {
    if (!path.empty()) throw InputError(std::string(option) + " " + path + ": " + why);
  };
  if (o.list_models || !o.show_model.empty() || !o.show_schema.empty() || !o.scenario_template.empty()) {
    constexpr const char* kListing = "lists of models go to standard output; allowed: with a scenario";
    refuse("--json", o.json, kListing);
    refuse("--html", o.html, kListing);
    refuse("--csv", o.csv, kListing);
    refuse("--trace", o.trace, kListing);
    refuse("--layers", o.layers, kListing);
  } else if (!o.records.empty() || !o.optimise.empty()) {
    refuse("--html", o.html, "no page of what --predict and --optimise give; allowed: without these two");
    refuse("--csv", o.csv, "--predict and --optimise write no rows; allowed: --json");
    refuse("--layers", o.layers, "--predict and --optimise write no layers; allowed: without these two");
    refuse("--trace", o.trace, "--predict and --optimise write no timeline; allowed: without these two");
  }
}

// Refuses options before a subcommand, which has options of its own: they would be ignored.
void check_alone(const CLI::App& app, const CLI::App& subcommand) {
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && option->get_name() != "--quiet" && option->get_name() != "--log")
      throw InputError("simulate: " + option->get_name() + " stands before \"" + subcommand.get_name() +
                       "\"; allowed: options of " + subcommand.get_name() + ", behind it");
}

void show_model(const std::string& name_or_file) {
  std::map<std::string, std::string> inputs;
  const model::Graph graph = model::graph_of(name_or_file, inputs);
  print(model::show_model_text(graph));
}

void print_template(const Options& o) {
  const std::string folder = o.catalogue.empty() ? sim::default_catalogue_folder() : o.catalogue;
  print(sim::make_scenario_template(o.scenario_template, sim::load_catalogue(folder)).dump(1) + "\n");
}

int run(const Options& o, const std::vector<std::string>& argv) {
  check_outputs_of_mode(o);
  if (o.list_models) {
    print(model::list_models_text());
  } else if (!o.show_schema.empty()) {
    print((sim::format_schemas().at(o.show_schema).dump(1) + "\n"));
  } else if (!o.scenario_template.empty()) {
    print_template(o);
  } else if (!o.show_model.empty()) {
    show_model(o.show_model);
  } else if (!o.records.empty()) {
    predict_from_records(o);
  } else if (o.scenario.empty()) {
    throw InputError(
        "simulate: no scenario; allowed: a scenario file, --predict RECORDS, --scenario-template ALGORITHM, "
        "--list-models, --show-model NAME (see "
        "--help)");
  } else if (!o.optimise.empty()) {
    o.optimise == kSplit ? search_splits(o, argv) : search(o, argv);
  } else {
    return simulate(o, argv);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (asks_for_version(argc, argv)) return print_version("simulate");
  CLI::App app{"Predicts throughput and time to accuracy of data-parallel training on a cluster.", "simulate"};
  Options options;
  declare(app, options);
  sim::ConvergenceOptions convergence;
  CLI::App* const convergence_command = sim::declare_convergence(app, convergence);
  JobOptions job;
  CLI::App* const job_command = declare_job(app, job);
  sim::AllReduceOptions all_reduce;
  CLI::App* const all_reduce_command = sim::declare_all_reduce(app, all_reduce);
  sim::KernelOptions kernel;
  CLI::App* const kernel_command = sim::declare_kernel(app, kernel);
  sim::LossOptions loss;
  CLI::App* const loss_command = sim::declare_loss(app, loss);
  const std::vector<CLI::App*> subcommands{convergence_command, job_command, all_reduce_command, kernel_command,
                                           loss_command};
  for (CLI::App* subcommand : subcommands) declare_reporting(*subcommand);
  return run_program(
      app, argc, argv,
      [&](const std::vector<std::string>& words) {
        for (const CLI::App* subcommand : subcommands)
          if (subcommand->parsed()) check_alone(app, *subcommand);
        if (convergence_command->parsed())
          sim::build_profile(convergence);
        else if (job_command->parsed())
          return answer(job, *job_command);
        else if (all_reduce_command->parsed())
          return sim::answer_all_reduce(all_reduce, all_cores(), words);
        else if (kernel_command->parsed())
          sim::answer_kernel(kernel);
        else if (loss_command->parsed())
          sim::answer_loss_command(loss, all_cores());
        else
          return run(options, words);
        return 0;
      },
      sim::completion_names);
}
