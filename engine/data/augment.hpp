#pragma once
// Small rotations and zooms, the augmentation of the MNIST experiment in "Revisiting Distributed Synchronous SGD"
// (Chen et al., 2016, appendix A.1). The paper gives no ranges; ours are assumed: up to 10 degrees either way, zooms
// from 0.9 to 1.1, both uniform.
//
// Turned by angle a about the image's centre and enlarged by z, the pixel at offset (dx, dy) from the centre shows what
// was at ((cos a dx - sin a dy) / z, (sin a dx + cos a dy) / z), interpolated bilinearly; y runs downwards, a positive
// angle turns counter-clockwise. Beyond the border the nearest border pixel counts, which is right for any
// normalisation (black is not 0 in a normalised image).
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

/// What happens to image `index` in `epoch`: the same whoever asks, different in every epoch.
Transform draw_transform(const AugmentationRange& range, std::uint64_t seed, std::int64_t epoch, std::int64_t index);

/// `in` and `out` are images of `shape` and must not overlap.
void apply_transform(const ImageShape& shape, const Transform& transform, const float* in, float* out);

/// Both in one: `image` turned and zoomed as drawn for (seed, epoch, index) in the default range.
std::vector<float> augment(const ImageShape& shape, const std::vector<float>& image, std::uint64_t seed,
                           std::int64_t epoch, std::int64_t index);

/// What a batch's images are.
enum class Pixels {
  floats,  ///< normalised and augmented
  bytes    ///< as the source has them, where it has byte_values(): whoever takes them normalises and augments
};

/// Images one after another (NCHW) and their labels.
struct Batch {
  std::vector<float> images;  ///< Pixels::floats
  std::vector<std::int32_t> labels;
  ByteBuffer bytes = {};                   ///< Pixels::bytes
  const float* byte_values = nullptr;      ///< the source's ImageSource::byte_values()
  std::vector<Transform> transforms = {};  ///< of each image of `bytes`; empty: they stay as they are
  /// Left by whoever reads `bytes` without a thread of the host (a GPU's copy engine): returns when it has read them.
  mutable std::function<void()> until_read = {};

  /// Before they are written or freed.
  void wait_until_read();
};

/// Fills `batch`, whose memory is used again. Where `range` is given, augments with `seed`: in that range, or as the source
/// draws (ImageSource::is_drawn()).
void read_batch(const ImageSource& source, const std::vector<Sample>& samples, const AugmentationRange* range,
                std::uint64_t seed, Batch& batch);
/// As part of read_batch(), of either kind of pixels: the samples from number `begin` up to `end` of it alone: several
/// threads may fill a batch of the right size together.
void read_part(const ImageSource& source, const std::vector<Sample>& samples, const AugmentationRange* range,
               std::uint64_t seed, std::size_t begin, std::size_t end, Batch& batch);
/// Makes it the size of so many samples, with room for transforms where they are augmented; bytes by `allocate` where it
/// is given. Waits until what was there has been read.
void resize_batch(const ImageSource& source, std::size_t samples, Batch& batch, Pixels pixels = Pixels::floats,
                  bool is_augmented = false, const Allocate& allocate = {});

}  // namespace lockstep::data
