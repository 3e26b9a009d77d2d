#include "sim/scenario/scenario_format.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/text.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/cluster_sharing.hpp"
#include "sim/scenario/communication_format.hpp"
#include "sim/scenario/compute_format.hpp"
#include "sim/scenario/convergence_read.hpp"
#include "sim/scenario/file_schema.hpp"
#include "sim/scenario/published_format.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::scenario {
std::function<bool(const Json&)> where_algorithm(const std::function<bool(Algorithm)>& matches_operation) {
  return [matches_operation](const Json& scenario) {
    const Json name = scenario.value("algorithm", Json("s-sgd"));
    const std::optional<Algorithm> algorithm =
        name.is_string() ? find_choice<Algorithm>(name.get<std::string>()) : std::nullopt;
    return algorithm && matches_operation(*algorithm);
  };
}

std::function<bool(const Json&)> where_algorithm(Algorithm wanted) {
  return where_algorithm([wanted](Algorithm algorithm) { return algorithm == wanted; });
}

namespace {

using Format = ObjectFormat<Scenario>;

const ObjectFormat<BatchRule>& batch_rule_format() {
  static const ObjectFormat<BatchRule> format = [] {
    ObjectFormat<BatchRule> f("batch rule");
    f.whole("up_to_gpus", &BatchRule::up_to_gpus, 1, kMostGpus).means("ascending");
    f.whole("batch", &BatchRule::batch, 1, kLargestBatch).means("images per GPU");
    return f;
  }();
  return format;
}

std::vector<BatchRule> read_batch(const JsonNode& node) {
  if (!node.is_array()) return {{kMostGpus, static_cast<int>(node.integer(1, kLargestBatch))}};
  std::vector<BatchRule> rules;
  for (const JsonNode& item : node.items()) {
    rules.push_back(batch_rule_format().read(item));
    if (rules.size() > 1 && rules.back().up_to_gpus <= rules[rules.size() - 2].up_to_gpus)
      item.at("up_to_gpus")
          .fail("not in ascending order", "allowed: more than " + std::to_string(rules[rules.size() - 2].up_to_gpus));
  }
  if (rules.empty()) node.fail("empty list", "allowed: a batch size, or [{\"up_to_gpus\", \"batch\"}, ...]");
  return rules;
}

Json write_batch(const Scenario& s) {
  if (s.batch.size() == 1 && s.batch.front().up_to_gpus == kMostGpus) return s.batch.front().batch;
  return batch_rule_format().write_all(s.batch);
}

std::vector<int> read_gpus(const JsonNode& node) {
  std::vector<int> gpus;
  for (const JsonNode& item : node.items()) {
    gpus.push_back(static_cast<int>(item.integer(1, kMostGpus)));
    if (std::count(gpus.begin(), gpus.end(), gpus.back()) > 1) item.fail("is there twice", "allowed: each count once");
  }
  if (gpus.empty()) node.fail("empty list", "allowed: one or more GPU counts");
  return gpus;
}

model::Graph read_model(const JsonNode& node) {
  if (node.is_object()) return model::model_from_json(node);
  try {
    return model::zoo_graph(node.text());
  } catch (const InputError& error) {
    node.fail(error.what());
  }
}

Json write_model(const Scenario& s) {
  Json of_zoo = model::zoo_json_of(s.model);
  if (!of_zoo.is_null()) return of_zoo;
  if (!s.model.transformer || s.model.transformer->config.empty()) return model::to_json(s.model);
  const model::SequenceJob& job = s.model.transformer->job;
  return {{"config", Json::parse(s.model.transformer->config)},
          {"sequence", job.tokens},
          {"attention", job.fused_attention ? "fused" : "in-passes"}};
}

const ObjectFormat<IntervalCalibration>& interval_calibration_format() {
  static const ObjectFormat<IntervalCalibration> format = [] {
    using Spec = IntervalCalibration;
    ObjectFormat<Spec> f("calibration of an interval");
    f.number("always", &Spec::always, {0, 3}).means("error of the logarithm, whatever the inputs' uncertainty");
    f.number("input", &Spec::input, {0, 3})
        .otherwise(0)
        .means("error of the logarithm of what the nodes decode, where an iteration waits for it");
    f.boolean("counts_inputs", &Spec::counts_inputs)
        .otherwise(true)
        .means("whether the inputs' uncertainty adds to `always`, in quadrature");
    f.number("below", &Spec::below, {0, 100}).means("the lower bound is so many of these errors away");
    f.number("above", &Spec::above, {0, 100}).means("the upper bound is so many of these errors away");
    f.number("most_below", &Spec::most_below, {0, kWidestBound})
        .otherwise(kWidestBound)
        .means("of the logarithm: the lower bound is no farther away");
    f.number("most_above", &Spec::most_above, {0, kWidestBound})
        .otherwise(kWidestBound)
        .means("of the logarithm: the upper bound is no farther away");
    return f;
  }();
  return format;
}

const ObjectFormat<CalibrationSpec>& calibration_format() {
  static const ObjectFormat<CalibrationSpec> format = [] {
    using Spec = CalibrationSpec;
    ObjectFormat<Spec> f("calibration");
    f.object("samples_per_s", &Spec::samples_per_s, interval_calibration_format())
        .means("of samples/s and the time of an iteration");
    f.object("training", &Spec::training, interval_calibration_format()).means("of the time to the target");
    return f;
  }();
  return format;
}

const ObjectFormat<UncertaintySpec>& uncertainty_format() {
  static const ObjectFormat<UncertaintySpec> format = [] {
    using Spec = UncertaintySpec;
    ObjectFormat<Spec> f("uncertainty");
    f.number("compute", &Spec::compute, {0, 0.9}).assumed(0.05, "default").means("compute times");
    f.number("bandwidth", &Spec::bandwidth, {0, 0.9})
        .assumed(0.1, "default")
        .means("link bandwidths and `reduction_rate`");
    f.number("latency", &Spec::latency, {0, 0.9})
        .assumed(0.25, "default")
        .means("link latencies, `message_overhead`, the all-reduce's `launch_overhead`");
    f.number("epochs", &Spec::epochs, {0, 0.9}).assumed(0.05, "default").means("time to accuracy");
    f.object("calibration", &Spec::calibration, calibration_format())
        .optional("bounds from the inputs' uncertainty alone")
        .means("errors that published results showed; `simulate job --scenario` writes them");
    return f;
  }();
  return format;
}

Format baseline_format() {
  Format f("baseline");
  auto gpus = f.custom("gpus", "whole", "1 to " + std::to_string(kMostGpus),
                       {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostGpus}});
  gpus.optional("GPUs of one node; with `parallel` the fewest of `gpus`")
      .means("GPUs that the efficiency is compared with");
  gpus.reads([](const JsonNode& node, Scenario& s) { s.baseline_gpus = static_cast<int>(node.integer(1, kMostGpus)); });
  gpus.writes([](const Scenario& s) { return Json(s.baseline_gpus); });
  return f;
}

