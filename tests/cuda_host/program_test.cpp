// Graphs grouped into steps, and values and gradients in shared memory.
#include "engine/cuda/program.hpp"

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/cuda/convolution.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::cuda {
namespace {

using model::Graph;
using model::GraphBuilder;
using model::LayerKind;

Program program(const Graph& graph, int batch = 2) {
  return make_program(graph, batch, Element::f32, false);
}

/// "name of the first layer>name of the output" of every step.
std::string groups(const Graph& graph) {
  std::string text;
  for (const Step& step : program(graph).steps) {
    const auto name = [&](int layer) { return graph.layers[static_cast<std::size_t>(layer)].name; };
    text += (text.empty() ? "" : " ") + name(step.layer);
    if (step.output != step.layer) text += ">" + name(step.output);
  }
  return text;
}

}  // namespace

TEST_CASE("A ReLU joins the layer whose values only it reads") {
  GraphBuilder net("g", "g", {4, 6, 6});
  const int conv = net.conv("conv", 0, 4, host::square(1), true);
  const int shared = net.conv("shared", net.relu("r1", conv), 4, host::square(1), true);
  const int sum = net.add("sum", {net.relu("r2", shared), shared});
  net.softmax("loss", net.fc("fc", net.relu("r3", sum), 3));
  CHECK(groups(net.finish()) == "conv>r1 shared r2 sum>r3 fc loss");
}

TEST_CASE("The later of two batch norms joins their sum and its ReLU") {
  GraphBuilder net("g", "g", {4, 6, 6});
  const int main = net.batch_norm("bn1", net.conv("c1", 0, 4, host::square(1), false));
  const int skip = net.batch_norm("bn2", net.conv("c2", 0, 4, host::square(1), false));
  int at = net.relu("relu", net.add("add", {main, skip}));
  at = net.add("own", {net.batch_norm("bn3", at), at});  // would write one gradient twice
  net.softmax("loss", at);
  const Graph graph = net.finish();
  CHECK(groups(graph) == "c1 bn1 c2 bn2>relu bn3 own loss");
  const Program made = program(graph);
  CHECK(made.steps[3].inputs == std::vector<int>{4 - 1, 2});  // c2's values, then bn1's
}

/// The arena during a pass: the last written value at each place. Values that are read must still be complete.
class Memory {
 public:
  explicit Memory(const Program& program) : program_(program) {}

  void write(const MemorySlot& slot, const std::string& name) {
    REQUIRE(slot.bytes > 0);
    REQUIRE(slot.offset_bytes % kAlignmentBytes == 0);
    REQUIRE(slot.offset_bytes + slot.bytes <= program_.arena_bytes);
    for (auto other = whole_.begin(); other != whole_.end();) {
      const MemorySlot& its = other->second;
      const bool overlaps =
          its.offset_bytes < slot.offset_bytes + slot.bytes && slot.offset_bytes < its.offset_bytes + its.bytes;
      other = overlaps ? whole_.erase(other) : std::next(other);
    }
    whole_[name] = slot;
  }
  void read(const std::string& name) const {
    if (whole_.count(name) == 0) FAIL(name << " is no longer whole");
  }
  void value(int layer) { write(program_.values[static_cast<std::size_t>(layer)], value_name(layer)); }
  void read_value(int layer) const { read(value_name(layer)); }
  void gradient(int layer) { write(program_.gradients[static_cast<std::size_t>(layer)], gradient_name(layer)); }
  /// Turns the gradient of one layer into that of another, in place.
  void hand_on(int from, int to) {
    const MemorySlot& slot = program_.gradients[static_cast<std::size_t>(to)];
    REQUIRE(slot.offset_bytes == program_.gradients[static_cast<std::size_t>(from)].offset_bytes);
    whole_[gradient_name(to)] = slot;
  }
  void read_gradient(int layer) const { read(gradient_name(layer)); }

 private:
  static std::string value_name(int layer) { return "value " + std::to_string(layer); }
  static std::string gradient_name(int layer) { return "gradient " + std::to_string(layer); }

  const Program& program_;
  std::map<std::string, MemorySlot> whole_;
};

void forward(const Program& made, Memory& memory, bool evaluates) {
  memory.value(0);
  for (const Step& step : made.steps) {
    if (step.kind == LayerKind::softmax || (evaluates && !step.evaluated)) continue;
    for (const int from : step.inputs) memory.read_value(from);
    memory.value(step.output);
    for (const int from : step.inputs) memory.read_value(from);  // not overwritten while it is read
  }
  memory.read_value(made.logits);
}

/// Reads the arrays that the operations of value_operations.cpp and product_operations.cpp pass to their kernels.
void backward(const Program& made, Memory& memory) {
  for (auto step = made.steps.rbegin(); step != made.steps.rend(); ++step) {
    if (!step->backward) continue;
    const bool is_softmax = step->kind == LayerKind::softmax;
    const bool has_skip = step->kind == LayerKind::batch_norm && step->inputs.size() == 2;
    const auto read_all = [&] {
      if (step->kind == LayerKind::conv || step->kind == LayerKind::fc || step->kind == LayerKind::batch_norm ||
          step->kind == LayerKind::lrn || is_softmax)
        memory.read_value(step->inputs.front());
      const bool is_masked = step->relu && (step->kind != LayerKind::batch_norm || has_skip);
      if (step->kind == LayerKind::relu || is_masked) memory.read_value(step->output);
    };
    if (!is_softmax) memory.read_gradient(step->output);
    read_all();
    for (std::size_t i = 0; i < step->inputs.size(); ++i) {
      if (!step->writes[i].needed) continue;
      if (step->writes[i].accumulate) memory.read_gradient(step->inputs[i]);
      if (step->writes[i].in_place) {
        memory.hand_on(step->output, step->inputs[i]);
        continue;
      }
      if (!is_softmax) memory.read_gradient(step->output);
      memory.gradient(step->inputs[i]);
      read_all();
    }
  }
}

TEST_CASE("Each value and each gradient is whole until it was read last") {
  for (const std::string& name : model::trainable_names()) {
    INFO(name);
    const Graph graph = model::zoo_graph(name);
    const Program made = program(graph);
    Memory memory(made);
    forward(made, memory, false);
    backward(made, memory);
    memory.read_value(0);  // its padding must stay unchanged
    Memory evaluation(made);
    forward(made, evaluation, true);
    evaluation.read_value(0);
    CHECK(made.arena_bytes <= made.unshared_bytes);
  }
}

// Values of 2 images in floats: images 4 x 8 x 8, 2048 bytes, a 2048, b 4096, c 1024 (the scores). Gradients have the
// same sizes, except that images have none. Steps a b c loss run forward at 0 1 2 3 and backward at 7 6 5 4:
//   images [0, 8)   a [0, 7)   b [1, 6)   c [2, 5)   dc [4, 6)   db [5, 7)   da [6, 8)
// Largest first: b at 0; db at 4096, since both live at 5; images at 8192, a at 10240; da at 0, b being gone at 6; c at
// 4096, before db; dc at 12288, since all below is taken at 4 and 5. 13312 bytes instead of 16384.
TEST_CASE("A chain's memory by hand") {
  GraphBuilder net("g", "g", {4, 8, 8});
  int at = net.conv("a", 0, 4, host::square(1), false);
  at = net.conv("b", at, 8, host::square(1), false);
  at = net.conv("c", at, 2, host::square(1), false);
  net.softmax("loss", at);
  const Program made = program(net.finish());
  std::vector<std::int64_t> values, gradients;
  for (std::size_t i = 0; i < 4; ++i) values.push_back(made.values[i].offset_bytes);
  for (std::size_t i = 1; i < 4; ++i) gradients.push_back(made.gradients[i].offset_bytes);
  CHECK(values == std::vector<std::int64_t>{8192, 10240, 0, 4096});
  CHECK(gradients == std::vector<std::int64_t>{0, 4096, 12288});
  CHECK(made.gradients[0].bytes == 0);
  CHECK(made.arena_bytes == 13312);
  CHECK(made.unshared_bytes == 16384);
}

TEST_CASE("Evaluation leaves auxiliary heads out") {
  const Graph graph = model::zoo_graph("googlenet_aux");
  const Program made = program(graph);
  CHECK(made.heads == 3);
  for (const Step& step : made.steps) {
    const std::string& name = graph.layers[static_cast<std::size_t>(step.layer)].name;
    INFO(name);
    const bool of_a_head = name.rfind("loss1/", 0) == 0 || name.rfind("loss2/", 0) == 0 || name == "loss3/loss";
    CHECK(step.evaluated != of_a_head);
  }
}

TEST_CASE("Images get channels for tensor cores where only convolutions read them") {
  CHECK(make_program(model::zoo_graph("resnet50"), 1, Element::bf16, true).input_channels == 4);
  CHECK(make_program(model::zoo_graph("resnet50"), 1, Element::f32, false).input_channels == 3);
  GraphBuilder net("g", "g", {3, 4, 4});
  net.softmax("loss", net.fc("fc", 0, 2));
  CHECK(make_program(net.finish(), 1, Element::bf16, true).input_channels == 3);
}

TEST_CASE("Plans are remembered by everything that tells problems apart") {
  ConvolutionProblem problem{};
  problem.shape = {2, 8, 9, 4, 7, 6, 5, host::square(3)};
  std::set<ProblemKey> keys{key_of(problem, 0), key_of(problem, 1)};
  const auto varied = [&](const auto& change) {
    ConvolutionProblem other = problem;
    change(other);
    CHECK(keys.insert(key_of(other, 0)).second);
  };
  varied([](ConvolutionProblem& p) { p.direction = Direction::filter_gradient; });
  varied([](ConvolutionProblem& p) { p.precision = device::Precision::tf32; });
  varied([](ConvolutionProblem& p) { p.accumulate = true; });
  varied([](ConvolutionProblem& p) { p.has_sums = true; });
  varied([](ConvolutionProblem& p) { p.shape.images = 3; });
  varied([](ConvolutionProblem& p) { p.shape.in_channels = 5; });
  varied([](ConvolutionProblem& p) { p.shape.out_channels = 4; });
  varied([](ConvolutionProblem& p) { p.shape.window.pad_right = 1; });
  varied([](ConvolutionProblem& p) { p.shape.window.stride_w = 2; });
  varied([](ConvolutionProblem& p) { p.shape.window.groups = 2; });
  CHECK(keys.count(key_of(problem, 0)) == 1);
}

TEST_CASE("What cannot be trained is refused") {
  GraphBuilder middle("m", "m", {4, 1, 1});
  middle.fc("fc", middle.softmax("s", 0), 2);
  CHECK_THROWS_WITH(program(middle.finish()), "model \"m\", layer \"fc\": reads the softmax layer \"s\"");
  GraphBuilder headless("h", "h", {4, 1, 1});
  headless.fc("fc", 0, 2);
  CHECK_THROWS_WITH(program(headless.finish()), "model \"h\": its last layer is no softmax layer, so no loss");
}

}  // namespace lockstep::cuda
