// plan: compares configurations of a training job by time and cost and recommends one. See --help.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "engine/base/atomic_file.hpp"
#include "engine/base/atomic_writer.hpp"
#include "engine/base/error_report.hpp"
#include "engine/base/interrupt.hpp"
#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "engine/base/units.hpp"
#include "sim/api/names.hpp"
#include "sim/api/plan_options.hpp"
#include "sim/launch/from_option.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/plan_mpi/mpi_workers.hpp"
#include "sim/report/html.hpp"

namespace {

using namespace lockstep;

struct Options {
  std::string plan;
  sim::JobPlan words;
  sim::FromOptions from;
  CLI::App* job = nullptr;  // the subcommand `plan job`
  std::string made_plan, catalogue;
  std::string assumed;  // set by plan job; printed at the end of the answer
  bool plans_job = false;
  std::string html, json, csv, markdown, journal;
  bool watches = false;
  bool resume = false;
  bool ignore_memory = false;
  bool quiet = false;
  int jobs = 0;
  double patience_s = sim::kPatience_s;
};

void declare_work(CLI::App& app, Options& o) {
  app.add_option("-o,--html", o.html, "Writes the report, an HTML page that opens offline");
  app.add_flag("--watch", o.watches, "Draws the report again while points finish; a browser that shows it follows");
  app.add_option("--json", o.json, "Writes the result (schema lockstep/plan-result/1); - is standard output");
  app.add_option("--csv", o.csv, "Writes one row per point");
  app.add_option("--markdown", o.markdown, "Writes a summary");
  app.add_option("--jobs", o.jobs, "Simulations at a time, of each rank (default: the number of cores; 1 under MPI)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--journal", o.journal, "Where finished points are kept (default: beside the first output)");
  app.add_flag("--resume", o.resume, "Takes up what an earlier run has finished");
  app.add_option("--patience", o.patience_s, "Seconds until a silent MPI rank is given up (default: 20)")
      ->check(number_between(2, 86400));
  app.add_flag("--quiet", o.quiet, "No progress line");
}

CLI::App* declare_job(CLI::App& app, Options& o) {
  CLI::App* sub = app.add_subcommand("job", "Plans a job described by names, without a file; lists are compared");
  sub->footer(
      "Example:\n  plan job --model resnet50 --gpu H100,A100 --nodes 1,2,4,8,16 --network \"8x 400 Gb/s\" --epochs 90 "
      "--price H100=2.5/h,A100=1.5/h --deadline 3d");
  o.job = sub;
  sim::declare_from(*sub, o.from);
  sim::declare_plan_words(*sub, o.words);
  sub->add_option("--plan", o.made_plan, "Writes the plan as a file, to change and to run again");
  sub->add_option("--catalogue", o.catalogue, "Folder of the names and constants (default: installed)");
  declare_work(*sub, o);
  return sub;
}

void declare(CLI::App& app, Options& o) {
  app.footer(
      "Examples:\n  plan scenarios/plans/imagenet_hour.json -o report.html\n  plan job --model resnet50 --gpu "
      "H100,A100 "
      "--nodes 1,2,4 --epochs 90   (see plan job --help)");
  app.add_option("file", o.plan, "Plan file (JSON)");
  app.add_flag("--ignore-memory", o.ignore_memory, "Predicts points that do not fit into a GPU's memory, too");
  declare_work(app, o);
}

std::vector<std::string> outputs_of(const Options& o) {
  std::vector<std::string> outputs;
  for (const std::string& path : {o.html, o.json, o.markdown, o.csv})
    if (!path.empty() && path != kStandardOutput && !is_null_device(path)) outputs.push_back(path);
  return outputs;
}

// Returns the journal's path; empty: no journal.
std::string journal_of(const Options& o) {
  if (!o.journal.empty()) return o.journal;
  const std::vector<std::string> outputs = outputs_of(o);
  if (!outputs.empty()) return std::filesystem::path(outputs.front()).replace_extension(".points.jsonl").string();
  if (o.resume) throw InputError("--resume: nothing was kept without an output; allowed: with --json, -o or --journal");
  return "";
}

std::vector<std::string> all_outputs_of(const Options& o) {
  std::vector<std::string> outputs = outputs_of(o);
  for (const std::string& path : {journal_of(o), o.made_plan}) outputs.push_back(path);
  if (o.json == kStandardOutput) outputs.push_back(o.json);
  return outputs;
}

std::vector<std::string> inputs_of(const sim::PlanSpec& plan) {
  std::vector<std::string> inputs;
  for (const auto& [path, digest] : plan.inputs) inputs.push_back(path);
  return inputs;
}

void write_outputs(const Options& o, const sim::PlanResult& result, const std::vector<std::string>& argv, int jobs) {
  if (!o.html.empty()) write_file_atomically(o.html, sim::html_page(sim::plan_page_json(result, argv)));
  if (o.json == kStandardOutput)
    sim::write_plan_json(result, argv, jobs, [](const std::string& piece) { std::fputs(piece.c_str(), stdout); });
  if (!o.json.empty() && o.json != kStandardOutput) {
    AtomicWriter file(o.json);
    sim::write_plan_json(result, argv, jobs, [&](const std::string& piece) { file.write(piece); });
    file.finish();
  }
  if (!o.csv.empty()) {
    AtomicWriter file(o.csv);
    sim::write_plan_csv(result, jobs, [&](const std::string& piece) { file.write(piece); });
    file.finish();
  }
  if (!o.markdown.empty()) write_file_atomically(o.markdown, sim::plan_markdown(result));
  print_result(o.json, sim::plan_table(result) + o.assumed);
}

// Writes the page with the results so far: at most once a second, and so rarely that most time goes to the points.
sim::PlanWatch watch_of(const Options& o, const std::vector<std::string>& argv) {
  if (!o.watches) return {};
  using Clock = std::chrono::steady_clock;
  const auto due = std::make_shared<Clock::time_point>(Clock::now());
  return {[due] { return Clock::now() >= *due; },
          [due, &o, &argv](const sim::PlanResult& so_far) {
            const Clock::time_point begin = Clock::now();
            write_file_atomically(o.html, sim::html_page(sim::plan_page_json(so_far, argv)));
            *due = Clock::now() + std::max<Clock::duration>(std::chrono::seconds(1), 20 * (Clock::now() - begin));
          }};
}

int jobs_of(const Options& o, const sim::MpiSession& session) {
  if (o.jobs > 0) return o.jobs;
  return session.size() > 1 ? 1 : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int work_out(const Options& o, const std::vector<std::string>& argv, const sim::PlanSpec& plan, sim::Workers& workers,
             int jobs) {
  const std::string journal_path = journal_of(o);
  std::optional<sim::Journal> kept;
  if (!journal_path.empty()) {
    kept.emplace(journal_path, plan.digest, o.resume);
    for (const std::string& output : outputs_of(o)) remove_leftover_files(output);
  }
  say_on_interruption(kept ? "\nplan: interrupted; finished points are in " + journal_path +
                                 ", and the same command with --resume redoes none of them\n"
                           : "\nplan: interrupted; nothing was kept, because no output is written: --json, -o or "
                             "--journal keeps points\n");
  sim::Journal none;
  sim::Journal& journal = kept ? *kept : none;
  if (!journal.note().empty()) std::fprintf(stderr, "%s\n", journal.note().c_str());
  sim::Evaluation evaluation(plan, workers, journal);
  const sim::PlanResult result = sim::work_out(plan, evaluation, watch_of(o, argv));
  if (o.resume && !o.quiet)
    std::fprintf(stderr, "%zu simulations taken up, %zu done\n", evaluation.resumed(), evaluation.simulated());
  write_outputs(o, result, argv, jobs);
  return result.recommended ? 0 : 1;
}

// Returns the text of the plan file that the command line describes, and prints how it was understood.
sim::PlanSpec read_plan_of_job(Options& o, bool is_first_rank) {
  if (!o.plan.empty()) throw InputError(o.plan + ": a plan file beside plan job; allowed: one of the two");
  const std::string folder = o.catalogue.empty() ? sim::default_catalogue_folder() : o.catalogue;
  sim::Catalogue catalogue = sim::load_catalogue(folder);
  Json from;
  if (!o.from.path.empty()) {
    const sim::AppliedLaunch launch = sim::apply_from(*o.job, o.from, o.words.question.gpus, catalogue);
    if (is_first_rank) print_result(o.json, sim::launch_text(launch.job, launch.overriding));
    from = sim::launch_json(launch.job, launch.overriding);
  }
  sim::add_gpus_of_files(catalogue, sim::list_gpu_names(o.words));
  const sim::ReadJobPlan made = sim::read_job_plan(o.words, catalogue);
  sim::PlanSpec plan =
      sim::read_plan(JsonDocument::parse(made.plan.dump(), "plan job"), o.words.question.ignores_memory);
  plan.from = std::move(from);
  if (!is_first_rank) return plan;
  check_outputs(all_outputs_of(o), {o.from.path});
  if (!o.made_plan.empty()) write_json_atomically(o.made_plan, made.plan, 1);
  print_result(o.json, made.read + "\n");
  o.assumed = made.assumed.empty() ? "" : "\n" + made.assumed;
  return plan;
}

sim::PlanSpec read_plan_file(const Options& o, bool is_first_rank) {
  if (o.plan.empty()) throw InputError("plan: no plan; allowed: a plan file, or plan job (see --help)");
  sim::PlanSpec plan = sim::load_plan(o.plan, o.ignore_memory);
  if (is_first_rank) check_outputs(all_outputs_of(o), inputs_of(plan));
  return plan;
}

// If the input is wrong, rank 0 reports it. The others read the same input and exit silently.
int run(Options& o, const std::vector<std::string>& argv, sim::MpiSession& session) {
  std::optional<sim::PlanSpec> plan;
  try {
    if (o.watches && o.html.empty())
      throw InputError("--watch: there is no page to draw again; allowed: with -o REPORT.html");
    plan = o.plans_job ? read_plan_of_job(o, session.rank() == 0) : read_plan_file(o, session.rank() == 0);
  } catch (const InputError& error) {
    if (session.rank() == 0 || session.size() == 1) {
      std::fprintf(stderr, "%s\n", error.what());
      report_error(argv, o.plans_job ? "plan job" : "plan", status_of(error), error.what(), 2);
    }
    session.agree("");
    return 2;
  }
  if (!session.agree(plan->digest)) {
    if (session.rank() == 0) std::fprintf(stderr, "plan: the ranks do not all read the same plan and inputs\n");
    return session.rank() == 0 ? 1 : 2;
  }
  const sim::RunTask runner = sim::plan_runner(*plan);
  if (session.rank() > 0) return sim::serve_mpi(session, jobs_of(o, session), runner, o.patience_s) ? 0 : 1;
  const auto workers = sim::mpi_workers(session, jobs_of(o, session), runner, o.patience_s);
  try {
    return work_out(o, argv, *plan, *workers, jobs_of(o, session));
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return report_error(argv, o.plans_job ? "plan job" : "plan", status_of(error), error.what(), 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Compares configurations of a training job by time and cost, and recommends one.", "plan"};
  Options options;
  declare(app, options);
  const CLI::App* const job = declare_job(app, options);
  return run_program(
      app, argc, argv,
      [&](const std::vector<std::string>& words) {
        options.plans_job = job->parsed();
        sim::MpiSession session;
        const int code = run(options, words, session);
        if (!session.has_lost_rank()) return code;
        std::fflush(nullptr);
        std::_Exit(code);  // MPI's own exit handler would wait for the dead rank
      },
      sim::completion_names);
}
