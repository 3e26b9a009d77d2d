// Compares the zoo with the layer tables in tests/data/models/layers.tsv.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

using Fields = std::vector<std::string>;

struct Reference {
  Fields model;  ///< key, title, input, parameters, MACs, fc parameters, tensors
  std::vector<Fields> layers;
};

Fields split(const std::string& line) {
  Fields fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
  return fields;
}

std::vector<Reference> read_references() {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/data/models/layers.tsv");
  std::vector<Reference> references;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("#", 0) == 0) continue;
    Fields fields = split(line);
    if (fields[0] == "model") {
      references.push_back({{fields.begin() + 1, fields.end()}, {}});
    } else {
      references.back().layers.push_back(fields);
    }
  }
  return references;
}

std::string text(const Shape& s) {
  return std::to_string(s.channels) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width);
}

std::string type_of(LayerKind kind) {
  static const std::map<LayerKind, std::string> types{
      {LayerKind::conv, "conv"},        {LayerKind::fc, "fc"},
      {LayerKind::batch_norm, "bn"},    {LayerKind::max_pool, "maxpool"},
      {LayerKind::avg_pool, "avgpool"}, {LayerKind::global_avg_pool, "avgpool-global"}};
  const auto found = types.find(kind);
  return found == types.end() ? "" : found->second;
}

/// Returns kernel, stride and padding as the table writes them.
Fields window_fields(const Layer& layer) {
  const Window& w = layer.window;
  const std::string kernel = std::to_string(w.kernel_h) + "x" + std::to_string(w.kernel_w);
  const std::string pad = std::to_string(w.pad_top);
  switch (layer.kind) {
    case LayerKind::conv:
      return {kernel, std::to_string(w.stride_h), pad + "," + std::to_string(w.pad_left)};
    case LayerKind::max_pool:
    case LayerKind::avg_pool:
      return {kernel, std::to_string(w.stride_h), pad};
    case LayerKind::global_avg_pool:
      return {"all", "1", "0"};
    default:
      return {"-", "1", "-"};
  }
}

Fields table_row(const Layer& layer) {
  const bool flat = layer.kind == LayerKind::fc;
  const std::int64_t in = flat ? layer.in.elements() : layer.in.channels;
  const Fields window = window_fields(layer);
  return {layer.name,
          type_of(layer.kind),
          std::to_string(in),
          std::to_string(layer.out.channels),
          window[0],
          window[1],
          window[2],
          std::to_string(layer.window.groups),
          text(layer.out),
          std::to_string(layer.parameter_count()),
          std::to_string(layer.macs)};
}

}  // namespace

TEST_CASE("The zoo equals the layer tables: totals, and layer by layer") {
  const std::vector<Reference> references = read_references();
  REQUIRE(references.size() == 20);
  for (const Reference& reference : references) {
    INFO(reference.model[0]);
    const Graph graph = zoo_graph(reference.model[0]);
    const Fields totals{graph.name,
                        graph.title,
                        text(graph.input),
                        std::to_string(graph.parameter_count()),
                        std::to_string(graph.macs()),
                        std::to_string(graph.fc_parameter_count()),
                        std::to_string(graph.parameter_tensors())};
    CHECK(totals == reference.model);
    std::vector<Fields> rows;
    for (const Layer& layer : graph.layers) {
      if (!type_of(layer.kind).empty()) rows.push_back(table_row(layer));
    }
    REQUIRE(rows.size() == reference.layers.size());
    for (std::size_t row = 0; row < rows.size(); ++row) CHECK(rows[row] == reference.layers[row]);
  }
}

// Published totals, which would reveal a wrong table: He et al.'s ResNet-50 as in torchvision, Theano-MPI's Table 2
// (AlexNet 60,965,224, GoogLeNet 13,378,280, VGG-16 138,357,544).
TEST_CASE("The zoo has the published numbers of parameters") {
  CHECK(zoo_graph("resnet50").parameter_count() == 25'557'032);
  CHECK(zoo_graph("alexnet_grouped").parameter_count() == 60'965'224);
  CHECK(zoo_graph("googlenet_aux").parameter_count() == 13'378'280);
  CHECK(zoo_graph("vgg16").parameter_count() == 138'357'544);
}

