#include "sim/split/traffic.hpp"

namespace lockstep::sim::split {
namespace {

double tokens(const TransformerShape& shape, const ParallelSpec& spec) {
  return static_cast<double>(spec.micro_batch) * shape.sequence / spec.context;
}

void add(TrafficList& list, Traffic traffic) {
  if (traffic.ranks > 1) list.push_back(std::move(traffic));
}

// True if the collective overlaps GEMMs, by /tensor_overlap. Without sequence parallelism, only gradients of inputs do,
// because only scattered and gathered data come in pieces.
bool is_beside(const ParallelSpec& spec, bool is_input_of_backward) {
  if (spec.tensor_overlap == TensorOverlap::all && spec.sequence) return true;
  return spec.tensor_overlap != TensorOverlap::none && is_input_of_backward;
}

Traffic tensor_traffic(const ParallelSpec& spec, const TrafficName& name, TrafficKind kind, double bytes,
                       bool is_input_of_backward = false) {
  return {name, kind, TrafficGroup::tensor, spec.tensor, bytes, 1, is_beside(spec, is_input_of_backward)};
}

// Adds collectives before a matrix whose columns the tensor ranks divide (f of Korthikanti et al. 2022, or g with
// sequence parallelism).
void enter_forward(TrafficList& list, const ParallelSpec& spec, double bytes, const char* what) {
  if (spec.sequence) add(list, tensor_traffic(spec, {what, ", input"}, TrafficKind::all_gather, bytes));
}

// Adds collectives after a matrix whose rows the tensor ranks divide.
void leave_forward(TrafficList& list, const ParallelSpec& spec, double bytes, const char* what) {
  const TrafficKind kind = spec.sequence ? TrafficKind::reduce_scatter : TrafficKind::all_reduce;
  add(list, tensor_traffic(spec, {what, ", output"}, kind, bytes));
}

void leave_backward(TrafficList& list, const ParallelSpec& spec, double bytes, const char* what) {
  if (spec.sequence) add(list, tensor_traffic(spec, {what, ", output's gradient"}, TrafficKind::all_gather, bytes));
}

// Each rank kept a part of the input. The weights' gradients need the whole input again.
void enter_backward(TrafficList& list, const ParallelSpec& spec, double bytes, const char* what) {
  const TrafficKind kind = spec.sequence ? TrafficKind::reduce_scatter : TrafficKind::all_reduce;
  if (spec.sequence) add(list, tensor_traffic(spec, {what, ", input again"}, TrafficKind::all_gather, bytes, true));
  add(list, tensor_traffic(spec, {what, ", input's gradient"}, kind, bytes, true));
}

// Returns the bytes of keys and values on a tensor rank, which has at least one head of each.
double kv_bytes(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options) {
  const auto width = static_cast<double>(shape.key_width() + shape.value_width());
  return tokens(shape, spec) * width * kv_repeats(shape, spec) / spec.tensor * options.activation_bytes;
}

void add_context(TrafficList& list, const TransformerShape& shape, const ParallelSpec& spec,
                 const TrafficOptions& options, bool is_backward) {
  const int c = spec.context;
  const double kv = kv_bytes(shape, spec, options);
  switch (spec.context_exchange) {
    case ContextExchange::ring:
      add(list, {is_backward ? "keys, values and their gradients" : "keys and values", TrafficKind::send,
                 TrafficGroup::context, c, is_backward ? 2 * kv : kv, static_cast<double>(c - 1)});
      return;
    case ContextExchange::all_gather:
      add(list, {"keys and values", TrafficKind::all_gather, TrafficGroup::context, c, c * kv});
      if (is_backward)
        add(list, {"gradients of keys and values", TrafficKind::reduce_scatter, TrafficGroup::context, c, c * kv});
      return;
    case ContextExchange::all_to_all: {
      const double element = tokens(shape, spec) / spec.tensor * options.activation_bytes;
      add(list, {"queries, keys and values", TrafficKind::all_to_all, TrafficGroup::context, c,
                 kv + element * static_cast<double>(shape.query_width())});
      add(list, {"attention's output", TrafficKind::all_to_all, TrafficGroup::context, c,
                 element * static_cast<double>(shape.output_width())});
      return;
    }
  }
}

// Each context rank gets all tokens of some heads, and returns its results for them (Megatron-LM,
// mamba_context_parallel.py).
void add_recurrence_context(TrafficList& list, const TransformerShape& shape, const ParallelSpec& spec,
                            const TrafficOptions& options) {
  const double element = tokens(shape, spec) / spec.tensor * options.activation_bytes;
  const model::RecurrenceShape& r = shape.recurrence;
  add(list, {"recurrence's input", TrafficKind::all_to_all, TrafficGroup::context, spec.context,
             element * static_cast<double>(r.input_width())});
  add(list, {"recurrence's output", TrafficKind::all_to_all, TrafficGroup::context, spec.context,
             element * static_cast<double>(r.value_width())});
}

void add_mixing_context(TrafficList& list, const TransformerShape& shape, const ParallelSpec& spec, int layer,
                        const TrafficOptions& options, bool is_backward) {
  if (shape.parts_of(layer).mixing == model::TokenMixing::recurrence)
    add_recurrence_context(list, shape, spec, options);
  else
    add_context(list, shape, spec, options, is_backward);
}

const char* mixing_name(model::TokenMixing mixing) {
  return mixing == model::TokenMixing::recurrence ? "recurrence" : "attention";
}

// Returns the bytes of the tokens that a rank sends to experts, or that the busiest rank receives, before tensor ranks
// divide them.
double routed_bytes(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options) {
  return tokens(shape, spec) * shape.hidden * options.activation_bytes * shape.mixture.active * spec.expert_load();
}

void add_routing(TrafficList& list, const TransformerShape& shape, const ParallelSpec& spec,
                 const TrafficOptions& options, const char* what) {
  Traffic traffic{what, TrafficKind::all_to_all, TrafficGroup::expert, spec.expert};
  traffic.bytes = routed_bytes(shape, spec, options) / (spec.sequence ? spec.tensor : 1);
  if (spec.expert_dispatch != ExpertDispatch::all_to_all) {
    traffic.kind = TrafficKind::dispatch;
    traffic.choices = shape.mixture.active;
    traffic.experts = shape.mixture.count;
    traffic.passed_on_per_s = dispatch_bytes_per_s(spec.expert_dispatch);
  }
  add(list, traffic);
}

// Bytes that enter the tensor ranks' part of the MLP; as many leave it.
struct MlpBytes {
  double dense = 0, experts = 0;  // `experts` counts rows, of which each tensor rank has a part until they are gathered
};

MlpBytes mlp_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer, const TrafficOptions& options) {
  const double hidden = hidden_state_bytes(shape, spec, options);
  const model::FeedForward feed_forward = shape.parts_of(layer).feed_forward;
  if (feed_forward == model::FeedForward::none) return {};
  if (feed_forward == model::FeedForward::network) return {hidden, 0};
  return {shape.mixture.shared_inner > 0 ? hidden : 0, routed_bytes(shape, spec, options)};
}

TrafficList forward_once(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                         const TrafficOptions& options) {
  TrafficList list;
  const double hidden = hidden_state_bytes(shape, spec, options);
  if (const model::TokenMixing mixing = shape.parts_of(layer).mixing; mixing != model::TokenMixing::none) {
    enter_forward(list, spec, hidden, mixing_name(mixing));
    add_mixing_context(list, shape, spec, layer, options, false);
    leave_forward(list, spec, hidden, mixing_name(mixing));
  }
  const MlpBytes mlp = mlp_bytes(shape, spec, layer, options);
  if (mlp.experts > 0) {
    add_routing(list, shape, spec, options, "tokens to experts");
    if (!spec.folds_experts()) {
      enter_forward(list, spec, mlp.experts, "experts");
      leave_forward(list, spec, mlp.experts, "experts");
    }
    add_routing(list, shape, spec, options, "tokens from experts");
  }
  if (mlp.dense > 0) {
    enter_forward(list, spec, mlp.dense, "MLP");
    leave_forward(list, spec, mlp.dense, "MLP");
  }
  return list;
}

}  // namespace

