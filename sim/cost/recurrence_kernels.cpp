#include <stdexcept>

#include "sim/cost/token_kernels.hpp"

namespace lockstep::sim::cost {
namespace {

using model::RecurrenceRule;
using model::RecurrenceShape;

constexpr double kSingle = 2;              // elements of half precision per element of single precision
constexpr double kNormForward = 3;         // reads values and gate, writes the output
constexpr double kNormBackward = 5;        // reads these and the output's gradient, writes two gradients
constexpr double kScanTimePerTraffic = 2;  // time of Mamba's scan over that of its memory traffic; assumed

// Counts elements in one batch.
struct Work {
  double tokens, values, keys, keys_of_heads, chunk, state_dim, states, heads, groups;
};

Work work_of(const RecurrenceShape& r, double tokens) {
  return {tokens,
          static_cast<double>(r.value_width()),
          static_cast<double>(r.key_width()),
          double(r.heads) * r.state,
          double(r.chunk),
          double(r.state),
          tokens / r.chunk * static_cast<double>(r.state_elements()) * kSingle,
          double(r.heads),
          double(r.groups)};
}

void add_convolution(Kernels& kernels, const RecurrenceShape& r, double tokens) {
  if (r.taps == 0) return;
  const double width = tokens * static_cast<double>(r.convolved_width());
  kernels.forward.push_back({0, 2 * width});
  kernels.backward.push_back({0, 2 * width});  // recomputed
  kernels.backward.push_back({0, 3 * width});
}

void add_gated_norm(Kernels& kernels, const Work& w) {
  add_memory_kernel(kernels, kNormForward * w.tokens * w.values, kNormBackward * w.tokens * w.values);
}

Kernel products(double flop, double elements) {
  return {flop, elements, true};
}

Kernels per_head(const RecurrenceShape& r, double tokens) {
  const Work w = work_of(r, tokens);
  const double by_state = 2 * w.tokens * w.values * w.state_dim;  // values times keys
  const double in_chunk = 2 * w.tokens * w.values * w.chunk / 2;  // values times the chunk's products, causal
  const double of_keys = 2 * w.tokens * w.keys * w.chunk;         // keys times queries
  const double scores = w.tokens * w.groups * w.chunk * kSingle;
  const double both = w.tokens * (w.values + w.keys);
  const Kernel chunk_states = products(by_state, both + w.states);
  const Kernel pass_on{0, 2 * w.states};
  const Kernel key_products = products(of_keys, 2 * w.tokens * w.keys + scores);
  Kernels kernels;
  add_convolution(kernels, r, tokens);
  kernels.forward.insert(kernels.forward.end(),
                         {chunk_states, pass_on, key_products,
                          products(by_state + in_chunk, both + w.tokens * w.values + w.states + scores)});
  kernels.backward.insert(kernels.backward.end(),
                          {chunk_states,
                           pass_on,
                           key_products,  // recomputed
                           chunk_states,  // gradients of states
                           {0, 3 * w.states},
                           products(by_state + in_chunk, both + 2 * w.tokens * w.values + w.states + scores),  // values
                           chunk_states,
                           chunk_states,                                          // queries, keys
                           products(in_chunk, 2 * w.tokens * w.values + scores),  // their products
                           key_products,
                           key_products});
  add_gated_norm(kernels, w);
  return kernels;
}

Kernels per_channel(const RecurrenceShape& r, double tokens) {
  const Work w = work_of(r, tokens);
  const double rank = r.step_rank, narrow = rank + 2 * w.state_dim;
  Kernels kernels;
  add_convolution(kernels, r, tokens);
  add_gemm(kernels, 2 * tokens * w.values * narrow, tokens * (w.values + narrow) + w.values * narrow);
  const Kernel steps{2 * tokens * w.values * rank, tokens * (w.values + rank) + w.values * rank};
  add_gemm(kernels, steps.flop, steps.elements);
  kernels.backward.push_back(steps);  // recomputed
  add_memory_kernel(kernels, kScanTimePerTraffic * tokens * (4 * w.values + 2 * w.state_dim),
                    kScanTimePerTraffic * tokens * (8 * w.values + 4 * w.state_dim));
  return kernels;
}

Kernels delta(const RecurrenceShape& r, double tokens) {
  const Work w = work_of(r, tokens);
  const double both = w.keys_of_heads + w.values;
  const double scores = tokens * w.heads * w.chunk * kSingle;
  const double by_state = 2 * tokens * w.values * w.state_dim;
  const double in_chunk = 2 * tokens * w.chunk * both;
  const double states = w.states / kSingle;  // kept in half precision
  const Kernel by_inverse = products(in_chunk, 2 * tokens * both + scores);
  const Kernel pass_states = products(2 * by_state, tokens * 2 * both + states);
  Kernels kernels;
  add_convolution(kernels, r, tokens);
  add_memory_kernel(kernels, 2 * tokens * (w.keys + w.keys_of_heads), 3 * tokens * (w.keys + w.keys_of_heads));
  kernels.forward.insert(kernels.forward.end(),
                         {products(2 * tokens * w.chunk * w.keys_of_heads, tokens * w.keys_of_heads + scores),
                          products(2 * tokens * w.heads * w.chunk * w.chunk / 3, 2 * scores), by_inverse, pass_states,
                          products(by_state + in_chunk / 2, tokens * 2 * both + states)});
  kernels.backward.insert(kernels.backward.end(),
                          {by_inverse, pass_states,                                            // recomputed
                           products(in_chunk / 2, tokens * 2 * both),                          // values within a chunk
                           products(3 * by_state, tokens * 3 * both + 2 * states),             // states
                           products(3 * by_state + in_chunk, tokens * 4 * both + 2 * states),  // queries and keys
                           products(2 * in_chunk, tokens * 4 * both + 2 * scores)});           // through the inverse
  add_gated_norm(kernels, w);
  return kernels;
}

Kernels fixed(const RecurrenceShape& r, double tokens) {
  const Work w = work_of(r, tokens);
  const double both = w.keys_of_heads + w.values;
  const double by_state = 2 * tokens * w.values * w.state_dim, in_chunk = 2 * tokens * w.chunk / 2 * both;
  Kernels kernels;
  add_memory_kernel(kernels, 2 * tokens * (2 * w.keys_of_heads + w.values),
                    3 * tokens * (2 * w.keys_of_heads + w.values));
  kernels.forward.push_back(products(2 * by_state + in_chunk, 2 * tokens * both + w.states));
  kernels.backward.push_back(products(5 * by_state + 2.5 * in_chunk, 5 * tokens * both + 2 * w.states));
  add_gated_norm(kernels, w);
  return kernels;
}

}  // namespace

Kernels list_recurrence_kernels(const model::Layer& layer, int batch) {
  const double tokens = double(batch) * layer.in.height * layer.in.width;
  switch (layer.recurrence.rule) {
    case RecurrenceRule::per_channel:
      return per_channel(layer.recurrence, tokens);
    case RecurrenceRule::per_head:
      return per_head(layer.recurrence, tokens);
    case RecurrenceRule::delta:
      return delta(layer.recurrence, tokens);
    case RecurrenceRule::fixed:
      return fixed(layer.recurrence, tokens);
  }
  throw std::logic_error("RecurrenceRule out of range");
}

}  // namespace lockstep::sim::cost
