#include "calib/bucket_copies.hpp"

#include <algorithm>
#include <map>

namespace lockstep::calib {

BucketCopies bucket_copies(const Profile& profile, const std::string& model, const std::string& precision) {
  std::map<std::string, double> seconds;
  for (const Sample& sample : profile.samples)
    if (sample.probe == "iteration") seconds[sample.id()] = sample.median_s();
  std::map<int, std::vector<double>> longer;  // excess times, by number of devices
  for (const Sample& step : profile.samples) {
    if (step.probe != "step" || step.key.value("how", "") != "ddp" || step.key.value("ranks", 0) != 1) continue;
    if (step.key.value("model", "") != model || step.key.value("precision", "") != precision) continue;
    const int devices = step.key.value("devices", 0);
    const auto alone = seconds.find(canonical_id("iteration", {{"model", model},
                                                               {"precision", precision},
                                                               {"learners", 1},
                                                               {"devices", devices},
                                                               {"batch", step.key.value("batch", Json())}}));
    if (alone != seconds.end()) longer[devices].push_back(step.median_s() - alone->second);
  }
  if (longer.empty()) return {};
  std::vector<double>& differences = longer.rbegin()->second;
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  return {std::max(0.0, *middle), longer.rbegin()->first};
}

}  // namespace lockstep::calib
