#include "engine/train/images.hpp"

#include <filesystem>
#include <utility>

#include "engine/base/provenance.hpp"
#include "engine/base/text.hpp"
#include "engine/data/mnist.hpp"
#include "engine/data/synthetic.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

/// The first `count` images of another source.
class FirstImages final : public data::ImageSource {
 public:
  FirstImages(std::unique_ptr<data::ImageSource> all, std::int64_t count) : all_(std::move(all)), count_(count) {}
  const std::string& name() const override { return all_->name(); }
  const data::ImageShape& shape() const override { return all_->shape(); }
  int classes() const override { return all_->classes(); }
  std::int64_t count() const override { return count_; }
  std::int32_t label(std::int64_t index) const override { return all_->label(index); }
  void image(std::int64_t index, float* out) const override { all_->image(index, out); }

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
  return "build/data/" + request.data;  // named in the error
}

Images from_files(const Request& request) {
  const std::string folder = folder_of(request);
  data::TrainAndTest both = request.data == "mnist" ? data::load_mnist(folder) : data::load_fashion_mnist(folder);
  Images images;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension().empty()) images.inputs[entry.path().string()] = sha256_file(entry.path().string());
  }
  images.train = std::make_unique<data::Dataset>(std::move(both.train));
  images.test = std::make_unique<data::Dataset>(std::move(both.test));
  return images;
}

/// Only as many images as asked for are made: a test set follows the training set's numbers whatever is cut off.
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
  if (request.data == "mnist" || request.data == "fashion-mnist") return from_files(request);
  if (request.data == "synthetic")
    return synthetic({in.channels, in.height, in.width}, classes, 10000, 2000, request.seed);
  if (request.data == "synthetic-imagenet") return synthetic(data::kImageNetShape, 1000, 1281167, 50000, request.seed);
  if (request.data == "synthetic-cifar") return synthetic(data::kCifarShape, 10, 50000, 10000, request.seed);
  throw InputError("--data: " + in_quotes(request.data) +
                   " is unknown; allowed: mnist, fashion-mnist, synthetic, synthetic-imagenet, synthetic-cifar");
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
  cut(images.train, request.train_images, "--train-images");
  cut(images.test, request.test_images, "--test-images");
  return images;
}

}  // namespace lockstep::train
