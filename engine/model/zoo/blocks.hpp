#pragma once
// Common parts of the zoo's files: windows and frequent groups of layers. The layers that follow a convolution or
// fully-connected layer X are named X/bn and X/relu.
#include <string>

#include "engine/model/graph.hpp"

namespace lockstep::model::zoo {

Window square(int kernel, int stride = 1, int pad = 0);
/// A pooling window whose output size is rounded up, as Caffe does.
Window square_ceil(int kernel, int stride);
/// kernel_h x kernel_w, stride 1, padded to keep the size.
Window keep_size(int kernel_h, int kernel_w);

/// Adds a convolution with bias and a ReLU.
int conv_relu(GraphBuilder& net, const std::string& name, int from, int out, Window window);
/// Adds a convolution without bias and a batch norm.
int conv_bn(GraphBuilder& net, const std::string& name, int from, int out, Window window);
/// Adds a convolution without bias, a batch norm and a ReLU.
int conv_bn_relu(GraphBuilder& net, const std::string& name, int from, int out, Window window);
/// Ends a classifier: global average pooling "gap", fully-connected "fc", softmax "loss".
Graph classified(GraphBuilder& net, int from, int classes);

}  // namespace lockstep::model::zoo
