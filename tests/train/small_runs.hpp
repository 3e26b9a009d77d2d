#pragma once
// Short runs: a small network on small synthetic images.
#include <string>
#include <vector>

#include "engine/train/trainer.hpp"
#include "tests/base/temporary_folder.hpp"

namespace lockstep::train {

/// 1x8x8 images in 4 classes. `layers` come between the first convolution and the classifier.
inline std::string small_model(const std::string& layers) {
  return R"({"schema": "lockstep/model/1", "name": "small", "input": [1, 8, 8], "layers": [
    {"name": "conv", "kind": "conv", "out": 6, "kernel": 3, "pad": 1},)" +
         layers + R"({"name": "relu", "kind": "relu"},
    {"name": "pool", "kind": "max_pool", "kernel": 2, "stride": 2},
    {"name": "fc", "kind": "fc", "out": 4}, {"name": "loss", "kind": "softmax"}]})";
}

/// Batch norm and dropout, which have state of their own.
inline const char* const kNormAndDropout =
    R"({"name": "norm", "kind": "batch_norm"}, {"name": "drop", "kind": "dropout"},)";

/// A request for a run of `algorithm` on the small network, whose file lies in `folder`.
inline Request small_request(const TemporaryFolder& folder, const std::string& algorithm,
                             const std::string& layers = kNormAndDropout) {
  Request r;
  r.model = folder.write("small.json", small_model(layers));
  r.data = "synthetic";
  r.algorithm = algorithm;
  r.train_images = 512;
  r.test_images = 200;
  r.batch = 8;
  r.epochs = 2;
  r.threads = 1;
  r.quiet = true;
  return r;
}

inline Json run(const Request& request) {
  Trainer trainer(resolve(request), {"train"});
  Observer nobody;
  return trainer.run(nobody);
}

inline std::string digest(const Json& record) {
  return record.at("parameters_sha256").get<std::string>();
}

/// The parts of a record that two runs with equal settings must have in common: the epochs without their times.
inline std::vector<std::string> numbers(const Json& record) {
  std::vector<std::string> result;
  for (Json epoch : record.at("epochs")) {
    for (const char* key : {"epoch_s", "train_s", "samples_per_s"}) epoch.erase(key);
    result.push_back(epoch.dump());
  }
  result.push_back(digest(record));
  return result;
}

}  // namespace lockstep::train
