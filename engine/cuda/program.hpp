#pragma once
// What a graph becomes on a GPU: the layers grouped into steps, each a few kernels, in the order of the forward pass.
// Needs no GPU.
//
// Grouping saves passes over memory, which is what limits these layers:
//   conv | fc -> relu            the ReLU is applied where the bias is
//   batch_norm -> relu           one pass
//   batch_norm -> add -> relu    one pass (the end of a residual block); also without the ReLU
//   add -> relu                  one pass
//   conv -> batch_norm           the convolution sums its outputs for the statistics, where an engine does (output_sums.hpp)
// each only where nothing else reads the values in between.
//
// Values and their gradients lie in one arena, and those that never live together share memory. Step s of S runs at
// time s forward and at time 2 S - 1 - s backward. A value lives from the step that makes it to the last that reads it,
// forward or backward; a gradient from the backward step of its first reader (in backward order) to that of the step
// that made the value. An element-wise step hands its own gradient's memory on to an input where it can. The images
// share with nothing: what pads their channels is never written again.
#include <cstdint>
#include <vector>

#include "engine/cuda/element.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

/// How a step writes the gradient of one input.
struct GradientWrite {
  bool needed = false;
  bool accumulate = false;  ///< an earlier backward step wrote it: add
  bool in_place = false;    ///< it is the memory of the step's own gradient
};

struct Step {
  model::LayerKind kind;
  int layer;                ///< the first layer of the group: kind, window, parameters
  int output;               ///< the layer whose values are written
  bool relu;                ///< the group ends with a ReLU
  std::vector<int> inputs;  ///< layers read; of batch norm with an addition: its input, then the other summand
  std::vector<GradientWrite> writes;  ///< per input
  bool backward;                      ///< a parameter lies in it or before it
  bool evaluated;                     ///< the main head's input depends on it
  bool summed = false;                ///< of a convolution: its outputs, as it writes them, are what a batch norm reads
};

/// Memory of one layer's value or gradient in the arena; bytes 0: none.
struct MemorySlot {
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
};

struct Program {
  std::vector<Step> steps;
  int logits;                         ///< the layer that the main head reads
  int input_channels;                 ///< stored channels of the images
  std::vector<MemorySlot> values;     ///< per layer; none where a group never writes it
  std::vector<MemorySlot> gradients;  ///< per layer
  std::int64_t arena_bytes = 0;
  std::int64_t unshared_bytes = 0;  ///< every value and gradient by itself
  int heads = 0;                    ///< softmax layers
};

/// Throws InputError for a graph that cannot be trained (no softmax layer, one that another layer reads, something
/// else last) or has a max-pooling window of more than 65535 pixels.
Program make_program(const model::Graph& graph, int batch, Element element, bool tensor_cores);

/// What the backward pass of a step reads beside the gradient of its output. Images are read by no other.
bool backward_reads_first_input(const Step& step);
bool backward_reads_output(const Step& step);

}  // namespace lockstep::cuda
