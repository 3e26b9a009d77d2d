#pragma once
// The command line of `simulate all-reduce`.
#include <CLI/CLI.hpp>

#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "engine/base/provenance.hpp"
#include "sim/api/job_options.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/job_prediction/all_reduce_times.hpp"
#include "sim/report/expectation.hpp"

namespace lockstep::sim::api {

struct AllReduceOptions {
  AllReduceQuestion question;
  std::string json, catalogue;
  std::vector<std::string> expectations;
};

/// Declares --expect, for the commands that predict.
inline void declare_expectations(CLI::App& app, std::vector<std::string>& expectations) {
  app.add_option(
         "--expect", expectations,
         "METRIC>=VALUE (also <=, >, <), by a key of --json, such as samples_per_s>=40: exit 1 if it does not hold "
         "in every row; repeatable")
      ->allow_extra_args(false);
}

/// Declares the options that define the question.
inline OptionTexts declare_all_reduce_question(CLI::App& app, AllReduceQuestion& q) {
  OptionTexts texts;
  CLI::Option* const cluster = app.add_option("--cluster", q.cluster, "A cluster file; or the machine in words:");
  texts.add(cluster, OptionType::text);
  texts.add(app.add_option("--gpu", q.gpu, job_help("gpu"))->excludes(cluster), OptionType::text);
  const Range gpus{2, kMostGpus}, gpus_per_node{1, kMostGpusOfRack};
  texts.add(app.add_option("--gpus", q.gpus, "Numbers of GPUs (default with --cluster: all that it has)")
                ->delimiter(',')
                ->allow_extra_args(false)
                ->check(CLI::Range(2, kMostGpus)),
            OptionType::whole_number, gpus, true);
  texts.add(app.add_option("--gpus-per-node", q.gpus_per_node, "Default: " + std::to_string(kUsualGpusPerNode))
                ->check(CLI::Range(1, kMostGpusOfRack))
                ->excludes(cluster),
            OptionType::whole_number, gpus_per_node);
  texts.add(app.add_option("--link", q.link, "Between the GPUs of a node, such as \"PCIe 4\"")->excludes(cluster),
            OptionType::text);
  texts.add(app.add_option("--network", q.network, network_help())->excludes(cluster), OptionType::text);
  texts.add(app.add_option("--bytes", q.sizes, "Sizes of what is summed, such as 1MB,100MB")
                ->delimiter(',')
                ->allow_extra_args(false)
                ->required(),
            OptionType::text, std::vector<std::string>{}, true);
  texts.add(
      app.add_option("--algorithm", q.algorithm, "An all-reduce by its name, such as ring (default: NCCL's choice)"),
      OptionType::text);
  return texts;
}

inline CLI::App* declare_all_reduce(CLI::App& app, AllReduceOptions& o) {
  CLI::App* const sub = app.add_subcommand("all-reduce", "Predicts all-reduces of a machine, without a model");
  declare_all_reduce_question(*sub, o.question);
  sub->add_option("--json", o.json, "Writes the times and all they rest on; - is standard output");
  sub->add_option("--catalogue", o.catalogue, "Folder of the names and constants (default: installed)");
  declare_expectations(*sub, o.expectations);
  sub->footer(
      "Example:\n  simulate all-reduce --gpu H100 --network \"8x 400 Gb/s InfiniBand\" --gpus 8,64 --bytes 1MB,1GB");
  return sub;
}

/// Returns the exit code: 1 if an expectation does not hold.
inline int answer_all_reduce(const AllReduceOptions& o, int jobs, const std::vector<std::string>& argv) {
  const std::vector<Expectation> expectations = read_expectations(o.expectations);
  check_outputs({o.json}, {o.question.cluster});
  const std::string folder = o.catalogue.empty() ? default_catalogue_folder() : o.catalogue;
  Catalogue catalogue = load_catalogue(folder);
  add_gpus_of_files(catalogue, {o.question.gpu});
  const AllReduceTimes times = all_reduce_times(o.question, catalogue, jobs);
  const ExpectationResult expected =
      expectations.empty() ? ExpectationResult()
                           : check_expectations(expectations, rows_of_all_reduces(all_reduce_json(times)));
  if (!o.json.empty()) {
    Json json = all_reduce_json(times);
    json["provenance"] = provenance(argv, Cluster::network_model(), times.inputs);
    write_json_atomically(o.json, json, 2);
  }
  print_result(o.json, all_reduce_text(times) + expected.text);
  print_failures(expected, o.json);
  return expected.exit_code();
}

}  // namespace lockstep::sim::api
