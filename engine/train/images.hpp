#pragma once
// The training and test images of a run, for a model of matching shape.
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
  std::map<std::string, std::string> inputs;  ///< files read -> SHA-256; of folders of images: of names and sizes
  std::string about;                          ///< a line about the data in --data DIR; empty if --data is a name
};

/// Loads --data NAME, cut to --train-images and --test-images:
///   mnist, fashion-mnist   from FOLDER/NAME. Without --data-dir, FOLDER is build/data or data in the current folder,
///                          or data next to the program
///   cifar-10               likewise, in binary files (engine/data/cifar.hpp)
///   synthetic              images with the model's shape and classes: 10,000 and 2,000
///   synthetic-imagenet     3x224x224 in 1000 classes: 1,281,167 and 50,000
///   synthetic-cifar        3x32x32 in 10 classes: 50,000 and 10,000
///   DIR                    a folder, recognised by its content: CIFAR-10's binary files, IDX files with MNIST's names
///                          (normalised by the training pixels' mean and deviation), or JPEG images in train/CLASS and
///                          val/CLASS or test/CLASS (engine/data/image_folder.hpp), cropped to the model's shape
/// Throws InputError for an unknown name, missing files, or images that do not match the model.
Images load_images(const Request& request, const model::Graph& graph);

}  // namespace lockstep::train
