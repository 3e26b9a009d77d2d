#include "sim/replica/recomputation.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim::replica {
namespace {

using model::Layer;
using model::LayerKind;

// Position of a layer in its block, in the order of the forward pass.
enum class Place { before_attention, attention, behind_attention, mlp };

bool is_norm(const Layer& layer) {
  return layer.kind == LayerKind::layer_norm || layer.kind == LayerKind::rms_norm;
}

bool is_activation(const Layer& layer) {
  return layer.kind == LayerKind::silu || layer.kind == LayerKind::gelu || layer.kind == LayerKind::relu ||
         layer.kind == LayerKind::multiply;
}

Place next_place(Place place, const Layer& layer) {
  if (layer.kind == LayerKind::attention || layer.kind == LayerKind::recurrence) return Place::attention;
  if (place == Place::attention) return Place::behind_attention;
  return place == Place::behind_attention && is_norm(layer) ? Place::mlp : place;
}

struct PlacedLayer {
  const Layer& layer;
  Place place;
  bool is_beside_experts;
  int hidden;
};

bool is_of(RecomputeModule module, const PlacedLayer& placed) {
  const Layer& layer = placed.layer;
  const bool is_inner = placed.place == Place::mlp && (layer.kind == LayerKind::linear || is_activation(layer));
  switch (module) {
    case RecomputeModule::core_attention:
      return layer.kind == LayerKind::attention;
    case RecomputeModule::layer_norm:
      return is_norm(layer) && layer.out.channels == placed.hidden;
    case RecomputeModule::activation:
      return placed.place == Place::mlp && is_activation(layer);
    case RecomputeModule::latent_up:
      return placed.place == Place::before_attention &&
             (has_matrix(layer) ? layer.in.channels != placed.hidden : !is_norm(layer));
    case RecomputeModule::mlp:
      return is_inner && !placed.is_beside_experts;
    case RecomputeModule::shared_experts:
      return is_inner && placed.is_beside_experts;
    case RecomputeModule::moe:
      return layer.kind == LayerKind::experts || layer.kind == LayerKind::router;
  }
  return false;
}

double repeated_share(const PlacedLayer& placed, const ParallelSpec& spec) {
  switch (spec.recompute) {
    case Recomputation::none:
      return 0;
    case Recomputation::selective:
      for (const Choice<RecomputeModule>& module : choices_of(RecomputeModule()))
        if (spec.recomputes(module.value) && is_of(module.value, placed)) return 1;
      return 0;
    case Recomputation::alternate_matrices:
      return placed.layer.kind == LayerKind::attention ? 0 : has_matrix(placed.layer) ? 0.5 : 1;
    case Recomputation::full:
      return 1;
  }
  return 0;
}

}  // namespace

bool has_matrix(const Layer& layer) {
  return layer.kind == LayerKind::linear || layer.kind == LayerKind::experts || layer.kind == LayerKind::router;
}

std::vector<double> repeated_shares(const model::Graph& graph, const Block& block, const ParallelSpec& spec,
                                    int hidden) {
  const auto first = graph.layers.begin() + block.first_layer, behind = graph.layers.begin() + block.last_layer + 1;
  const bool has_experts =
      std::any_of(first, behind, [](const Layer& layer) { return layer.kind == LayerKind::experts; });
  const bool has_mixing = std::any_of(first, behind, [](const Layer& layer) {
    return layer.kind == LayerKind::attention || layer.kind == LayerKind::recurrence;
  });
  std::vector<double> shares;
  Place place = has_mixing ? Place::before_attention : Place::mlp;
  for (auto layer = first; layer != behind; ++layer) {
    place = next_place(place, *layer);
    shares.push_back(repeated_share({*layer, place, has_experts, hidden}, spec));
  }
  return shares;
}

}  // namespace lockstep::sim::replica
