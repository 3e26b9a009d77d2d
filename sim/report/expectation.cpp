#include "sim/report/expectation.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "engine/base/json_file.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim::report {
namespace {

struct Sign {
  const char* text;
  Comparator comparator;
};

// Longer ones first.
constexpr Sign kSigns[] = {
    {">=", Comparator::at_least}, {"<=", Comparator::at_most}, {">", Comparator::above}, {"<", Comparator::below}};

bool holds(const Expectation& expectation, double value) {
  switch (expectation.comparator) {
    case Comparator::at_least:
      return value >= expectation.value;
    case Comparator::at_most:
      return value <= expectation.value;
    case Comparator::above:
      return value > expectation.value;
    case Comparator::below:
      break;
  }
  return value < expectation.value;
}

void flatten(const Json& object, const std::string& prefix, std::map<std::string, double>& numbers) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_number()) numbers[prefix + key] = value.get<double>();
    if (value.is_object()) flatten(value, prefix + key + "/", numbers);
  }
}

}  // namespace

Expectation read_expectation(const std::string& text) {
  for (const Sign& sign : kSigns) {
    const std::size_t at = text.find(sign.text);
    if (at == std::string::npos) continue;
    const std::string number = trimmed(text.substr(at + std::string(sign.text).size()));
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != 0 || !std::isfinite(value))
      throw InputError("--expect " + text + ": " + in_quotes(number) + " is no number; allowed: such as 4e4");
    const std::string metric = trimmed(text.substr(0, at));
    if (metric.empty()) break;
    return {text, metric, sign.comparator, value};
  }
  throw InputError("--expect " + text + ": no comparison; allowed: METRIC>=VALUE, with >=, <=, > or <");
}

std::vector<Expectation> read_expectations(const std::vector<std::string>& texts) {
  std::vector<Expectation> all;
  for (const std::string& text : texts) all.push_back(read_expectation(text));
  return all;
}

std::vector<ExpectedRow> rows_of_points(const Json& result) {
  std::vector<ExpectedRow> rows;
  for (const Json& point : result.at("points")) {
    const std::string variant = point.value("variant", "");
    rows.push_back({(variant.empty() ? "" : variant + ", ") + gpus_text(point.at("gpus").get<int>()), point});
  }
  return rows;
}

std::vector<ExpectedRow> rows_of_all_reduces(const Json& result) {
  std::vector<ExpectedRow> rows;
  for (const Json& row : result.at("rows"))
    rows.push_back({gpus_text(row.at("gpus").get<int>()) + ", " + row.at("bytes").dump() + " B", row});
  return rows;
}

std::vector<ExpectedRow> rows_of_job(const Json& predictions) {
  std::map<int, Json> by_gpus;
  for (const Json& one : predictions.at("predictions")) {
    if (!one.contains("predicted")) continue;
    Json& numbers = by_gpus[one.at("gpus").get<int>()];
    std::vector<std::string> names{one.at("metric").get<std::string>()};
    if (names.front() == "images_per_s") names.emplace_back("samples_per_s");
    for (const std::string& name : names) {
      numbers[name] = one.at("predicted");
      numbers[name + "_low"] = one.at("low");
      numbers[name + "_high"] = one.at("high");
    }
    if (one.contains("memory")) numbers["memory"] = one.at("memory");
  }
  for (const Json& one : predictions.value("tokens", Json::array())) by_gpus[one.at("gpus").get<int>()].update(one);
  std::vector<ExpectedRow> rows;
  for (const auto& [gpus, numbers] : by_gpus) rows.push_back({gpus_text(gpus), numbers});
  return rows;
}

ExpectationResult check_expectations(const std::vector<Expectation>& expectations,
                                     const std::vector<ExpectedRow>& rows) {
  std::vector<std::map<std::string, double>> numbers(rows.size());
  std::set<std::string> known;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    flatten(rows[i].numbers, "", numbers[i]);
    for (const auto& [name, value] : numbers[i]) known.insert(name);
  }
  ExpectationResult result;
  for (const Expectation& expectation : expectations) {
    if (known.count(expectation.metric) == 0)
      throw InputError("--expect " + expectation.text + ": no metric " + in_quotes(expectation.metric) +
                       "; allowed: " + joined(std::vector<std::string>(known.begin(), known.end())));
    std::string failing;
    for (std::size_t i = 0; i < rows.size() && failing.empty(); ++i) {
      const auto value = numbers[i].find(expectation.metric);
      if (value == numbers[i].end())
        failing = "no such number at " + rows[i].name;
      else if (!holds(expectation, value->second))
        failing = short_number(value->second) + " at " + rows[i].name;
    }
    result.holds = result.holds && failing.empty();
    result.text += "--expect " + expectation.text + ": " + (failing.empty() ? "holds" : "fails, " + failing) + ".\n";
  }
  return result;
}

void print_failures(const ExpectationResult& result, const std::string& json_path) {
  if (json_path == kStandardOutput && !result.holds) std::fputs(result.text.c_str(), stderr);
}

}  // namespace lockstep::sim::report
