#pragma once
// Translates a graph to the program of a GPU: groups layers into steps of a few kernels each, in the order of the
// forward pass. Needs no GPU.
//
// Grouping reduces memory traffic, which limits these layers:
//   conv | fc -> relu            the ReLU is applied with the bias
//   batch_norm -> relu           one pass over memory
//   batch_norm -> add -> relu    one pass (the end of a residual block); also without the ReLU
//   add -> relu                  one pass
//   conv -> batch_norm           the convolution sums its outputs for the statistics (output_sums.hpp)
// Layers are grouped only if nothing else reads the values between them.
//
// Values and their gradients are placed in one arena, and those whose lifetimes do not overlap share memory.
// Step s of S runs at time s forward and at time 2 S - 1 - s backward. A value lives from the step that computes
// it to the last one that reads it, forward or backward. A gradient lives from the backward step of its value's
// last reader to the backward step of the value. An element-wise step passes the memory of its gradient on to an
// input if possible. The input images share memory with nothing, because their padded channels are written only
// once.
#include <cstdint>
#include <vector>

#include "engine/cuda/element.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

/// How a step writes the gradient of one input.
struct GradientWrite {
  bool needed = false;
  bool accumulate = false;  ///< an earlier backward step wrote it, so add
  bool in_place = false;    ///< shares the memory of the step's own gradient
};

struct Step {
  model::LayerKind kind;
  int layer;                ///< the first layer of the group: kind, window, parameters
  int output;               ///< the layer whose values are written
  bool relu;                ///< the group ends with a ReLU
  std::vector<int> inputs;  ///< layers read; for batch norm with an addition: its input, then the other summand
  std::vector<GradientWrite> writes;  ///< per input
  bool backward;                      ///< it or an earlier step has parameters
  bool evaluated;                     ///< the main head's input depends on it
  bool summed = false;                ///< a convolution whose unmodified outputs a batch norm reads
};

/// The place of one layer's value or gradient in the arena; bytes 0: it has none.
struct MemorySlot {
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
};

struct Program {
  std::vector<Step> steps;
  int logits;                         ///< the layer that the main head reads
  int input_channels;                 ///< stored channels of the images
  std::vector<MemorySlot> values;     ///< per layer; empty if the group does not write it
  std::vector<MemorySlot> gradients;  ///< per layer
  std::int64_t arena_bytes = 0;
  std::int64_t unshared_bytes = 0;  ///< size if every value and gradient had its own memory
  int heads = 0;                    ///< softmax layers
};

/// Throws InputError for a graph that cannot be trained: it has no softmax layer, another layer reads a softmax layer,
/// or its last layer is something else. Also refuses a max-pooling window of more than 65535 pixels.
Program make_program(const model::Graph& graph, int batch, Element element, bool tensor_cores);

/// Whether the backward pass of a step reads its first input or its output, in addition to the output's gradient. No
/// other step reads the images.
bool backward_reads_first_input(const Step& step);
bool backward_reads_output(const Step& step);

}  // namespace lockstep::cuda
