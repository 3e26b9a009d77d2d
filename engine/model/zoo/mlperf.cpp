// MLPerf's networks of images and volumes, by the code of their reference implementations: RetinaNet and 3D U-Net
// (github.com/mlcommons/training, retired_benchmarks), DeepCAM and CosmoFlow (github.com/mlcommons/hpc).
//
// A volume of C channels and D x H x W positions has the shape {C, D H, W}. A dilated convolution is written as an
// undilated one of the same output size: parameters, multiply-adds and bytes are equal.
#include <array>
#include <string>

#include "engine/model/zoo/blocks.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

// Frozen batch norms have no learnable parameters; their scale and shift are one pass over the output.
int frozen_bn(GraphBuilder& net, const std::string& name, int conv) {
  return net.opaque(name + "/frozen_bn", {conv}, net.shape(conv), {}, 0);
}

// ResNeXt-50 32x4d with a feature pyramid (Lin et al. 2017) and two heads of four convolutions on its five maps. Images
// of 800x800 pixels, 264 classes, 9 anchors at each position. The reference trains the backbone's last three stages; the
// first two count as trained here, too, 0.6 % of the parameters.
class RetinaNet {
 public:
  Graph build() {
    std::array<int, 5> maps = pyramid();
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const std::string n = "p" + std::to_string(i + 3);
      head(n + "/class", maps[i], kAnchors * kClasses, i == 0);
      head(n + "/box", maps[i], kAnchors * 4, i == 0);
    }
    return net_.finish();
  }

 private:
  static constexpr int kClasses = 264, kAnchors = 9, kWidth = 256;

  int conv_bn(const std::string& name, int from, int out, Window window) {
    return frozen_bn(net_, name, net_.conv(name, from, out, window, false));
  }
  int conv_bn_relu(const std::string& name, int from, int out, Window window) {
    return net_.relu(name + "/relu", conv_bn(name, from, out, window));
  }
  int stage(int at, int number, int blocks) {
    for (int i = 0; i < blocks; ++i) {
      const std::string block = "s" + std::to_string(number) + "b" + std::to_string(i + 1);
      const int width = 128 << (number - 2), stride = i == 0 && number > 2 ? 2 : 1;
      Window grouped = square(3, stride, 1);
      grouped.groups = 32;
      int out = conv_bn_relu(block + "/1x1a", at, width, square(1));
      out = conv_bn_relu(block + "/3x3", out, width, grouped);
      out = conv_bn(block + "/1x1b", out, 2 * width, square(1));
      const int shortcut = i == 0 ? conv_bn(block + "/shortcut", at, 2 * width, square(1, stride)) : at;
      at = net_.relu(block + "/relu", net_.add(block + "/add", {out, shortcut}));
    }
    return at;
  }
  int lateral(const std::string& name, int from) { return net_.conv(name + "/lateral", from, kWidth, square(1), true); }
  int smoothed(const std::string& name, int from) {
    return net_.conv(name + "/out", from, kWidth, square(3, 1, 1), true);
  }
  // Adds the coarser map, enlarged to the finer one's size.
  int merged(const std::string& name, int fine, int coarse) {
    const int larger = net_.opaque(name + "/larger", {coarse}, net_.shape(fine), {}, 0);
    return net_.add(name + "/add", {fine, larger});
  }
  std::array<int, 5> pyramid() {
    const int stem = net_.max_pool("pool1", conv_bn_relu("conv1", 0, 64, square(7, 2, 3)), square(3, 2, 1));
    const int c3 = stage(stage(stem, 2, 3), 3, 4);
    const int c4 = stage(c3, 4, 6), c5 = stage(c4, 5, 3);
    const int m5 = lateral("p5", c5), m4 = merged("p4", lateral("p4", c4), m5);
    const int m3 = merged("p3", lateral("p3", c3), m4);
    const int p5 = smoothed("p5", m5);
    const int p6 = net_.conv("p6", p5, kWidth, square(3, 2, 1), true);
    const int p7 = net_.conv("p7", net_.relu("p6/relu", p6), kWidth, square(3, 2, 1), true);
    return {smoothed("p3", m3), smoothed("p4", m4), p5, p6, p7};
  }
  // The maps share the weights of a head: only the first has parameters.
  int head_conv(const std::string& name, int from, int out, bool has_weights) {
    if (has_weights) return net_.conv(name, from, out, square(3, 1, 1), true);
    const Shape in = net_.shape(from);
    return net_.opaque(name, {from}, {out, in.height, in.width}, {},
                       std::int64_t{9} * in.channels * out * in.height * in.width);
  }
  void head(const std::string& name, int at, int outputs, bool has_weights) {
    for (int i = 1; i <= 4; ++i) {
      const std::string n = name + "/conv" + std::to_string(i);
      at = net_.relu(n + "/relu", head_conv(n, at, kWidth, has_weights));
    }
    net_.softmax(name + "/loss", head_conv(name + "/out", at, outputs, has_weights));
  }

  GraphBuilder net_{"retinanet", "RetinaNet, ResNeXt-50 (800x800)", {3, 800, 800}};
};

