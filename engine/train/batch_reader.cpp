#include "engine/train/batch_reader.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

namespace lockstep::train {
namespace {

constexpr int kMostThreads = 16;
constexpr std::size_t kPartsOfThread = 2;  // so that a thread that was interrupted does not keep the others waiting

}  // namespace

int usual_input_threads(const device::Backend& backend, int processes) {
  if (backend.name() == "host") return 1;
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::clamp(processors / std::max(1, processes), 1, kMostThreads);
}

data::Pixels usual_pixels(const device::Backend& backend, const data::ImageSource& source) {
  return backend.takes_bytes() && !source.byte_values().empty() ? data::Pixels::bytes : data::Pixels::floats;
}

BatchForDevice::BatchForDevice(const data::Batch& batch) : batch_{batch.images.data(), batch.labels.data()} {
  if (batch.bytes.empty()) return;
  for (const data::Transform& transform : batch.transforms)
    turns_.push_back({std::cos(transform.angle_rad) / transform.zoom, std::sin(transform.angle_rad) / transform.zoom});
  bytes_ = {batch.bytes.data(), batch.byte_values, turns_.empty() ? nullptr : turns_.data()};
  batch_.as_bytes = &bytes_;
}

BatchReader::BatchReader(const data::ImageSource& source, const data::BatchOrder& order, int batch,
                         std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads,
                         data::Pixels pixels)
    : source_(source),
      order_(order),
      batch_(batch),
      augmentation_(augmentation),
      seed_(seed),
      threads_(threads),
      pixels_(pixels),
      executor_(threads) {}

void BatchReader::read(std::int64_t position, std::vector<data::Batch>& batches) {
  const data::AugmentationRange* range = augmentation_ ? &*augmentation_ : nullptr;
  const auto size = static_cast<std::size_t>(batch_);
  const std::size_t wanted = static_cast<std::size_t>(threads_) * kPartsOfThread;
  const std::size_t parts = threads_ == 1 ? 1 : std::min(size, (wanted + batches.size() - 1) / batches.size());
  std::vector<std::vector<data::Sample>> samples;
  for (data::Batch& batch : batches) {
    samples.push_back(order_.samples(position, batch_));
    data::resize_batch(source_, size, batch, pixels_, range != nullptr);
    position += batch_;
  }
  for (std::size_t b = 0; b < batches.size(); ++b)
    for (std::size_t part = 0; part < parts; ++part)
      executor_.submit(
          [this, range, &of_batch = samples[b], &batch = batches[b], begin = size * part / parts,
           end = size * (part + 1) / parts] { data::read_part(source_, of_batch, range, seed_, begin, end, batch); });
  executor_.wait();
}

}  // namespace lockstep::train
