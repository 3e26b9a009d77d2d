// Readers of scenarios, clusters, plans and their journals, convergence profiles, records of runs, published records,
// and the catalogue. Files that they name are searched next to them, in the folders of scenarios/.
#include <cmath>
#include <filesystem>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/provenance.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/catalogue/network_grammar.hpp"
#include "sim/convergence/build.hpp"
#include "sim/failures/spot_run.hpp"
#include "sim/job/job_fields.hpp"
#include "sim/plan/journal.hpp"
#include "sim/plan/plan_spec.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/scenario_template.hpp"
#include "sim/validation/suite.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/fuzz/reader.hpp"

namespace lockstep::fuzz {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFile = "input.json";
const std::string kScenarios = LOCKSTEP_SOURCE_DIR "/scenarios/";

// Puts the folders of scenarios/ next to the input.
class Beside {
 public:
  Beside() {
    for (const char* name : {"clusters", "models", "convergence", "resnet50_h100_ddp.json"})
      fs::create_symlink(kScenarios + name, folder_.path(name));
    fs::copy(kScenarios + "catalogue", folder_.path("catalogue"));
  }
  const TemporaryFolder* operator->() const { return &folder_; }

 private:
  TemporaryFolder folder_;
};

const Beside& folder() {
  static const Beside one;
  return one;
}

// A written scenario is read as an equal one.
Json scenario(const std::string& text) {
  const sim::LoadedScenario loaded = sim::load_scenario(folder()->write("input.json", text), {});
  Json written = Json::array();
  for (const sim::Scenario& variant : loaded.variants) {
    written.push_back(to_json(variant));
    const auto again = sim::ScenarioTemplate::parse(written.back().dump(), "written").with({});
    if (to_json(again.variants.front()) != written.back())
      throw std::logic_error("reads otherwise than it was written");
  }
  return written;
}

Json cluster(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, kFile);
  return document.json().empty() ? Json() : Json(sim::read_cluster(document.root()).nodes);
}

Json plan(const std::string& text) {
  return sim::load_plan(folder()->write("plan.json", text)).points.size();
}

// Checksums of the lines are updated, so that the rest is tested, too.
Json journal(const std::string& text) {
  const std::string path = folder()->path("journal.jsonl");
  fs::remove(path);
  { sim::Journal(path, "digest", false); }
  std::string lines = read_file(path), object;
  for (std::istringstream stream(text); std::getline(stream, object);) lines += sim::journal_line(object);
  folder()->write("journal.jsonl", lines);
  const sim::Journal read(path, "digest", true);
  Json left = Json::array();
  for (const std::string& key : read.kept().keys()) left.push_back(Json::parse(read.kept().at(key).text()));
  return left;
}

// Returns the times at which jobs of several sizes hold their nodes, without infinite ones.
Json availability(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, kFile);
  const sim::Availability trace = sim::availability_format().read(document.root());
  Json left{sim::availability_format().write(trace), trace.most_nodes()};
  for (int nodes : {1, 8, trace.most_nodes()}) {
    left.push_back(sim::mean_holding_s(trace, nodes));
    sim::Holdings holdings(trace, nodes, 0.3 * trace.length_s);
    const auto holding = holdings.next();
    if (holding && std::isfinite(holding->to_s)) left.push_back({holding->from_s, holding->to_s});
  }
  return left;
}

Json convergence(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, kFile);
  sim::ConvergenceProfile profile = sim::convergence_profile_from_json(document.root());
  std::vector<std::string> not_fitted;
  sim::fit_profile(profile, &not_fitted);
  profile_text(profile, not_fitted);
  return to_json(profile);
}

Json run_record(const std::string& text) {
  sim::ProfileRequest request;
  request.name = "fuzzed";
  return to_json(sim::profile_of({folder()->write("run.json", text)}, request));
}

const sim::Catalogue& catalogue() {
  static const sim::Catalogue one = sim::load_catalogue(kScenarios + "catalogue");
  return one;
}

Json records(const std::string& text) {
  Json jobs = Json::array();
  for (const sim::Record& record : sim::read_records(JsonDocument::parse(text, kFile)))
    jobs.push_back(sim::job_json(sim::resolve_record(record, catalogue())));
  return jobs;
}

