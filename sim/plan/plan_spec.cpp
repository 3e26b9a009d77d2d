#include "sim/plan/plan_spec.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/text.hpp"
#include "engine/base/version.hpp"
#include "sim/plan/grid.hpp"
#include "sim/plan/plan_read.hpp"

namespace lockstep::sim::plan {
namespace {

constexpr double kLargestPrice_per_s = 1e6 / 3600;
constexpr Range kPrice{0, kLargestPrice_per_s};
constexpr Range kPower{0, 1e6};

PriceOverrides read_overrides(const JsonNode& node) {
  node.keys({"gpu", "nic", "node", "gpu_power"});
  PriceOverrides prices;
  if (const auto price = node.find("gpu")) prices.gpu_price_per_s = price->sourced_quantity(Dimension::price, kPrice);
  if (const auto price = node.find("nic")) prices.nic_price_per_s = price->sourced_quantity(Dimension::price, kPrice);
  if (const auto price = node.find("node")) prices.node_price_per_s = price->sourced_quantity(Dimension::price, kPrice);
  if (const auto power = node.find("gpu_power")) prices.gpu_power_w = power->sourced_quantity(Dimension::power, kPower);
  return prices;
}

// Reads one quantity for all GPUs, or a list of quantities by GPU or cluster.
std::vector<OfGpu> read_of_gpu(const JsonNode& node, const char* key, Dimension dimension, Range range) {
  if (!node.is_array()) return {{"", "", node.sourced_quantity(dimension, range)}};
  std::vector<OfGpu> all;
  for (const JsonNode& item : node.items()) {
    item.keys({"gpu", "cluster", key});
    OfGpu one;
    if (const auto gpu = item.find("gpu")) one.gpu = gpu->text();
    if (const auto cluster = item.find("cluster")) one.cluster = cluster->text();
    one.value = item.at(key).sourced_quantity(dimension, range);
    all.push_back(one);
  }
  return all;
}

PricesSpec read_prices(const JsonNode& node) {
  node.keys({"gpu", "nic", "node", "gpu_power", "energy", "bill", "uncertainty"});
  PricesSpec prices;
  if (const auto gpu = node.find("gpu")) prices.gpu_price_per_s = read_of_gpu(*gpu, "price", Dimension::price, kPrice);
  if (const auto nic = node.find("nic")) prices.nic_price_per_s = nic->sourced_quantity(Dimension::price, kPrice);
  if (const auto n = node.find("node")) prices.node_price_per_s = n->sourced_quantity(Dimension::price, kPrice);
  if (const auto power = node.find("gpu_power"))
    prices.gpu_power_w = read_of_gpu(*power, "power", Dimension::power, kPower);
  if (const auto energy = node.find("energy"))
    prices.energy_price_per_j = energy->sourced_quantity(Dimension::tariff, {0, 1e3 / 3.6e6});
  if (const auto bill = node.find("bill")) prices.bills_whole_nodes = bill->choice({"nodes", "gpus"}) == "nodes";
  if (const auto u = node.find("uncertainty")) prices.uncertainty = u->sourced_number({0, 0.9});
  return prices;
}

Objective read_objective(const JsonNode& node) {
  node.keys({"kind", "deadline", "budget", "cautious"});
  Objective objective;
  objective.kind = read_choice<ObjectiveKind>(node.at("kind"));
  const std::string kind = name_of(objective.kind);
  if (objective.kind == ObjectiveKind::least_cost_by_deadline)
    objective.deadline_s = node.at("deadline").quantity(Dimension::time, {1e-3, 1e10});
  else if (const auto deadline = node.find("deadline"))
    deadline->fail("objective \"" + kind + "\" has no deadline", "allowed: with least-cost-by-deadline");
  if (objective.kind == ObjectiveKind::least_time_in_budget)
    objective.budget = node.at("budget").quantity(Dimension::money, {1e-6, 1e15});
  else if (const auto budget = node.find("budget"))
    budget->fail("objective \"" + kind + "\" has no budget", "allowed: with least-time-in-budget");
  if (const auto cautious = node.find("cautious")) objective.is_cautious = cautious->boolean();
  return objective;
}

WorkSpec read_work(const JsonNode& node) {
  node.keys({"samples", "epochs", "samples_per_epoch"});
  if (const auto samples = node.find("samples")) {
    for (const char* key : {"epochs", "samples_per_epoch"})
      if (const auto other = node.find(key)) other->fail("stands beside samples", "allowed: one of the two");
    return {samples->sourced_number({1, 1e18})};
  }
  return {node.at("epochs").sourced_number({1e-3, 1e6}) * node.at("samples_per_epoch").sourced_number({1, 1e12})};
}

LimitsSpec read_limits(const JsonNode& node) {
  node.keys({"memory_per_gpu", "reserved_memory", "global_batch"});
  LimitsSpec limits;
  if (const auto memory = node.find("memory_per_gpu"))
    limits.memory_bytes = memory->sourced_quantity(Dimension::size, {1e6, 1e15});
  if (const auto reserved = node.find("reserved_memory"))
    limits.reserved_bytes = reserved->sourced_quantity(Dimension::size, {0, 1e15});
  if (const auto batch = node.find("global_batch")) {
    const double images = batch->sourced_number({1, 1e12});
    if (images != std::floor(images)) batch->fail("expected a whole number", "allowed: 1 to 1e12");
    limits.most_global_batch = static_cast<std::int64_t>(images);
  }
  return limits;
}

RefineSpec read_refine(const JsonNode& node) {
  node.keys({"coarse", "refined", "analytic_error", "most", "most_messages", "most_messages_around"});
  RefineSpec refine;
  const std::vector<std::string> names{"analytic", "fast", "message"};
  if (const auto coarse = node.find("coarse"))
    refine.coarse = choice_named<Fidelity>(coarse->choice(names), "fidelity");
  if (const auto refined = node.find("refined"))
    refine.refined = choice_named<Fidelity>(refined->choice({"analytic", "fast", "message"}), "fidelity");
  if (const auto error = node.find("analytic_error")) refine.analytic_error = error->sourced_number({0, 1});
  if (const auto most = node.find("most")) refine.most = static_cast<int>(most->integer(0, 1000000));
  if (const auto messages = node.find("most_messages")) refine.most_messages = messages->number({1, 1e15});
  if (node.has("most_messages")) refine.most_messages_around = refine.most_messages;
  if (const auto messages = node.find("most_messages_around"))
    refine.most_messages_around = messages->number({1, 1e15});
  return refine;
}

std::vector<Setting> read_set(const JsonNode& node) {
  std::vector<Setting> settings;
  for (const auto& [pointer, value] : node.members()) settings.push_back(read_setting(value, pointer));
  return settings;
}

// Reads an object of texts and numbers by name.
Json read_facets(const JsonNode& node) {
  for (const auto& [name, value] : node.members())
    if (value.json().is_structured() || value.is_null()) value.fail("no plain value", "allowed: a text or a number");
  if (node.json().empty()) node.fail("nothing to show", "allowed: one or more names with values");
  return node.json();
}

AxisValue read_named_value(const JsonNode& node) {
  node.keys({"name", "set", "prices", "shown", "refused"});
  AxisValue value;
  value.name = node.at("name").text();
  value.shown = value.name;
  if (const auto refused = node.find("refused"))
    value.refused = refused->text();
  else
    value.settings = read_set(node.at("set"));
  if (const auto prices = node.find("prices")) value.prices = read_overrides(*prices);
  if (const auto shown = node.find("shown")) value.facets = read_facets(*shown);
  value.pointer = node.pointer();
  return value;
}

// Reads a value of an axis with one pointer. Leaves {"value", "kind", "source"} unchanged.
AxisValue read_plain_value(const JsonNode& node, const std::string& pointer) {
  AxisValue value;
  value.shown = node.is_object() && node.has("value") ? node.at("value").json() : node.json();
  if (value.shown.is_structured() || value.shown.is_null())
    node.fail("no plain value", "allowed: a text, a number, true or false, or {\"name\", \"set\"} without \"pointer\"");
  value.name = value.shown.is_string() ? value.shown.get<std::string>() : value.shown.dump();
  value.settings.push_back(read_setting(node, pointer));
  value.pointer = node.pointer();
  return value;
}

void check_distinct(const JsonNode& node, const std::vector<AxisValue>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (values[i].name == values[j].name) node.items()[i].fail("the value " + in_quotes(values[i].name) + " twice");
}

// Checks that each value has all columns of the table.
void check_facets(const JsonNode& values, const std::vector<AxisValue>& all) {
  const auto names = [](const AxisValue& value) {
    std::vector<std::string> list;
    for (const auto& facet : value.facets.items()) list.push_back(facet.key());
    return list;
  };
  for (std::size_t i = 1; i < all.size(); ++i)
    if (names(all[i]) != names(all[0]))
      values.items()[i].fail("does not show what the first value of its axis shows",
                             "allowed: " + (all[0].facets.empty() ? "no \"shown\"" : joined(names(all[0]))));
}

Axis read_axis(const JsonNode& node) {
  node.keys({"name", "pointer", "values", "machines"});
  Axis axis;
  axis.name = node.at("name").text();
  if (const auto machines = node.find("machines")) axis.has_machines = machines->boolean();
  if (axis.name == "point") node.at("name").fail("\"point\" names the listed points", "allowed: another name");
  const JsonNode values = node.at("values");
  const auto pointer = node.find("pointer");
  for (const JsonNode& item : values.items())
    axis.values.push_back(pointer ? read_plain_value(item, pointer->text()) : read_named_value(item));
  if (axis.values.empty()) values.fail("empty list", "allowed: one or more values");
  check_facets(values, axis.values);
  check_distinct(values, axis.values);
  return axis;
}

// Returns the pointer that all values of the axis set. /nodes counts as /gpus. Empty: they set several pointers.
std::string place_of(const JsonNode& axis) {
  const std::string pointer = axis.has("pointer") ? axis.at("pointer").text() : "";
  return pointer == "/nodes" ? "/gpus" : pointer;
}

std::vector<Axis> read_axes(const JsonNode& node) {
  std::vector<Axis> axes;
  const std::vector<JsonNode> items = node.items();
  for (const JsonNode& item : items) {
    Axis axis = read_axis(item);
    for (std::size_t other = 0; other < axes.size(); ++other) {
      for (const auto& mine : shown_of(axis.name, axis.values))
        for (const auto& others : shown_of(axes[other].name, axes[other].values))
          if (mine.first == others.first) item.at("name").fail("another axis has this name");
      if (!place_of(item).empty() && place_of(items[other]) == place_of(item))
        item.at("pointer").fail("the axis " + in_quotes(axes[other].name) + " sets this place too");
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

constexpr std::size_t kLargestScenario = std::size_t{64} << 20;  // bytes; the JSON reader's limit

ScenarioTemplate load_scenario_template(const JsonNode& root, const std::string& path) {
  const JsonNode node = root.at("scenario");
  const std::string variant = root.has("variant") ? root.at("variant").text() : "";
  if (node.is_object()) {
    try {
      return ScenarioTemplate::parse(node.json().dump(), path, variant);
    } catch (const InputError& error) {
      throw InputError(with_pointer(error.what(), path, "/scenario"));
    }
  }
  const std::filesystem::path named = node.text();
  const std::string file = (std::filesystem::path(path).parent_path() / named).lexically_normal().string();
  std::string ignored, why;
  if (!try_read_file(file, kLargestScenario, ignored, why))
    node.fail("cannot read " + in_quotes(file) + ": " + why,
              "allowed: a scenario's file, by its path from the plan's folder");
  return ScenarioTemplate::load(file, variant);
}

// Refuses scenarios whose jobs run at the same time.
ScenarioTemplate read_scenario_template(const JsonNode& root, const std::string& path) {
  ScenarioTemplate base = load_scenario_template(root, path);
  for (const auto* key : {"jobs", "background"})
    if (base.json().contains(key))
      root.at("scenario")
          .fail(std::string("has \"") + key + "\", and a plan predicts each point alone on its cluster",
                "allowed: without it; simulate SCENARIO.json predicts what shares a cluster");
  return base;
}

// An objective with money requires a price of GPUs, in the plan or in a point.
void check_prices(const PlanSpec& plan) {
  bool has_price = !plan.prices.gpu_price_per_s.empty() || plan.objective.kind == ObjectiveKind::least_time;
  const auto look = [&](const AxisValue& value) { has_price = has_price || value.prices.gpu_price_per_s.has_value(); };
  for (const Axis& axis : plan.axes) std::for_each(axis.values.begin(), axis.values.end(), look);
  std::for_each(plan.listed.begin(), plan.listed.end(), look);
  if (!has_price)
    throw InputError(plan.path + ": /prices/gpu: missing, and the objective is \"" + name_of(plan.objective.kind) +
                     "\"; allowed: a price such as \"2 USD/h\", or a list by GPU or cluster");
}

// Sets the currency of all amounts of money below `node`. Fails if they have two.
void find_currency(const JsonNode& node, PricesSpec& prices, std::string& where) {
  if (node.is_object())
    for (const auto& member : node.members()) find_currency(member.second, prices, where);
  if (node.is_array())
    for (const JsonNode& item : node.items()) find_currency(item, prices, where);
  if (!node.is_string()) return;
  const std::string currency = currency_in(node.json().get<std::string>());
  if (currency.empty()) return;
  if (!where.empty() && currency != prices.currency)
    node.fail(currency + " beside the " + prices.currency + " of " + where, "allowed: one currency");
  prices.currency = currency;
  if (where.empty()) where = node.pointer();
}

void find_currency(const JsonNode& root, PricesSpec& prices) {
  std::string where;
  const auto find_below = [&](const std::optional<JsonNode>& node) {
    if (node) find_currency(*node, prices, where);
  };
  const auto find_in_each = [&](const std::optional<JsonNode>& values) {
    if (!values) return;
    for (const JsonNode& value : values->items())
      if (value.is_object()) find_below(value.find("prices"));
  };
  find_below(root.find("prices"));
  find_below(root.find("objective"));
  find_in_each(root.find("points"));
  if (const auto axes = root.find("axes"))
    for (const JsonNode& axis : axes->items()) find_in_each(axis.find("values"));
}

// Servers that hold whole tensors are accessed one after the other. The closed form only estimates their queues. Its
// error was up to -31 % (257 ms for 372 ms).
constexpr double kErrorOfServersOfTensors = 0.31;

// Calls `read` with the settings of a point and of the plan. Errors name places in the plan's file.
template <class Read>
decltype(auto) read_under(const PlanSpec& plan, const std::vector<Setting>& settings, const Read& read) {
  try {
    if (!plan.ignores_memory) return read(settings);
    std::vector<Setting> all = settings;
    all.push_back({"/ignore_memory", "true", "--ignore-memory", ""});
    return read(all);
  } catch (const InputError& error) {
    if (!plan.has_own_scenario) throw;
    throw InputError(with_pointer(error.what(), plan.path, "/scenario"));
  }
}

void set_analytic_error(const JsonNode& root, bool has_servers_of_tensors, PlanSpec& plan) {
  const auto refine = root.find("refine");
  const bool is_stated = refine && refine->has("analytic_error");
  const bool is_of_servers = !is_stated && has_servers_of_tensors;
  if (is_of_servers) plan.refine.analytic_error = kErrorOfServersOfTensors;
  root.document().note({"/refine/analytic_error", plan.refine.analytic_error, "assumed",
                        is_of_servers ? "default where servers hold whole tensors: the farthest that was seen"
                                      : "default: how far the closed form is taken to be from the fidelity that "
                                        "refines it"});
}

}  // namespace

LoadedScenario scenario_with(const PlanSpec& plan, const std::vector<Setting>& settings) {
  return read_under(plan, settings, [&](const auto& all) { return plan.scenario->with(all); });
}

const Scenario& scenario_with(const PlanSpec& plan, const std::vector<Setting>& settings, ScenarioSeries& series) {
  return read_under(plan, settings, [&](const auto& all) -> const Scenario& { return series.with(all); });
}

std::vector<std::pair<std::string, std::vector<Json>>> shown_of(const std::string& name,
                                                                const std::vector<AxisValue>& values) {
  std::vector<std::pair<std::string, std::vector<Json>>> shown;
  const auto add = [&](const std::string& key, const Json& value) {
    auto found = std::find_if(shown.begin(), shown.end(), [&](const auto& one) { return one.first == key; });
    if (found == shown.end()) found = shown.insert(shown.end(), {key, {}});
    std::vector<Json>& list = found->second;
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
  };
  for (const AxisValue& value : values) {
    if (value.facets.empty()) add(name, value.shown);
    for (const auto& facet : value.facets.items()) add(facet.key(), facet.value());
  }
  return shown;
}

PlanSpec load_plan(const std::string& path, bool ignores_memory) {
  return read_plan(JsonDocument::load(path), ignores_memory);
}

PlanSpec read_plan(JsonDocument document, bool ignores_memory) {
  const std::string path = document.name();
  if (document.root().has("energy")) energy_format().complete(document, "/energy");
  document.include("/failures/availability");
  if (document.root().has("failures")) failures_format().complete(document, "/failures");
  const JsonNode root = document.root();
  root.keys({"schema", "name", "description", "scenario", "variant", "axes", "points", "work", "prices", "objective",
             "limits", "refine", "failures", "energy", "split"});
  root.at("schema").choice({"lockstep/plan/1"});
  PlanSpec plan;
  plan.path = path;
  plan.ignores_memory = ignores_memory;
  plan.name = root.at("name").text();
  if (const auto description = root.find("description")) plan.description = description->text();
  if (const auto axes = root.find("axes")) plan.axes = read_axes(*axes);
  if (const auto points = root.find("points")) {
    for (const JsonNode& item : points->items()) plan.listed.push_back(read_named_value(item));
    check_distinct(*points, plan.listed);
  }
  if (const auto work = root.find("work")) plan.work = read_work(*work);
  if (const auto prices = root.find("prices")) plan.prices = read_prices(*prices);
  plan.objective = read_objective(root.at("objective"));
  find_currency(root, plan.prices);
  if (const auto split = root.find("split")) plan.searches_splits = split->choice({"stated", "all"}) == "all";
  if (const auto limits = root.find("limits")) plan.limits = read_limits(*limits);
  if (const auto refine = root.find("refine")) plan.refine = read_refine(*refine);
  if (const auto energy = root.find("energy")) plan.prices.energy = energy_format().read(*energy);
  if (const auto failures = root.find("failures")) plan.failures = failures_format().read(*failures);
  check_prices(plan);
  plan.scenario = read_scenario_template(root, path);
  plan.has_own_scenario = root.at("scenario").is_object();
  complete_axes(root, plan);
  plan.points = grid_points(plan);
  const ScenariosRead read = read_all_values(plan);
  set_analytic_error(root, read.has_servers_of_tensors, plan);
  plan.inputs = read.inputs;
  const std::map<std::string, std::string> inputs = document.inputs();
  plan.inputs.insert(inputs.begin(), inputs.end());
  plan.assumptions = document.assumptions();
  std::string all = (inputs.empty() ? document.json().dump() + "\n" : "") + version() + " " + git_revision() +
                    (ignores_memory ? " ignoring memory\n" : "\n");
  for (const auto& [file, digest] : plan.inputs) all += digest + "\n";
  plan.digest = sha256_hex(all);
  return plan;
}

}  // namespace lockstep::sim::plan
