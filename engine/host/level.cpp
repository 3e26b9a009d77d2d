#include "engine/host/level.hpp"

#include <stdexcept>

#ifdef LOCKSTEP_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace lockstep::host {
namespace {

bool has_v3() {
#ifdef LOCKSTEP_LEVELS
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

bool has_v4() {
#ifdef LOCKSTEP_LEVELS
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

Level& chosen() {
  static Level level = best_level();
  return level;
}

bool& onednn_chosen() {
#ifdef LOCKSTEP_WITH_ONEDNN
  static bool chosen = true;
#else
  static bool chosen = false;
#endif
  return chosen;
}

}  // namespace

Level level_in_use() {
  return chosen();
}

const char* to_string(Level level) {
  switch (level) {
    case Level::any:
      return "x86-64";
    case Level::v3:
      return "x86-64-v3";
    case Level::v4:
      return "x86-64-v4";
  }
  throw std::invalid_argument("no such level");
}

Level best_level() {
  return has_v4() ? Level::v4 : has_v3() ? Level::v3 : Level::any;
}

void use_level(Level level) {
  if (level > best_level()) throw std::invalid_argument(std::string("this machine has no ") + to_string(level));
  chosen() = level;
}

bool uses_onednn() {
  return onednn_chosen();
}

void use_onednn(bool wanted) {
#ifdef LOCKSTEP_WITH_ONEDNN
  onednn_chosen() = wanted;
#else
  static_cast<void>(wanted);
#endif
}

std::string onednn_name() {
#ifdef LOCKSTEP_WITH_ONEDNN
  if (!uses_onednn()) return {};
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
#else
  return {};
#endif
}

}  // namespace lockstep::host
