// Models from JSON: the form's defaults, exact errors, and zoo -> JSON -> graph.
#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

Graph parse(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "m.json");
  return graph_from_json(document.root());
}

/// Makes a model with the input 3x8x8 and these layers.
std::string with_layers(const std::string& layers) {
  return R"({"schema": "lockstep/model/1", "name": "m", "input": [3, 8, 8], "layers": [)" + layers + "]}";
}

std::string graph_error(const std::string& text) {
  return error_of([&] { parse(text); });
}

void check_equal(const Layer& a, const Layer& b) {
  INFO(a.name);
  CHECK(a.name == b.name);
  CHECK(a.kind == b.kind);
  CHECK(a.inputs == b.inputs);
  CHECK(a.in == b.in);
  CHECK(a.out == b.out);
  CHECK(a.window == b.window);
  CHECK(a.macs == b.macs);
  CHECK(a.input_elements == b.input_elements);
  REQUIRE(a.parameters.size() == b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    CHECK(a.parameters[i].name == b.parameters[i].name);
    CHECK(a.parameters[i].role == b.parameters[i].role);
    CHECK(a.parameters[i].elements == b.parameters[i].elements);
  }
}

void check_equal(const Graph& a, const Graph& b) {
  CHECK(a.name == b.name);
  CHECK(a.title == b.title);
  CHECK(a.input == b.input);
  REQUIRE(a.layers.size() == b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) check_equal(a.layers[i], b.layers[i]);
}

}  // namespace

TEST_CASE("Every network of the zoo is the same after a trip through JSON") {
  for (const std::string& name : trainable_names()) {
    INFO(name);
    const Graph graph = zoo_graph(name);
    check_equal(graph, parse(to_json(graph).dump()));
  }
}

