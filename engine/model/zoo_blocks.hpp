#pragma once
// What the zoo's files share: windows, the usual layer groups, and the functions that build each network.
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

Graph lenet_crossbow();
Graph lenet_caffe();
Graph cifar10_quick();
Graph resnet32_crossbow();
Graph resnet32_option_a();

Graph alexnet_grouped();
Graph alexnet_ungrouped();
Graph alexnet_batch_norm();
Graph vgg16_cifar100();
Graph vgg16();
Graph vgg19();
Graph vgg19_22k();

Graph googlenet_with_heads();
Graph googlenet();
Graph inception_v3();
Graph inception_v3_with_head();

Graph resnet50();
Graph resnet50_v15();
Graph resnet101();
Graph resnet152();

}  // namespace lockstep::model::zoo
