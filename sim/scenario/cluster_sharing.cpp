#include "sim/scenario/cluster_sharing.hpp"

#include <algorithm>
#include <map>

#include "sim/scenario/cluster_read.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::scenario {
namespace {

// An entry of "jobs" as it is written.
struct JobEntry {
  std::string name;
  int gpus = 1;
};

const ObjectFormat<JobEntry>& job_format() {
  static const ObjectFormat<JobEntry> format = [] {
    ObjectFormat<JobEntry> f("jobs");
    f.text("name", &JobEntry::name).means("in tables and results; another one for each job");
    f.whole("gpus", &JobEntry::gpus, 1, kMostGpus)
        .means("number of GPUs of the job, in place of the scenario's `gpus`");
    auto nodes = f.custom("nodes", "array of whole", "numbers from 0",
                          {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", 1}});
    nodes.optional("the lowest that no job uses").means("nodes of the job, in the order of its ranks");
    nodes.reads([](const JsonNode&, JobEntry&) {});
    nodes.writes([](const JobEntry&) { return Json(); });
    auto set = f.custom("set", "object", "", {{"type", "object"}});
    set.optional("none").means(
        "values that differ from the scenario's: `{\"/json/pointer\": value}`, not of cluster, background and "
        "fidelity");
    set.reads([](const JsonNode&, JobEntry&) {});
    set.writes([](const JobEntry&) { return Json(); });
    return f;
  }();
  return format;
}

// Assigns nodes to jobs.
class NodeUse {
 public:
  void take(const JsonNode& node, int number, const std::string& job) {
    const auto [use, is_free] = job_of_.emplace(number, job);
    if (!is_free) node.fail("node " + std::to_string(number) + " is used by job " + in_quotes(use->second) + " too");
  }
  std::size_t count() const { return job_of_.size(); }
  std::vector<int> take_free(int count, const std::string& job) {
    std::vector<int> nodes;
    for (int number = 0; static_cast<int>(nodes.size()) < count; ++number)
      if (job_of_.emplace(number, job).second) nodes.push_back(number);
    return nodes;
  }

 private:
  std::map<int, std::string> job_of_;
};

// A whole number that may carry its origin; `otherwise` if it is none, which its reader refuses.
int whole_at(const Json& scenario, const std::string& pointer, int otherwise) {
  for (const std::string& place : {pointer, pointer + "/value"}) {
    const Json::json_pointer at(place);
    if (scenario.contains(at) && scenario.at(at).is_number_integer()) return scenario.at(at).get<int>();
  }
  return otherwise;
}

int nodes_of_cluster(const Json& scenario) {
  return std::clamp(whole_at(scenario, "/cluster/nodes", kMostGpus), 1, kMostGpus);
}

// Nodes that separate parameter servers take after the job's GPUs.
int separate_servers(const Json& scenario) {
  const Json::json_pointer placement("/parameter_server/placement");
  if (!scenario.contains(placement) || scenario.at(placement) != "separate") return 0;
  return std::clamp(whole_at(scenario, "/parameter_server/servers", 0), 0, kMostGpus);
}

}  // namespace

const ObjectFormat<BackgroundSpec>& background_format() {
  using Spec = BackgroundSpec;
  static const ObjectFormat<Spec> format = [] {
    ObjectFormat<Spec> f("background");
    f.whole("from", &Spec::from_node, 0, kMostGpus - 1).means("node that sends, from 0");
    f.whole("to", &Spec::to_node, 0, kMostGpus - 1).means("node that receives");
    f.quantity("rate", &Spec::bytes_per_s, Dimension::bandwidth, cluster_read::kBandwidth)
        .means("most that it sends; where links are full it gets its max-min fair share");
    f.then([](const JsonNode& node, const Spec& flow) {
      if (flow.from_node == flow.to_node) node.at("to").fail("the node that sends", "allowed: another one");
    });
    return f;
  }();
  return format;
}

Json job_schema() {
  return job_format().schema();
}

std::string job_table() {
  return job_format().table();
}

std::vector<Variant> read_jobs(const JsonNode& jobs, const Json& scenario) {
  const int of_node = gpus_per_node(scenario), of_cluster = nodes_of_cluster(scenario);
  std::vector<Variant> variants;
  std::vector<int> counts;
  std::vector<std::vector<int>> nodes_of_jobs;
  NodeUse use;
  for (const JsonNode& item : jobs.items()) {
    const JobEntry job = job_format().read(item);
    for (const Variant& other : variants)
      if (other.name == job.name) item.at("name").fail("another job has this name");
    Variant variant{job.name, jobs.document().name() + ": " + item.pointer() + "/set", {}};
    variant.settings.emplace_back("/gpus", Json{job.gpus}.dump());
    if (const auto set = item.find("set"))
      for (const auto& [pointer, value] : set->members()) {
        for (const std::string common : {"/cluster", "/gpus", "/background", "/fidelity"})
          if (pointer.compare(0, common.size(), common) == 0)
            value.fail("jobs share one cluster, its traffic and the fidelity; \"gpus\" has the number of GPUs",
                       "allowed: other pointers; cluster, background and fidelity of the scenario");
        variant.settings.emplace_back(pointer, value.json().dump());
      }
    nodes_of_jobs.emplace_back();
    counts.push_back((job.gpus + of_node - 1) / of_node + separate_servers(scenario));
    if (const auto nodes = item.find("nodes")) {
      for (const JsonNode& node : nodes->items()) {
        nodes_of_jobs.back().push_back(static_cast<int>(node.integer(0, of_cluster - 1)));
        use.take(node, nodes_of_jobs.back().back(), job.name);
      }
      if (static_cast<int>(nodes_of_jobs.back().size()) < counts.back())
        nodes->fail(std::to_string(nodes_of_jobs.back().size()) + " nodes, but " + std::to_string(job.gpus) +
                        " GPUs need " + std::to_string(counts.back()),
                    "allowed: more numbers, or no \"nodes\"");
    }
    variants.push_back(std::move(variant));
  }
  for (std::size_t job = 0; job < variants.size(); ++job) {
    if (nodes_of_jobs[job].empty()) nodes_of_jobs[job] = use.take_free(counts[job], variants[job].name);
    const int last = *std::max_element(nodes_of_jobs[job].begin(), nodes_of_jobs[job].end());
    if (last >= of_cluster)
      jobs.fail("the jobs need " + std::to_string(use.count()) + " nodes or more, and the cluster has " +
                    std::to_string(of_cluster),
                "allowed: fewer GPUs, or a larger /cluster/nodes");
    variants[job].settings.emplace_back("/cluster/nodes_used", Json(nodes_of_jobs[job]).dump());
  }
  if (variants.empty()) jobs.fail("empty list", "allowed: [{\"name\", \"gpus\"}, ...]");
  return variants;
}

}  // namespace lockstep::sim::scenario
