#pragma once
// Small rotations and zooms: the augmentation of the MNIST experiment in "Revisiting Distributed Synchronous SGD" (Chen
// et al., 2016, appendix A.1). The paper gives no ranges. Ours are assumed: up to 10 degrees either way, zooms from 0.9
// to 1.1, both uniform.
//
// An image is rotated by angle a about its centre and enlarged by z. The new pixel at offset (dx, dy) from the centre
// has the old value at ((cos a dx - sin a dy) / z, (sin a dx + cos a dy) / z), interpolated bilinearly. Here y runs
// downwards; a positive angle rotates counter-clockwise. Outside the image, the nearest border pixel is used, which
// works with any normalisation (black is not 0 in a normalised image).
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/data/batch_order.hpp"
#include "engine/data/byte_buffer.hpp"
#include "engine/data/dataset.hpp"

namespace lockstep::data {

struct AugmentationRange {
  double rotation_rad = 0.17453292519943295;  ///< 10 degrees: angles in [-rotation, rotation]
  double zoom_low = 0.9;
  double zoom_high = 1.1;
};

struct Transform {
  double angle_rad = 0;
  double zoom = 1;
};

/// Draws the transform of image `index` in `epoch`. It depends only on the arguments, and differs between epochs.
Transform draw_transform(const AugmentationRange& range, std::uint64_t seed, std::int64_t epoch, std::int64_t index);

/// `in` and `out` are images of `shape` and must not overlap.
void apply_transform(const ImageShape& shape, const Transform& transform, const float* in, float* out);

/// draw_transform() and apply_transform() together, with the default range.
std::vector<float> augment(const ImageShape& shape, const std::vector<float>& image, std::uint64_t seed,
                           std::int64_t epoch, std::int64_t index);

/// The form of a batch's images.
enum class Pixels {
  floats,  ///< normalised and augmented
  bytes    ///< as in the source, which must have byte_values(); the batch's reader normalises and augments
};

/// Holds contiguous images (NCHW) and their labels.
struct Batch {
  std::vector<float> images;  ///< Pixels::floats
  std::vector<std::int32_t> labels;
  ByteBuffer bytes = {};                   ///< Pixels::bytes
  const float* byte_values = nullptr;      ///< the source's ImageSource::byte_values()
  std::vector<Transform> transforms = {};  ///< one per image of `bytes`; empty: they are not augmented
  /// Set by an asynchronous reader of `bytes` (a GPU's copy engine): waits until it has read them.
  mutable std::function<void()> until_read = {};

  /// Call before the bytes are written or freed.
  void wait_until_read();
};

/// Fills `batch` and reuses its memory. If `range` is given, augments with `seed`: within that range, or as the source
/// draws (ImageSource::is_drawn()).
void read_batch(const ImageSource& source, const std::vector<Sample>& samples, const AugmentationRange* range,
                std::uint64_t seed, Batch& batch);
/// Fills samples [begin, end) of a batch that already has its size, for either kind of pixels. Several threads may fill
/// parts of one batch.
void read_part(const ImageSource& source, const std::vector<Sample>& samples, const AugmentationRange* range,
               std::uint64_t seed, std::size_t begin, std::size_t end, Batch& batch);
/// Gives the batch space for `samples` samples, and for transforms if `is_augmented`. Bytes come from `allocate` if it
/// is given. First waits until the previous content has been read.
void resize_batch(const ImageSource& source, std::size_t samples, Batch& batch, Pixels pixels = Pixels::floats,
                  bool is_augmented = false, const Allocate& allocate = {});

}  // namespace lockstep::data