// Uses the measurement with the number of devices that the largest point has on a node.
void read_fill_of_profile(const JsonNode& node, Scenario& s) {
  const ProfileSpec& profile = s.compute.profile;
  if (!profile) node.fail("no profile in /compute/profile", "allowed: a fraction, or [{\"batch\", \"fill\"}, ...]");
  s.learners.fill = profile.fill(std::min(*std::max_element(s.gpus.begin(), s.gpus.end()), s.cluster.gpus_per_node));
  if (s.learners.fill.empty())
    node.fail("the profile has no iterations of several learners on a device",
              "allowed: a fraction, or [{\"batch\", \"fill\"}, ...]");
  for (const FillSpec& f : s.learners.fill)
    node.document().note({node.pointer() + "/" + std::to_string(f.batch), short_number(f.fill), "measured",
                          "profile " + profile.profile->name + ", iterations of several learners over those of one"});
}

void add_identity(Format& f) {
  auto schema = f.custom("schema", "text", "`lockstep/scenario/1`", {{"const", "lockstep/scenario/1"}});
  schema.means("version of the format");
  schema.reads([](const JsonNode& node, Scenario&) { node.choice({"lockstep/scenario/1"}); });
  schema.writes([](const Scenario&) { return Json("lockstep/scenario/1"); });
  add_schema_link(f);
  f.text("name", &Scenario::name).means("title of the table");
  f.text("description", &Scenario::description).optional("none").means("for the reader; no effect");
  f.choice("algorithm", &Scenario::algorithm)
      .otherwise("s-sgd")
      .means(
          "how gradients or models are exchanged; what an algorithm needs besides is in the object of its name, see "
          "below");
}