TEST_CASE("Every graph of the zoo is in topological order, with unique names and a loss at its end") {
  for (const std::string& name : zoo_names()) {
    INFO(name);
    const Graph& graph = zoo_graph(name);
    std::set<std::string> names;
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      const Layer& layer = graph.layers[i];
      CHECK(names.insert(layer.name).second);
      CHECK(layer.inputs.empty() == (i == 0));
      for (int input : layer.inputs) CHECK(input < static_cast<int>(i));
    }
    CHECK(graph.layers.back().kind == LayerKind::softmax);
  }
}

TEST_CASE("A network that is trained takes each layer's input as the layer before it puts it out") {
  for (const std::string& name : trainable_names()) {
    INFO(name);
    const Graph& graph = zoo_graph(name);
    for (std::size_t i = 1; i < graph.layers.size(); ++i) {
      const Layer& layer = graph.layers[i];
      CHECK(layer.in == graph.layers[layer.inputs[0]].out);
      for (int input : layer.inputs) CHECK(graph.layers[input].kind != LayerKind::softmax);
      if (layer.kind == LayerKind::softmax) CHECK(layer.in.height * layer.in.width == 1);
    }
  }
}

TEST_CASE("What no backend computes is predicted, and refused where it would be trained") {
  std::map<std::string, std::string> inputs;
  for (const std::string& name : zoo_names()) {
    const std::vector<std::string> trained = trainable_names();
    if (std::count(trained.begin(), trained.end(), name) > 0) {
      CHECK(trainable_graph_of(name, inputs).name == name);
      continue;
    }
    CHECK_THROWS_AS(trainable_graph_of(name, inputs), InputError);
    CHECK_THROWS_AS(trainable_graph_of(fused_attention_name(name), inputs), InputError);
    CHECK(graph_of(name, inputs).name == name);
  }
  CHECK(inputs.empty());
}

TEST_CASE("MACs of a weighted layer are its weights times its output pixels, in every network") {
  for (const std::string& name : trainable_names()) {
    for (const Layer& layer : zoo_graph(name).layers) {
      const bool weighted = layer.kind == LayerKind::conv || layer.kind == LayerKind::fc;
      const std::int64_t weights = weighted ? layer.parameters[0].elements : 0;
      if (layer.macs != weights * layer.out.height * layer.out.width) FAIL(name << " " << layer.name);
    }
  }
}

TEST_CASE("Layers without parameters are where the networks have them") {
  const auto count = [](const Graph& graph, LayerKind kind) {
    int n = 0;
    for (const Layer& layer : graph.layers) n += layer.kind == kind;
    return n;
  };
  const Graph resnet50 = zoo_graph("resnet50");
  CHECK(count(resnet50, LayerKind::relu) == 1 + 16 * 3);
  CHECK(count(resnet50, LayerKind::add) == 16);
  CHECK(count(zoo_graph("resnet32_optA"), LayerKind::subsample) == 2);
  CHECK(count(zoo_graph("alexnet_grouped"), LayerKind::lrn) == 2);
  CHECK(count(zoo_graph("alexnet_bn_jizhi"), LayerKind::lrn) == 0);
  CHECK(count(zoo_graph("googlenet_noaux"), LayerKind::concat) == 9);
  CHECK(count(zoo_graph("googlenet_aux"), LayerKind::softmax) == 3);
  CHECK(count(zoo_graph("inception_v3"), LayerKind::concat) == 11 + 4);
  CHECK(count(zoo_graph("vgg16"), LayerKind::dropout) == 2);
}

TEST_CASE("Short names mean one network, an unknown name gets the nearest ones") {
  CHECK(zoo_graph("lenet").name == "lenet_crossbow");
  CHECK(zoo_graph("alexnet").name == "alexnet_grouped");  // Krizhevsky's
  CHECK(zoo_graph("resnet32").name == "resnet32_crossbow");
  CHECK(zoo_graph("googlenet").name == "googlenet_noaux");
  std::string error;
  try {
    zoo_graph("resnet49");
  } catch (const InputError& e) {
    error = e.what();
  }
  CHECK(error ==
        "model \"resnet49\" is unknown; allowed: a .json file, or a name of --list-models, such as resnet50, resnet18, "
        "resnet34");
}

}  // namespace lockstep::model
