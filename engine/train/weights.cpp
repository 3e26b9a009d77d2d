#include "engine/train/weights.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json_text.hpp"
#include "engine/base/text.hpp"

namespace lockstep::train {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeader = 100'000'000;  // limit of the format

/// A tensor of the network, and where Weights holds its values.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  bool is_running;
  std::size_t begin;
  std::size_t count;
  float usual;  ///< if the file lacks it (running statistics)
};

std::vector<std::int64_t> shape_of(const model::Layer& layer, const model::Parameter& parameter) {
  if (parameter.role != model::ParameterRole::weight) return {parameter.elements};
  const std::int64_t outputs = layer.out.channels;
  if (layer.kind != model::LayerKind::conv) return {outputs, parameter.elements / outputs};
  const model::Window& w = layer.window;
  return {outputs, layer.in.channels / w.groups, w.kernel_h, w.kernel_w};
}

std::vector<Tensor> tensors_of(const model::Graph& graph) {
  std::vector<Tensor> tensors;
  std::size_t parameters = 0, running = 0;
  for (const model::Layer& layer : graph.layers) {
    for (const model::Parameter& parameter : layer.parameters) {
      const bool scales =
          parameter.role == model::ParameterRole::weight || parameter.role == model::ParameterRole::bn_gamma;
      const auto count = static_cast<std::size_t>(parameter.elements);
      tensors.push_back(
          {layer.name + (scales ? ".weight" : ".bias"), shape_of(layer, parameter), false, parameters, count, 0});
      parameters += count;
    }
    if (layer.kind != model::LayerKind::batch_norm) continue;
    const auto channels = static_cast<std::size_t>(layer.in.channels);
    const std::vector<std::int64_t> shape{layer.in.channels};
    tensors.push_back({layer.name + ".running_mean", shape, true, running, channels, 0});
    tensors.push_back({layer.name + ".running_var", shape, true, running + channels, channels, 1});
    running += 2 * channels;
  }
  return tensors;
}

std::size_t bytes_of(const std::string& type) {
  static const std::map<std::string, std::size_t> sizes{{"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

template <typename Stored>
void convert(const char* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(static_cast<void*>(&value), from + i * sizeof(Stored), sizeof(Stored));
    to[i] = static_cast<float>(value);
  }
}

void convert(const std::string& type, const char* from, std::size_t count, float* to) {
  if (type == "F32") std::memcpy(to, from, count * sizeof(float));
  if (type == "F16") convert<Eigen::half>(from, count, to);
  if (type == "BF16") convert<Eigen::bfloat16>(from, count, to);
  if (type == "F64") convert<double>(from, count, to);
}

/// The parsed file.
class File {
 public:
  explicit File(const std::string& path) : path_(path) {
    try {
      content_ = read_file(path);
    } catch (const std::runtime_error& error) {
      throw InputError(error.what());
    }
    if (content_.size() < kLengthBytes) refuse("is too short for a safetensors file");
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(content_[i]);
    if (length > kMostHeader || length > content_.size() - kLengthBytes)
      refuse("is no safetensors file: its header would have " + std::to_string(length) + " bytes");
    data_ = kLengthBytes + static_cast<std::size_t>(length);
    document_ = JsonDocument::parse(content_.substr(kLengthBytes, static_cast<std::size_t>(length)), path);
  }

  [[noreturn]] void refuse(const std::string& wrong, const std::string& allowed = "") const {
    throw InputError(path_ + ": " + wrong + (allowed.empty() ? "" : "; allowed: " + allowed));
  }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& member : document_.root().members())
      if (member.first != "__metadata__") names.insert(member.first);
    return names;
  }

  void read(const Tensor& tensor, float* to) const {
    const JsonNode node = document_.root().at(tensor.name);
    node.keys({"dtype", "shape", "data_offsets"});
    const std::string type = node.at("dtype").choice({"F32", "F16", "BF16", "F64"});
    std::vector<std::int64_t> shape;
    for (const JsonNode& size : node.at("shape").items()) shape.push_back(size.integer(0, std::int64_t{1} << 40));
    if (shape != tensor.shape)
      node.at("shape").fail("is " + node.at("shape").json().dump(), "this layer's " + Json(tensor.shape).dump());
    const std::vector<JsonNode> offsets = node.at("data_offsets").items();
    if (offsets.size() != 2) node.at("data_offsets").fail("are no two numbers", "begin and end");
    const auto most = static_cast<std::int64_t>(content_.size() - data_);
    const std::int64_t begin = offsets[0].integer(0, most), end = offsets[1].integer(0, most);
    if (end - begin != static_cast<std::int64_t>(tensor.count * bytes_of(type)))
      node.at("data_offsets")
          .fail("are not those of so many values", std::to_string(tensor.count * bytes_of(type)) + " bytes");
    convert(type, content_.data() + data_ + begin, tensor.count, to);
    if (!std::all_of(to, to + tensor.count, [](float value) { return std::isfinite(value); }))
      node.fail("has a value that is not finite", "numbers");
  }

  /// Refuses data after the last tensor, which the format does not allow.
  void check_end() const {
    std::int64_t end = 0;
    for (const std::string& name : names())
      for (const JsonNode& offset : document_.root().at(name).at("data_offsets").items())
        end = std::max(end, offset.integer(0, std::int64_t{1} << 50));
    const auto left = static_cast<std::int64_t>(content_.size() - data_) - end;
    if (left > 0) refuse(std::to_string(left) + " bytes behind the last tensor", "a file that ends with it");
  }

 private:
  std::string path_;
  std::string content_;
  std::size_t data_ = 0;
  JsonDocument document_ = JsonDocument::parse("{}", "");
};

