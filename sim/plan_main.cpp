// plan: compares configurations of a training job by time and cost and recommends one. See --help.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/program.hpp"
#include "sim/plan/mpi_workers.hpp"
#include "sim/plan/plan_result.hpp"
#include "sim/report/html.hpp"

namespace {

using namespace lockstep;

struct Options {
  std::string plan;
  std::string html, json, csv, markdown, journal;
  bool resume = false;
  bool ignore_memory = false;
  bool quiet = false;
  int jobs = 0;
  double patience_s = sim::kPatience_s;
};

void declare(CLI::App& app, Options& o) {
  app.footer("Example:\n  plan scenarios/plans/imagenet_hour.json -o report.html");
  app.add_option("plan", o.plan, "Plan file (JSON)")->required();
  app.add_option("-o,--html", o.html, "Writes the report, an HTML page that opens offline");
  app.add_option("--json", o.json, "Writes the result (schema lockstep/plan-result/1)");
  app.add_option("--csv", o.csv, "Writes one row per point");
  app.add_option("--markdown", o.markdown, "Writes a summary");
  app.add_option("--jobs", o.jobs, "Simulations at a time, of each rank (default: the number of cores; 1 under MPI)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--journal", o.journal, "Where finished points are kept (default: beside the first output)");
  app.add_flag("--resume", o.resume, "Takes up what an earlier run has finished");
  app.add_flag("--ignore-memory", o.ignore_memory, "Predicts points that do not fit into a GPU's memory, too");
  app.add_option("--patience", o.patience_s, "Seconds until a silent MPI rank is given up (default: 20)")
      ->check(number_between(2, 86400));
  app.add_flag("--quiet", o.quiet, "No progress");
}

std::vector<std::string> outputs_of(const Options& o) {
  std::vector<std::string> outputs;
  for (const std::string& path : {o.html, o.json, o.markdown, o.csv})
    if (!path.empty()) outputs.push_back(path);
  return outputs;
}

// Empty: nothing is kept.
std::string journal_of(const Options& o) {
  if (!o.journal.empty()) return o.journal;
  const std::vector<std::string> outputs = outputs_of(o);
  if (!outputs.empty()) return std::filesystem::path(outputs.front()).replace_extension(".points.jsonl").string();
  if (o.resume) throw InputError("--resume: nothing was kept without an output; allowed: with --json, -o or --journal");
  return "";
}

std::vector<std::string> all_outputs_of(const Options& o) {
  std::vector<std::string> outputs = outputs_of(o);
  outputs.push_back(journal_of(o));
  return outputs;
}

std::vector<std::string> inputs_of(const sim::PlanSpec& plan) {
  std::vector<std::string> inputs;
  for (const auto& [path, digest] : plan.inputs) inputs.push_back(path);
  return inputs;
}

sim::Progress progress_of(const Options& o) {
  if (o.quiet || !has_drawable_stderr()) return {};
  return [](const std::string& what, std::size_t done, std::size_t of) {
    std::fprintf(stderr, "\r\033[K%s: %zu/%zu", what.c_str(), done, of);
    if (done == of) std::fputs("\r\033[K", stderr);
  };
}

void write_outputs(const Options& o, const sim::PlanResult& result, const std::vector<std::string>& argv) {
  const Json document = sim::plan_json(result, argv);
  if (!o.html.empty()) write_file_atomically(o.html, sim::html_page(document));
  if (!o.json.empty()) write_json_atomically(o.json, document, 2);
  if (!o.csv.empty()) write_file_atomically(o.csv, sim::plan_csv(result));
  if (!o.markdown.empty()) write_file_atomically(o.markdown, sim::plan_markdown(result));
  print(sim::plan_table(result));
}

int jobs_of(const Options& o, const sim::MpiSession& session) {
  if (o.jobs > 0) return o.jobs;
  return session.size() > 1 ? 1 : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int work_out(const Options& o, const std::vector<std::string>& argv, const sim::PlanSpec& plan, sim::Workers& workers) {
  const std::string journal_path = journal_of(o);
  std::optional<sim::Journal> kept;
  if (!journal_path.empty()) {
    kept.emplace(journal_path, plan.digest, o.resume);
    for (const std::string& output : outputs_of(o)) remove_left_parts(output);
  }
  sim::Journal none;
  sim::Journal& journal = kept ? *kept : none;
  if (!journal.note().empty()) std::fprintf(stderr, "%s\n", journal.note().c_str());
  sim::Evaluation evaluation(plan, workers, journal, progress_of(o));
  const sim::PlanResult result = sim::work_out(plan, evaluation);
  if (o.resume && !o.quiet)
    std::fprintf(stderr, "%zu simulations taken up, %zu done\n", evaluation.resumed(), evaluation.simulated());
  write_outputs(o, result, argv);
  return result.focus() ? 0 : 1;
}

// Rank 0 says what is wrong with the input; the others, which read the same, end silently with it.
int run(const Options& o, const std::vector<std::string>& argv, sim::MpiSession& session) {
  std::optional<sim::PlanSpec> plan;
  try {
    plan = sim::load_plan(o.plan, o.ignore_memory);
    if (session.rank() == 0) check_outputs(all_outputs_of(o), inputs_of(*plan));
  } catch (const InputError& error) {
    if (session.rank() == 0 || session.size() == 1) std::fprintf(stderr, "%s\n", error.what());
    session.agree("");
    return 2;
  }
  if (!session.agree(plan->digest)) {
    if (session.rank() == 0) std::fprintf(stderr, "plan: the ranks do not all read the same plan and inputs\n");
    return session.rank() == 0 ? 1 : 2;
  }
  const sim::RunTask runner = sim::plan_runner(*plan);
  if (session.rank() > 0) {
    sim::serve_mpi(session, jobs_of(o, session), runner);
    return 0;
  }
  const auto workers = sim::mpi_workers(session, jobs_of(o, session), runner, o.patience_s);
  try {
    return work_out(o, argv, *plan, *workers);
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Compares configurations of a training job by time and cost, and recommends one.", "plan"};
  Options options;
  declare(app, options);
  return run_program(app, argc, argv, [&](const std::vector<std::string>& words) {
    sim::MpiSession session;
    const int code = run(options, words, session);
    if (!session.has_lost_rank()) return code;
    std::fflush(nullptr);
    std::_Exit(code);  // MPI's own end at exit would wait for the dead rank
  });
}
