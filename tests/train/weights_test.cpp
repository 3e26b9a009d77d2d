// Weights are written to and read from safetensors files unchanged. Files that do not match are refused.
#include <cmath>
#include <cstring>

#include "engine/train/weights.hpp"

#include "engine/base/atomic_file.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/train/small_runs.hpp"

namespace lockstep::train {
namespace {

model::Graph small_graph(const TemporaryFolder& folder) {
  std::map<std::string, std::string> inputs;
  return model::graph_of(folder.write("small.json", small_model(kNormAndDropout)), inputs);
}

Weights numbered(const model::Graph& graph) {
  Weights weights;
  for (std::int64_t i = 0; i < graph.parameter_count(); ++i) weights.parameters.push_back(0.5F * static_cast<float>(i));
  for (int i = 0; i < 12; ++i) weights.running_statistics.push_back(static_cast<float>(-i));
  return weights;
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string length;
  for (std::size_t i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return length + header + std::string(data_bytes, '\0');
}

TEST_CASE("Weights that were written are read as they were, and the file is laid out as its format says") {
  const TemporaryFolder folder;
  const model::Graph graph = small_graph(folder);
  const Weights weights = numbered(graph);
  const std::string path = folder.path("w.safetensors");
  write_safetensors(path, graph, weights, "a test");
  const Weights back = read_safetensors(path, graph);
  CHECK(back.parameters == weights.parameters);
  CHECK(back.running_statistics == weights.running_statistics);
  const std::string content = read_file(path);
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(content[0])) +
                      256 * static_cast<std::size_t>(static_cast<unsigned char>(content[1]));
  CHECK(length % 8 == 0);
  const Json header = Json::parse(content.substr(8, length));
  CHECK(header.at("conv.weight") == Json{{"dtype", "F32"}, {"shape", {6, 1, 3, 3}}, {"data_offsets", {0, 216}}});
  CHECK(header.at("norm.running_var").at("shape") == Json{6});
  CHECK(header.at("fc.weight").at("shape") == Json({4, 96}));
  CHECK(content.size() == 8 + length + 4 * (weights.parameters.size() + weights.running_statistics.size()));
}

TEST_CASE("A run that begins with another's weights goes on from its accuracy") {
  const TemporaryFolder folder;
  Request r = small_request(folder, "ssgd");
  r.epochs = 12;
  r.weights = folder.path("w.safetensors");
  const Json trained = run(r);
  REQUIRE(trained.at("final_test_accuracy").get<double>() > 0.8);
  Request next = r;
  next.init = r.weights;
  next.weights.clear();
  next.epochs = 1;
  next.learning_rate = 1e-30;  // nothing moves but the statistics of batch norm
  const Json again = run(next);
  CHECK(again.at("parameters_sha256") == trained.at("parameters_sha256"));
  CHECK(again.at("final_test_accuracy").get<double>() > 0.75);
  CHECK(again.at("provenance").at("inputs").contains(next.init));
}

TEST_CASE("Files of other types are converted, and counters of batches are nobody's") {
  const TemporaryFolder folder;
  const std::string model = R"({"schema": "lockstep/model/1", "name": "m", "input": [1, 1, 1], "layers": [
    {"name": "fc", "kind": "fc", "out": 2, "bias": false}, {"name": "loss", "kind": "softmax"}]})";
  std::map<std::string, std::string> inputs;
  const model::Graph graph = model::graph_of(folder.write("m.json", model), inputs);
  std::string file = file_of(
      R"({"fc.weight":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},"fc.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[4,12]}})",
      12);
  file[file.size() - 11] = 0x3F;  // the second byte of the data: bfloat16 0x3F80 is 1
  file[file.size() - 12] = static_cast<char>(0x80);
  const std::string path = folder.write("w", file);
  CHECK(read_safetensors(path, graph).parameters == std::vector<float>{1, 0});
}

TEST_CASE("Files that do not fit are refused in one line") {
  const TemporaryFolder folder;
  const model::Graph graph = small_graph(folder);
  const auto refused = [&](const std::string& content, const std::string& reason) {
    const std::string path = folder.write("w", content);
    CHECK_THAT(error_of([&] { read_safetensors(path, graph); }), Contains(reason));
  };
  refused("abc", "too short");
  refused(std::string(8, '\xFF') + "{}", "its header would have");
  refused(file_of("[]", 0), "expected an object");
  refused(file_of("{}", 0), "lacks \"conv.weight\"");
  refused(file_of(R"({"conv.weight":{"dtype":"F32","shape":[6,9],"data_offsets":[0,216]}})", 216),
          "this layer's [6,1,3,3]");
  refused(file_of(R"({"conv.weight":{"dtype":"I8","shape":[6,1,3,3],"data_offsets":[0,54]}})", 54), "dtype");
  refused(file_of(R"({"conv.weight":{"dtype":"F32","shape":[6,1,3,3],"data_offsets":[0,216]}})", 100), "data_offsets");
  refused(file_of(R"({"conv.weight":{"dtype":"F32","shape":[6,1,3,3],"data_offsets":[0,100]}})", 216), "216 bytes");
  write_safetensors(folder.path("w"), graph, numbered(graph), "");
  std::string content = read_file(folder.path("w"));
  refused(content + "x", "1 bytes behind the last tensor");
  const float none = std::nanf("");
  std::string with_nan = content;
  std::memcpy(&with_nan[with_nan.size() - sizeof none], &none, sizeof none);
  refused(with_nan, "not finite");
  content.replace(content.find("conv.bias"), 9, "conv.vias");
  refused(content, "lacks \"conv.bias\"");
}

}  // namespace
}  // namespace lockstep::train