// A network read from the command line is written so that it is read as the same one.
Json network(const std::string& text) {
  const sim::Entries<sim::NetworkEntry>& networks = catalogue().networks;
  const sim::NetworkReading reading = sim::read_network(networks, text, 8);
  if (!reading.found) {
    const std::string& nearest = reading.nearest;
    if (!sim::read_network(networks, nearest, 8).found) throw std::logic_error("what would be read is not: " + nearest);
    throw InputError("--network: " + reading.wrong);
  }
  const sim::NetworkReading again = sim::read_network(networks, sim::network_words(*reading.found), 8);
  if (!again.found || again.found->ports != reading.found->ports ||
      std::abs(again.found->port_bytes_per_s / reading.found->port_bytes_per_s - 1) > 1e-6)
    throw std::logic_error("is said otherwise than it was read: " + sim::network_words(*reading.found));
  return {reading.found->ports, reading.found->port_bytes_per_s, reading.found->line_bits_per_s};
}

Json suite(const std::string& text) {
  fs::create_directory(folder()->path("suites"));
  folder()->write("suites/suite.json", text);
  Json left = Json::array();
  for (const sim::Suite& read : sim::load_suites(folder()->path("suites")))
    left.push_back({read.records.size(), read.tolerances.median_error, read.tolerances.coverage});
  return left;
}

// Replaces the file from which the list was made; the other files are unchanged.
Json names(const std::string& text) {
  std::string replaced = "models";
  for (const char* list : {"gpus", "intra_node", "networks", "stacks", "constants"})
    if (text.find('"' + std::string(list) + "\": [") != std::string::npos) replaced = list;
  replaced = "catalogue/" + (replaced == "constants" ? "fitted" : replaced) + ".json";
  const std::string whole = read_file(kScenarios + replaced), path = folder()->path(replaced);
  folder()->write(replaced, text);
  const auto put_back = [&] { folder()->write(replaced, whole); };
  try {
    const std::size_t gpus = sim::load_catalogue(folder()->path("catalogue")).gpus.size();
    put_back();
    return gpus;
  } catch (...) {
    put_back();
    throw;
  }
}

std::string own(const std::string& name) {
  return "tests/fuzz/corpus/" + name;
}

}  // namespace

std::vector<Reader> readers_of_sim() {
  const std::string of_scenarios = "scenarios/", at = folder()->path("");
  return {
      {"scenario",
       scenario,
       at,
       {of_scenarios + "imagenet_64k.json", of_scenarios + "resnet50_h100_ddp.json",
        of_scenarios + "resnet50_h100_exchanges.json", of_scenarios + "llama3_8b_h100.json", own("scenario.json")}},
      {"cluster",
       cluster,
       kFile,
       {of_scenarios + "clusters/dgx_h100.json", of_scenarios + "clusters/jizhi_p40_100gbe.json",
        of_scenarios + "clusters/theano_mpi_k80_fdr.json", own("cluster.json")}},
      {"plan", plan, at, {own("plan.json")}},
      {"availability", availability, kFile, {of_scenarios + "availability/office_week.json"}},
      {"journal", journal, at, {own("journal.jsonl")}},
      {"convergence",
       convergence,
       kFile,
       {of_scenarios + "convergence/inception_backup_workers.json", of_scenarios + "convergence/resnet32_crossbow.json",
        of_scenarios + "convergence/lenet_mnist_stale.json"}},
      {"run-record",
       run_record,
       at,
       {"results/training/2026-11-21/sma-2.json", "results/training/2026-11-21/ssgd.json"}},
      {"records", records, kFile, {own("records.json")}},
      {"suite", suite, at, {own("suite.json")}},
      {"network", network, "--network", {own("network_words.txt"), own("network_name.txt")}},
      {"catalogue",
       names,
       at,
       {of_scenarios + "catalogue/networks.json", of_scenarios + "catalogue/stacks.json",
        of_scenarios + "catalogue/intra_node.json", of_scenarios + "catalogue/models.json",
        of_scenarios + "catalogue/gpus.json"}},
  };
}

}  // namespace lockstep::fuzz
