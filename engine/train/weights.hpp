#pragma once
// Reads and writes a network's weights as a safetensors file, to exchange them with other programs. The format
// (huggingface/safetensors) is eight bytes with the header's length, little-endian; a JSON header {name: {dtype, shape,
// data_offsets}}; and the tensors' bytes.
//
// Tensors have the names and shapes of PyTorch's modules, so that they match the state_dict of a module whose
// submodules have the layers' names. They are LAYER.weight (convolution K x C/groups x R x S, fully-connected O x I,
// batch norm's gamma) and LAYER.bias; batch norm also has LAYER.running_mean and LAYER.running_var.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::train {

struct Weights {
  std::vector<float> parameters;          ///< in the order of graph.layers and Layer::parameters
  std::vector<float> running_statistics;  ///< per batch norm, all means and then all variances
};

/// Writes tensors of dtype F32; the header includes `origin` as metadata. Throws std::runtime_error if the file cannot
/// be written.
void write_safetensors(const std::string& path, const model::Graph& graph, const Weights& weights,
                       const std::string& origin);

/// Reads F32, F16, BF16 and F64, and ignores PyTorch's counters (LAYER.num_batches_tracked). Missing running statistics
/// become 0 and 1. Throws InputError, in one line with file and tensor, if the file is missing or its header is
/// invalid, and for offsets outside the file. Also throws for a tensor that is missing or unknown, or has another shape
/// or type.
Weights read_safetensors(const std::string& path, const model::Graph& graph);

}  // namespace lockstep::train