// Layers of volumes whose three sizes are equal.
class VolumeGraph {
 public:
  struct Volume {
    int layer, channels, size;
  };
  VolumeGraph(const std::string& name, const std::string& title, int channels, int size)
      : net_(name, title, {channels, size * size, size}), input_{0, channels, size} {}

  Volume input() const { return input_; }
  Volume conv(const std::string& name, const Volume& from, int out, int kernel, int stride, bool bias) {
    const int size = (from.size - 1) / stride + 1;
    const std::int64_t weights = std::int64_t{from.channels} * out * kernel * kernel * kernel;
    return layer(name, from, out, size, parameters(weights, out, bias), positions(size) * weights);
  }
  // Kernel 2, stride 2: each input position makes eight output positions.
  Volume transposed_conv(const std::string& name, const Volume& from, int out) {
    const std::int64_t weights = std::int64_t{from.channels} * out * 8;
    return layer(name, from, out, 2 * from.size, parameters(weights, out, true), positions(from.size) * weights);
  }
  Volume max_pool(const std::string& name, const Volume& from) {
    return layer(name, from, from.channels, from.size / 2, {}, 0);
  }
  Volume norm(const std::string& name, const Volume& from) {
    return {net_.batch_norm(name, from.layer), from.channels, from.size};
  }
  Volume relu(const std::string& name, const Volume& from) {
    return {net_.relu(name, from.layer), from.channels, from.size};
  }
  Volume concat(const std::string& name, const Volume& a, const Volume& b) {
    return {net_.concat(name, {a.layer, b.layer}), a.channels + b.channels, a.size};
  }
  GraphBuilder& net() { return net_; }

 private:
  static std::int64_t positions(int size) { return std::int64_t{size} * size * size; }
  static std::vector<std::int64_t> parameters(std::int64_t weights, int out, bool bias) {
    return bias ? std::vector<std::int64_t>{weights, out} : std::vector<std::int64_t>{weights};
  }
  Volume layer(const std::string& name, const Volume& from, int out, int size,
               const std::vector<std::int64_t>& parameters, std::int64_t macs) {
    return {net_.opaque(name, {from.layer}, {out, size * size, size}, parameters, macs), out, size};
  }

  GraphBuilder net_;
  Volume input_;
};

// The input has 128^3 voxels; 3 classes, and instance norms with gain and bias (unet3d/pytorch/model).
Graph unet3d() {
  VolumeGraph net("unet3d", "3D U-Net (128x128x128)", 1, 128);
  using Volume = VolumeGraph::Volume;
  const auto convolved = [&](const std::string& n, const Volume& from, int out, int stride) {
    return net.relu(n + "/relu", net.norm(n + "/norm", net.conv(n, from, out, 3, stride, false)));
  };
  const auto pair = [&](const std::string& n, const Volume& from, int out, int stride) {
    return convolved(n + "/b", convolved(n + "/a", from, out, stride), out, 1);
  };
  constexpr std::array<int, 5> filters{32, 64, 128, 256, 320};
  std::vector<Volume> skips{pair("input", net.input(), filters[0], 1)};
  for (std::size_t i = 1; i < filters.size(); ++i)
    skips.push_back(pair("down" + std::to_string(i), skips.back(), filters[i], 2));
  Volume at = pair("bottleneck", skips.back(), filters.back(), 2);
  for (std::size_t i = filters.size(); i-- > 0;) {
    const std::string n = "up" + std::to_string(i);
    const Volume up = net.transposed_conv(n, at, filters[i]);
    at = pair(n, net.concat(n + "/concat", up, skips[i]), filters[i], 1);
  }
  net.net().softmax("loss", net.conv("classes", at, 3, 1, 1, true).layer);
  return net.net().finish();
}

// 128^3 voxels of four redshifts, four parameters to predict (cosmoflow/models/cosmoflow.py).
Graph cosmoflow() {
  VolumeGraph net("cosmoflow", "CosmoFlow (128x128x128)", 4, 128);
  VolumeGraph::Volume at = net.input();
  for (int i = 0; i < 5; ++i) {
    const std::string n = "conv" + std::to_string(i + 1);
    at = net.max_pool(n + "/pool", net.relu(n + "/relu", net.conv(n, at, 32 << i, 3, 1, true)));
  }
  GraphBuilder& dense = net.net();
  const auto fc = [&](const std::string& n, int from, int out) {
    return dense.dropout(n + "/drop", dense.relu(n + "/relu", dense.fc(n, from, out)));
  };
  dense.softmax("loss", dense.fc("fc3", fc("fc2", fc("fc1", at.layer, 128), 64), 4));
  return dense.finish();
}

