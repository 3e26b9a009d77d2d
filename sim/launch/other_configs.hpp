#pragma once
// Reads configurations of GPT-NeoX, nanotron, torchtune, LLM Foundry and NeMo Automodel, and the variables of NVIDIA's
// MLPerf submissions.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

std::vector<LaunchReader> other_readers();

LaunchReader neox_reader();
LaunchReader nanotron_reader();
LaunchReader torchtune_reader();
LaunchReader llm_foundry_reader();
LaunchReader mlperf_reader();
LaunchReader automodel_reader();

}  // namespace lockstep::sim::launch
