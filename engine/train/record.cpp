#include "engine/train/record.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "engine/base/statistics.hpp"

namespace lockstep::train {
namespace {

constexpr std::size_t kMedianOf = 5;

Reached reached_at(const Json& epoch) {
  return {epoch.at("epoch"), epoch.at("iterations").get<std::int64_t>(), epoch.at("train_s").get<double>()};
}

void add_reached(Json& to, const std::optional<Reached>& reached) {
  to["epochs_to_target"] = reached ? reached->epoch : Json(nullptr);
  to["iterations_to_target"] = reached ? Json(reached->iterations) : Json(nullptr);
  to["seconds_to_target"] = reached ? Json(reached->seconds) : Json(nullptr);
}

}  // namespace

std::optional<Reached> first_reached(const Json& entries, double target) {
  for (const Json& entry : entries) {
    if (entry.at("test_accuracy").get<double>() >= target) return reached_at(entry);
  }
  return std::nullopt;
}

std::optional<Reached> median_reached(const Json& epochs, double target) {
  std::vector<double> last;
  for (const Json& epoch : epochs) {
    last.push_back(epoch.at("test_accuracy").get<double>());
    if (last.size() > kMedianOf) last.erase(last.begin());
    if (last.size() == kMedianOf && median(last) >= target) return reached_at(epoch);
  }
  return std::nullopt;
}

void add_outcome(Json& record, const Json& epochs, const Json& evaluations, const std::optional<double>& target) {
  const Json& entries = evaluations.empty() ? epochs : evaluations;
  record["target"] = target ? Json(*target) : Json(nullptr);
  add_reached(record, target ? first_reached(entries, *target) : std::nullopt);
  Json of_median = Json::object();
  add_reached(of_median, target ? median_reached(epochs, *target) : std::nullopt);
  record["median_of_5"] = of_median;
  double best = 0;
  for (const Json& entry : entries) best = std::max(best, entry.at("test_accuracy").get<double>());
  record["best_test_accuracy"] = entries.empty() ? Json(nullptr) : Json(best);
  record["final_test_accuracy"] = entries.empty() ? Json(nullptr) : entries.back().at("test_accuracy");
}

std::int64_t process_peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace lockstep::train
