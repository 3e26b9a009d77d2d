#pragma once
// Ways to compute a convolution, for make_convolution() to choose from.
#include "engine/host/operation.hpp"

namespace lockstep::host {

/// Whether the images of a batch have so few output pixels beside the layer's channels that its weights are what is
/// large: the columns of the whole batch then take no more memory than sums of gradients side by side would.
bool has_few_pixels(const model::Layer& layer, int batch);

/// For such layers: all images' columns make one matrix, and threads share out its channels instead of the images. Every
/// weight is read once a pass, and no sum is split.
template <typename Scalar>
OperationPtr<Scalar> make_convolution_by_channels(const Wiring<Scalar>& wiring);

}  // namespace lockstep::host
