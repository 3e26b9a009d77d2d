// Graphs grouped into steps, and gradients in shared memory.
#include "engine/cuda/program.hpp"

#include <map>
#include <set>

#include "engine/cuda/convolution.hpp"
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

TEST_CASE("Each gradient is whole until its layer has used it") {
  for (const std::string& name : model::zoo_names()) {
    INFO(name);
    const Graph graph = model::zoo_graph(name);
    const Program made = program(graph);
    // Every byte of the arena belongs to the layers that the backward pass, step by step, says it belongs to.
    std::map<int, GradientSlot> alive;
    const auto overlaps = [&](const GradientSlot& a, const GradientSlot& b) {
      return a.offset_bytes < b.offset_bytes + b.bytes && b.offset_bytes < a.offset_bytes + a.bytes;
    };
    std::set<int> written;
    bool whole = true;
    for (auto step = made.steps.rbegin(); step != made.steps.rend(); ++step) {
      if (!step->backward) continue;
      if (step->kind != LayerKind::softmax) whole = whole && alive.count(step->output) == 1;
      for (std::size_t i = 0; i < step->inputs.size(); ++i) {
        const GradientWrite& write = step->writes[i];
        const int from = step->inputs[i];
        if (!write.needed) continue;
        const GradientSlot& slot = made.gradients[static_cast<std::size_t>(from)];
        whole = whole && slot.bytes >= made.value_bytes[static_cast<std::size_t>(from)] &&
                slot.offset_bytes % kAlignmentBytes == 0 && slot.offset_bytes + slot.bytes <= made.gradient_arena_bytes;
        whole = whole && write.accumulate == (written.count(from) == 1);
        if (!write.accumulate) {
          for (const auto& [layer, other] : alive) {
            whole = whole && (!overlaps(slot, other) || (write.in_place && layer == step->output));
          }
        }
        written.insert(from);
        alive[from] = slot;
      }
      alive.erase(step->output);
    }
    CHECK(whole);
    CHECK(alive.empty());
  }
}

TEST_CASE("Gradients of a chain take the first memory that is free and large enough") {
  GraphBuilder net("g", "g", {4, 8, 8});
  int at = net.conv("a", 0, 4, host::square(1), false);  // 4 x 8 x 8 x 2 images x 4 bytes = 2048 bytes
  at = net.conv("b", at, 8, host::square(1), false);     // 4096
  at = net.conv("c", at, 2, host::square(1), false);     // 1024
  net.softmax("loss", at);
  // c lies at 0, b behind it at 1024; a does not fit into c's 1024 bytes and lies at 5120.
  const Graph graph = net.finish();
  CHECK(program(graph).gradient_arena_bytes == 1024 + 4096 + 2048);
}

TEST_CASE("Memory given back is joined and used again") {
  ArenaPlan arena;
  CHECK(arena.take(256) == 0);
  CHECK(arena.take(512) == 256);
  CHECK(arena.take(256) == 768);
  arena.give_back(0, 256);
  arena.give_back(256, 512);
  CHECK(arena.take(768) == 0);
  arena.give_back(768, 256);
  CHECK(arena.take(512) == 768);  // the last block grows
  CHECK(arena.peak() == 1280);
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
