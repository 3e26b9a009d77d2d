// Shapes and counts of single layers, and the refusals of GraphBuilder.
#include <functional>

#include "engine/model/graph.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

Window window(int kernel, int stride = 1, int pad = 0, bool ceil = false) {
  Window w;
  w.kernel_h = w.kernel_w = kernel;
  w.stride_h = w.stride_w = stride;
  w.pad_top = w.pad_bottom = w.pad_left = w.pad_right = pad;
  w.ceil = ceil;
  return w;
}

}  // namespace

TEST_CASE("A convolution has out (in/groups) R S weights and as many MACs per output pixel") {
  struct Case {
    Shape in;
    int out, kernel, stride, pad, groups;
    Shape expected;
  };
  const Case c =
      GENERATE(Case{{3, 227, 227}, 96, 11, 4, 0, 1, {96, 55, 55}}, Case{{96, 27, 27}, 256, 5, 1, 2, 2, {256, 27, 27}},
               Case{{3, 224, 224}, 64, 7, 2, 3, 1, {64, 112, 112}}, Case{{32, 9, 9}, 32, 3, 2, 1, 32, {32, 5, 5}});
  Window w = window(c.kernel, c.stride, c.pad);
  w.groups = c.groups;
  GraphBuilder net("net", "net", c.in);
  net.conv("conv", 0, c.out, w, true);
  const Graph graph = net.finish();
  const Layer& conv = graph.layers[1];
  CHECK(conv.in == c.in);
  CHECK(conv.out == c.expected);
  const std::int64_t weights = std::int64_t{c.out} * (c.in.channels / c.groups) * c.kernel * c.kernel;
  CHECK(conv.parameters[0].elements == weights);
  CHECK(conv.parameters[1].elements == c.out);
  CHECK(conv.parameter_count() == weights + c.out);
  CHECK(conv.macs == weights * conv.out.height * conv.out.width);
}

TEST_CASE("A convolution's last window fits into the padded input and one more would not") {
  const int size = GENERATE(7, 8, 31, 32);
  const int kernel = GENERATE(1, 3, 5);
  const int stride = GENERATE(1, 2, 3);
  const int pad = GENERATE(0, 1);
  GraphBuilder net("net", "net", {1, size, size});
  net.conv("conv", 0, 1, window(kernel, stride, pad), false);
  const int outputs = net.shape(1).height;
  CHECK((outputs - 1) * stride + kernel <= size + 2 * pad);
  CHECK(outputs * stride + kernel > size + 2 * pad);
}

// By hand, on a 1x4x4 image:
//   conv  2 outputs, 3x3: 2*1*9 = 18 weights + 2 biases; output 2x2x2; 18 * 2*2 = 72 MACs; reads 16
//   relu  reads 8
//   pool  2x2/2: output 2x1x1; reads 8
//   fc    3 outputs: 2*3 = 6 weights + 3 biases; 6 MACs; reads 2
// in total 29 parameters in 4 tensors (9 of them in the fc) and 78 MACs.
TEST_CASE("A tiny network has the counts worked out by hand") {
  GraphBuilder net("tiny", "Tiny", {1, 4, 4});
  const int conv = net.conv("conv", 0, 2, window(3), true);
  const int relu = net.relu("relu", conv);
  const int pool = net.max_pool("pool", relu, window(2, 2));
  const int fc = net.fc("fc", pool, 3);
  const Graph graph = net.finish();
  CHECK(graph.name == "tiny");
  CHECK(graph.title == "Tiny");
  CHECK(graph.parameter_count() == 29);
  CHECK(graph.fc_parameter_count() == 9);
  CHECK(graph.parameter_tensors() == 4);
  CHECK(graph.macs() == 78);
  CHECK(graph.layers[0].kind == LayerKind::input);
  CHECK(graph.layers[0].input_elements == 0);
  CHECK(graph.layers[conv].macs == 72);
  CHECK(graph.layers[conv].input_elements == 16);
  CHECK(graph.layers[relu].input_elements == 8);
  CHECK(graph.layers[pool].out == Shape{2, 1, 1});
  CHECK(graph.layers[fc].parameters[0].name == "fc/weight");
  CHECK(graph.layers[fc].parameters[1].name == "fc/bias");
  CHECK(graph.layers[fc].parameters[1].role == ParameterRole::bias);
}

