#include "engine/cuda/segments.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::cuda {

using model::Graph;
using model::Layer;
using model::LayerKind;
using model::ParameterRole;

namespace {

constexpr std::int64_t kAlignmentElements = 128;  // 256 bytes of the narrowest element

std::int64_t rounded_up(std::int64_t elements) {
  return (elements + kAlignmentElements - 1) / kAlignmentElements * kAlignmentElements;
}

int as_int(const Graph& graph, std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw InputError("model " + in_quotes(graph.name) + ": a parameter tensor is too large for the CUDA backend");
  }
  return static_cast<int>(value);
}

/// A tile has whole rows if at least one fits, else part of a row, with as many taps as possible first.
void set_tiles(Segment& s) {
  const std::int64_t row = std::int64_t{s.channels} * s.taps;
  s.tile_taps = std::min(s.taps, kTileElements);
  s.tile_channels = std::min(s.channels, std::max(1, kTileElements / s.tile_taps));
  s.tile_rows = static_cast<int>(std::clamp<std::int64_t>(kTileElements / row, 1, s.rows));
}

void append(std::vector<Segment>& table, int& blocks, Segment segment) {
  set_tiles(segment);
  segment.first_block = blocks;
  blocks += tiles_along(segment.rows, segment.tile_rows) * tiles_along(segment.channels, segment.tile_channels) *
            tiles_along(segment.taps, segment.tile_taps);
  table.push_back(segment);
}

Segment vector_segment(std::int64_t flat, int count) {
  Segment segment{};
  segment.flat = flat;
  segment.rows = segment.taps = 1;
  segment.channels = segment.stored_channels = count;
  return segment;
}

Segment weight_segment(const Graph& graph, const Layer& layer, std::int64_t flat, bool padded, int input_channels) {
  Segment segment{};
  segment.flat = flat;
  segment.rows = layer.out.channels;
  if (layer.kind == LayerKind::fc) {
    segment.channels = layer.in.channels;
    segment.taps = as_int(graph, std::int64_t{layer.in.height} * layer.in.width);
  } else {
    segment.channels = layer.in.channels / layer.window.groups;
    segment.taps = as_int(graph, std::int64_t{layer.window.kernel_h} * layer.window.kernel_w);
  }
  segment.stored_channels = padded ? input_channels : segment.channels;
  // Without taps there is nothing to reorder: the tensor is one long vector.
  if (segment.taps == 1 && segment.stored_channels == segment.channels) {
    segment.channels = segment.stored_channels = as_int(graph, std::int64_t{segment.rows} * segment.channels);
    segment.rows = 1;
  }
  return segment;
}

}  // namespace

Packing make_packing(const Graph& graph, int input_channels) {
  Packing packing;
  std::int64_t flat = 0;
  for (const Layer& layer : graph.layers) {
    packing.parameters.emplace_back(layer.parameters.size());
    for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
      const model::Parameter& parameter = layer.parameters[i];
      PackedParameter& place = packing.parameters.back()[i];
      if (parameter.role == ParameterRole::weight) {
        const bool padded = layer.inputs.front() == 0 && input_channels != graph.input.channels;
        Segment segment = weight_segment(graph, layer, flat, padded, input_channels);
        segment.packed = place.element = packing.elements;
        packing.elements += rounded_up(std::int64_t{segment.rows} * segment.taps * segment.stored_channels);
        append(packing.pack, packing.pack_blocks, segment);
        append(packing.unpack, packing.unpack_blocks, segment);
      } else {
        Segment segment = vector_segment(flat, as_int(graph, parameter.elements));
        segment.is_float = true;
        segment.packed = place.real = packing.reals;
        packing.reals += rounded_up(parameter.elements);
        append(packing.pack, packing.pack_blocks, segment);
        append(packing.unpack, packing.unpack_blocks, segment);
        if (layer.kind == LayerKind::fc) {
          segment.is_float = false;
          segment.packed = place.element = packing.elements;
          packing.elements += rounded_up(parameter.elements);
          append(packing.pack, packing.pack_blocks, segment);
        }
      }
      flat += parameter.elements;
    }
  }
  return packing;
}

}  // namespace lockstep::cuda
