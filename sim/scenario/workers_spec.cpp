#include "sim/scenario/workers_spec.hpp"

#include "sim/scenario/ranges.hpp"
#include "sim/scenario/sourced.hpp"

namespace lockstep::sim::scenario {
namespace {

// All algorithms share one set of keys, so that variants can change the algorithm. These keys belong to one of them:
const std::vector<std::string> kOfBackups{"backups", "aggregate", "timeout", "late"};
const std::vector<std::string> kOfAsyncSgd{"shards", "reads", "sends"};
const std::vector<std::string> kOfEasgd{"alpha", "tau"};

bool is_among(const std::vector<std::string>& keys, const std::string& key) {
  return std::count(keys.begin(), keys.end(), key) > 0;
}

bool is_of(Algorithm algorithm, const std::string& key) {
  if (is_among(kOfBackups, key)) return algorithm == Algorithm::backup_workers;
  if (is_among(kOfAsyncSgd, key)) return algorithm == Algorithm::async_sgd;
  if (is_among(kOfEasgd, key)) return algorithm == Algorithm::async_easgd;
  return true;
}

}  // namespace

int WorkersSpec::aggregate_of(int gpus) const {
  return aggregate > 0 ? aggregate : gpus - backups;
}

bool has_workers(Algorithm algorithm) {
  return algorithm == Algorithm::backup_workers || algorithm == Algorithm::async_sgd ||
         algorithm == Algorithm::async_easgd;
}

const ObjectFormat<WorkersSpec>& workers_format() {
  static const ObjectFormat<WorkersSpec> format = [] {
    ObjectFormat<WorkersSpec> f("workers");
    f.whole("backups", &WorkersSpec::backups, 0, kMostGpus)
        .optional("0")
        .means("b: the slowest gradients of each step, dropped");
    f.whole("aggregate", &WorkersSpec::aggregate, 1, kMostGpus)
        .optional("GPUs less backups")
        .means("N, instead of `backups`");
    f.quantity("timeout", &WorkersSpec::timeout_s, Dimension::time, {1e-6, 1e6})
        .optional("none")
        .means("an update takes what has come after this time (at least one gradient), if N have not");
    f.either("late", &WorkersSpec::is_interrupted, "finish", "interrupted")
        .otherwise("finish")
        .means("late workers finish their gradient, or abandon it when there are new parameters");
    f.either("shards", &WorkersSpec::by_module, "equal", "modules")
        .otherwise("equal")
        .means(
            "`async-sgd`: a shard per server, or one per module (layers whose names agree up to the first "
            "`.` or `/`; one that the last layer does not need, an auxiliary classifier, goes back as "
            "soon as it has gone forward)");
    f.either("reads", &WorkersSpec::reads_in_forward, "at-start", "in-forward")
        .otherwise("in-forward")
        .means(
            "`async-sgd`: a shard is read when the forward pass comes to it, or all at the beginning of a "
            "step");
    f.either("sends", &WorkersSpec::sends_in_backward, "at-end", "in-backward")
        .otherwise("in-backward")
        .means("`async-sgd`: gradients are sent as they are ready, or all at the end");
    f.number("alpha", &WorkersSpec::elastic_rate, {1e-6, 0.999999})
        .assumed(0.5, "default: Theano-MPI's best")
        .means("`async-easgd`: moving rate; no effect on time");
    f.whole("tau", &WorkersSpec::period, 1, 1'000'000).otherwise(1).means("`async-easgd`: steps between exchanges");
    f.sourced_whole("servers", &WorkersSpec::servers, 1, kMostGpus)
        .assumed(1, "default")
        .means("M; each holds an equal part of the parameters. `async-easgd`: 1");
    f.either("placement", &WorkersSpec::separate, "co-located", "separate")
        .otherwise("separate")
        .means("servers on nodes of their own, or on the workers' in turn");
    f.quantity("apply_rate", &WorkersSpec::apply_bytes_per_s, Dimension::bandwidth, {1e3, 1e15})
        .optional("in no time")
        .means("at which a server adds up or applies gradients");
    auto delay = f.custom("delay", "object", "", delay_schema());
    delay.otherwise({{"distribution", "none"}}).means("how the time of a worker's step varies, below");
    delay.reads([](const JsonNode& node, WorkersSpec& spec) { spec.delay = read_delay(node); });
    delay.writes([](const WorkersSpec& spec) { return to_json(spec.delay); });
    return f;
  }();
  return format;
}

// Checks keys of other algorithms, which variants may use, but does not list them as inputs.
WorkersSpec read_workers(const JsonNode& node, Algorithm algorithm) {
  WorkersSpec spec;
  workers_format().read_some(node, spec, [&](const std::string& key) { return is_of(algorithm, key); });
  const UnnotedCopy copy(node);
  WorkersSpec ignored;
  workers_format().read_some(copy.node(), ignored, [&](const std::string& key) { return !is_of(algorithm, key); });
  if (node.has("backups") && node.has("aggregate"))
    node.at("aggregate").fail("both backups and aggregate", "allowed: one of them");
  if (algorithm == Algorithm::async_easgd && spec.servers != 1)
    node.at("servers").fail("the centre of EASGD has one server", "allowed: 1");
  return spec;
}

}  // namespace lockstep::sim::scenario