TEST_CASE("Pooling rounds down, or up while the last window starts in the image or before it") {
  struct Case {
    int size, kernel, stride, pad, down, up;
  };
  const Case c =
      GENERATE(Case{112, 3, 2, 0, 55, 56}, Case{32, 3, 2, 0, 15, 16}, Case{14, 5, 3, 0, 4, 4},
               Case{28, 3, 1, 1, 28, 28}, Case{7, 2, 2, 1, 4, 4}, Case{5, 2, 3, 1, 2, 2}, Case{4, 1, 2, 0, 2, 2});
  GraphBuilder net("net", "net", {8, c.size, c.size});
  const int down = net.max_pool("down", 0, window(c.kernel, c.stride, c.pad));
  const int up = net.avg_pool("up", 0, window(c.kernel, c.stride, c.pad, true));
  CHECK(net.shape(down) == Shape{8, c.down, c.down});
  CHECK(net.shape(up) == Shape{8, c.up, c.up});
}

TEST_CASE("Batch norm has a gamma and a beta per channel, the other element-wise layers have nothing") {
  GraphBuilder net("net", "net", {16, 5, 3});
  net.batch_norm("bn", 0);
  net.relu("relu", 1);
  net.lrn("lrn", 2);
  net.dropout("drop", 3);
  net.softmax("loss", 4);
  const Graph graph = net.finish();
  REQUIRE(graph.layers[1].parameters.size() == 2);
  CHECK(graph.layers[1].parameters[0].name == "bn/gamma");
  CHECK(graph.layers[1].parameters[1].name == "bn/beta");
  CHECK(graph.parameter_count() == 2 * 16);
  CHECK(graph.macs() == 0);
  for (const Layer& layer : graph.layers) CHECK(layer.out == Shape{16, 5, 3});
}

TEST_CASE("A sum keeps the shape and reads all inputs, a concatenation adds the channels") {
  GraphBuilder net("net", "net", {4, 6, 6});
  const int a = net.conv("a", 0, 4, window(1), false);
  const int sum = net.add("sum", {a, 0});
  const int joined = net.concat("joined", {sum, a, 0});
  const int kept = net.subsample("kept", joined, 20, 4);
  const Graph graph = net.finish();
  CHECK(graph.layers[sum].out == Shape{4, 6, 6});
  CHECK(graph.layers[sum].input_elements == 2 * 4 * 36);
  CHECK(graph.layers[joined].out == Shape{12, 6, 6});
  CHECK(graph.layers[joined].input_elements == 12 * 36);
  CHECK(graph.layers[kept].out == Shape{20, 2, 2});  // pixels 0 and 4 of 6
  CHECK(graph.layers[kept].input_elements == 12 * 4);
}

