#include "sim/cost/memory.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/model/memory_plan.hpp"

namespace lockstep::sim::cost {

namespace {

bool are_same(const std::vector<model::Layer>& a, const std::vector<model::Layer>& b) {
  const auto are_same_parameters = [](const model::Parameter& p, const model::Parameter& q) {
    return p.name == q.name && p.role == q.role && p.elements == q.elements;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const model::Layer& x, const model::Layer& y) {
    return x.name == y.name && x.kind == y.kind && x.inputs == y.inputs && x.in == y.in && x.out == y.out &&
           x.window == y.window && x.macs == y.macs && x.input_elements == y.input_elements &&
           x.attention == y.attention && x.experts == y.experts && x.tied_to == y.tied_to &&
           x.kept_elements == y.kept_elements && x.scratch_elements == y.scratch_elements &&
           std::equal(x.parameters.begin(), x.parameters.end(), y.parameters.begin(), y.parameters.end(),
                      are_same_parameters);
  });
}

// Of one sample. Points of a plan have the same model one after the other: that of the latest is kept.
double outputs_elements(const model::Graph& graph) {
  thread_local std::vector<model::Layer> latest;
  thread_local double elements = -1;
  if (elements < 0 || !are_same(latest, graph.layers)) {
    elements = static_cast<double>(model::offline_plan(graph).arena_elements);
    latest = graph.layers;
  }
  return elements;
}

}  // namespace

double outputs_bytes(const model::Graph& graph, int batch, int activation_bytes) {
  return outputs_elements(graph) * batch * activation_bytes;
}

int LearnerMemory::most_learners(double gpu_bytes) const {
  const double left = gpu_bytes - shared_bytes();
  return left < learner_bytes() ? 0 : static_cast<int>(std::floor(left / learner_bytes()));
}

}  // namespace lockstep::sim::cost
