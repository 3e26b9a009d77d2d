#pragma once
// MNIST and Fashion-MNIST as `./bootstrap data` downloads them: 28x28 grey images in 10 classes, 60,000 for training
// and 10,000 for tests. README.md gives their sources, and how the Fashion-MNIST split differs from the original.
#include <string>

#include "engine/data/dataset.hpp"

namespace lockstep::data {

struct TrainAndTest {
  Dataset train;
  Dataset test;
};

/// Reads the four IDX files of `folder`, by default build/data/mnist. Normalises both parts with the mean 0.1307 and
/// deviation 0.3081 of the training pixels. Throws InputError; for a missing file it says how to download it.
TrainAndTest load_mnist(const std::string& folder);
/// Does as load_mnist(), by default from build/data/fashion-mnist, with mean 0.2861 and deviation 0.3528.
TrainAndTest load_fashion_mnist(const std::string& folder);

/// Grey images (N x height x width) and their N labels from two IDX files. Throws InputError.
Dataset load_idx_pair(const std::string& name, const std::string& images_path, const std::string& labels_path,
                      int classes, const Normalisation& normalisation);

}  // namespace lockstep::data
