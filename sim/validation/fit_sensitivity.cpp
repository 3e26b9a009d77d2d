#include "sim/validation/fit_sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/base/json.hpp"
#include "engine/base/process_pool.hpp"
#include "engine/base/statistics.hpp"
#include "sim/validation/fit_solve.hpp"

namespace lockstep::sim {
inline namespace validation {
namespace {

struct Variant {
  std::string of;
  double factor;
  FitScales scales;
};

const std::map<std::string, std::vector<std::string>>& groups() {
  static const std::map<std::string, std::vector<std::string>> all{
      {"throughput", {"replicas", "rates"}}, {"all-reduces", {"exchanges"}}, {"trainings", {"trainings"}}};
  return all;
}

std::vector<Variant> variants() {
  std::vector<Variant> all{{"", 1, {}}};
  for (const double factor : {0.5, 2.0}) {
    FitScales noise, most, common;
    noise.noise = most.most_of_source = common.of_source = factor;
    all.push_back({"noise of a record", factor, noise});
    all.push_back({"records by which a source counts", factor, most});
    all.push_back({"spread of what a source's records have in common", factor, common});
    for (const Prior& prior : priors()) {
      FitScales scales;
      scales.constants = &prior;
      scales.spread = factor;
      all.push_back({"spread of " + prior.prefix + (prior.part.empty() ? "" : " ... " + prior.part), factor, scales});
    }
  }
  return all;
}

double error_of(const FitRow& row, const Catalogue& at, const Catalogue& solved) {
  double rest = row.residual;
  for (const auto& [chain, slope] : row.slopes)
    for (const std::string& name : chain) rest += slope * (effect_of(at, name) - effect_of(solved, name));
  return std::abs(std::exp(-rest) - 1);
}

std::map<std::string, LeftOutErrors> errors_of(const FitRows& rows, const Catalogue& catalogue,
                                               const FitScales& scales) {
  std::map<std::string, std::map<std::string, std::vector<double>>> of_group;
  for (const std::string& source : rows.sources()) {
    const Catalogue solved = solve_constants(rows.all(), catalogue, source, scales);
    for (const FitRow& row : rows.all()) {
      if (row.source != source || !row.is_mapped() || row.slopes.empty()) continue;
      for (const auto& [group, kinds] : groups())
        if (std::find(kinds.begin(), kinds.end(), row.kind->name) != kinds.end())
          of_group[group][source].push_back(error_of(row, catalogue, solved));
    }
  }
  std::map<std::string, LeftOutErrors> errors;
  for (const auto& [group, of_source] : of_group) {
    std::vector<double> medians;
    double sum = 0;
    for (const auto& [source, all] : of_source) {
      medians.push_back(median(all));
      sum += std::min(kFarOff, medians.back());
    }
    errors[group] = {static_cast<int>(medians.size()), median(medians), sum / static_cast<double>(medians.size())};
  }
  return errors;
}

std::string errors_text(const std::map<std::string, LeftOutErrors>& errors) {
  Json json = Json::object();
  for (const auto& [group, one] : errors) json[group] = {one.sources, one.median, one.mean};
  return json.dump();
}

std::map<std::string, LeftOutErrors> errors_from(const std::string& text) {
  const Json json = Json::parse(text);
  std::map<std::string, LeftOutErrors> errors;
  for (const auto& [group, one] : json.items())
    errors[group] = {one.at(0).get<int>(), one.at(1).get<double>(), one.at(2).get<double>()};
  return errors;
}

bool is_same(const FitSensitivity& a, const FitSensitivity& b) {
  return std::all_of(a.errors.begin(), a.errors.end(), [&](const auto& one) {
    const LeftOutErrors& other = b.errors.at(one.first);
    return std::abs(one.second.median - other.median) < 5e-4 && std::abs(one.second.mean - other.mean) < 5e-4;
  });
}

}  // namespace

std::vector<FitSensitivity> fit_sensitivities(const FitRows& rows, const Catalogue& catalogue, int jobs) {
  const std::vector<Variant> all = variants();
  const std::vector<std::string> texts = in_shared_processes(
      all.size(), jobs, [&](std::size_t i) { return errors_text(errors_of(rows, catalogue, all[i].scales)); },
      "assumptions");
  std::vector<FitSensitivity> found;
  for (std::size_t i = 0; i < all.size(); ++i) found.push_back({all[i].of, all[i].factor, errors_from(texts[i])});
  return found;
}

std::string sensitivity_table(const std::vector<FitSensitivity>& all) {
  std::string text = "assumed numbers of the fit, sources left out";
  const auto line = [&](const std::string& what, const FitSensitivity& one) {
    char cell[64];
    std::snprintf(cell, sizeof cell, "%-58s", what.c_str());
    text += cell;
    for (const auto& [group, errors] : one.errors) {
      std::snprintf(cell, sizeof cell, "  %5.1f %% %5.1f %%  ", 100 * errors.median, 100 * errors.mean);
      text += cell;
    }
    text += "\n";
  };
  text.resize(58, ' ');
  for (const auto& [group, errors] : all.front().errors) {
    char cell[64];
    std::snprintf(cell, sizeof cell, "  %-17s", (group + ", " + std::to_string(errors.sources)).c_str());
    text += cell;
  }
  text += "\n";
  line("as they are: median and mean over sources", all.front());
  for (std::size_t i = 1; i < all.size(); ++i)
    if (!is_same(all[i], all.front())) line((all[i].factor < 1 ? "half, " : "twice, ") + all[i].of, all[i]);
  return text;
}

}  // namespace validation
}  // namespace lockstep::sim
