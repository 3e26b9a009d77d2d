#include <Eigen/Core>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/convergence/profile.hpp"

namespace lockstep::sim::convergence {
namespace {

const Range kCount{0, 1e15};
const Range kPositive{1e-9, 1e15};

// ---- reading ----

std::vector<TargetAccuracy> read_targets(const JsonNode& node) {
  std::vector<TargetAccuracy> targets;
  for (const JsonNode& item : node.items()) {
    item.keys({"name", "accuracy", "loss"});
    if (item.has("accuracy") == item.has("loss")) item.fail("not one target", "allowed: accuracy, or loss");
    TargetAccuracy target{item.at("name").text()};
    if (item.has("loss"))
      target.loss = item.at("loss").number({1e-6, 1e3});
    else
      target.accuracy = item.at("accuracy").number({1e-6, 1});
    targets.push_back(target);
  }
  if (targets.empty()) node.fail("empty list", "allowed: [{\"name\", \"accuracy\" or \"loss\"}, ...]");
  return targets;
}

TargetReached read_reached(const JsonNode& node) {
  node.keys({"iterations", "above", "more_than"});
  if (const auto censored = node.find("more_than")) {
    if (node.has("iterations")) node.fail("reached it and did not", "allowed: iterations, or more_than");
    return {false, censored->number(kCount), 0};
  }
  TargetReached reached{true, node.at("iterations").number(kPositive), 0};
  if (const auto above = node.find("above")) reached.above = above->number({0, reached.iterations});
  return reached;
}

NoiseStretch read_noise_stretch(const JsonNode& node) {
  node.keys({"iterations", "critical_batch", "low", "high"});
  NoiseStretch stretch{node.at("iterations").number(kPositive), std::nullopt, node.at("low").number(kCount), {}};
  if (const auto batch = node.find("critical_batch")) stretch.critical_batch = batch->number(kCount);
  if (const auto high = node.find("high")) stretch.high = high->number({stretch.low, kCount.high});
  return stretch;
}

ProfileRun read_run(const JsonNode& node, std::size_t targets) {
  node.keys({"cell", "algorithm", "batch", "workers", "tau", "staleness", "seed", "learning_rate", "held_out",
             "diverged", "targets", "noise_scale", "source"});
  ProfileRun run;
  run.cell = node.at("cell").text();
  run.setting.algorithm = read_choice(node.at("algorithm"), algorithms_with_laws());
  run.setting.batch = node.at("batch").number(kPositive);
  run.setting.workers = node.at("workers").number(kPositive);
  if (const auto tau = node.find("tau")) run.setting.tau = tau->number(kCount);
  if (const auto staleness = node.find("staleness")) run.setting.staleness = staleness->number(kCount);
  if (const auto seed = node.find("seed"))
    run.seed = static_cast<std::uint64_t>(seed->integer(0, std::int64_t{1} << 62));
  if (const auto rate = node.find("learning_rate")) run.learning_rate = rate->number({0, 1e6});
  if (const auto out = node.find("held_out")) run.is_held_out = out->boolean();
  if (const auto diverged = node.find("diverged")) run.is_diverged = diverged->boolean();
  for (const JsonNode& item : node.at("targets").items()) run.targets.push_back(read_reached(item));
  if (run.targets.size() != targets)
    node.at("targets").fail("has not one entry per target", "allowed: " + std::to_string(targets) + " entries");
  if (const auto noise = node.find("noise_scale"))
    for (const JsonNode& item : noise->items()) run.noise.push_back(read_noise_stretch(item));
  run.source = node.at("source").text();
  return run;
}

RunWithoutLaw read_run_without_law(const JsonNode& node) {
  node.keys({"cell", "algorithm", "why", "source"});
  return {node.at("cell").text(), node.at("algorithm").text(), node.at("why").text(), node.at("source").text()};
}

Eigen::Matrix2d read_covariance(const JsonNode& node) {
  const std::vector<JsonNode> rows = node.items();
  Eigen::Matrix2d covariance;
  if (rows.size() != 2) node.fail("is no matrix", "allowed: two rows of two numbers");
  for (int i = 0; i < 2; ++i) {
    const std::vector<JsonNode> columns = rows[static_cast<std::size_t>(i)].items();
    if (columns.size() != 2) node.fail("is no matrix", "allowed: two rows of two numbers");
    for (int j = 0; j < 2; ++j) covariance(i, j) = columns[static_cast<std::size_t>(j)].number({-1e6, 1e6});
  }
  const double mean = covariance.trace() / 2, half = (covariance(0, 0) - covariance(1, 1)) / 2;
  const double least_eigenvalue = mean - std::hypot(half, covariance(1, 0));
  if (std::abs(covariance(0, 1) - covariance(1, 0)) > 1e-9 || least_eigenvalue < -1e-9)
    node.fail("is no covariance", "allowed: a symmetric matrix without negative eigenvalues");
  return covariance;
}

void read_parameters(const JsonNode& node, Law& law) {
  const char* const keys[][2] = {
      {"iterations_least", "critical"}, {"iterations_fresh", "per_unit"}, {"iterations_at_1", "exponent"}};
  const auto& names = keys[static_cast<int>(law.kind)];
  node.keys({names[0], names[1]});
  const double first = std::log(node.at(names[0]).number(kPositive));
  const JsonNode second = node.at(names[1]);
  law.parameters = law.kind == LawKind::power ? Eigen::Vector2d(first, second.number({-100, 100}))
                                              : Eigen::Vector2d(first, first + std::log(second.number({1e-12, 1e15})));
}

std::vector<std::pair<double, double>> read_table(const JsonNode& node) {
  std::vector<std::pair<double, double>> table;
  for (const JsonNode& item : node.items()) {
    item.keys({"x", "iterations"});
    table.emplace_back(item.at("x").number(kPositive), item.at("iterations").number(kPositive));
    if (table.size() > 1 && table[table.size() - 2].first >= table.back().first)
      item.at("x").fail("not in ascending order");
  }
  if (table.empty()) node.fail("empty list", "allowed: [{\"x\", \"iterations\"}, ...]");
  return table;
}

Deviations read_deviations(const JsonNode& node) {
  node.keys({"between", "within", "cells"});
  Deviations deviations;
  deviations.between = node.at("between").number({0, 100});
  deviations.within = node.at("within").number({0, 100});
  for (const JsonNode& item : node.at("cells").items()) {
    item.keys({"x", "log_deviation", "runs"});
    deviations.cells.push_back({item.at("x").number(kCount), item.at("log_deviation").number({-100, 100}),
                                static_cast<int>(item.at("runs").integer(1, 1'000'000))});
    const std::size_t count = deviations.cells.size();
    if (count > 1 && deviations.cells[count - 2].x >= deviations.cells[count - 1].x)
      item.at("x").fail("not in ascending order");
  }
  return deviations;
}

ConvergenceFit read_fit(const JsonNode& node, const ConvergenceProfile& profile) {
  node.keys({"algorithm", "variable", "target", "batch", "learners", "law", "parameters", "log_covariance", "spread",
             "degrees_of_freedom", "deviations", "table", "range", "reached", "censored", "diverged"});
  ConvergenceFit fit;
  fit.algorithm = read_choice(node.at("algorithm"), algorithms_with_laws());
  fit.variable = node.at("variable").choice({"batch", "learners", "tau", "staleness"});
  const auto target = profile.target_named(node.at("target").text());
  if (!target) node.at("target").fail("is none of the profile's targets");
  fit.target = *target;
  if (profile.fit(fit.algorithm, fit.variable, fit.target)) node.fail("is there twice");
  if (const auto batch = node.find("batch")) fit.batch = batch->number(kPositive);
  if (const auto learners = node.find("learners")) fit.learners = learners->number(kPositive);
  const std::string law = node.at("law").choice({"saturating", "linear", "power", "table"});
  fit.law.spread = node.at("spread").number({0, 10});
  fit.law.degrees = node.at("degrees_of_freedom").number({1, 1e6});
  if (law == "table") {
    fit.table = read_table(node.at("table"));
  } else {
    fit.law.kind = law == "power" ? LawKind::power : law == "linear" ? LawKind::linear : LawKind::saturating;
    read_parameters(node.at("parameters"), fit.law);
    fit.law.covariance = read_covariance(node.at("log_covariance"));
    if (const auto deviations = node.find("deviations")) fit.law.deviations = read_deviations(*deviations);
  }
  const std::vector<JsonNode> range = node.at("range").items();
  if (range.size() != 2) node.at("range").fail("is no range", "allowed: [from, to]");
  fit.from_x = range[0].number(kCount);
  fit.to_x = range[1].number({fit.from_x, kCount.high});
  fit.reached = static_cast<int>(node.at("reached").integer(0, 1'000'000));
  fit.censored = static_cast<int>(node.at("censored").integer(0, 1'000'000));
  fit.diverged = static_cast<int>(node.at("diverged").integer(0, 1'000'000));
  return fit;
}

// ---- writing ----

Json noise_stretch_json(const NoiseStretch& stretch) {
  Json json = {{"iterations", stretch.iterations}};
  if (stretch.critical_batch) json["critical_batch"] = *stretch.critical_batch;
  json["low"] = stretch.low;
  if (stretch.high) json["high"] = *stretch.high;
  return json;
}

Json run_json(const ProfileRun& run) {
  Json json = {{"cell", run.cell},
               {"algorithm", name_of(run.setting.algorithm)},
               {"batch", run.setting.batch},
               {"workers", run.setting.workers}};
  if (run.setting.tau != 1) json["tau"] = run.setting.tau;
  if (run.setting.staleness != 0) json["staleness"] = run.setting.staleness;
  json["seed"] = run.seed;
  if (run.learning_rate > 0) json["learning_rate"] = run.learning_rate;
  if (run.is_held_out) json["held_out"] = true;
  if (run.is_diverged) json["diverged"] = true;
  json["targets"] = Json::array();
  for (const TargetReached& target : run.targets) {
    if (target.is_reached)
      json["targets"].push_back({{"iterations", target.iterations}, {"above", target.above}});
    else
      json["targets"].push_back({{"more_than", target.iterations}});
  }
  for (const NoiseStretch& stretch : run.noise) json["noise_scale"].push_back(noise_stretch_json(stretch));
  json["source"] = run.source;
  return json;
}

Json parameters_json(const Law& law) {
  const double first = std::exp(law.parameters(0));
  if (law.kind == LawKind::power) return {{"iterations_at_1", first}, {"exponent", law.parameters(1)}};
  const double ratio = std::exp(law.parameters(1) - law.parameters(0));
  if (law.kind == LawKind::linear) return {{"iterations_fresh", first}, {"per_unit", ratio}};
  return {{"iterations_least", first}, {"critical", ratio}};
}

Json deviations_json(const Deviations& deviations) {
  Json cells = Json::array();
  for (const CellDeviation& cell : deviations.cells)
    cells.push_back({{"x", cell.x}, {"log_deviation", cell.log_deviation}, {"runs", cell.runs}});
  return {{"between", deviations.between}, {"within", deviations.within}, {"cells", cells}};
}

Json fit_json(const ConvergenceFit& fit, const ConvergenceProfile& profile) {
  Json json = {
      {"algorithm", name_of(fit.algorithm)}, {"variable", fit.variable}, {"target", profile.targets[fit.target].name}};
  if (fit.batch) json["batch"] = *fit.batch;
  if (fit.learners) json["learners"] = *fit.learners;
  if (fit.table.empty()) {
    const Eigen::Matrix2d& c = fit.law.covariance;
    json["law"] = to_string(fit.law.kind);
    json["parameters"] = parameters_json(fit.law);
    json["log_covariance"] = {{c(0, 0), c(0, 1)}, {c(0, 1), c(1, 1)}};
  } else {
    json["law"] = "table";
    json["table"] = Json::array();
    for (const auto& [x, iterations] : fit.table) json["table"].push_back({{"x", x}, {"iterations", iterations}});
  }
  json["spread"] = fit.law.spread;
  json["degrees_of_freedom"] = fit.law.degrees;
  if (!fit.law.deviations.cells.empty()) json["deviations"] = deviations_json(fit.law.deviations);
  json["range"] = {fit.from_x, fit.to_x};
  json["reached"] = fit.reached;
  json["censored"] = fit.censored;
  json["diverged"] = fit.diverged;
  return json;
}

}  // namespace

ConvergenceProfile convergence_profile_from_json(const JsonNode& node) {
  node.keys({"schema", "name", "description", "provenance", "model", "data", "train_samples", "kind", "source",
             "coverage", "targets", "fits", "runs", "runs_without_law"});
  node.at("schema").choice({"lockstep/convergence/1"});
  ConvergenceProfile profile;
  profile.name = node.at("name").text();
  profile.model = node.at("model").text();
  profile.data = node.at("data").text();
  profile.train_samples = node.at("train_samples").number({1, 1e12});
  profile.kind = node.at("kind").choice({"measured", "published"});
  profile.source = node.at("source").text();
  if (const auto coverage = node.find("coverage")) profile.coverage = coverage->number({0.01, 0.999});
  profile.targets = read_targets(node.at("targets"));
  for (const JsonNode& item : node.at("runs").items()) profile.runs.push_back(read_run(item, profile.targets.size()));
  if (const auto runs = node.find("runs_without_law"))
    for (const JsonNode& item : runs->items()) profile.runs_without_law.push_back(read_run_without_law(item));
  if (const auto fits = node.find("fits"))
    for (const JsonNode& item : fits->items()) profile.fits.push_back(read_fit(item, profile));
  return profile;
}

Json to_json(const ConvergenceProfile& profile) {
  Json json = {{"schema", "lockstep/convergence/1"}, {"name", profile.name}};
  json["model"] = profile.model;
  json["data"] = profile.data;
  json["train_samples"] = profile.train_samples;
  json["kind"] = profile.kind;
  json["source"] = profile.source;
  json["coverage"] = profile.coverage;
  json["targets"] = Json::array();
  for (const TargetAccuracy& target : profile.targets)
    json["targets"].push_back(target.loss > 0 ? Json{{"name", target.name}, {"loss", target.loss}}
                                              : Json{{"name", target.name}, {"accuracy", target.accuracy}});
  json["fits"] = Json::array();
  for (const ConvergenceFit& fit : profile.fits) json["fits"].push_back(fit_json(fit, profile));
  json["runs"] = Json::array();
  for (const ProfileRun& run : profile.runs) json["runs"].push_back(run_json(run));
  for (const RunWithoutLaw& run : profile.runs_without_law)
    json["runs_without_law"].push_back(
        {{"cell", run.cell}, {"algorithm", run.algorithm}, {"why", run.why}, {"source", run.source}});
  return json;
}

}  // namespace lockstep::sim::convergence
