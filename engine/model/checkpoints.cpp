#include "engine/model/checkpoints.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace lockstep::model {
namespace {

constexpr const char* kSeparators = "/.";  // "/" in our names, "." in those of PyTorch's modules

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Drops the last component, which is the layer's own name.
std::string block_prefix(const std::string& layer) {
  std::string prefix;
  std::size_t begin = 0;
  for (std::size_t end = layer.find_first_of(kSeparators); end != std::string::npos;
       end = layer.find_first_of(kSeparators, begin)) {
    const std::string component = layer.substr(begin, end - begin);
    const bool is_number = !component.empty() && std::all_of(component.begin(), component.end(), is_digit);
    const bool is_first = prefix.empty() && !component.empty() && is_digit(component.back());
    if (is_number || is_first) prefix = layer.substr(0, end);
    begin = end + 1;
  }
  return prefix;
}

}  // namespace

std::vector<int> checkpointed_blocks(const Graph& graph) {
  std::vector<int> blocks;
  std::string current;
  int count = 0;
  for (const Layer& layer : graph.layers) {
    const std::string prefix = block_prefix(layer.name);
    if (!prefix.empty() && prefix != current) ++count;
    current = prefix;
    blocks.push_back(prefix.empty() ? -1 : count - 1);
  }
  return blocks;
}

}  // namespace lockstep::model
