#include "engine/model/zoo/blocks.hpp"

namespace lockstep::model::zoo {

Window square(int kernel, int stride, int pad) {
  Window window;
  window.kernel_h = window.kernel_w = kernel;
  window.stride_h = window.stride_w = stride;
  window.pad_top = window.pad_bottom = window.pad_left = window.pad_right = pad;
  return window;
}

Window square_ceil(int kernel, int stride) {
  Window window = square(kernel, stride);
  window.ceil = true;
  return window;
}

Window keep_size(int kernel_h, int kernel_w) {
  Window window;
  window.kernel_h = kernel_h;
  window.kernel_w = kernel_w;
  window.pad_top = window.pad_bottom = (kernel_h - 1) / 2;
  window.pad_left = window.pad_right = (kernel_w - 1) / 2;
  return window;
}

int conv_relu(GraphBuilder& net, const std::string& name, int from, int out, Window window) {
  return net.relu(name + "/relu", net.conv(name, from, out, window, true));
}

int conv_bn(GraphBuilder& net, const std::string& name, int from, int out, Window window) {
  return net.batch_norm(name + "/bn", net.conv(name, from, out, window, false));
}

int conv_bn_relu(GraphBuilder& net, const std::string& name, int from, int out, Window window) {
  return net.relu(name + "/relu", conv_bn(net, name, from, out, window));
}

Graph classified(GraphBuilder& net, int from, int classes) {
  net.softmax("loss", net.fc("fc", net.global_avg_pool("gap", from), classes));
  return net.finish();
}

}  // namespace lockstep::model::zoo
