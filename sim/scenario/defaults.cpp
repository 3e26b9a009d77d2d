#include "sim/scenario/defaults.hpp"

#include "sim/scenario/exchange_spec.hpp"
#include "sim/scenario/learners_spec.hpp"
#include "sim/scenario/parameter_server_spec.hpp"
#include "sim/scenario/workers_spec.hpp"

namespace lockstep::sim {
namespace {

Json assumed(const Json& value, const char* why) {
  return {{"value", value}, {"kind", "assumed"}, {"source", why}};
}

// Adds the members that an object lacks. What is no object is left for the reader to refuse.
void complete(JsonDocument& document, const std::string& pointer, const Json& defaults) {
  const Json::json_pointer where(pointer);
  if (!document.json().contains(where.parent_pointer())) return;
  if (!document.json().at(where.parent_pointer()).is_object() && !pointer.empty()) return;
  if (!document.json().contains(where)) document.set(pointer, Json::object().dump(), "default");
  if (!document.json().at(where).is_object()) return;
  for (const auto& [key, value] : defaults.items())
    if (!document.json().at(where).contains(key)) document.set(pointer + "/" + key, value.dump(), "default");
}

// What is no algorithm is left for the reader to refuse.
bool is_of_workers(const std::string& name) {
  const std::optional<Algorithm> algorithm = find_choice<Algorithm>(name);
  return algorithm && has_workers(*algorithm);
}

bool trains_learners(const Json& scenario) {
  const Json& algorithm = scenario.at("algorithm");
  return algorithm == "sma" || algorithm == "ea-sgd";
}

void fill_exchange(JsonDocument& scenario) {
  const Json communication = scenario.json().at("communication");
  if (communication.is_object() && communication.at("all_reduce") == "nccl")
    complete(scenario, "/communication/nccl", Json::object());
  if (communication.is_object() && communication.at("fusion") == "ddp")
    complete(scenario, "/communication/ddp",
             {{"bucket_cap", assumed("25 MiB", "default: PyTorch's DistributedDataParallel, bucket_cap_mb")},
              {"first_bucket", assumed("1 MiB", "default: PyTorch's DistributedDataParallel, first bucket")}});
  const auto complete_object = [&](const char* name, const char* algorithm, const Json& defaults) {
    if (scenario.json().contains(name) || scenario.json().at("algorithm") == algorithm)
      complete(scenario, std::string("/") + name, defaults);
  };
  complete_object("local_sgd", "local-sgd", local_sgd_defaults());
  complete_object("sharding", "sharded", sharding_defaults());
  complete_object("theano_mpi", "theano-mpi", theano_mpi_defaults());
}

}  // namespace

int gpus_per_node(const Json& scenario) {
  for (const char* pointer : {"/cluster/gpus_per_node", "/cluster/gpus_per_node/value"}) {
    const Json::json_pointer where(pointer);
    if (!scenario.contains(where) || !scenario.at(where).is_number()) continue;
    const double value = scenario.at(where).get<double>();
    if (value >= 1 && value <= 1024) return static_cast<int>(value);
  }
  return 1;
}

void fill_defaults(JsonDocument& scenario) {
  if (!scenario.json().is_object()) return;
  complete(
      scenario, "",
      {{"algorithm", "s-sgd"}, {"iterations", 10}, {"seed", 1}, {"fidelity", "fast"}, {"published", Json::array()}});
  complete(scenario, "/baseline", Json::object());
  complete(scenario, "/input", {{"prefetch", 2}, {"loading", "parallel"}});
  complete(scenario, "/communication",
           {{"all_reduce", "ring"},
            {"group_size", 16},
            {"chain_slices", assumed(0, "default: as many as a group has members")},
            {"torus_columns", 0},
            {"tree_slices", 16},
            {"wire", "fp32"},
            {"fusion_threshold", assumed("0 B", "default: every tensor alone")},
            {"fusion", "threshold"},
            {"accumulation", 1},
            {"overlap", true},
            {"message_overhead", assumed("5 us", "default: software cost of a message between GPUs")},
            {"launch_overhead", assumed("20 us", "default: launch of a collective")},
            {"reduction_rate", Json::object()}});
  fill_exchange(scenario);
  if (trains_learners(scenario.json()) || scenario.json().contains("learners"))
    complete(scenario, "/learners", learners_defaults());
  const Json& algorithm = scenario.json().at("algorithm");
  if (scenario.json().contains("workers") || (algorithm.is_string() && is_of_workers(algorithm.get<std::string>())))
    complete(scenario, "/workers", workers_defaults());
  if (scenario.json().contains("parameter_server") || scenario.json().at("algorithm") == "parameter-server")
    complete(scenario, "/parameter_server", parameter_server_defaults());
  complete(scenario, "/uncertainty",
           {{"compute", assumed(0.05, "default")},
            {"bandwidth", assumed(0.1, "default")},
            {"latency", assumed(0.25, "default")},
            {"epochs", assumed(0.05, "default")}});
  if (!scenario.json().contains("compute")) return;  // required: the reader says so
  complete(scenario, "/compute",
           {{"rates", Json::array()},
            {"launch_overhead", assumed("5 us", "default: a kernel launch on a busy stream")},
            {"efficiency", Json::object()},
            {"optimizer", "momentum"},
            {"jitter", {{"distribution", "none"}}}});
  complete(scenario, "/compute/efficiency",
           {{"compute", assumed(0.6, "default: share of peak that large convolutions and GEMMs reach")},
            {"memory", assumed(0.8, "default: share of peak bandwidth that streaming kernels reach")}});
}

void fill_baseline(JsonDocument& scenario) {
  complete(scenario, "/baseline", {{"gpus", gpus_per_node(scenario.json())}});
}

}  // namespace lockstep::sim
