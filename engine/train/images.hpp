#pragma once
// The images that a run trains and tests on, and a model that fits them.
#include <map>
#include <memory>
#include <string>

#include "engine/data/dataset.hpp"
#include "engine/model/graph.hpp"
#include "engine/train/options.hpp"

namespace lockstep::train {

struct Images {
  std::unique_ptr<data::ImageSource> train;
  std::unique_ptr<data::ImageSource> test;
  std::map<std::string, std::string> inputs;  ///< files read -> SHA-256
};

/// --data NAME, cut to --train-images and --test-images:
///   mnist, fashion-mnist   from FOLDER/NAME; without --data-dir, FOLDER is build/data or data here, or data beside the
///                          program
///   synthetic              images of the model's own shape and classes: 10,000 and 2,000
///   synthetic-imagenet     3x224x224 in 1000 classes: 1,281,167 and 50,000
///   synthetic-cifar        3x32x32 in 10 classes: 50,000 and 10,000
/// Throws InputError: an unknown name, no such files, images that the model does not take.
Images load_images(const Request& request, const model::Graph& graph);

}  // namespace lockstep::train