double hidden_state_bytes(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options) {
  return tokens(shape, spec) * shape.hidden * options.activation_bytes;
}

TrafficList layer_forward(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                          const TrafficOptions& options) {
  return forward_once(shape, spec, layer, options);
}

TrafficList layer_backward(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                           const TrafficOptions& options) {
  TrafficList list;
  if (spec.recompute == Recomputation::full) list = forward_once(shape, spec, layer, options);
  const double hidden = hidden_state_bytes(shape, spec, options);
  const MlpBytes mlp = mlp_bytes(shape, spec, layer, options);
  if (mlp.dense > 0) {
    leave_backward(list, spec, mlp.dense, "MLP");
    enter_backward(list, spec, mlp.dense, "MLP");
  }
  if (mlp.experts > 0) {
    add_routing(list, shape, spec, options, "gradients to experts");
    if (!spec.folds_experts()) {
      leave_backward(list, spec, mlp.experts, "experts");
      enter_backward(list, spec, mlp.experts, "experts");
    }
    add_routing(list, shape, spec, options, "gradients from experts");
  }
  if (const model::TokenMixing mixing = shape.parts_of(layer).mixing; mixing != model::TokenMixing::none) {
    leave_backward(list, spec, hidden, mixing_name(mixing));
    add_mixing_context(list, shape, spec, layer, options, true);
    enter_backward(list, spec, hidden, mixing_name(mixing));
  }
  return list;
}

TrafficList embedding_forward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options) {
  TrafficList list;
  leave_forward(list, spec, hidden_state_bytes(shape, spec, options), "embedding");
  for (Traffic& traffic : list) traffic.is_beside_products = false;  // looking up a table is not a GEMM
  return list;
}

TrafficList embedding_backward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options) {
  TrafficList list;
  leave_backward(list, spec, hidden_state_bytes(shape, spec, options), "embedding");
  for (Traffic& traffic : list) traffic.is_beside_products = false;
  return list;
}

TrafficList loss_forward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options) {
  TrafficList list;
  enter_forward(list, spec, hidden_state_bytes(shape, spec, options), "logits");
  // Exchanges the largest logit, the label's logit and the sum of exponentials of every token, in single precision.
  add(list, {"cross-entropy", TrafficKind::all_reduce, TrafficGroup::tensor, spec.tensor, 4 * tokens(shape, spec), 3});
  return list;
}

TrafficList loss_backward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options) {
  TrafficList list;
  enter_backward(list, spec, hidden_state_bytes(shape, spec, options), "logits");
  return list;
}

}  // namespace lockstep::sim::split
