#pragma once
// Implementations of a convolution, from which make_convolution() chooses.
#include "engine/host/operation.hpp"

namespace lockstep::host {

/// Whether the batch has few output pixels compared with the layer's channels, so that the weights dominate memory.
/// Then the columns of the whole batch take no more memory than separate sums of gradients per thread would.
bool has_few_pixels(const model::Layer& layer, int batch);

/// For such layers: im2col writes the columns of all images into one matrix, and threads divide its channels instead of
/// the images.
/// Every weight is read once per pass, and no sum is split.
template <typename Scalar>
OperationPtr<Scalar> make_batched_im2col_convolution(const Wiring<Scalar>& wiring);

}  // namespace lockstep::host