bool is_counter(const std::string& name) {
  const std::string ending = ".num_batches_tracked";
  return name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

std::size_t count_of(const std::vector<Tensor>& tensors, bool is_running) {
  std::size_t count = 0;
  for (const Tensor& tensor : tensors)
    if (tensor.is_running == is_running) count += tensor.count;
  return count;
}

}  // namespace

void write_safetensors(const std::string& path, const model::Graph& graph, const Weights& weights,
                       const std::string& origin) {
  const std::vector<Tensor> tensors = tensors_of(graph);
  Json header = Json::object();
  header["__metadata__"] = {{"format", "pt"}, {"model", graph.name}, {"origin", origin}};
  std::string data;
  for (const Tensor& tensor : tensors) {
    const std::vector<float>& from = tensor.is_running ? weights.running_statistics : weights.parameters;
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(from.data() + tensor.begin), tensor.count * sizeof(float));
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');  // aligns the data to 8 bytes
  std::string length;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  write_file_atomically(path, length + text + data);
}

Weights read_safetensors(const std::string& path, const model::Graph& graph) {
  const std::vector<Tensor> tensors = tensors_of(graph);
  const File file(path);
  std::set<std::string> left = file.names();
  Weights weights{std::vector<float>(count_of(tensors, false)), std::vector<float>(count_of(tensors, true))};
  for (const Tensor& tensor : tensors) {
    float* to = (tensor.is_running ? weights.running_statistics : weights.parameters).data() + tensor.begin;
    if (left.erase(tensor.name) > 0)
      file.read(tensor, to);
    else if (tensor.is_running)
      std::fill_n(to, tensor.count, tensor.usual);
    else
      file.refuse("lacks " + in_quotes(tensor.name), "a tensor for every parameter of model " + graph.name);
  }
  for (const std::string& name : left)
    if (!is_counter(name))
      file.refuse(in_quotes(name) + " is no tensor of model " + graph.name, "names as LAYER.weight, LAYER.bias");
  file.check_end();
  return weights;
}

}  // namespace lockstep::train
