#pragma once
// Rounds the numbers of an answer. C libraries differ in the last bits of exp(), log() and pow(), by their version and
// by the processor. Rounded answers are the same bytes on all of them, and in a browser.
#include "engine/base/json.hpp"

namespace lockstep {

/// Rounds every number with a fraction, or above 2^53, to 12 significant digits; in arrays and objects, too.
Json rounded(Json answer);

}  // namespace lockstep
