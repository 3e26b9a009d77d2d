#include "engine/train/batch_reader.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

namespace lockstep::train {
namespace {

constexpr int kMostThreads = 16;
constexpr std::size_t kPartsOfThread = 2;  // so that others need not wait for an interrupted thread

}  // namespace

int usual_input_threads(const device::Backend& backend, int processes) {
  if (backend.name() == "host") return 1;
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::clamp(processors / std::max(1, processes), 1, kMostThreads);
}

data::Pixels usual_pixels(const device::Backend& backend, const data::ImageSource& source) {
  return backend.takes_bytes() && !source.byte_values().empty() ? data::Pixels::bytes : data::Pixels::floats;
}

data::Allocate pinned_memory_of(device::Backend& backend) {
  return [&backend](std::int64_t count) { return backend.allocate_pinned(count); };
}

BatchForDevice::BatchForDevice(const data::Batch& batch)
    : from_(batch), batch_{batch.images.data(), batch.labels.data()} {
  if (batch.bytes.empty()) return;
  for (const data::Transform& transform : batch.transforms)
    turns_.push_back({std::cos(transform.angle_rad) / transform.zoom, std::sin(transform.angle_rad) / transform.zoom});
  bytes_ = {batch.bytes.data(), batch.byte_values, turns_.empty() ? nullptr : turns_.data(),
            batch.bytes.is_allocated()};
  batch_.as_bytes = &bytes_;
}

void BatchForDevice::taken_by(const device::Replica& replica) const {
  if (bytes_.is_pinned) from_.until_read = replica.until_input_is_read();
}

BatchFiller::BatchFiller(const data::ImageSource& source, std::optional<data::AugmentationRange> augmentation,
                         std::uint64_t seed, int threads, data::Pixels pixels, data::Allocate allocate)
    : source_(source),
      augmentation_(augmentation),
      seed_(seed),
      threads_(threads),
      pixels_(pixels),
      allocate_(std::move(allocate)),
      executor_(threads) {}

void BatchFiller::fill(const std::vector<std::vector<data::Sample>>& samples, std::vector<data::Batch>& batches) {
  const data::AugmentationRange* range = augmentation_ ? &*augmentation_ : nullptr;
  const std::size_t wanted = static_cast<std::size_t>(threads_) * kPartsOfThread;
  for (std::size_t b = 0; b < batches.size(); ++b)
    data::resize_batch(source_, samples[b].size(), batches[b], pixels_, range != nullptr, allocate_);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const std::size_t size = samples[b].size();
    const std::size_t parts = threads_ == 1 ? 1 : std::min(size, (wanted + batches.size() - 1) / batches.size());
    for (std::size_t part = 0; part < parts; ++part)
      executor_.submit(
          [this, range, &of_batch = samples[b], &batch = batches[b], begin = size * part / parts,
           end = size * (part + 1) / parts] { data::read_part(source_, of_batch, range, seed_, begin, end, batch); });
  }
  executor_.wait();
}

BatchReader::BatchReader(const data::ImageSource& source, const data::BatchOrder& order, int batch,
                         std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads,
                         data::Pixels pixels, data::Allocate allocate)
    : order_(order), batch_(batch), filler_(source, augmentation, seed, threads, pixels, std::move(allocate)) {}

void BatchReader::read(std::int64_t position, std::vector<data::Batch>& batches) {
  std::vector<std::vector<data::Sample>> samples;
  for (std::size_t b = 0; b < batches.size(); ++b, position += batch_)
    samples.push_back(order_.samples(position, batch_));
  filler_.fill(samples, batches);
}

}  // namespace lockstep::train
