#pragma once
// Launches our own kernels on a stream. All functions return at once. Results are identical in every run, because no
// sum depends on the order in which blocks run. `accumulate` adds to the output instead of overwriting it. An output
// may be one of the inputs unless noted. Pointers are multiples of kAlignmentBytes, and the memory of a tensor extends
// to the next such multiple, because whole vectors are read and written.
#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/cuda/element.hpp"
#include "engine/cuda/segments.hpp"
#include "engine/model/window.hpp"

namespace lockstep::cuda {

/// The state that a pass reads and writes in device memory, so that one captured graph serves all passes.
struct PassState {
  const float* parameters;
  std::uint64_t step;
  double loss;       ///< of the last training pass
  float loss_scale;  ///< factor on the gradients of activations
  int automatic;     ///< the device adjusts the scale (fp16 until set_loss_scale())
  int good_passes;   ///< since the scale last changed
  int overflow;      ///< the pass found a non-finite gradient
  int correct;       ///< of the last evaluation
};
constexpr float kFirstLossScale = 1024;
constexpr float kLargestLossScale = 16777216;
constexpr int kPassesUntilDoubled = 2000;

// input_kernels.cu
struct ImageTurn {  ///< as device::ImageTurn
  double cosine, sine;
};
struct Staged {
  const float* images;
  const std::int32_t* labels;
  const float* parameters;
  std::uint64_t step;
  const std::uint8_t* bytes = nullptr;  ///< in place of images
  const float* values = nullptr;        ///< for bytes: 256 floats per channel
  const ImageTurn* turns = nullptr;     ///< rotation of each image of bytes; null: none is rotated
};
/// Converts the images (NCHW) of a staging buffer to the input tensor (NHWC, padded channels zero) and copies the
/// labels. Stores parameters and step in the state.
void stage_input(Element element, const Staged& from, const Tensor& input, int image_channels, std::int32_t* labels,
                 PassState* state, cudaStream_t stream);
/// Initialises the state of a replica before its first pass.
void start_state(PassState* state, float loss_scale, bool automatic, cudaStream_t stream);
/// Sets a fixed scale from the next pass on.
void set_loss_scale(PassState* state, float scale, cudaStream_t stream);

// packing.cu
/// Consecutive segments of a table; `blocks` of its blocks, from `first_block` on, move them.
struct PackTable {
  const Segment* segments;
  int count;
  int blocks;
  int first_block = 0;
};
void pack_parameters(Element element, const PackTable& table, const PassState* state, void* elements, float* reals,
                     cudaStream_t stream);
/// Divides by the loss scale; records in the state if a value is not finite.
void unpack_gradients(Element element, const PackTable& table, const void* elements, const float* reals,
                      float* gradient, PassState* state, cudaStream_t stream);
/// For an automatic scale: after an overflow, zeroes the gradient and halves the scale. After kPassesUntilDoubled good
/// passes, doubles the scale.
void settle_loss_scale(float* gradient, std::int64_t count, PassState* state, cudaStream_t stream);

// elementwise.cu
void relu_forward(Element element, const void* x, void* y, std::int64_t count, cudaStream_t stream);
void relu_backward(Element element, const void* y, const void* dy, void* dx, std::int64_t count, bool accumulate,
                   cudaStream_t stream);
/// y = a + b, followed by ReLU if `relu`.
void add_forward(Element element, const void* a, const void* b, void* y, std::int64_t count, bool relu,
                 cudaStream_t stream);
void pass_on(Element element, const void* from, void* to, std::int64_t count, bool accumulate, cudaStream_t stream);
struct DropoutKey {
  std::uint64_t seed;
  int layer;
  const PassState* state;  ///< for the step
};
/// Writes 2 x if an element is kept, else 0, forward and backward. Both tensors have the shape `shape`.
void dropout(Element element, const void* from, void* to, const Tensor& shape, const DropoutKey& key, bool accumulate,
             cudaStream_t stream);
/// A range of channels of every row of a tensor; move_channels() copies it to a range of another tensor.
struct ChannelSlice {
  int first;
  int channels;  ///< number of channels of a whole row
};
void move_channels(Element element, const void* from, ChannelSlice source, void* to, ChannelSlice target, int count,
                   std::int64_t rows, bool accumulate, cudaStream_t stream);
void subsample_forward(Element element, const Tensor& x, const Tensor& y, int stride, cudaStream_t stream);
void subsample_backward(Element element, const Tensor& dy, const Tensor& dx, int stride, bool accumulate,
                        cudaStream_t stream);

// pooling.cu
/// `chosen` holds the position of each output's maximum in its window.
void max_pool_forward(Element element, const Tensor& x, const Tensor& y, const model::Window& window,
                      std::uint16_t* chosen, cudaStream_t stream);
void max_pool_backward(Element element, const Tensor& dy, const std::uint16_t* chosen, const Tensor& dx,
                       const model::Window& window, bool accumulate, cudaStream_t stream);
void avg_pool_forward(Element element, const Tensor& x, const Tensor& y, const model::Window& window,
                      cudaStream_t stream);
void avg_pool_backward(Element element, const Tensor& dy, const Tensor& dx, const model::Window& window,
                       bool accumulate, cudaStream_t stream);

// local_response.cu; dx is neither x nor dy.
void local_response_forward(Element element, const Tensor& x, const Tensor& y, cudaStream_t stream);
void local_response_backward(Element element, const Tensor& x, const Tensor& dy, const Tensor& dx, bool accumulate,
                             cudaStream_t stream);

// batch_norm.cu and bias.cu sum over rows, per channel, in parts; `partials` holds partial_floats() floats.
std::int64_t partial_floats(Element element, std::int64_t rows, int channels);
struct BatchNormData {
  std::int64_t rows;
  int channels;
  const float* gamma;
  const float* beta;
  float* mean;     ///< of this pass
  float* inverse;  ///< 1 / sqrt(variance + epsilon) of this pass
  float* running;  ///< means, then variances
  float* partials;
};
void batch_norm_statistics(Element element, const BatchNormData& data, const void* x, bool training,
                           cudaStream_t stream);
/// y = gamma xhat + beta [+ skip, unless null], followed by ReLU if `relu`. y must be neither x nor skip.
void batch_norm_apply(Element element, const BatchNormData& data, const void* x, const void* skip, void* y, bool relu,
                      cudaStream_t stream);
/// If a ReLU follows a skip (`y` not null), dy is masked in place. If a ReLU follows without a skip, the mask is
/// recomputed from x.
struct BatchNormBackward {
  const void* x;
  const void* y;  ///< outputs after skip and ReLU; null if there is no ReLU or no skip
  void* dy;
  bool relu_without_skip;
  void* dx;  ///< null: not needed
  bool accumulate;
  float* gamma_gradient;
  float* beta_gradient;
};
void batch_norm_backward(Element element, const BatchNormData& data, const BatchNormBackward& pass,
                         cudaStream_t stream);
/// y += bias, followed by ReLU if `relu`.
void add_bias(Element element, void* y, std::int64_t rows, int channels, const float* bias, bool relu,
              cudaStream_t stream);
/// Sums the rows of dy. If `y` is not null, first masks dy by y > 0, in place.
void bias_backward(Element element, const void* y, void* dy, std::int64_t rows, int channels, float* gradient,
                   float* partials, cudaStream_t stream);

// softmax.cu; classes are numbered channels first, whatever the layout of the scores.
struct Scores {
  const void* values;
  int images, pixels, channels;
};
struct SoftmaxHead {
  Scores scores;
  void* gradient;  ///< null: not needed
  bool accumulate;
  float weight;
  float* losses;  ///< per image, times the head's weight / images
};
void softmax_loss(Element element, const SoftmaxHead& head, const std::int32_t* labels, const PassState* state,
                  cudaStream_t stream);
void sum_losses(const float* losses, int count, PassState* state, cudaStream_t stream);
/// Counts the correct predictions among the first `images` of the batch.
void count_correct(Element element, const Scores& scores, const std::int32_t* labels, PassState* state,
                   cudaStream_t stream);

// direct_convolution.cu is slow but supports every shape. It is used if cuDNN offers no plan, and tests compare cuDNN
// with it.
struct ConvolutionShape {
  int images, in_height, in_width, in_channels;
  int out_height, out_width, out_channels;
  model::Window window;
};
void direct_forward(Element element, const ConvolutionShape& shape, const void* x, const void* weight, void* y,
                    cudaStream_t stream);
void direct_data_gradient(Element element, const ConvolutionShape& shape, const void* dy, const void* weight, void* dx,
                          bool accumulate, cudaStream_t stream);
void direct_filter_gradient(Element element, const ConvolutionShape& shape, const void* x, const void* dy,
                            void* weight_gradient, cudaStream_t stream);

}  // namespace lockstep::cuda
