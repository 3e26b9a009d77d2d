// validate: predicts every published result in the suites and reports the errors. See --help.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "engine/base/progress_line.hpp"
#include "engine/base/provenance.hpp"
#include "sim/report/html.hpp"
#include "sim/validation/bounds.hpp"
#include "sim/validation/kernel_tables.hpp"
#include "sim/validation/paper_figure.hpp"
#include "sim/validation/scoring.hpp"
#include "sim/validation/suite.hpp"

namespace {

using namespace lockstep;

struct Options {
  std::string suites, catalogue;  // empty: the installed ones
  std::string json, html;
  std::string only;
  std::string kernel_tables;
  std::string paper, svg;
  bool fit = false;
  bool leave_out = false;
  bool sensitivity = false;
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
  CLI::Option* fit = app.add_flag(
      "--fit", o.fit, "Fits constants and bounds anew, writes the catalogue's fitted.json, and reports as --leave-out");
  app.add_flag(
      "--leave-out", o.leave_out,
      "Predicts every record by constants and bounds of other sources: what to expect of new results (minutes)");
  app.add_flag("--sensitivity", o.sensitivity,
               "And how far off left-out sources are with each number that the fit assumes half and twice as large")
      ->needs(fit);
  app.add_option(
         "--fit-kernels", o.kernel_tables,
         "Fits the laws of kernels to the measured tables of a folder, writes the catalogue's kernels/*.json, and "
         "shows their errors on held-out shapes")
      ->excludes(fit);
  CLI::Option* plot =
      app.add_option("--plot", o.paper,
                     "Draws a paper's results, predicted beside published: crossbow, poseidon, theano-mpi, "
                     "revisiting-sync-sgd, ... (the folders of scenarios/published, without suites)")
          ->excludes(fit);
  app.add_option("--svg", o.svg, "The picture of --plot (PAPER.svg)")->needs(plot);
  app.add_flag("--quiet", o.quiet, "The summary only: no line per record, no progress line");
}

std::string page_of(const std::vector<sim::SuiteResult>& results, const std::vector<std::string>& argv) {
  Json document = sim::validation_json(results);
  document["provenance"] = provenance(argv, "", {});
  return sim::html_page(document);
}

void tell(const std::string& line) {
  clear_progress();
  std::fprintf(stderr, "%s\n", line.c_str());
}

// Folders are searched after the command line was read, so that --help works without them.
void find_folders(Options& o) {
  if (o.catalogue.empty()) o.catalogue = sim::default_catalogue_folder();
  if (o.suites.empty()) o.suites = sim::default_catalogue_folder() + "/../published/suites";
}

void write_constants(const Options& o, const sim::Catalogue& catalogue) {
  write_json_atomically(o.catalogue + "/fitted.json", sim::constants_json(catalogue), 1);
}

// Predicts every record as one of an unseen source. If its experiment gives results, uses these.
std::vector<sim::Prediction> predictions_of(const std::vector<sim::LeftOut>& left_out,
                                            const std::vector<const sim::Record*>& targets) {
  std::map<std::string, const sim::Prediction*> of_record;
  for (const sim::LeftOut& one : left_out) of_record[one.prediction.record->id] = &one.prediction;
  std::vector<sim::Prediction> predictions;
  for (const sim::Record* target : targets) predictions.push_back(*of_record.at(target->id));
  return predictions;
}

struct Report {
  std::vector<sim::SuiteResult> results;
  std::vector<sim::LeftOut> left_out, apart;  // by the use of the records
  std::vector<sim::FitSensitivity> sensitivities;
};

// Calibrates bounds on predictions that leave out each record's source, from all suites, even if only some are shown.
Report leave_out(const Options& o, const std::vector<sim::Suite>& suites, const std::vector<sim::Suite>& chosen,
                 const std::vector<sim::Record>& records, const sim::Catalogue& known) {
  sim::FittedConstants fitted = sim::fit_constants(known, records, o.jobs, tell, o.sensitivity);
  Report report;
  report.sensitivities = fitted.sensitivities;
  const std::vector<sim::LeftOut> left_out = sim::predict_left_out(fitted, records, sim::targets_of(suites), o.jobs);
  for (const sim::LeftOut& one : left_out)
    (one.prediction.record->use == sim::Use::apart ? report.apart : report.left_out).push_back(one);
  if (o.fit) {
    std::vector<sim::Prediction> all;
    for (const sim::LeftOut& one : left_out) all.push_back(one.prediction);
    for (const auto& [name, constant] : sim::bounds_from(all)) fitted.all.constants[name] = constant;
    write_constants(o, fitted.all);
  }
  report.results = sim::results_of(chosen, predictions_of(left_out, sim::targets_of(chosen)));
  return report;
}

int fit_kernels(const Options& asked) {
  Options o = asked;
  find_folders(o);
  check_outputs({o.json});
  const sim::Catalogue catalogue = sim::load_catalogue(o.catalogue);
  const sim::KernelFit fit =
      sim::fit_kernel_laws(sim::read_kernel_tables(o.kernel_tables, catalogue), catalogue, o.jobs);
  std::filesystem::create_directories(o.catalogue + "/kernels");
  for (const sim::KernelLawFile& file : fit.files)
    write_json_atomically(o.catalogue + "/kernels/" + file.gpu + ".json", to_json(file), -1);
  if (!o.json.empty()) write_json_atomically(o.json, sim::kernel_fit_json(fit), 1);
  print_result(o.json, sim::kernel_fit_table(fit));
  return 0;
}

int plot(const Options& asked) {
  Options o = asked;
  find_folders(o);
  if (!o.json.empty() || !o.html.empty() || !o.only.empty() || !o.kernel_tables.empty() || o.leave_out)
    throw InputError("--plot " + o.paper +
                     ": writes a picture and does nothing else; allowed: --svg FILE, --quiet, --jobs");
  if (o.svg.empty()) o.svg = std::filesystem::path(o.paper).filename().string() + ".svg";
  check_outputs({o.svg});
  const sim::PaperFigure figure = sim::plot_paper(o.suites + "/..", o.paper, o.jobs);
  write_file_atomically(o.svg, figure.svg);
  print((o.quiet ? "" : figure.table) + "picture: " + o.svg + "\n");
  return 0;
}

int validate(const Options& asked, const std::vector<std::string>& argv) {
  Options o = asked;
  find_folders(o);
  check_outputs({o.json, o.html, o.fit ? o.catalogue + "/fitted.json" : ""});
  const std::vector<sim::Suite> suites = sim::load_suites(o.suites);
  const std::vector<sim::Record> records = sim::records_of(suites);
  std::vector<sim::Suite> chosen;
  for (const sim::Suite& suite : suites)
    if (o.only.empty() || suite.name == o.only) chosen.push_back(suite);
  if (chosen.empty()) throw InputError("--only " + o.only + ": no such suite in " + o.suites);
  const sim::Catalogue known = sim::load_catalogue(o.catalogue);
  Report report;
  if (o.fit || o.leave_out)
    report = leave_out(o, suites, chosen, sim::records_to_fit(suites), known);
  else
    report.results = sim::validate_suites(chosen, records, known, o.jobs);
  Json json = sim::validation_json(report.results);
  if (!report.left_out.empty()) json["left_out"] = sim::scoring_json(report.left_out);
  if (!report.apart.empty()) json["apart"] = sim::scoring_json(report.apart);
  if (!o.json.empty()) write_json_atomically(o.json, json, 1);
  if (!o.html.empty()) write_file_atomically(o.html, page_of(report.results, argv));
  std::string text = sim::validation_table(report.results, !o.quiet);
  if (!report.left_out.empty()) text += sim::scoring_table(report.left_out) + sim::class_table(report.left_out);
  if (!report.left_out.empty() && !o.quiet) text += sim::source_table(report.left_out);
  if (!report.apart.empty()) text += "scored apart, never fitted\n" + sim::scoring_table(report.apart);
  if (!report.apart.empty() && !o.quiet) text += sim::source_table(report.apart);
  if (!report.sensitivities.empty()) text += sim::sensitivity_table(report.sensitivities);
  print_result(o.json, text);
  for (const sim::SuiteResult& result : report.results)
    if (!result.broken().empty()) return 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Predicts published results and compares; exits 1 when a suite's tolerance is broken.", "validate"};
  Options options;
  declare(app, options);
  return run_program(app, argc, argv, [&](const std::vector<std::string>& words) {
    if (!options.paper.empty()) return plot(options);
    return options.kernel_tables.empty() ? validate(options, words) : fit_kernels(options);
  });
}
