// temporary
#include <CLI/CLI.hpp>
#include <sstream>
#include "sim/job_options.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/kernel/kernel_files.hpp"
using namespace lockstep;
static std::unique_ptr<sim::Catalogue> catalogue;
static std::string text;
extern "C" const char* load_catalogue() { 
  try { catalogue = std::make_unique<sim::Catalogue>(sim::load_catalogue("/scenarios/catalogue")); text=""; } catch (const std::exception& e) { text = e.what(); }
  return text.c_str(); }
extern "C" const char* answer_question(const char*, const char* args) {
  try {
  CLI::App app; sim::JobQuestion q; sim::declare_job(app, q); sim::declare_gpu_counts(app, q, "");
  std::string tokens; app.add_option("--tokens", tokens);
  app.parse(args);
  if (!tokens.empty()) q.tokens = sim::count_of("--tokens", tokens);
  text = sim::job_json(sim::predict_job(q, *catalogue, 1), *catalogue).dump(2);
  } catch (const std::exception& e) { text = std::string("ERR ") + e.what(); }
  return text.c_str(); }
