#pragma once
// A network's weights as a safetensors file (huggingface/safetensors: eight bytes of the header's length, little-endian; a
// JSON header {name: {dtype, shape, data_offsets}}; the tensors' bytes), to take them from other programs and to them.
//
// Tensors have the names and shapes of PyTorch's modules, so that a state_dict fits whose modules are named as the layers:
// LAYER.weight (convolution K x C/groups x R x S, fully-connected O x I, batch norm's gamma), LAYER.bias, and of batch norm
// LAYER.running_mean and LAYER.running_var.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::train {

struct Weights {
  std::vector<float> parameters;          ///< in the order of graph.layers and Layer::parameters
  std::vector<float> running_statistics;  ///< per batch norm all means, then all variances
};

/// Of dtype F32; `metadata` joins the header. Throws std::runtime_error where the file cannot be written.
void write_safetensors(const std::string& path, const model::Graph& graph, const Weights& weights,
                       const std::string& origin);

/// Takes F32, F16, BF16 and F64, and ignores what PyTorch counts beside (LAYER.num_batches_tracked); running statistics
/// that are not there are 0 and 1. Throws InputError, in one line with file and tensor: no such file, a header that is
/// none, offsets outside the file, a tensor that is missing, unknown, or of another shape or type.
Weights read_safetensors(const std::string& path, const model::Graph& graph);

}  // namespace lockstep::train