TEST_CASE("Layers that do not fit are refused, naming the model and the layer") {
  struct Case {
    std::function<void(GraphBuilder&)> build;
    std::string error;
  };
  Window three_groups = window(1);
  three_groups.groups = 3;
  Window negative = window(3);
  negative.pad_left = -1;
  const std::vector<Case> cases{
      {[](GraphBuilder& n) { n.relu("x", 7); }, "input 7 is no earlier layer; allowed: 0 to 2"},
      {[](GraphBuilder& n) { n.relu("x", -1); }, "input -1 is no earlier layer; allowed: 0 to 2"},
      {[](GraphBuilder& n) { n.relu("", 0); }, "empty name"},
      {[](GraphBuilder& n) { n.conv("x", 0, 8, window(9), true); }, "kernel 9x9 is larger than its padded input 8x8"},
      {[](GraphBuilder& n) { n.max_pool("x", 0, window(11, 1, 1)); },
       "kernel 11x11 is larger than its padded input 10x10"},
      {[=](GraphBuilder& n) { n.conv("x", 0, 9, three_groups, true); },
       "4 input and 9 output channels are not both divisible by 3 groups"},
      {[=](GraphBuilder& n) { n.max_pool("x", 0, three_groups); }, "pooling has no groups"},
      {[=](GraphBuilder& n) { n.conv("x", 0, 8, negative, true); }, "padding must not be negative"},
      {[](GraphBuilder& n) { n.conv("x", 0, 8, window(3, 0), true); }, "kernel, stride and groups must be at least 1"},
      {[](GraphBuilder& n) { n.conv("x", 0, 8, window(3, 2'000'000), true); },
       "kernel, stride, padding or groups above 1000000"},
      {[](GraphBuilder& n) { n.conv("x", 0, 8, window(3, 2, 0, true), true); },
       "a convolution cannot round its output size up"},
      {[](GraphBuilder& n) { n.conv("x", 0, 0, window(3), true); }, "out must be at least 1"},
      {[](GraphBuilder& n) { n.fc("x", 0, 0); }, "out must be at least 1"},
      {[](GraphBuilder& n) { n.avg_pool("x", 0, window(2, 2, 2)); },
       "padding of a pooling must be smaller than its kernel 2x2"},
      {[](GraphBuilder& n) {
         n.add("x", {0, 2});
       },
       "cannot add \"input\" (4x8x8) and \"half\" (4x4x4)"},
      {[](GraphBuilder& n) { n.add("x", {1}); }, "an addition needs at least two inputs"},
      {[](GraphBuilder& n) {
         n.concat("x", {1, 0, 2});
       },
       "cannot join \"relu\" (4x8x8) and \"half\" (4x4x4) along channels"},
      {[](GraphBuilder& n) { n.concat("x", {}); }, "no input"},
      {[](GraphBuilder& n) { n.subsample("x", 0, 3, 2); }, "out 3 drops some of the 4 input channels"},
      {[](GraphBuilder& n) { n.subsample("x", 0, 8, 0); }, "stride must be at least 1"},
      {[](GraphBuilder& n) { n.conv("x", 0, 2'000'000'000, window(8), true); },
       "output 2000000000x1x1 is too large; allowed: 1e13 elements, 1e9 along an axis"},
      {[](GraphBuilder& n) { n.fc("x", 0, 2'000'000'000); },
       "output 2000000000x1x1 is too large; allowed: 1e13 elements, 1e9 along an axis"},
      {[](GraphBuilder& n) { n.fc("x", n.fc("wide", 0, 2'000'000), 1'000'000); }, "more than 1e12 weights"},
      {[](GraphBuilder& n) { n.finish(); }, "no layer reads its output"},
  };
  for (const Case& c : cases) {
    GraphBuilder net("net", "net", {4, 8, 8});
    net.relu("relu", 0);
    net.max_pool("half", 0, window(2, 2));
    const bool dangling = c.error == "no layer reads its output";
    const std::string layer = dangling ? "relu" : c.error == "empty name" ? "" : "x";
    CHECK(error_of([&] { c.build(net); }) == "model \"net\", layer \"" + layer + "\": " + c.error);
  }
}

TEST_CASE("A layer's name is used once, and a graph has layers") {
  GraphBuilder net("net", "net", {4, 8, 8});
  net.relu("a", 0);
  CHECK(error_of([&] { net.relu("a", 1); }) == "model \"net\", layer \"a\": the name is used twice");
  CHECK(error_of([&] { net.relu("input", 1); }) == "model \"net\", layer \"input\": the name is used twice");
  GraphBuilder empty("empty", "empty", {4, 8, 8});
  CHECK(error_of([&] { empty.finish(); }) == "model \"empty\": no layers");
  CHECK(error_of([] {
          GraphBuilder("flat", "flat", {4, 0, 8});
        }) == "model \"flat\", layer \"input\": output 4x0x8 is empty");
}

}  // namespace lockstep::model
