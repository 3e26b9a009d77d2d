#include "engine/data/mnist.hpp"

#include <filesystem>

#include "engine/base/json.hpp"
#include "engine/data/idx.hpp"

namespace lockstep::data {
namespace {

constexpr int kMnistClasses = 10;
constexpr int kSide = 28;
constexpr std::int64_t kTrainImages = 60000;
constexpr std::int64_t kTestImages = 10000;

void require_dimensions(const IdxArray& array, std::size_t count, const std::string& path, const std::string& what) {
  if (array.dimensions.size() == count) return;
  throw InputError(path + ": " + dimensions_text(array.dimensions) + " (" + std::to_string(array.dimensions.size()) +
                   "-dimensional); expected " + what);
}

void require_file(const std::string& path) {
  if (!std::filesystem::exists(path)) throw InputError(path + ": no such file; run ./bootstrap data");
}

Dataset load_part(const std::string& folder, const std::string& prefix, const std::string& name,
                  std::int64_t wanted_images, const Normalisation& normalisation) {
  const std::string images = folder + "/" + prefix + "-images-idx3-ubyte";
  const std::string labels = folder + "/" + prefix + "-labels-idx1-ubyte";
  require_file(images);
  require_file(labels);
  Dataset dataset = load_idx_pair(name, images, labels, kMnistClasses, normalisation);
  if (dataset.count() != wanted_images || !(dataset.shape() == ImageShape{1, kSide, kSide})) {
    throw InputError(images + ": " + std::to_string(dataset.count()) + "x" + std::to_string(dataset.shape().height) +
                     "x" + std::to_string(dataset.shape().width) + "; expected " + std::to_string(wanted_images) +
                     "x28x28");
  }
  return dataset;
}

TrainAndTest load_both(const std::string& folder, const std::string& name, const Normalisation& normalisation) {
  return {load_part(folder, "train", name + " train", kTrainImages, normalisation),
          load_part(folder, "t10k", name + " test", kTestImages, normalisation)};
}

}  // namespace

Dataset load_idx_pair(const std::string& name, const std::string& images_path, const std::string& labels_path,
                      int classes, const Normalisation& normalisation) {
  IdxArray images = read_idx(images_path);
  IdxArray labels = read_idx(labels_path);
  require_dimensions(images, 3, images_path, "images x height x width");
  require_dimensions(labels, 1, labels_path, "one label an image");
  if (labels.dimensions[0] != images.dimensions[0]) {
    throw InputError(labels_path + ": " + std::to_string(labels.dimensions[0]) + " labels; expected " +
                     std::to_string(images.dimensions[0]) + ", the images of " + images_path);
  }
  const ImageShape shape{1, static_cast<int>(images.dimensions[1]), static_cast<int>(images.dimensions[2])};
  return Dataset(name, shape, classes, std::move(images.elements), std::move(labels.elements), normalisation);
}

TrainAndTest load_mnist(const std::string& folder) {
  return load_both(folder, "MNIST", {{0.1307F}, {0.3081F}});
}

TrainAndTest load_fashion_mnist(const std::string& folder) {
  return load_both(folder, "Fashion-MNIST", {{0.2861F}, {0.3528F}});
}

}  // namespace lockstep::data
