// Runs on folders of images that the test makes, so that their contents are known.
#include "engine/base/atomic_file.hpp"
#include "engine/train/batch_reader.hpp"
#include "engine/train/images.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/train/small_runs.hpp"
#ifdef LOCKSTEP_WITH_JPEG
#include "engine/data/image_folder.hpp"
#include "tests/data_room/jpeg_writer.hpp"
#endif

namespace lockstep::train {
namespace {

const char* const kColourModel = R"({"schema": "lockstep/model/1", "name": "colour", "input": [3, 32, 32], "layers": [
  {"name": "conv", "kind": "conv", "out": 4, "kernel": 3, "stride": 2}, {"name": "relu", "kind": "relu"},
  {"name": "fc", "kind": "fc", "out": CLASSES}, {"name": "loss", "kind": "softmax"}]})";

Request request_of(const TemporaryFolder& folder, const std::string& classes, const std::string& data) {
  std::string model = kColourModel;
  model.replace(model.find("CLASSES"), 7, classes);
  Request r;
  r.model = folder.write("colour.json", model);
  r.data = data;
  r.batch = 4;
  r.epochs = 6;
  r.learning_rate = 0.02;
  r.threads = 1;
  return r;
}

struct Remarks final : Observer {
  std::vector<std::string> lines;
  void remark(const std::string& line) override { lines.push_back(line); }
};

Json run_remarked(const Request& request, Remarks& remarks) {
  Trainer trainer(resolve(request), {"train"});
  return trainer.run(remarks);
}

/// The higher the class, the brighter its images.
void write_cifar(const TemporaryFolder& folder) {
  const auto images = [](int count, int first) {
    std::string file;
    for (int i = 0; i < count; ++i) {
      const int label = (first + i) % 10;
      file += static_cast<char>(label);
      for (int p = 0; p < 3072; ++p) file += static_cast<char>(25 * label + (p * 7 + i) % 20);
    }
    return file;
  };
  for (int f = 1; f <= 5; ++f) folder.write("cifar/data_batch_" + std::to_string(f) + ".bin", images(8, f));
  folder.write("cifar/test_batch.bin", images(10, 0));
}

}  // namespace

TEST_CASE("A folder with CIFAR-10's binary files is known as such, and said to be") {
  const TemporaryFolder folder;
  write_cifar(folder);
  Remarks remarks;
  Request request = request_of(folder, "10", folder.path("cifar"));
  request.augment = true;
  const Json record = run_remarked(request, remarks);
  REQUIRE(remarks.lines.size() == 1);
  CHECK(remarks.lines[0] ==
        folder.path("cifar") + ": CIFAR-10 in binary files: 40 to train on, 10 to test on, in 10 classes");
  CHECK(record.at("data").at("about") == remarks.lines[0]);
  CHECK(record.at("data").at("name") == "CIFAR-10 train");
  CHECK(record.at("provenance").at("inputs").size() == 7);  // six files and the model
  const std::vector<std::string> first = numbers(record);
  Remarks ignored;
  CHECK(numbers(run_remarked(request, ignored)) == first);
  request.augment = false;
  CHECK(numbers(run_remarked(request, ignored)) != first);
}

TEST_CASE("ResNet-20 learns from CIFAR-10's binary files") {
  const TemporaryFolder folder;
  write_cifar(folder);
  Request request;
  request.model = "resnet20_cifar";
  request.data = folder.path("cifar");
  request.batch = 8;
  request.epochs = 8;
  request.learning_rate = 0.005;
  request.threads = 1;
  const Json epochs = run(request).at("epochs");
  CHECK(epochs.back().at("train_loss").get<double>() < 0.8 * epochs.front().at("train_loss").get<double>());
}

TEST_CASE("CIFAR-10 by its name lies in the folder of data sets") {
  const TemporaryFolder folder;
  write_cifar(folder);
  std::filesystem::rename(folder.path("cifar"), folder.path("cifar-10"));
  Request request = request_of(folder, "10", "cifar-10");
  request.data_dir = folder.path("");
  Remarks remarks;
  CHECK(run_remarked(request, remarks).at("data").at("train_images") == 40);
  CHECK(remarks.lines.empty());
}

TEST_CASE("A folder with IDX files is normalised by its own training pixels") {
  const TemporaryFolder folder;
  const auto idx = [](const std::string& head, const std::string& elements) {
    return std::string("\0\0\x08", 3) + head + elements;
  };
  const auto images = [&](int count) {
    std::string pixels;
    for (int i = 0; i < count * 64; ++i) pixels += static_cast<char>(i / 64 % 2 == 0 ? 10 : 90);
    return idx(std::string("\x03\0\0\0", 4) + static_cast<char>(count) + std::string("\0\0\0\x08\0\0\0\x08", 8),
               pixels);
  };
  const auto labels = [&](int count) {
    std::string classes;
    for (int i = 0; i < count; ++i) classes += static_cast<char>(i % 2);
    return idx(std::string("\x01\0\0\0", 4) + static_cast<char>(count), classes);
  };
  for (const auto& [prefix, count] : {std::pair{"train", 40}, {"t10k", 12}}) {
    folder.write(std::string("own/") + prefix + "-images-idx3-ubyte", images(count));
    folder.write(std::string("own/") + prefix + "-labels-idx1-ubyte", labels(count));
  }
  Request request = small_request(folder, "s-sgd", "");
  request.train_images = request.test_images = std::nullopt;
  request.data = folder.path("own");
  request.epochs = 4;
  Remarks remarks;
  const Json record = run_remarked(request, remarks);
  // Half are 10 and half are 90: mean 50, deviation 40, over 255.
  REQUIRE(remarks.lines.size() == 1);
  CHECK(remarks.lines[0] ==
        folder.path("own") +
            ": IDX files, normalised by mean 0.196078 and deviation 0.156863: 40 to train on, 12 to "
            "test on, in 4 classes");
  CHECK(record.at("epochs").back().at("test_accuracy") == 1);
}

