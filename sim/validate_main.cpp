// validate: predicts every published result that the project knows and says how far off it is. See --help.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "engine/base/provenance.hpp"
#include "sim/records/fit.hpp"
#include "sim/records/suite.hpp"
#include "sim/report/html.hpp"

namespace {

using namespace lockstep;

struct Options {
  std::string suites, catalogue;  // empty: the installed ones
  std::string json, html;
  std::string only;
  std::string fit_only;
  bool fit = false;
  bool leave_out = false;
  bool quiet = false;
  int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
};

void declare(CLI::App& app, Options& o) {
  app.footer("Example:\n  validate --json validation.json");
  app.add_option("--suite", o.suites, "Folder of suites of published results (default: installed)");
  app.add_option("--only", o.only, "Predicts this suite alone");
  app.add_option("--catalogue", o.catalogue, "Folder of names and constants (default: installed)");
  app.add_option("--json", o.json,
                 "Writes every record with its prediction (schema lockstep/validation/1); - is standard output");
  app.add_option("--html", o.html, "Writes a page with charts and tables, one file that opens offline");
  app.add_option("--jobs", o.jobs, "Simulations at a time (default: the number of cores)")->check(CLI::Range(1, 1024));
  app.add_flag("--fit", o.fit,
               "Fits the constants anew on the records marked fit and writes the catalogue's fitted.json");
  app.add_option("--fit-only", o.fit_only, "Fits the constants whose names begin so; the others stay as they are");
  app.add_flag(
      "--leave-out", o.leave_out,
      "Predicts every record with constants fitted without its paper: what to expect of new results (minutes)");
  app.add_flag("--quiet", o.quiet, "The summary only, no line per record");
}

std::string page_of(const std::vector<sim::SuiteResult>& results, const std::vector<std::string>& argv) {
  Json document = sim::validation_json(results);
  document["provenance"] = provenance(argv, "", {});
  return sim::html_page(document);
}

void tell(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

// Looked for once the command line is read: --help works without them.
void find_folders(Options& o) {
  if (o.catalogue.empty()) o.catalogue = sim::default_catalogue_folder();
  if (o.suites.empty()) o.suites = sim::default_catalogue_folder() + "/../published/suites";
}

void write_constants(const Options& o, const sim::Catalogue& catalogue) {
  write_json_atomically(o.catalogue + "/fitted.json", sim::constants_json(catalogue), 1);
}

// Bounds are calibrated on what is predicted without each record's paper, which --leave-out shows as well.
std::vector<sim::SuiteResult> fit(const Options& o, const std::vector<sim::Suite>& suites,
                                  const std::vector<sim::Suite>& chosen, const std::vector<sim::Record>& records,
                                  const sim::Catalogue& known) {
  sim::Catalogue fitted = sim::fit_constants(known, records, o.jobs, tell);
  write_constants(o, fitted);
  std::vector<sim::SuiteResult> left_out = sim::leave_out_suites(suites, records, fitted, o.jobs, tell);
  std::vector<sim::Prediction> predictions;
  for (const sim::SuiteResult& result : left_out)
    predictions.insert(predictions.end(), result.predictions.begin(), result.predictions.end());
  sim::calibrate_bounds(fitted, predictions);
  write_constants(o, fitted);
  if (!o.leave_out) return sim::validate_suites(chosen, records, fitted, o.jobs);
  sim::set_bounds(left_out, fitted);
  return left_out;
}

// A few constants beside the others, which stay, as do the bounds.
std::vector<sim::SuiteResult> fit_some(const Options& o, const std::vector<sim::Suite>& chosen,
                                       const std::vector<sim::Record>& records, const sim::Catalogue& known) {
  const sim::Catalogue fitted = sim::fit_constants(known, records, o.jobs, tell, o.fit_only);
  write_constants(o, fitted);
  return sim::validate_suites(chosen, records, fitted, o.jobs);
}

int validate(const Options& asked, const std::vector<std::string>& argv) {
  Options o = asked;
  find_folders(o);
  check_outputs({o.json, o.html, o.fit || !o.fit_only.empty() ? o.catalogue + "/fitted.json" : ""});
  const std::vector<sim::Suite> suites = sim::load_suites(o.suites);
  const std::vector<sim::Record> records = sim::records_of(suites);
  std::vector<sim::Suite> chosen;
  for (const sim::Suite& suite : suites)
    if (o.only.empty() || suite.name == o.only) chosen.push_back(suite);
  if (chosen.empty()) throw InputError("--only " + o.only + ": no such suite in " + o.suites);
  const sim::Catalogue known = sim::load_catalogue(o.catalogue);
  std::vector<sim::SuiteResult> results;
  if (!o.fit_only.empty())
    results = fit_some(o, chosen, records, known);
  else if (o.fit)
    results = fit(o, suites, chosen, records, known);
  else if (o.leave_out)
    results = sim::leave_out_suites(chosen, records, known, o.jobs, tell);
  else
    results = sim::validate_suites(chosen, records, known, o.jobs);
  if (!o.json.empty()) write_json_atomically(o.json, sim::validation_json(results), 1);
  if (!o.html.empty()) write_file_atomically(o.html, page_of(results, argv));
  print_result(o.json, sim::validation_table(results, !o.quiet));
  for (const sim::SuiteResult& result : results)
    if (!result.broken().empty()) return 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Predicts published results and compares; exits 1 when a suite's tolerance is broken.", "validate"};
  Options options;
  declare(app, options);
  return run_program(app, argc, argv, [&](const std::vector<std::string>& words) { return validate(options, words); });
}
