// Texts for human readers. After a deliberate change, copy the new text over tests/data/models/lenet_crossbow.txt.
#include <algorithm>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("The text of --show-model is the golden one") {
  const std::string golden = read_file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/data/models/lenet_crossbow.txt");
  CHECK(show_model_text(zoo_graph("lenet_crossbow")) == golden);
}

TEST_CASE("The text of --show-model has one line per layer, with thousands separated and the totals") {
  const Graph graph = zoo_graph("resnet50");
  const std::string text = show_model_text(graph);
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines.size() == graph.layers.size() + 7);  // two above, blank, column heads, total, blank, gradients
  CHECK(lines[1] ==
        "input 3x224x224; 25,557,032 parameters (97.49 MiB in fp32); 3,857,973,248 MACs per image, forward");
  CHECK(lines.back() == "gradient tensors: 161; the largest is s5b3/3x3/weight with 2,359,296 elements");
  for (const std::string& line : lines) CHECK((line.empty() || line.back() != ' '));
}

TEST_CASE("The text of --show-model writes groups, unequal kernels and strides without a kernel") {
  CHECK(contains(show_model_text(zoo_graph("alexnet_grouped")), "  5x5/1 g2 "));
  CHECK(contains(show_model_text(zoo_graph("inception_v3")), "  1x7/1 "));
  CHECK(contains(show_model_text(zoo_graph("resnet32_optA")), "  subsample        /2 "));
}

TEST_CASE("The text of --list-models has a line per network, columns aligned") {
  const std::vector<std::string> lines = lines_of(list_models_text());
  const std::vector<std::string> trained = trainable_names();
  REQUIRE(lines.size() == zoo_names().size() + 4);  // column heads, a blank line and one of text, column heads
  const std::size_t title = lines[0].find("title");
  CHECK(lines[0] == "name               input           params  MiB fp32   GMACs  tensors  title");
  for (std::size_t i = 1; i <= trained.size(); ++i) {
    const Graph& graph = zoo_graph(trained[i - 1]);
    CHECK(lines[i].rfind(graph.name + " ", 0) == 0);
    CHECK(lines[i].substr(title) == graph.title);
  }
  CHECK(lines[trained.size() + 2].rfind("Predicted, not trained", 0) == 0);
  const std::string resnet50 = "resnet50           3x224x224   25,557,032     97.49   3.858      161  ResNet-50 v1";
  CHECK(std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.rfind(resnet50, 0) == 0; }));
}

}  // namespace lockstep::model
