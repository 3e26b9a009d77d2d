#include "engine/train/images.hpp"

#include <filesystem>
#include <utility>

#include "engine/base/provenance.hpp"
#include "engine/base/text.hpp"
#include "engine/data/cifar.hpp"
#include "engine/data/image_folder.hpp"
#include "engine/data/mnist.hpp"
#include "engine/data/synthetic.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

/// Holds only the first `count` images of another source.
class FirstImages final : public data::ImageSource {
 public:
  FirstImages(std::unique_ptr<data::ImageSource> all, std::int64_t count) : all_(std::move(all)), count_(count) {}
  const std::string& name() const override { return all_->name(); }
  const data::ImageShape& shape() const override { return all_->shape(); }
  int classes() const override { return all_->classes(); }
  std::int64_t count() const override { return count_; }
  std::int32_t label(std::int64_t index) const override { return all_->label(index); }
  std::int32_t image(std::int64_t index, float* out) const override { return all_->image(index, out); }
  const std::vector<float>& byte_values() const override { return all_->byte_values(); }
  std::int32_t read(std::int64_t index, const data::Draw* draw, std::uint8_t* out) const override {
    return all_->read(index, draw, out);
  }
  bool is_drawn() const override { return all_->is_drawn(); }
  std::vector<std::string> passed_over() const override { return all_->passed_over(); }

 private:
  std::unique_ptr<data::ImageSource> all_;
  std::int64_t count_;
};

std::string shape_text(int channels, int height, int width, std::int64_t classes) {
  return std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width) + " in " +
         std::to_string(classes) + " classes";
}

fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : program.parent_path();
}

/// The folder of data set `name`.
std::string folder_of(const Request& request) {
  if (!request.data_dir.empty()) return (fs::path(request.data_dir) / request.data).string();
  for (const fs::path& folder : {fs::path("build/data"), fs::path("data"), program_folder() / "data"}) {
    if (fs::is_directory(folder / request.data)) return (folder / request.data).string();
  }
  return "build/data/" + request.data;  // the error names this folder
}

void note_inputs(const std::string& folder, const std::string& ending, Images& images) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ending)
      images.inputs[entry.path().string()] = sha256_file(entry.path().string());
}

Images mnist_of(const Request& request) {
  const std::string folder = folder_of(request);
  data::TrainAndTest both = request.data == "mnist" ? data::load_mnist(folder) : data::load_fashion_mnist(folder);
  Images images;
  note_inputs(folder, "", images);
  images.train = std::make_unique<data::Dataset>(std::move(both.train));
  images.test = std::make_unique<data::Dataset>(std::move(both.test));
  return images;
}

Images cifar_of(const std::string& folder) {
  data::CifarTrainAndTest both = data::load_cifar10(folder);
  Images images;
  note_inputs(folder, ".bin", images);
  images.train = std::make_unique<data::CifarImages>(std::move(both.train));
  images.test = std::make_unique<data::CifarImages>(std::move(both.test));
  images.about = "CIFAR-10 in binary files";
  return images;
}

constexpr const char* kIdxTrain = "train-images-idx3-ubyte";

Images idx_of(const std::string& folder, int classes) {
  const data::Normalisation plain{{0.0F}, {1.0F}};
  const auto part = [&](const std::string& prefix, const data::Normalisation& normalisation) {
    return data::load_idx_pair(folder + " " + prefix, folder + "/" + prefix + "-images-idx3-ubyte",
                               folder + "/" + prefix + "-labels-idx1-ubyte", classes, normalisation);
  };
  const data::Normalisation measured = data::measure_normalisation(part("train", plain));
  Images images;
  note_inputs(folder, "", images);
  images.train = std::make_unique<data::Dataset>(part("train", measured));
  images.test = std::make_unique<data::Dataset>(part("t10k", measured));
  images.about = "IDX files, normalised by mean " + short_number(double{measured.mean[0]}) + " and deviation " +
                 short_number(double{measured.deviation[0]});
  return images;
}

/// The folder with test images, "val" or "test"; empty if the folder has no JPEG images by class.
std::string tested_part_of(const fs::path& folder) {
  if (!fs::is_directory(folder / "train")) return "";
  for (const char* part : {"val", "test"})
    if (fs::is_directory(folder / part)) return part;
  return "";
}

Images jpeg_of(const Request& request, const fs::path& folder, const std::string& tested, const model::Shape& in) {
  const data::ImageShape shape{in.channels, in.height, in.width};
  const data::BadImages bad = request.bad_images == "skip" ? data::BadImages::skip : data::BadImages::refuse;
  data::FolderListing train = data::list_images((folder / "train").string());
  data::FolderListing test = data::list_images((folder / tested).string(), &train.classes);
  Images images;
  images.inputs[(folder / "train").string()] = data::digest_of(train);
  images.inputs[(folder / tested).string()] = data::digest_of(test);
  images.about = "JPEG images, cropped to " + std::to_string(shape.height) + "x" + std::to_string(shape.width) +
                 (request.augment ? ", at random and mirrored to train" : "");
  images.train = std::make_unique<data::ImageFolder>((folder / "train").string(), std::move(train), shape, bad);
  images.test = std::make_unique<data::ImageFolder>((folder / tested).string(), std::move(test), shape, bad);
  return images;
}

