#pragma once
// Which of several builds of the hot code runs. The compiler makes them from the same text, one for each level of the
// x86-64 psABI; the best that the machine has is chosen once, when the program first computes. Results differ by rounding
// between levels, and between oneDNN and our own code; on one machine they are the same bits from run to run.
#include <string>

namespace lockstep::host {

enum class Level { any, v3, v4 };

/// The level in use.
Level level();
/// "x86-64", "x86-64-v3" or "x86-64-v4".
const char* to_string(Level level);
/// The best that this build and this machine both have.
Level best_level();
/// For tests and measurements; not while a network runs. Throws std::invalid_argument above best_level().
void use_level(Level level);

/// Whether products and convolutions of single precision are oneDNN's: where this build has it, unless told otherwise.
bool uses_onednn();
/// For tests and measurements: networks made from now on. No effect in a build without it.
void use_onednn(bool wanted);
/// "oneDNN 2.6.3"; empty where it is not used.
std::string onednn_name();

}  // namespace lockstep::host
