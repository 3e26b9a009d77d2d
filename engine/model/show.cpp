// Prints tables of networks and of their layers.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/base/text.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::model {
namespace {

/// Rows of equal length; each column as wide as its widest cell.
class Table {
 public:
  /// One character per column: 'l' aligned left, 'r' right.
  explicit Table(std::string alignment) : alignment_(std::move(alignment)), widths_(alignment_.size(), 0) {}

  void row(const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(cells);
  }

  std::string text() const {
    std::string text;
    for (const auto& cells : rows_) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string fill(widths_[i] - cells[i].size(), ' ');
        line += (i == 0 ? "" : "  ") + (alignment_[i] == 'r' ? fill + cells[i] : cells[i] + fill);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

 private:
  std::string alignment_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

/// 25557032 -> "25,557,032"
std::string with_commas(std::int64_t count) {
  return with_thousands(static_cast<double>(count));
}

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string fp32_mib(const Graph& graph) {
  return fixed(static_cast<double>(graph.parameter_count()) * 4 / (1 << 20), 2);
}

std::string shape_text(const Shape& shape) {
  if (shape.height == 1 && shape.width == 1) return std::to_string(shape.channels);
  return std::to_string(shape.channels) + "x" + std::to_string(shape.height) + "x" + std::to_string(shape.width);
}

/// "32/8 x 128" gives the heads of queries and, if they differ, of keys and values; then the features of each.
std::string heads_text(const AttentionShape& a) {
  std::string text = std::to_string(a.heads);
  if (a.kv_heads != a.heads) text += "/" + std::to_string(a.kv_heads);
  text += " x " + std::to_string(a.head_dim);
  if (a.value_dim != a.head_dim) text += "/" + std::to_string(a.value_dim);
  return text + (a.causal ? " causal" : "") + (a.window > 0 ? " w" + std::to_string(a.window) : "");
}

/// Writes "7x7/2", "5x5/1 g2"; for a subsample only its stride; empty for layers without a window.
std::string window_text(const Layer& layer) {
  const Window& w = layer.window;
  std::string stride = "/" + std::to_string(w.stride_h);
  if (w.stride_w != w.stride_h) stride += "x" + std::to_string(w.stride_w);
  switch (layer.kind) {
    case LayerKind::conv:
    case LayerKind::max_pool:
    case LayerKind::avg_pool:
      return std::to_string(w.kernel_h) + "x" + std::to_string(w.kernel_w) + stride +
             (w.groups > 1 ? " g" + std::to_string(w.groups) : "");
    case LayerKind::subsample:
      return stride;
    case LayerKind::attention:
      return heads_text(layer.attention);
    case LayerKind::router:
    case LayerKind::experts:
      return std::to_string(layer.experts.active) + " of " + std::to_string(layer.experts.count);
    case LayerKind::recurrence:
      return std::to_string(layer.recurrence.heads) + " x " + std::to_string(layer.recurrence.head_dim) + " by " +
             std::to_string(layer.recurrence.state);
    default:
      return "";
  }
}

std::string count_or_blank(std::int64_t count) {
  return count == 0 ? "" : with_commas(count);
}

std::string gradient_line(const Graph& graph) {
  const std::vector<Gradient> order = gradient_order(graph);
  if (order.empty()) return "gradient tensors: none\n";
  const auto smaller = [](const Gradient& a, const Gradient& b) { return a.elements < b.elements; };
  const Gradient& largest = *std::max_element(order.begin(), order.end(), smaller);
  return "gradient tensors: " + with_commas(graph.parameter_tensors()) + "; the largest is " +
         graph.layers[largest.layer].parameters[largest.parameter].name + " with " + with_commas(largest.elements) +
         " elements\n";
}

}  // namespace

std::string models_text(const std::vector<Graph>& graphs) {
  Table table("llrrrrl");
  table.row({"name", "input", "params", "MiB fp32", "GMACs", "tensors", "title"});
  for (const Graph& graph : graphs)
    table.row({graph.name, shape_text(graph.input), with_commas(graph.parameter_count()), fp32_mib(graph),
               fixed(static_cast<double>(graph.macs()) * 1e-9, 3), std::to_string(graph.parameter_tensors()),
               graph.title});
  return table.text();
}

std::string show_model_text(const Graph& graph) {
  Table table("lllrrr");
  table.row({"layer", "kind", "kernel/stride", "output", "params", "MACs"});
  for (const Layer& layer : graph.layers) {
    table.row({layer.name, to_string(layer.kind), window_text(layer), shape_text(layer.out),
               count_or_blank(layer.parameter_count()), count_or_blank(layer.macs)});
  }
  table.row({"total", "", "", "", with_commas(graph.parameter_count()), with_commas(graph.macs())});
  return graph.name + ": " + graph.title + "\ninput " + shape_text(graph.input) + "; " +
         with_commas(graph.parameter_count()) + " parameters (" + fp32_mib(graph) + " MiB in fp32); " +
         with_commas(graph.macs()) + " MACs per " +
         (graph.tokens > 0 ? "sequence of " + with_commas(graph.tokens) + " tokens" : std::string("image")) +
         ", forward\n\n" + table.text() + '\n' + gradient_line(graph);
}

}  // namespace lockstep::model
