// Batches are the same for any number of threads that fill them.
#include "engine/train/batch_reader.hpp"

#include <stdexcept>

#include "engine/data/dataset.hpp"
#include "engine/data/synthetic.hpp"
#include "engine/train/launch.hpp"
#include "engine/train/pipeline.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::train;

namespace {

constexpr data::ImageShape kShape{3, 9, 7};

std::vector<data::Batch> read(const data::ImageSource& source, const data::BatchOrder& order, int batch, int learners,
                              bool is_augmented, int threads) {
  std::optional<data::AugmentationRange> range;
  if (is_augmented) range.emplace();
  BatchReader reader(source, order, batch, range, 5, threads);
  std::vector<data::Batch> batches(static_cast<std::size_t>(learners));
  reader.read(17, batches);
  reader.read(90, batches);  // memory that was used before
  return batches;
}

/// A source with one unreadable image.
class Torn final : public data::ImageSource {
 public:
  const std::string& name() const override { return name_; }
  const data::ImageShape& shape() const override { return kShape; }
  int classes() const override { return 2; }
  std::int64_t count() const override { return 64; }
  std::int32_t label(std::int64_t) const override { return 1; }
  std::int32_t image(std::int64_t index, float* out) const override {
    if (index == 7) throw std::runtime_error("torn");
    std::fill_n(out, kShape.elements(), 1.0F);
    return label(index);
  }

 private:
  std::string name_ = "torn";
};

}  // namespace

TEST_CASE("Batches are the same to the bit, whatever the number of threads that fill them") {
  const data::SyntheticImages source(kShape, 10, 100, 3);
  const data::BatchOrder order(100, 3);
  for (const bool is_augmented : {false, true})
    for (const int batch : {1, 5, 32})
      for (const int learners : {1, 3}) {
        const std::vector<data::Batch> one = read(source, order, batch, learners, is_augmented, 1);
        REQUIRE(one.back().labels.size() == static_cast<std::size_t>(batch));
        for (const int threads : {2, 3, 16}) {
          INFO(batch << " images, " << learners << " learners, " << threads << " threads");
          const std::vector<data::Batch> several = read(source, order, batch, learners, is_augmented, threads);
          for (std::size_t l = 0; l < one.size(); ++l) {
            CHECK(several[l].images == one[l].images);
            CHECK(several[l].labels == one[l].labels);
          }
        }
      }
}

TEST_CASE("Batches of bytes are those of floats before these are normalised and augmented") {
  std::vector<std::uint8_t> pixels, labels;
  for (std::int64_t i = 0; i < 50 * kShape.elements(); ++i) pixels.push_back(static_cast<std::uint8_t>(i * 37 % 251));
  for (int i = 0; i < 50; ++i) labels.push_back(static_cast<std::uint8_t>(i % 3));
  const data::Dataset source("bytes", kShape, 3, pixels, labels, {{0.4F, 0.5F, 0.6F}, {0.2F, 0.3F, 0.25F}});
  const data::BatchOrder order(50, 3);
  for (const bool is_augmented : {false, true}) {
    std::optional<data::AugmentationRange> range;
    if (is_augmented) range.emplace();
    std::vector<data::Batch> floats(2), bytes(2);
    BatchReader(source, order, 12, range, 5, 1).read(31, floats);
    BatchReader(source, order, 12, range, 5, 3, data::Pixels::bytes).read(31, bytes);
    for (std::size_t l = 0; l < 2; ++l) {
      CHECK(bytes[l].images.empty());
      CHECK(bytes[l].labels == floats[l].labels);
      REQUIRE(bytes[l].bytes.size() == floats[l].images.size());
      const std::size_t elements = static_cast<std::size_t>(kShape.elements());
      std::vector<float> made;
      for (std::size_t i = 0; i < bytes[l].bytes.size(); ++i)
        made.push_back(bytes[l].byte_values[256 * (i % elements / 63) + bytes[l].bytes[i]]);
      if (is_augmented) {
        REQUIRE(bytes[l].transforms.size() == 12);
        const std::vector<float> originals = made;
        for (std::size_t i = 0; i < 12; ++i)
          data::apply_transform(kShape, bytes[l].transforms[i], originals.data() + i * elements,
                                made.data() + i * elements);
      }
      CHECK(made == floats[l].images);
    }
  }
  const auto host = device::make_host_backend(1, 1);
  CHECK(Torn().byte_values().empty());
  CHECK(usual_pixels(*host, source) == data::Pixels::floats);
}

TEST_CASE("The input pipeline hands out what its threads read, in its order, and what went wrong in one of them") {
  const data::SyntheticImages source(kShape, 10, 100, 3);
  const data::BatchOrder order(100, 3);
  InputPipeline pipeline(source, order, 8, std::nullopt, 5, 4);
  pipeline.start(0, 2);
  for (std::int64_t iteration = 0; iteration < 30; ++iteration) {
    const std::vector<data::Batch>& batches = pipeline.take();
    for (std::int64_t learner = 0; learner < 2; ++learner) {
      data::Batch expected;
      data::read_batch(source, order.samples((iteration * 2 + learner) * 8, 8), nullptr, 5, expected);
      CHECK(batches[static_cast<std::size_t>(learner)].images == expected.images);
    }
  }
  const Torn torn;
  const data::BatchOrder all(64, 3);
  InputPipeline broken(torn, all, 64, std::nullopt, 5, 4);
  broken.start(0, 1);
  CHECK_THROWS_WITH(broken.take(), "torn");
}

TEST_CASE("The host's learners leave one thread to the input") {
  const auto host = device::make_host_backend(2, 4);
  CHECK(usual_input_threads(*host, 1) == 1);
}

TEST_CASE("Processes that are bound to less than their share of a machine are told how not to be") {
  CHECK_THAT(binding_remark(1, 128, 8), Contains("bound to 1 of 128 processors") && Contains("--bind-to none"));
  CHECK(binding_remark(16, 128, 8).empty());   // a share each
  CHECK(binding_remark(128, 128, 8).empty());  // all share all
  CHECK(binding_remark(1, 2, 4).empty());
}
