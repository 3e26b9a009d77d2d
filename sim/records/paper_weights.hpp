#pragma once
// How much a record counts where constants and bounds are judged by many.
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace lockstep::sim {

/// Records of one paper share its machine and its way of measuring, so that many of them say less than as many papers
/// would: each counts 1/sqrt of their number. The average is 1.
inline std::vector<double> paper_weights(const std::vector<std::string>& sources) {
  std::map<std::string, int> of_paper;
  for (const std::string& source : sources) ++of_paper[source];
  std::vector<double> weights;
  double sum = 0;
  for (const std::string& source : sources) {
    weights.push_back(1 / std::sqrt(of_paper.at(source)));
    sum += weights.back();
  }
  for (double& weight : weights) weight *= static_cast<double>(sources.size()) / sum;
  return weights;
}

}  // namespace lockstep::sim