void add_machine(Format& f) {
  auto cluster = f.object("cluster", &Scenario::cluster, cluster_format());
  cluster.written_as("text or object", "path ending in `.json`, or a cluster object",
                     file_or_object_schema(cluster_format().schema()));
  cluster.means("the machine");
  cluster.reads([](const JsonNode& node, Scenario& s) { s.cluster = read_cluster(node); });
  auto model = f.custom("model", "text or object",
                        "a name of `simulate --list-models`, a path ending in `.json`, or a model object; of a "
                        "language model `NAME@TOKENS`, or `{\"config\" or \"name\", \"sequence\", \"attention\"}`",
                        {{"type", {"string", "object"}}});
  model.means("the network; layers give compute time, parameters give bytes to reduce");
  model.reads([](const JsonNode& node, Scenario& s) { s.model = read_model(node); });
  model.writes(write_model);
  auto gpus = f.custom(
      "gpus", "array of whole", "each 1 to " + std::to_string(kMostGpus) + ", at least one",
      {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostGpus}}}, {"minItems", 1}});
  gpus.means("GPU counts to predict, one point each");
  gpus.reads([](const JsonNode& node, Scenario& s) { s.gpus = read_gpus(node); });
  gpus.writes([](const Scenario& s) { return Json(s.gpus); });
  f.group("baseline", baseline_format()).otherwise(Json::object()).means("reference of `scaling_efficiency`");
  auto batch = f.custom("batch_per_gpu", "whole, or array of `{\"up_to_gpus\", \"batch\"}`", "batch 1 to 1048576",
                        {{"anyOf", Json::array({{{"type", "integer"}, {"minimum", 1}, {"maximum", kLargestBatch}},
                                                {{"type", "array"}, {"items", batch_rule_format().schema()}}})}});
  batch.optional("with `parallel`, which has batches of its own").means("samples per GPU and iteration");
  batch.reads([](const JsonNode& node, Scenario& s) { s.batch = read_batch(node); });
  batch.writes(write_batch);
  batch.unsaid_where([](const Scenario& s) { return s.parallel.has_value(); });
  f.object("parallel", &Scenario::parallel, parallel_format())
      .optional("every GPU is a replica")
      .means("[parallel](#parallel): a replica is a group of GPUs");
}

// Parts that are read earlier determine how these are read.
void add_parts(Format& f) {
  auto compute = f.object("compute", &Scenario::compute, compute_format());
  compute.means("[compute](#compute)");
  compute.reads([](const JsonNode& node, Scenario& s) {
    s.compute.profile.model = s.model.name;
    compute_format().read(node, s.compute);
  });
  f.object("input", &Scenario::input, input_format()).otherwise(Json::object()).means("[input](#input)");
  auto communication = f.object("communication", &Scenario::communication, communication_format());
  communication.otherwise(Json::object()).means("[communication](#communication)");
  communication.reads([](const JsonNode& node, Scenario& s) { s.communication = read_communication(node, s.cluster); });
}

void add_algorithms(Format& f) {
  auto learners = f.object("learners", &Scenario::learners, learners_format());
  learners.needed_where(where_algorithm([](Algorithm a) { return a == Algorithm::sma || a == Algorithm::ea_sgd; }))
      .means("[learners](#learners), of the algorithms `sma` and `ea-sgd`");
  learners.reads([read = learners.reader()](const JsonNode& node, Scenario& s) {
    read(node, s);
    if (s.learners.fill_of_profile) read_fill_of_profile(node.at("fill"), s);
  });
  learners.unsaid_where([](const Scenario& s) { return !s.trains_learners(); });
  f.object("parameter_server", &Scenario::parameter_server, parameter_server_format())
      .needed_where(where_algorithm(Algorithm::parameter_server))
      .means("[parameter_server](#parameter_server), of the algorithm `parameter-server`");
  auto workers = f.object("workers", &Scenario::workers, workers_format());
  workers.needed_where(where_algorithm(has_workers))
      .means("[workers](#workers), of the algorithms `backup-workers`, `async-sgd` and `async-easgd`");
  // Checks objects that only some variants use, so that mistakes are found.
  workers.reads([](const JsonNode& node, Scenario& s) {
    const Algorithm algorithm = has_workers(s.algorithm) ? s.algorithm : Algorithm::backup_workers;
    const WorkersSpec spec = read_workers(node, algorithm);
    if (has_workers(s.algorithm)) {
      s.workers = spec;
      return;
    }
    const int most = *std::max_element(s.gpus.begin(), s.gpus.end());
    if (const auto problem = find_problem(spec, most, s))
      node.at(problem->pointer.substr(std::string("/workers/").size())).fail(problem->wrong, problem->allowed);
  });
  add_exchanges(f);
}