Images of_folder(const Request& request, const model::Graph& graph) {
  const fs::path folder(request.data);
  const std::string tested = tested_part_of(folder);
  Images images;
  if (fs::exists(folder / data::kCifarFirstFile))
    images = cifar_of(folder.string());
  else if (fs::exists(folder / kIdxTrain))
    images = idx_of(folder.string(), static_cast<int>(graph.layers.back().out.elements()));
  else if (!tested.empty())
    images = jpeg_of(request, folder, tested, graph.input);
  else
    throw InputError("--data " + request.data + ": holds no images that are known; allowed: " + data::kCifarFirstFile +
                     " and what belongs to it, " + kIdxTrain +
                     " and what belongs to it, or train/CLASS/*.jpg and "
                     "val/CLASS/*.jpg (or test)");
  images.about = request.data + ": " + images.about + ": " + std::to_string(images.train->count()) + " to train on, " +
                 std::to_string(images.test->count()) + " to test on, in " + std::to_string(images.train->classes()) +
                 " classes";
  return images;
}

/// Test images follow the training images by number. So this makes the full sets; load_images() shortens them later.
Images synthetic(const data::ImageShape& shape, int classes, std::int64_t train, std::int64_t test,
                 std::uint64_t seed) {
  Images images;
  images.train = std::make_unique<data::SyntheticImages>(shape, classes, train, seed);
  images.test = std::make_unique<data::SyntheticImages>(shape, classes, test, seed, train);
  return images;
}

Images all_images(const Request& request, const model::Graph& graph) {
  const model::Shape& in = graph.input;
  const int classes = static_cast<int>(graph.layers.back().out.elements());
  if (request.data == "mnist" || request.data == "fashion-mnist") return mnist_of(request);
  if (request.data == "cifar-10") {
    if (const std::string first = folder_of(request) + "/" + data::kCifarFirstFile; !std::filesystem::exists(first))
      throw InputError(first + ": no such file; run ./bootstrap data cifar-10");
    Images images = cifar_of(folder_of(request));
    images.about.clear();
    return images;
  }
  if (request.data == "synthetic")
    return synthetic({in.channels, in.height, in.width}, classes, 10000, 2000, request.seed);
  if (request.data == "synthetic-imagenet") return synthetic(data::kImageNetShape, 1000, 1281167, 50000, request.seed);
  if (request.data == "synthetic-cifar") return synthetic(data::kCifarShape, 10, 50000, 10000, request.seed);
  if (fs::is_directory(request.data)) return of_folder(request, graph);
  throw InputError("--data: " + in_quotes(request.data) +
                   " is unknown; allowed: mnist, fashion-mnist, cifar-10, synthetic, synthetic-imagenet, "
                   "synthetic-cifar, or a folder of images");
}

void cut(std::unique_ptr<data::ImageSource>& source, const std::optional<std::int64_t>& count,
         const std::string& flag) {
  if (!count || *count == source->count()) return;
  if (*count > source->count())
    throw InputError(flag + ": " + std::to_string(*count) + " is more than there are; allowed: 1 to " +
                     std::to_string(source->count()));
  source = std::make_unique<FirstImages>(std::move(source), *count);
}

void check_fit(const Request& request, const model::Graph& graph, const data::ImageSource& source) {
  const model::Shape& in = graph.input;
  const data::ImageShape& shape = source.shape();
  const std::int64_t classes = graph.layers.back().out.elements();
  if (shape == data::ImageShape{in.channels, in.height, in.width} && classes == source.classes()) return;
  throw InputError("--data " + request.data + ": images are " +
                   shape_text(shape.channels, shape.height, shape.width, source.classes()) + "; allowed: " +
                   shape_text(in.channels, in.height, in.width, classes) + ", as model " + graph.name + " takes");
}

}  // namespace

Images load_images(const Request& request, const model::Graph& graph) {
  if (graph.layers.back().kind != model::LayerKind::softmax)
    throw InputError("--model " + request.model + ": its last layer is no softmax; allowed: a classifier");
  Images images = all_images(request, graph);
  check_fit(request, graph, *images.train);
  if (request.bad_images != "refuse" && dynamic_cast<data::ImageFolder*>(images.train.get()) == nullptr)
    throw InputError("--bad-images: has no meaning with --data " + request.data +
                     "; allowed: with a folder of JPEG images");
  cut(images.train, request.train_images, "--train-images");
  cut(images.test, request.test_images, "--test-images");
  return images;
}

}  // namespace lockstep::train
