#include "sim/records/usual.hpp"

#include <stdexcept>

namespace lockstep::sim {
namespace {

constexpr double kAny = 1e9;

}  // namespace

const std::vector<UsualValue>& usual_values() {
  static const std::vector<UsualValue> all{
      {"kernel launch", "", 20e-6, 1.2e-4, "an operation of a framework costs five to tens of microseconds"},
      {"memory speed", "", 1, 1.25, "0.8 of the data sheet's bandwidth, as copies reach"},
      {"speed of software/", "", 1, kAny, "no slower than others"},
      {"speed/", "fp32", 1, 1.6, "0.6 of the peak; more is Winograd's"},
      {"speed/", "", 1, kAny, "0.6 of the peak"},
      {"epochs at small batch/", "", 40, kAny, "ResNet-50 to 75.9 % in MLPerf v0.7 and later: 35 to 45"},
      {"critical batch/", "", 45000, kAny, "ResNet-50: twice the epochs of a small batch at 32 to 64 thousand images"},
      {"link share", "", 0.9, 1.08, "of the catalogue's bandwidth, which 12 GB/s of a slot's 12 to 13 may pass"},
      {"network share", "", 0.8, 1.08, "TCP reaches 0.7 to 0.9 of a line rate"},
      {"network hop", "", 2e-6, kAny, "two switches and the adapters' software"},
      {"call", "", 30e-6, kAny, "from a framework to its collective and back"},
      {"message", "", 5e-6, kAny, "a step of NCCL's protocols takes 1 to 10 us"},
      {"fill", "", 5e-6, kAny, "of a pipeline: a slice's copy and its flag"},
      {"host copies", "", 3e9, kAny, "bytes/s to pageable memory, servers of 2012 to 2015"},
      {"jitter", "", 0.01, 0.03, "a GPU of its own varies by 1 to 2 %; more is something else's fault"},
      {"evaluation share", "", 0.03, kAny, "of a training's samples: 50 thousand images after an epoch, and restarts"}};
  return all;
}

const UsualValue& usual_of(const std::string& constant) {
  for (const UsualValue& usual : usual_values())
    if (constant.rfind(usual.prefix, 0) == 0 && constant.find(usual.part) != std::string::npos) return usual;
  throw std::logic_error("a constant without a usual value: " + constant);
}

}  // namespace lockstep::sim
