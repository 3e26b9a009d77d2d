#pragma once
// Makes records for tests from JSON texts.
#include <string>
#include <vector>

#include "sim/validation/predict.hpp"
#include "sim/validation/suite.hpp"
#include "tests/catalogue/catalogue.hpp"

namespace lockstep::tests {

inline std::vector<sim::Record> records_from(const std::string& json) {
  const JsonDocument document = JsonDocument::parse(json, "records.json");
  return sim::read_records(document.root());
}

/// Returns predictions of the targets, in order.
inline std::vector<sim::Prediction> predict(const std::vector<sim::Record>& records,
                                            const sim::Catalogue& with = catalogue()) {
  return sim::predict_records(sim::targets_of(records), records, with, 1);
}

inline std::vector<sim::Suite> committed_suites() {
  return sim::load_suites(LOCKSTEP_SOURCE_DIR "/scenarios/published/suites");
}

/// Returns the committed catalogue without fitted constants.
inline sim::Catalogue without_constants() {
  sim::Catalogue bare = catalogue();
  bare.constants.clear();
  return bare;
}

/// ResNet-50 on 16 V100 in two servers, with the rate of one GPU. `network` and `more` complete the target.
inline std::string two_servers(const std::string& network, const std::string& more = "") {
  return R"([{"id": "one", "role": "input", "group": "g", "metric": "images_per_s", "value": 380, "unit": "images/s",
    "software": "other", "model": "resnet50", "gpu": "V100", "gpus": 1, "precision": "fp32", "batch_per_gpu": 64},
   {"id": "many", "role": "target", "group": "g", "metric": "images_per_s", "unit": "images/s",
    "software": "other", "model": "resnet50", "gpu": "v100-sxm2", "gpus": 16, "gpus_per_node": 8, "link": "nvlink2",
    "network": ")" +
         network + R"(", "algorithm": "ring", "precision": "fp32", "batch_per_gpu": 64)" + more + "}]";
}

}  // namespace lockstep::tests
