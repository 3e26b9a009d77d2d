#include "sim/report/split_ranking.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/rounded_json.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/report/result.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim::report {
namespace {

double samples_per_s(const RankedSplit& split) {
  return static_cast<double>(global_batch_of(split.spec, split.spec.data)) / split.iteration.iteration_s;
}

std::string sharding_text(const ParallelSpec& spec) {
  return name_of(spec.sharding) + (spec.sharding_group > 0 ? " in " + std::to_string(spec.sharding_group) : "");
}

const Scenario& variant_named(const LoadedScenario& loaded, const std::string& name) {
  for (const Scenario& scenario : loaded.variants)
    if (scenario.variant == name) return scenario;
  return loaded.variants.front();
}

// Columns in which all splits have one rank are left out.
struct Columns {
  bool has_context = false, has_expert = false;
};

Columns columns_of(const SplitRanking& ranking) {
  Columns columns;
  for (const RankedSplit& split : ranking.best) {
    columns.has_context = columns.has_context || split.spec.context > 1;
    columns.has_expert = columns.has_expert || split.spec.expert > 1;
  }
  return columns;
}

std::vector<std::string> head_of(const Scenario& scenario, const Columns& columns) {
  std::vector<std::string> cells{"", "tensor"};
  if (columns.has_context) cells.emplace_back("context");
  if (columns.has_expert) cells.emplace_back("expert");
  const char* const rate = scenario.model.tokens > 0 ? "tokens/s" : "samples/s";
  for (const char* name : {"pipeline", "chunks", "data", "micro-batch", "sharding", "recompute", "iteration", rate,
                           "bubble", "memory/GPU", ""})
    cells.emplace_back(name);
  return cells;
}

std::vector<std::string> row_of(const Scenario& scenario, const RankedSplit& split, std::size_t rank, double best_s,
                                const Columns& columns) {
  const ParallelSpec& spec = split.spec;
  std::vector<std::string> cells{std::to_string(rank), std::to_string(spec.tensor)};
  if (columns.has_context) cells.push_back(std::to_string(spec.context));
  if (columns.has_expert) cells.push_back(std::to_string(spec.expert));
  for (int size : {spec.pipeline, spec.virtual_stages, spec.data, spec.micro_batch})
    cells.push_back(std::to_string(size));
  cells.push_back(sharding_text(spec));
  cells.push_back(name_of(spec.recompute));
  cells.push_back(format_seconds(split.iteration.iteration_s));
  cells.push_back(rate_text(samples_per_s(split) * std::max(1, scenario.model.tokens)));
  cells.push_back(formatted("%.1f %%", 100 * split.iteration.bubble_fraction));
  cells.push_back(memory_text(split.memory));
  const double more = split.iteration.iteration_s / best_s - 1;
  const char* const first = split.memory.fits() ? "fastest" : "nearest";
  const double shown = std::abs(more) <= kTieShare ? 0 : more;
  cells.push_back(rank == 1 ? first : formatted("%+.1f %%", 100 * shown) + (split.is_tied ? ", tied" : ""));
  return cells;
}

bool orders_ties(const std::vector<RankedSplit>& best) {
  return !std::is_sorted(best.begin(), best.end(), [](const RankedSplit& a, const RankedSplit& b) {
    return a.iteration.iteration_s < b.iteration.iteration_s;
  });
}

std::string searched_text(const SplitRanking& ranking) {
  if (!ranking.fits())
    return "None of " + with_thousands(ranking.valid) +
           " valid splits fits into memory, which is ignored: ordered by memory, the nearest to fitting first.\n";
  const RankedSplit& best = ranking.best.front();
  return "Of " + with_thousands(ranking.valid) + " valid splits " + with_thousands(ranking.fitting) +
         " fit into memory; " + with_thousands(ranking.predicted) +
         " were predicted, the others cannot be faster than the last one shown.\n" +
         (orders_ties(ranking.best) ? "Splits within " + formatted("%g %%", 100 * kTieShare) +
                                          " of each other's time are ordered by memory.\n"
                                    : "") +
         (best.memory.barely_fits()
              ? "The fastest split nearly fills the memory. " + barely_fits_text(best.memory) + "\n"
              : "");
}

}  // namespace

std::vector<RankedVariant> rank_splits(const LoadedScenario& loaded) {
  std::vector<RankedVariant> rankings;
  for (const Scenario& scenario : loaded.variants)
    for (int gpus : scenario.gpus)
      rankings.push_back({scenario.variant, best_splits(scenario, gpus, all_splits(scenario, gpus))});
  return rankings;
}

std::string split_ranking_text(const Scenario& scenario, const SplitRanking& ranking) {
  const Columns columns = columns_of(ranking);
  TextTable table;
  table.add(head_of(scenario, columns));
  for (std::size_t i = 0; i < ranking.best.size(); ++i)
    table.add(row_of(scenario, ranking.best[i], i + 1, ranking.best.front().iteration.iteration_s, columns));
  const int tied = ranking.tied();
  std::string text = (scenario.variant.empty() ? "" : scenario.variant + ", ") + std::to_string(ranking.gpus) +
                     " GPUs, " + scenario.model.title +
                     (ranking.fits() ? ", fastest split: " : ", nearest to fitting: ") +
                     split_text(ranking.best.front().spec) + ".\n" + table.text() + searched_text(ranking);
  if (tied > 0)
    text += std::to_string(tied) + (tied == 1 ? " is" : " are") +
            " tied with the fastest: what is not known of computing and links leaves their order open.\n";
  return text;
}

Json split_ranking_json(const Scenario& scenario, const SplitRanking& ranking) {
  Json splits = Json::array();
  for (const RankedSplit& split : ranking.best)
    splits.push_back({{"parallel", parallel_format().write(split.spec)},
                      {"text", split_text(split.spec)},
                      {"iteration_s", split.iteration.iteration_s},
                      {"samples_per_s", samples_per_s(split)},
                      {"bubble_fraction", split.iteration.bubble_fraction},
                      {"memory", memory_json(split.memory)},
                      {"tied", split.is_tied}});
  return {{"what", "split"},        {"variant", scenario.variant}, {"gpus", ranking.gpus},
          {"valid", ranking.valid}, {"fitting", ranking.fitting},  {"predicted", ranking.predicted},
          {"splits", splits}};
}

std::string split_rankings_text(const LoadedScenario& loaded, const std::vector<RankedVariant>& rankings) {
  std::string text;
  for (const RankedVariant& one : rankings)
    text += (text.empty() ? "" : "\n") + split_ranking_text(variant_named(loaded, one.variant), one.ranking);
  return text;
}

Json split_rankings_json(const LoadedScenario& loaded, const std::vector<RankedVariant>& rankings,
                         const std::vector<std::string>& argv) {
  Json json = result_head("lockstep/optimisation/1", loaded, argv);
  json["optimise"] = Json::array();
  for (const RankedVariant& one : rankings)
    json["optimise"].push_back(split_ranking_json(variant_named(loaded, one.variant), one.ranking));
  json["assumptions"] = assumptions_json(loaded);
  return rounded(std::move(json));
}

}  // namespace lockstep::sim::report
