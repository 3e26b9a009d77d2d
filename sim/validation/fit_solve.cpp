#include "sim/validation/fit_solve.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/validation/mixed_effects.hpp"
#include "sim/validation/sources.hpp"

namespace lockstep::sim {
inline namespace validation {
namespace {

// Values were chosen by the errors of held-out sources: validate --fit --sensitivity, results/validation.
// Records of one GPU or one network in a source have no common effect of their own: it absorbed errors of the
// constants.
constexpr double kNoise = 0.15;  // standard deviation of a record's logarithm within its source
// A source counts with at most this number of records of a kind, because the rows of a long table are similar.
constexpr int kMostOfSource = 20;
constexpr double kOfSource = 0.05;  // spread of the common error of a source's records of one kind

// Numbers the effects by name: constants, and the common errors of a source's records.
class Names {
 public:
  explicit Names(const FitScales& scales) : scales_(scales) {}

  std::size_t of_constant(const std::string& name, bool is_widest) {
    const Prior& prior = prior_of(name);
    const double spread = is_widest ? prior.spread : prior.narrower_spread;
    return add(name, {&prior == scales_.constants ? spread * scales_.spread : spread});
  }
  std::size_t of_source(const std::string& name) { return add(" " + name, {kOfSource * scales_.of_source, true}); }
  const std::map<std::string, std::size_t>& all() const { return places_; }
  const std::vector<Spread>& spreads() const { return spreads_; }

 private:
  std::size_t add(const std::string& name, Spread spread) {
    const auto [found, is_new] = places_.emplace(name, spreads_.size());
    if (is_new) spreads_.push_back(spread);
    return found->second;
  }

  const FitScales& scales_;
  std::map<std::string, std::size_t> places_;
  std::vector<Spread> spreads_;
};

bool is_constant(const std::string& name) {
  return name.front() != ' ';
}

// Counts the records that determine a constant.
struct Support {
  int records = 0;
  std::set<std::string> sources;
};

std::string common_of(const FitRow& row) {
  return std::string(row.kind->name) + " of " + row.source;
}

bool counts(const FitRow& row) {
  return row.is_mapped() && !row.slopes.empty();
}

double noise_of(const FitRow& row, int records_of_source, const FitScales& scales) {
  const double others = row.kind->others_off * (1 - row.moved());
  const double most = kMostOfSource * scales.most_of_source;
  return std::sqrt(std::max(1.0, records_of_source / most)) * std::hypot(kNoise * scales.noise, others);
}

std::vector<Observation> observations(const std::vector<FitRow>& rows, const Catalogue& catalogue,
                                      const std::string& left_out, const FitScales& scales, Names& names,
                                      std::map<std::string, Support>& support) {
  std::vector<Observation> all;
  std::map<std::string, int> of_common;
  for (const FitRow& row : rows)
    if (counts(row)) ++of_common[common_of(row)];
  for (const FitRow& row : rows) {
    if (!counts(row) || (!left_out.empty() && !may_predict(row.source, left_out))) continue;
    Observation one{row.residual, {}, noise_of(row, of_common.at(common_of(row)), scales)};
    std::map<std::size_t, double> terms;
    for (const auto& [chain, slope] : row.slopes)
      for (const std::string& name : chain) {
        terms[names.of_constant(name, name == chain.back())] += slope;
        one.residual += slope * effect_of(catalogue, name);
        if (std::abs(slope) < 1e-9) continue;
        ++support[name].records;
        support[name].sources.insert(row.source);
      }
    terms[names.of_source(common_of(row))] = row.kind->others_off > 0 ? row.moved() : 1;
    one.terms.assign(terms.begin(), terms.end());
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Catalogue solve_constants(const std::vector<FitRow>& rows, const Catalogue& catalogue, const std::string& left_out,
                          const FitScales& scales) {
  Names names(scales);
  std::map<std::string, Support> support;
  const std::vector<Observation> seen = observations(rows, catalogue, left_out, scales, names, support);
  const Effects effects = solve_effects(seen, names.spreads(), 1);
  Catalogue solved = catalogue;
  solved.constants.clear();
  for (const auto& [name, place] : names.all()) {
    const auto found = support.find(name);
    if (!is_constant(name) || found == support.end()) continue;
    const std::set<std::string>& sources = found->second.sources;
    solved.constants[name] = {std::exp(effects.values[place]),
                              effects.deviations[place],
                              found->second.records,
                              {sources.begin(), sources.end()}};
  }
  return solved;
}

}  // namespace validation
}  // namespace lockstep::sim
