#include "sim/loss/law_json.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace lockstep::sim::loss {
namespace {

const Range kAmplitudes{0, 1e30};
const Range kExponents{1e-3, 10};
const Range kCounts{1, 1e18};
constexpr const char* kSchema = "lockstep/loss-law/1";

Interval read_range(const JsonNode& node) {
  const std::vector<JsonNode> ends = node.items();
  if (ends.size() != 2) node.fail("is no range", "allowed: [least, most]");
  const Interval range{ends[0].number(kCounts), ends[1].number(kCounts)};
  if (range.low > range.high) node.fail("its least is above its most", "allowed: [least, most]");
  return range;
}

LossMatrix read_covariance(const JsonNode& node) {
  LossMatrix matrix;
  const std::vector<JsonNode> rows = node.items();
  if (rows.size() != kLossParameters) node.fail("is no matrix", "allowed: seven rows of seven numbers");
  for (int i = 0; i < kLossParameters; ++i) {
    const std::vector<JsonNode> row = rows[static_cast<std::size_t>(i)].items();
    if (row.size() != kLossParameters) node.fail("is no matrix", "allowed: seven rows of seven numbers");
    for (int j = 0; j < kLossParameters; ++j) matrix(i, j) = row[static_cast<std::size_t>(j)].number({-1e6, 1e6});
  }
  const double asymmetry = (matrix - matrix.transpose()).cwiseAbs().maxCoeff();
  if (asymmetry > 1e-9 || Eigen::SelfAdjointEigenSolver<LossMatrix>(matrix).eigenvalues().minCoeff() < -1e-9)
    node.fail("is no covariance", "allowed: a symmetric matrix without negative eigenvalues");
  return matrix;
}

/// Ten digits are more than any fit determines, and they are the same on every machine.
double rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return 0;
  const double scale = std::pow(10, 9 - std::floor(std::log10(std::abs(x))));
  return std::round(x * scale) / scale;
}

Json range_json(const Interval& range) {
  return Json::array({rounded(range.low), rounded(range.high)});
}

}  // namespace

LossLaw read_loss_law(const JsonNode& node) {
  node.keys({"schema", "id", "name", "aliases", "kind", "source", "data", "counts", "E", "A", "B", "alpha", "beta",
             "gamma", "critical_batch", "spread", "degrees_of_freedom", "covariance", "range"});
  LossLaw law;
  law.id = node.at("id").text();
  law.name = node.has("name") ? node.at("name").text() : law.id;
  if (const auto aliases = node.find("aliases"))
    for (const JsonNode& alias : aliases->items()) law.aliases.push_back(alias.text());
  law.kind = node.at("kind").choice({"published", "fitted"});
  law.source = node.at("source").text();
  law.data = node.at("data").text();
  const std::string counted = node.at("counts").choice({"all", "without embeddings"});
  law.counts = counted == "all" ? ParameterCount::all : ParameterCount::without_embeddings;
  auto& p = law.parameters;
  p[kLogE] = std::log(node.at("E").number(kAmplitudes));
  p[kAlpha] = node.at("alpha").number(kExponents);
  p[kBeta] = node.at("beta").number(kExponents);
  p[kLogA] = std::log(node.at("A").number({1e-12, 1e30})) - p[kAlpha] * std::log(kReferenceParameters);
  p[kLogB] = std::log(node.at("B").number({1e-12, 1e30})) - p[kBeta] * std::log(kReferenceTokens);
  if (const auto gamma = node.find("gamma")) law.gamma = gamma->number(kExponents);
  const JsonNode critical = node.at("critical_batch");
  critical.keys({"at_1e10_tokens", "exponent", "source"});
  p[kLogCritical] = std::log(critical.at("at_1e10_tokens").number({1, 1e15}));
  p[kCriticalExponent] = critical.at("exponent").number({0, 0.95});
  law.critical_source = critical.at("source").text();
  law.spread = node.at("spread").number({0, 1});
  if (const auto degrees = node.find("degrees_of_freedom")) law.degrees = degrees->number({1, 1e6});
  if (const auto covariance = node.find("covariance")) law.covariance = read_covariance(*covariance);
  const JsonNode range = node.at("range");
  range.keys({"parameters", "tokens", "batch_tokens"});
  law.parameter_range = read_range(range.at("parameters"));
  law.token_range = read_range(range.at("tokens"));
  if (const auto batch = range.find("batch_tokens")) law.batch_range = read_range(*batch);
  return law;
}

LossLaw load_loss_law(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  document.root().at("schema").choice({kSchema});
  return read_loss_law(document.root());
}

Json loss_law_json(const LossLaw& law) {
  const auto& p = law.parameters;
  Json json{{"schema", kSchema}, {"id", law.id}, {"name", law.name}};
  if (!law.aliases.empty()) json["aliases"] = law.aliases;
  json["kind"] = law.kind;
  json["source"] = law.source;
  json["data"] = law.data;
  json["counts"] = law.counts == ParameterCount::all ? "all" : "without embeddings";
  json["E"] = rounded(std::exp(p[kLogE]));
  json["A"] = rounded(law.amplitude_a());
  json["B"] = rounded(law.amplitude_b());
  json["alpha"] = rounded(p[kAlpha]);
  json["beta"] = rounded(p[kBeta]);
  if (law.gamma != 1) json["gamma"] = rounded(law.gamma);
  json["critical_batch"] = {{"at_1e10_tokens", rounded(std::exp(p[kLogCritical]))},
                            {"exponent", rounded(p[kCriticalExponent])},
                            {"source", law.critical_source}};
  json["spread"] = rounded(law.spread);
  json["degrees_of_freedom"] = law.degrees;
  if (!law.covariance.isZero()) {
    Json rows = Json::array();
    for (int i = 0; i < kLossParameters; ++i) {
      Json row = Json::array();
      for (int j = 0; j < kLossParameters; ++j)
        row.push_back(rounded((law.covariance(i, j) + law.covariance(j, i)) / 2));
      rows.push_back(row);
    }
    json["covariance"] = rows;
  }
  json["range"] = {{"parameters", range_json(law.parameter_range)}, {"tokens", range_json(law.token_range)}};
  if (law.batch_range.high > 0) json["range"]["batch_tokens"] = range_json(law.batch_range);
  return json;
}

bool is_law_file(const std::string& name) {
  return name.size() > 5 && name.compare(name.size() - 5, 5, ".json") == 0;
}

}  // namespace lockstep::sim::loss
