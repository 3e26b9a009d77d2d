#include "sim/validation/fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/process_pool.hpp"
#include "engine/base/text.hpp"
#include "sim/stack/priors.hpp"
#include "sim/validation/fit_solve.hpp"

namespace lockstep::sim {
inline namespace validation {
namespace {

constexpr int kRounds = 8;         // rounds of linearisation
constexpr double kMostStep = 0.7;  // largest step of an effect in the first round; later 2/3, 2/4, 2/5, ... of it
constexpr double kTurn = 0.4;      // share of the last step that an effect may go back
constexpr double kSettled = 0.02;

// Reads the output of constants_json().
std::map<std::string, Constant> constants_from(const Json& json) {
  std::map<std::string, Constant> constants;
  for (const Json& one : json.at("constants"))
    constants[one.at("name")] = {one.at("value").get<double>(), one.at("deviation").get<double>(),
                                 one.at("records").get<int>(), one.at("sources").get<std::vector<std::string>>()};
  return constants;
}

class Fit {
 public:
  Fit(Catalogue catalogue, const std::vector<Record>& records, int jobs, const Tell& tell)
      : catalogue_(bare(std::move(catalogue))), jobs_at_a_time_(jobs), tell_(tell), rows_(catalogue_, records, jobs) {}

  FittedConstants run(bool with_sensitivities) {
    for (int round = 0; round < kRounds; ++round) {
      rows_.linearise(catalogue_);
      const auto [name, moved] = step(2 * kMostStep / (2 + round));
      if (tell_)
        tell_("round " + std::to_string(round + 1) + ": the largest change is " + short_number(moved) + ", of " + name);
      if (std::abs(moved) < kSettled) break;
    }
    rows_.linearise(catalogue_);
    FittedConstants fitted{solve_constants(rows_.all(), catalogue_, ""), {}, {}};
    const std::vector<std::string> sources = rows_.sources();
    const std::vector<std::string> texts = in_shared_processes(
        sources.size(), jobs_at_a_time_,
        [&](std::size_t i) { return constants_json(solve_constants(rows_.all(), catalogue_, sources[i])).dump(); },
        "sources left out");
    for (std::size_t i = 0; i < sources.size(); ++i) {
      fitted.without[sources[i]] = catalogue_;
      fitted.without[sources[i]].constants = constants_from(Json::parse(texts[i]));
    }
    if (with_sensitivities) fitted.sensitivities = fit_sensitivities(rows_, catalogue_, jobs_at_a_time_);
    return fitted;
  }

 private:
  static Catalogue bare(Catalogue catalogue) {
    catalogue.constants.clear();
    return catalogue;
  }

  // Moves every effect towards the solution by at most `most`, the range in which the linearisation holds.
  std::pair<std::string, double> step(double most) {
    std::map<std::string, Constant> constants = solve_constants(rows_.all(), catalogue_, "").constants;
    std::pair<std::string, double> moved;
    for (auto& [name, constant] : constants) {
      const double before = effect_of(catalogue_, name);
      const double wanted = std::log(constant.value) - before;
      // If the slope depends on the value (as for a share of a time), full steps would oscillate.
      double& last = steps_[name];
      const double reach = last * wanted < 0 ? std::min(most, kTurn * std::abs(last)) : most;
      last = std::clamp(wanted, -reach, reach);
      constant.value = std::exp(before + last);
      if (std::abs(last) > std::abs(moved.second)) moved = {name, last};
    }
    catalogue_.constants = std::move(constants);
    keep_to_limits();
    return moved;
  }

  // A value above its limit changes no prediction, so no record would determine its factors. The excess is therefore
  // removed from the most specific factor.
  void keep_to_limits() {
    std::set<Chain> chains;
    for (const FitRow& row : rows_.all())
      for (const auto& [chain, slope] : row.slopes) chains.insert(chain);
    for (const Chain& chain : chains) {
      const Prior& prior = prior_of(chain.back());
      double value = prior.value;
      for (const std::string& name : chain) value *= std::exp(effect_of(catalogue_, name));
      const auto own = catalogue_.constants.find(chain.front());
      if (value > prior.most && own != catalogue_.constants.end()) own->second.value *= prior.most / value;
    }
  }

  Catalogue catalogue_;
  int jobs_at_a_time_;
  Tell tell_;
  FitRows rows_;
  std::map<std::string, double> steps_;  // steps of the last round, by constant
};

}  // namespace

std::vector<Record> fit_input(const std::vector<Record>& records) {
  std::vector<Record> kept;
  for (const Record& record : records)
    if (record.use != Use::none && record.value) kept.push_back(record);
  return kept;
}

FittedConstants fit_constants(const Catalogue& catalogue, const std::vector<Record>& records, int jobs,
                              const Tell& tell, bool with_sensitivities) {
  return Fit(catalogue, records, jobs, tell).run(with_sensitivities);
}

Json constants_json(const Catalogue& catalogue) {
  Json constants = Json::array();
  for (const auto& [name, constant] : catalogue.constants)
    constants.push_back({{"name", name},
                         {"value", constant.value},
                         {"deviation", constant.deviation},
                         {"records", constant.records},
                         {"sources", constant.sources}});
  return {
      {"schema", "lockstep/catalogue/1"},
      {"description", "Factors fitted by validate --fit, each with how well it is known and the sources it is from."},
      {"constants", constants}};
}

}  // namespace validation
}  // namespace lockstep::sim
