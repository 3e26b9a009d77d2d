#pragma once
// What the zoo's files share: windows and the usual layer groups.
// Names follow one rule: the layers that go with a convolution or fully-connected layer X are X/bn and X/relu.
#include <string>

#include "engine/model/graph.hpp"

namespace lockstep::model::zoo {

Window square(int kernel, int stride = 1, int pad = 0);
/// A pooling window whose output size is rounded up, as Caffe does.
Window square_ceil(int kernel, int stride);
/// kernel_h x kernel_w, stride 1, padded so that the size stays.
Window keep_size(int kernel_h, int kernel_w);

/// Convolution with bias, ReLU.
int conv_relu(GraphBuilder& net, const std::string& name, int from, int out, Window window);
/// Convolution without bias, batch norm.
int conv_bn(GraphBuilder& net, const std::string& name, int from, int out, Window window);
/// Convolution without bias, batch norm, ReLU.
int conv_bn_relu(GraphBuilder& net, const std::string& name, int from, int out, Window window);
/// Ends a network that tells classes apart: global average pooling "gap", fully-connected "fc", softmax "loss".
Graph classified(GraphBuilder& net, int from, int classes);

}  // namespace lockstep::model::zoo
