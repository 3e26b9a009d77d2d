#include "engine/base/json.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim {

std::string to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::message:
      return "message";
    case Fidelity::fast:
      return "fast";
    case Fidelity::analytic:
      return "analytic";
  }
  return "";
}

Fidelity fidelity_from(const std::string& name) {
  for (Fidelity f : {Fidelity::message, Fidelity::fast, Fidelity::analytic})
    if (to_string(f) == name) return f;
  throw InputError("unknown fidelity \"" + name + "\"; allowed: message, fast, analytic");
}

}  // namespace lockstep::sim
