#pragma once
// The model of the cases that tests of schedules work by hand.
#include "engine/model/graph.hpp"

namespace lockstep::tests {

/// Builds input -> fc1 (inputs x width + width parameters) -> fc2 (width x outputs + outputs) -> loss.
inline model::Graph two_layers(int inputs = 4, int width = 3, int outputs = 2) {
  model::GraphBuilder builder("two", "two", {inputs, 1, 1});
  const int fc1 = builder.fc("fc1", 0, width);
  const int fc2 = builder.fc("fc2", fc1, outputs);
  builder.softmax("loss", fc2);
  return builder.finish();
}

}  // namespace lockstep::tests