// This is DeepLabv3+ with Xception as its encoder and stride 16 (deepCam/architecture/deeplab_xception.py). The input has
// 768x1152 pixels of 16 channels, the output 3 classes.
class DeepCam {
 public:
  Graph build() {
    int at = conv_bn_relu(net_, "conv1", 0, 32, square(3, 2, 1));
    at = conv_bn_relu(net_, "conv2", at, 64, square(3, 1, 1));
    const int low = block("b1", at, {128, 128}, 2, Tail::none);
    at = block("b3", block("b2", net_.relu("b1/out", low), {256, 256}, 2, Tail::relu), {728, 728}, 2, Tail::relu);
    for (int i = 4; i <= 19; ++i) at = block("b" + std::to_string(i), at, {728, 728, 728}, 1, Tail::relu);
    at = block("b20", at, {728, 1024}, 1, Tail::separable);
    for (int i = 3; i <= 5; ++i) {
      const std::string n = "conv" + std::to_string(i);
      at = net_.relu(n + "/relu", separable_bn(n, at, i == 5 ? 2048 : 1536));
    }
    const int narrow = conv_bn_relu(net_, "low", low, 48, square(1));
    return decoded(pyramid(at), narrow);
  }

 private:
  enum class Tail { none, relu, separable };

  int separable(const std::string& name, int from, int out, int stride = 1) {
    Window depthwise = square(3, stride, 1);
    depthwise.groups = net_.shape(from).channels;
    const int deep = net_.conv(name + "/depthwise", from, depthwise.groups, depthwise, false);
    return net_.conv(name, deep, out, square(1), false);
  }
  int separable_bn(const std::string& name, int from, int out) {
    return net_.batch_norm(name + "/bn", separable(name, from, out));
  }
  // A block with stride 2 ends with a separable convolution of that stride.
  int block(const std::string& name, int from, const std::vector<int>& widths, int stride, Tail tail) {
    int at = from;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string n = name + "/" + std::to_string(i + 1);
      at = separable_bn(n, i > 0 ? net_.relu(n + "/relu", at) : at, widths[i]);
    }
    if (stride > 1 || tail == Tail::separable) at = separable(name + "/last", at, widths.back(), stride);
    const bool same = stride == 1 && net_.shape(from).channels == widths.back();
    const int shortcut = same ? from : conv_bn(net_, name + "/shortcut", from, widths.back(), square(1, stride));
    at = net_.add(name + "/add", {at, shortcut});
    return tail == Tail::relu ? net_.relu(name + "/out", at) : at;
  }
  // Four convolutions, three of them dilated, and the mean over the image.
  int pyramid(int from) {
    const Shape place = net_.shape(from);
    std::vector<int> branches{conv_bn_relu(net_, "aspp1", from, 256, square(1))};
    for (int i = 2; i <= 4; ++i)
      branches.push_back(conv_bn_relu(net_, "aspp" + std::to_string(i), from, 256, square(3, 1, 1)));
    const int mean = net_.conv("mean", net_.global_avg_pool("mean/pool", from), 256, square(1), false);
    const int affine = net_.opaque("mean/affine", {mean}, net_.shape(mean), {256, 256}, 0);
    const int active = net_.relu("mean/relu", affine);
    branches.push_back(net_.opaque("mean/tiled", {active}, {256, place.height, place.width}, {}, 0));
    return conv_bn_relu(net_, "aspp", net_.concat("aspp/concat", branches), 256, square(1));
  }
  // Kernel 3, stride 2: doubles both sizes.
  int transposed_conv(const std::string& name, int from, int out) {
    const Shape in = net_.shape(from);
    const std::int64_t weights = std::int64_t{9} * in.channels * out;
    return net_.opaque(name, {from}, {out, 2 * in.height, 2 * in.width}, {weights}, weights * in.height * in.width);
  }
  int doubled(const std::string& name, int from) {
    return net_.relu(name + "/relu", net_.batch_norm(name + "/bn", transposed_conv(name, from, 256)));
  }
  Graph decoded(int at, int low) {
    at = net_.concat("join", {doubled("up2", doubled("up1", at)), low});
    at = conv_bn_relu(net_, "join/a", at, 256, square(3, 1, 1));
    at = conv_bn_relu(net_, "join/b", at, 256, square(3, 1, 1));
    at = doubled("up3", net_.conv("join/c", at, 256, square(1), true));
    net_.softmax("loss", transposed_conv("classes", at, 3));
    return net_.finish();
  }

  GraphBuilder net_{"deepcam", "DeepCAM (768x1152)", {16, 768, 1152}};
};

}  // namespace

std::vector<Entry> mlperf_networks() {
  return {{"retinanet", [] { return RetinaNet().build(); }, "a loss over boxes"},
          {"unet3d", unet3d, "convolutions of volumes"},
          {"cosmoflow", cosmoflow, "convolutions of volumes"},
          {"deepcam", [] { return DeepCam().build(); }, "transposed convolutions and a loss over pixels"}};
}

}  // namespace lockstep::model::zoo