void add_results(Format& f) {
  auto convergence = f.object("convergence", &Scenario::convergence, convergence_format());
  convergence.means("[convergence](#convergence); without it there is no time to accuracy");
  convergence.reads([](const JsonNode& node, Scenario& s) { s.convergence = read_convergence(node); });
  auto published = f.list("published", &Scenario::published, published_format());
  published.otherwise(Json::array()).means("[published](#published)");
  published.reads([](const JsonNode&, Scenario&) {});  // read_published()
  f.object("uncertainty", &Scenario::uncertainty, uncertainty_format())
      .otherwise(Json::object())
      .means("[uncertainty](#uncertainty)");
  f.whole("iterations", &Scenario::iterations, 1, 100000)
      .otherwise(10)
      .means("measured iterations of a point; one more runs before them and is not counted");
  f.whole("seed", &Scenario::seed, 0, std::numeric_limits<std::int64_t>::max())
      .otherwise(1)
      .means("seed of the compute jitter, and of when asynchronous workers begin");
  f.boolean("ignore_memory", &Scenario::ignores_memory)
      .optional("`false`")
      .means(
          "points that do not fit into the GPUs' [memory](#memory-of-a-gpu) are predicted all the same "
          "(`--ignore-memory`)");
  f.choice("fidelity", &Scenario::fidelity)
      .otherwise("fast")
      .means("how time is computed, see below; with `parallel` the default is `analytic`");
  const Json one{{"type", "object"},
                 {"properties", {{"name", {{"type", "string"}}}, {"set", {{"type", "object"}}}}},
                 {"required", {"name", "set"}},
                 {"additionalProperties", false}};
  auto list = f.custom("variants", "array", "at least one", {{"type", "array"}, {"items", one}, {"minItems", 1}});
  list.optional("none").means("[variants](#variants)");
  list.reads([](const JsonNode&, Scenario&) {});  // read_variants()
  list.writes([](const Scenario&) { return Json(); });
  auto jobs = f.custom("jobs", "array", "at least one", {{"type", "array"}, {"items", job_schema()}, {"minItems", 1}});
  jobs.optional("none").means("[jobs](#jobs) that run on the cluster at the same time; not with `variants`");
  jobs.reads([](const JsonNode&, Scenario&) {});  // read_variants()
  jobs.writes([](const Scenario&) { return Json(); });
  f.list("background", &Scenario::background, background_format())
      .optional("none")
      .means("[background](#background): other traffic on the cluster's network");
}

}  // namespace

const ObjectFormat<Scenario>& scenario_format() {
  static const Format format = [] {
    Format f("scenario");
    add_identity(f);
    add_machine(f);
    add_parts(f);
    add_algorithms(f);
    add_results(f);
    return f;
  }();
  return format;
}

std::vector<Variant> read_variants(const JsonNode& root) {
  const auto node = root.find("variants"), jobs = root.find("jobs");
  if (node && jobs) jobs->fail("given with \"variants\"", "allowed: one of them");
  if (jobs) return read_jobs(*jobs, root.json());
  if (!node) return {{"", "", {}}};
  std::vector<Variant> variants;
  for (const JsonNode& item : node->items()) {
    item.keys({"name", "set"});
    const std::string name = item.at("name").text();
    if (std::any_of(variants.begin(), variants.end(), [&](const Variant& v) { return v.name == name; }))
      item.at("name").fail("another variant has this name");
    Variant variant{name, root.document().name() + ": " + item.pointer() + "/set", {}};
    for (const auto& [pointer, value] : item.at("set").members())
      variant.settings.emplace_back(pointer, value.json().dump());
    variants.push_back(variant);
  }
  if (variants.empty()) node->fail("empty list", "allowed: [{\"name\", \"set\": {\"/json/pointer\": value}}, ...]");
  return variants;
}

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
  const Json& json = scenario.json();
  // The default fidelity of a split is the closed form, because a replay simulates every message of each block.
  if (json.is_object() && json.contains("parallel") && !json.contains("fidelity"))
    scenario.set("/fidelity", Json(name_of(Fidelity::analytic)).dump(), "default");
  scenario_format().complete(scenario, "");
}

void fill_baseline(JsonDocument& scenario) {
  const Json& json = scenario.json();
  if (!json.contains("baseline") || !json.at("baseline").is_object() || json.at("baseline").contains("gpus")) return;
  const Json gpus = json.value("gpus", Json::array());
  const bool is_split = json.contains("parallel") && gpus.is_array() && !gpus.empty();
  const Json least = is_split ? *std::min_element(gpus.begin(), gpus.end()) : Json(gpus_per_node(json));
  scenario.set("/baseline/gpus", least.dump(), "default");
}

}  // namespace lockstep::sim::scenario
