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
  std::map<std::string, std::string> inputs;  ///< files read -> SHA-256; folders of images: of names and sizes
  std::string about;                          ///< what --data DIR has turned out to be, in a line; empty: a name
};

/// --data NAME, cut to --train-images and --test-images:
///   mnist, fashion-mnist   from FOLDER/NAME; without --data-dir, FOLDER is build/data or data here, or data beside the
///                          program
///   cifar-10               the same, in binary files (engine/data/cifar.hpp)
///   synthetic              images of the model's own shape and classes: 10,000 and 2,000
///   synthetic-imagenet     3x224x224 in 1000 classes: 1,281,167 and 50,000
///   synthetic-cifar        3x32x32 in 10 classes: 50,000 and 10,000
///   DIR                    a folder, known by what it holds: CIFAR-10's binary files, IDX files named as MNIST's (normalised
///                          by the training pixels' own mean and deviation), or JPEG images in train/CLASS and val/CLASS or
///                          test/CLASS (engine/data/image_folder.hpp), cropped to the model's shape
/// Throws InputError: an unknown name, no such files, images that the model does not take.
Images load_images(const Request& request, const model::Graph& graph);

}  // namespace lockstep::train
