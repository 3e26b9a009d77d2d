#pragma once
// The command line of `simulate convergence`.
#include <CLI/CLI.hpp>

#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/convergence/build.hpp"
#include "sim/convergence/reference_points.hpp"

namespace lockstep::sim::api {

struct ConvergenceOptions {
  std::vector<std::string> records;
  ProfileRequest request;
  std::string output, mlperf, catalogue;
  bool uses_noise_scale = false;
};

inline CLI::App* declare_convergence(CLI::App& app, ConvergenceOptions& o) {
  CLI::App* sub = app.add_subcommand("convergence", "Fits a convergence profile to the records of training runs");
  sub->add_option("records", o.records, "Records of train, their folders, studies (.jsonl), or a profile to fit anew");
  sub->add_option(
      "--mlperf", o.mlperf,
      "Instead of records: the reference runs of one of MLPerf's networks; all: how well each is predicted");
  sub->add_option("--catalogue", o.catalogue, "With --mlperf: folder of the reference points (default: installed)");
  sub->add_option("-o,--output", o.output, "Writes the profile (schema lockstep/convergence/1)");
  sub->add_option("--name", o.request.name, "Of the profile (model and data)");
  sub->add_option("--targets", o.request.targets, "Test accuracies (those of the sweep)")
      ->delimiter(',')
      ->check(number_between(1e-6, 1.0));
  sub->add_option("--hold-out", o.request.held_out, "Cells that the fits do not see, to check them")->delimiter(',');
  sub->add_flag("--noise-scale", o.uses_noise_scale,
                "Laws of s-sgd runs at one batch take the critical batch from their gradient noise scale");
  sub->footer("Example:\n  simulate convergence runs.jsonl --name \"LeNet on MNIST\" -o convergence.json");
  return sub;
}

inline void build_reference_profile(const ConvergenceOptions& o) {
  if (!o.records.empty()) throw InputError("--mlperf: records are given, too; allowed: one of the two");
  const std::string folder = o.catalogue.empty() ? default_catalogue_folder() : o.catalogue;
  ReferenceFile file(folder + "/reference_points.json");
  if (o.mlperf == "all") {
    if (!o.output.empty()) throw InputError("-o: a profile is of one network; allowed: --mlperf NETWORK");
    print(reference_checks_text(file.networks()));
    return;
  }
  const ConvergenceProfile profile = reference_profile(find_network(file.networks(), o.mlperf));
  if (!o.output.empty()) write_json_atomically(o.output, to_json(profile), 1);
  print(profile_text(profile, {}));
}

inline void require_noise_scale(const ConvergenceProfile& profile) {
  for (const ProfileRun& run : profile.runs)
    if (!run.noise.empty()) return;
  throw InputError("--noise-scale: no run measured its gradient noise scale; allowed: runs of train --noise-scale");
}

inline void build_profile(const ConvergenceOptions& o) {
  check_outputs({o.output});  // a profile that is fitted again may replace itself
  if (!o.mlperf.empty()) return build_reference_profile(o);
  if (o.records.empty())
    throw InputError("simulate convergence: no records; allowed: records of train, or --mlperf NETWORK");
  ConvergenceProfile profile = profile_of(o.records, o.request);
  std::vector<std::string> not_fitted;
  if (o.uses_noise_scale) require_noise_scale(profile);
  fit_profile(profile, &not_fitted, o.uses_noise_scale);
  if (!o.output.empty()) write_json_atomically(o.output, to_json(profile), 1);
  print(profile_text(profile, not_fitted));
}

}  // namespace lockstep::sim::api