TEST_CASE("An opaque layer has the counts that it is given, and survives the trip through JSON") {
  const Graph graph = parse(with_layers(
      R"({"name": "c", "kind": "conv", "out": 4, "kernel": 1},
         {"name": "odd", "kind": "opaque", "from": ["c", "input"], "out": [2, 5, 1], "parameters": [7, 3], "macs": 900},
         {"name": "plain", "kind": "opaque", "out": [6, 1, 1]})"));
  const Layer& odd = graph.layers[2];
  CHECK(odd.parameter_count() == 10);
  CHECK(odd.parameters[1].name == "odd/2");
  CHECK(odd.macs == 900);
  CHECK(odd.input_elements == (4 + 3) * 8 * 8);
  CHECK(odd.out == Shape{2, 5, 1});
  CHECK(graph.layers[3].parameters.empty());
  CHECK(graph.layers[3].inputs == std::vector<int>{2});
  // Its gradients are ready after its own backward pass: after those of later layers, the last tensor first.
  CHECK(gradient_order(graph)[0].elements == 3);
  CHECK(graph.parameter_count() == 10 + 3 * 4 + 4);
  check_equal(graph, parse(to_json(graph).dump()));
}

TEST_CASE("An opaque layer says what it lacks") {
  CHECK(graph_error(with_layers(R"({"name": "o", "kind": "opaque"})")) == "m.json: /layers/0: missing key \"out\"");
  CHECK(graph_error(with_layers(R"({"name": "o", "kind": "opaque", "out": 4})")).find("m.json: /layers/0/out") == 0);
  CHECK(graph_error(with_layers(R"({"name": "o", "kind": "opaque", "out": [1, 1, 1], "parameters": [0]})"))
            .find("m.json: /layers/0/parameters/0") == 0);
  CHECK(
      graph_error(with_layers(R"({"name": "r", "kind": "relu", "from": ["input"]})")).find("m.json: /layers/0/from") ==
      0);
}

TEST_CASE("Windows that differ between the axes survive the trip through JSON") {
  GraphBuilder net("net", "a title", {3, 9, 7});
  Window w;
  w.kernel_h = 3;
  w.kernel_w = 2;
  w.stride_h = 2;
  w.pad_bottom = 2;
  w.pad_left = 1;
  net.conv("conv", 0, 6, w, false);
  w.ceil = true;
  net.max_pool("pool", 1, w);
  const Graph graph = net.finish();
  const Json json = to_json(graph);
  CHECK(json["layers"][1].dump() == R"({"name":"pool","kind":"max_pool","kernel":[3,2],"stride":[2,1],)"
                                    R"("pad":[0,2,1,0],"ceil":true})");
  check_equal(graph, parse(json.dump()));
}

// By hand, the model has 3x3 and 1x1 convolutions without bias, batch norm 2 C, conv3 with 2 groups and bias, a
// classifier.
TEST_CASE("The example model has the counts worked out by hand") {
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/models/example_cnn.json";
  const JsonDocument document = JsonDocument::load(path);
  const Graph graph = graph_from_json(document.root());
  const std::int64_t stem = 3 * 64 * 9 + 2 * 64;
  const std::int64_t block1 = 2 * (64 * 64 * 9 + 2 * 64);
  const std::int64_t block2 = 64 * 128 * 9 + 128 * 128 * 9 + 64 * 128 + 3 * 2 * 128;
  const std::int64_t tail = 128 / 2 * 256 * 9 + 256 + 256 * 100 + 100;
  CHECK(graph.parameter_count() == stem + block1 + block2 + tail);
  const std::int64_t macs = 1024 * (3 * 64 * 9 + 2 * 64 * 64 * 9) + 256 * (64 * 128 * 9 + 128 * 128 * 9 + 64 * 128) +
                            64 * (128 / 2 * 256 * 9) + 256 * 100;
  CHECK(graph.macs() == macs);
  CHECK(graph.layers.back().out == Shape{100, 1, 1});
}

TEST_CASE("Defaults: the layer before, stride 1, no padding, one group, with bias, the name as title") {
  const Graph graph = parse(with_layers(R"({"name": "a", "kind": "conv", "out": 4, "kernel": 3},
                                           {"name": "b", "kind": "avg_pool", "kernel": 2, "stride": 2})"));
  CHECK(graph.title == "m");
  CHECK(graph.layers[1].inputs == std::vector<int>{0});
  CHECK(graph.layers[1].out == Shape{4, 6, 6});
  CHECK(graph.layers[1].parameters.size() == 2);
  CHECK(graph.layers[2].inputs == std::vector<int>{1});
  CHECK(graph.layers[2].out == Shape{4, 3, 3});
}

TEST_CASE("Padding same gives ceil(input / stride) outputs, the odd pixel at the bottom and right") {
  const int kernel = GENERATE(1, 2, 3, 5);
  const int stride = GENERATE(1, 2, 3);
  const std::string sizes = R"("kernel": )" + std::to_string(kernel) + R"(, "stride": )" + std::to_string(stride);
  const Graph graph = parse(with_layers(R"({"name": "a", "kind": "max_pool", "pad": "same", )" + sizes + "}"));
  const Window& w = graph.layers[1].window;
  const int outputs = (8 + stride - 1) / stride;
  CHECK(graph.layers[1].out == Shape{3, outputs, outputs});
  CHECK((w.pad_bottom - w.pad_top == 0 || w.pad_bottom - w.pad_top == 1));
  CHECK(w.pad_right == w.pad_bottom);
}

TEST_CASE("A malformed model is refused in one line with file, pointer and what is allowed") {
  const std::string conv = R"({"name": "c", "kind": "conv", "out": 4, "kernel": 3)";
  const std::string kinds =
      "allowed: conv, fc, batch_norm, relu, max_pool, avg_pool, global_avg_pool, lrn, dropout, add, concat, softmax, "
      "subsample, opaque, embedding, positions, linear, layer_norm, rms_norm, rotary, attention, gelu, silu, tanh, "
      "multiply, take, router, experts, recurrence";
  const std::string pads = "allowed: a number, [height, width], [top, bottom, left, right], \"same\"";
  const std::vector<std::pair<std::string, std::string>> cases{
      // The document
      {"[]", "m.json: /: expected an object, got an array"},
      {R"({"schema": "lockstep/model/2"})",
       "m.json: /schema: \"lockstep/model/2\" is unknown; allowed: lockstep/model/1"},
      {R"({"schema": "lockstep/model/1", "nam": "m"})",
       "m.json: /: unknown key \"nam\"; known: schema, name, title, input, tokens, layers"},
      {R"({"schema": "lockstep/model/1", "input": [3, 8, 8], "layers": []})", "m.json: /: missing key \"name\""},
      {R"({"schema": "lockstep/model/1", "name": "m", "input": [3, 8], "layers": []})",
       "m.json: /input: array of 2; allowed: [channels, height, width]"},
      {R"({"schema": "lockstep/model/1", "name": "m", "input": [3, 8, 0], "layers": []})",
       "m.json: /input/2: value 0 is out of range; allowed: 1 to 100000"},
      {with_layers(""), "m.json: /layers: array of 0; allowed: 1 to 100000 layers"},
      // A layer
      {with_layers(R"({"name": "c"})"), "m.json: /layers/0: missing key \"kind\""},
      {with_layers(R"({"name": "c", "kind": "conv3d"})"), "m.json: /layers/0/kind: \"conv3d\" is unknown; " + kinds},
      {with_layers(R"({"name": "c", "kind": "input"})"), "m.json: /layers/0/kind: \"input\" is unknown; " + kinds},
      {with_layers(R"({"name": "", "kind": "relu"})"), "m.json: /layers/0/name: expected a string that is not empty"},
      {with_layers(conv + R"(, "dilation": 2})"),
       "m.json: /layers/0: unknown key \"dilation\"; known: name, kind, from, out, kernel, stride, pad, groups, bias"},
      {with_layers(R"({"name": "r", "kind": "relu", "out": 3})"),
       "m.json: /layers/0: unknown key \"out\"; known: name, kind, from"},
      {with_layers(R"({"name": "c", "kind": "conv", "kernel": 3})"), "m.json: /layers/0: missing key \"out\""},
      {with_layers(R"({"name": "p", "kind": "max_pool", "kernel": 3})"), "m.json: /layers/0: missing key \"stride\""},
      {with_layers(R"({"name": "f", "kind": "fc", "out": 1000001})"),
       "m.json: /layers/0/out: value 1000001 is out of range; allowed: 1 to 1000000"},
      {with_layers(R"({"name": "f", "kind": "fc", "out": 2.5})"),
       "m.json: /layers/0/out: expected a whole number, got 2.5; allowed: 1 to 1000000"},
      {with_layers(R"({"name": "f", "kind": "fc", "out": 2, "bias": 1})"),
       "m.json: /layers/0/bias: expected a boolean, got a number; allowed: true, false"},
      // Windows
      {with_layers(R"({"name": "c", "kind": "conv", "out": 4, "kernel": 1025})"),
       "m.json: /layers/0/kernel: value 1025 is out of range; allowed: 1 to 1024"},
      {with_layers(R"({"name": "c", "kind": "conv", "out": 4, "kernel": "3x3"})"),
       "m.json: /layers/0/kernel: expected a number or an array; allowed: a number, [height, width]"},
      {with_layers(R"({"name": "c", "kind": "conv", "out": 4, "kernel": [3, 3, 3]})"),
       "m.json: /layers/0/kernel: array of 3; allowed: a number, [height, width]"},
      {with_layers(conv + R"(, "stride": [1, 0]})"),
       "m.json: /layers/0/stride/1: value 0 is out of range; allowed: 1 to 1024"},
      {with_layers(conv + R"(, "pad": "valid"})"), "m.json: /layers/0/pad: \"valid\" is unknown; " + pads},
      {with_layers(conv + R"(, "pad": [1, 1, 1]})"), "m.json: /layers/0/pad: array of 3; " + pads},
      // Connections
      {with_layers(R"({"name": "r", "kind": "relu", "from": "later"}, {"name": "later", "kind": "relu"})"),
       "m.json: /layers/0/from: no earlier layer is called \"later\""},
      {with_layers(R"({"name": "r", "kind": "relu"}, {"name": "s", "kind": "add"})"),
       "m.json: /layers/1: missing key \"from\""},
      {with_layers(R"({"name": "s", "kind": "add", "from": ["input", "x"]})"),
       "m.json: /layers/0/from/1: no earlier layer is called \"x\""},
      // What GraphBuilder refuses
      {with_layers(conv + R"(, "groups": 2})"),
       "m.json: /layers/0: model \"m\", layer \"c\": 3 input and 4 output channels are not both divisible by 2 "
       "groups"},
      {with_layers(R"({"name": "r", "kind": "relu"}, {"name": "r", "kind": "relu"})"),
       "m.json: /layers/1: model \"m\", layer \"r\": the name is used twice"},
      {with_layers(R"({"name": "s", "kind": "concat", "from": []})"),
       "m.json: /layers/0: model \"m\", layer \"s\": no input"},
      {with_layers(conv + "}, " + R"({"name": "r", "kind": "relu", "from": "input"})"),
       "m.json: /layers: model \"m\", layer \"c\": no layer reads its output"},
  };
  for (const auto& [text, error] : cases) CHECK(graph_error(text) == error);
}

}  // namespace lockstep::model
