#pragma once
// Chooses between several builds of the hot code. The compiler makes them from the same source, one per level of the
// x86-64 psABI. The best level that the machine supports is chosen at the first computation. Results differ by rounding
// between levels, and between oneDNN and our own code; on one machine they are bit-identical from run to run.
#include <string>

namespace lockstep::host {

enum class Level { any, v3, v4 };

Level level_in_use();
/// "x86-64", "x86-64-v3" or "x86-64-v4".
const char* to_string(Level level);
/// The best level that both this build and this machine support.
Level best_level();
/// For tests and measurements; call it while no network runs. Throws std::invalid_argument above best_level().
void use_level(Level level);

/// Whether oneDNN computes products and convolutions of single precision: true if the build has it, unless switched
/// off.
bool uses_onednn();
/// For tests and measurements. Affects networks created later; no effect in a build without oneDNN.
void use_onednn(bool wanted);
/// "oneDNN 2.6.3"; empty if it is not used.
std::string onednn_name();

}  // namespace lockstep::host