TEST_CASE("A folder that holds nothing known is refused, saying what is") {
  const TemporaryFolder folder;
  folder.write("odd/readme.txt", "none");
  const std::string error = error_of([&] { run(request_of(folder, "10", folder.path("odd"))); });
  CHECK_THAT(error,
             Contains("--data " + folder.path("odd") + ": holds no images that are known; allowed: data_batch_1.bin"));
}

#ifdef LOCKSTEP_WITH_JPEG

namespace {

/// Writes a few reddish and a few greenish images.
void write_images(const TemporaryFolder& folder) {
  const auto write = [&](const std::string& name, int number, bool is_red) {
    const auto values = [&](int x, int y) {
      const int bright = 150 + (x * 3 + y * 5 + number * 11) % 100, dark = (x + y * number) % 60;
      return std::vector<int>{is_red ? bright : dark, is_red ? dark : bright, 40};
    };
    folder.write(name + "/" + std::to_string(number) + ".jpg", data::jpeg_file(40 + number, 60 - number, values));
  };
  for (int i = 0; i < 12; ++i) write(i % 2 == 0 ? "set/train/red" : "set/train/green", i, i % 2 == 0);
  for (int i = 12; i < 20; ++i) write(i % 2 == 0 ? "set/val/red" : "set/val/green", i, i % 2 == 0);
}

}  // namespace

TEST_CASE("A folder of JPEG images is known as such, cropped to the model's shape, and learnt from") {
  const TemporaryFolder folder;
  write_images(folder);
  Request request = request_of(folder, "2", folder.path("set"));
  request.augment = true;
  Remarks remarks;
  const Json record = run_remarked(request, remarks);
  REQUIRE(remarks.lines.size() == 1);
  CHECK(remarks.lines[0] ==
        folder.path("set") +
            ": JPEG images, cropped to 32x32, at random and mirrored to train: 12 to train on, 8 to "
            "test on, in 2 classes");
  CHECK(record.at("epochs").back().at("test_accuracy") == 1);
  CHECK(record.at("options").count("bad_images") == 0);
  CHECK(record.at("data").count("passed_over") == 0);
}

TEST_CASE("A torn image ends a run with its name, or is passed over, said and kept in the record") {
  const TemporaryFolder folder;
  write_images(folder);
  const std::string torn = folder.write("set/train/red/4.jpg", "no image");
  Request request = request_of(folder, "2", folder.path("set"));
  CHECK_THAT(error_of([&] { run(request); }), Contains(torn + ": Not a JPEG file") && Contains("--bad-images skip"));
  request.bad_images = "skip";
  Remarks remarks;
  const Json record = run_remarked(request, remarks);
  REQUIRE(remarks.lines.size() == 2);
  CHECK_THAT(remarks.lines[1], Contains("1 images could not be read, others stood in for them; the first: " + torn));
  CHECK(record.at("data").at("passed_over").size() == 1);
  CHECK(record.at("options").at("bad_images") == "skip");
}

TEST_CASE("Batches of JPEG images are the same to the bit, whatever the number of threads that decode them") {
  const TemporaryFolder folder;
  write_images(folder);
  folder.write("set/train/red/2.jpg", "no image");
  const data::ImageFolder source("train", data::list_images(folder.path("set/train")), {3, 20, 24},
                                 data::BadImages::skip);
  const data::BatchOrder order(source.count(), 3);
  const std::optional<data::AugmentationRange> range(std::in_place);
  for (const data::Pixels pixels : {data::Pixels::floats, data::Pixels::bytes}) {
    std::vector<data::Batch> one(2);
    BatchReader(source, order, 9, range, 5, 1, pixels).read(31, one);
    CHECK(one[0].transforms.empty());  // cropped instead
    for (const int threads : {2, 3, 16}) {
      std::vector<data::Batch> several(2);
      BatchReader(source, order, 9, range, 5, threads, pixels).read(31, several);
      for (std::size_t l = 0; l < 2; ++l) {
        CHECK(several[l].images == one[l].images);
        CHECK(several[l].labels == one[l].labels);
        CHECK(std::vector<std::uint8_t>(several[l].bytes.data(), several[l].bytes.data() + several[l].bytes.size()) ==
              std::vector<std::uint8_t>(one[l].bytes.data(), one[l].bytes.data() + one[l].bytes.size()));
      }
    }
  }
}

#endif

}  // namespace lockstep::train
