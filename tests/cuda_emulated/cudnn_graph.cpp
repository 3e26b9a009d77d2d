#include "tests/cuda_emulated/cudnn_graph.hpp"

namespace emulated {
namespace {

/// The attributes of the operation in each direction, which mean the same.
struct Operation {
  Direction direction;
  cudnnBackendAttributeName_t x, y, weight, convolution, beta;
};
Operation names_of(cudnnBackendDescriptorType_t type) {
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    return {Direction::forward,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    return {Direction::data,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  }
  return {Direction::filter,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

bool is_channels_last(const Descriptor& tensor) {
  const Integers d = tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  return d.size() == 4 &&
         tensor.integers(CUDNN_ATTR_TENSOR_STRIDES) == Integers{d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]};
}

cudnnStatus_t read_sums(const Descriptor& operation, Convolution& result) {
  const Descriptor* tensors[] = {operation.part(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC),
                                 operation.part(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC)};
  const Descriptor* outputs = operation.part(CUDNN_ATTR_OPERATION_GENSTATS_XDESC);
  if (outputs == nullptr || outputs->integers(CUDNN_ATTR_TENSOR_UNIQUE_ID).at(0) != result.names[1] ||
      operation.value<cudnnGenStatsMode_t>(CUDNN_ATTR_OPERATION_GENSTATS_MODE) != CUDNN_GENSTATS_SUM_SQSUM)
    return CUDNN_STATUS_BAD_PARAM;
  for (std::size_t i = 0; i < 2; ++i) {
    if (tensors[i] == nullptr || tensors[i]->value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE) != CUDNN_DATA_FLOAT ||
        tensors[i]->integers(CUDNN_ATTR_TENSOR_DIMENSIONS) != Integers{1, result.y[1], 1, 1})
      return CUDNN_STATUS_BAD_PARAM;
    result.sums_names[i] = tensors[i]->integers(CUDNN_ATTR_TENSOR_UNIQUE_ID).at(0);
  }
  result.has_sums = true;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t read(const Descriptor& operation, Convolution& result) {
  const Operation names = names_of(operation.type);
  const Descriptor* tensors[] = {operation.part(names.x), operation.part(names.y), operation.part(names.weight)};
  const Descriptor* convolution = operation.part(names.convolution);
  if (convolution == nullptr || !convolution->is_final) return CUDNN_STATUS_BAD_PARAM;
  for (std::size_t i = 0; i < 3; ++i) {
    if (tensors[i] == nullptr || !tensors[i]->is_final || !is_channels_last(*tensors[i])) return CUDNN_STATUS_BAD_PARAM;
    result.names[i] = tensors[i]->integers(CUDNN_ATTR_TENSOR_UNIQUE_ID).at(0);
  }
  result.direction = names.direction;
  result.accumulate = operation.value<float>(names.beta) != 0;
  result.type = tensors[0]->value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  result.x = tensors[0]->integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  result.y = tensors[1]->integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  result.weight = tensors[2]->integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  result.strides = convolution->integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  result.before = convolution->integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const Integers after = convolution->integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  if (result.x[0] != result.y[0] || result.y[1] != result.weight[0]) return CUDNN_STATUS_BAD_PARAM;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room = result.x[2 + d] + result.before.at(d) + after.at(d) - result.weight[2 + d];
    if (room < 0 || room / result.strides.at(d) + 1 != result.y[2 + d]) return CUDNN_STATUS_BAD_PARAM;
  }
  return result.x[1] == result.weight[1] ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t read_graph(const Descriptor& graph, Convolution& result) {
  const cudnnStatus_t status = read(*graph.part(CUDNN_ATTR_OPERATIONGRAPH_OPS), result);
  const Descriptor* second = graph.part(CUDNN_ATTR_OPERATIONGRAPH_OPS, 1);
  return status == CUDNN_STATUS_SUCCESS && second != nullptr ? read_sums(*second, result) : status;
}

}  // namespace emulated
