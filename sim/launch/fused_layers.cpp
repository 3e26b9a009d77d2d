#include "sim/launch/fused_layers.hpp"

#include <utility>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

struct FusedLayers {
  const char* key;                   ///< a switch
  std::vector<const char*> options;  ///< that it turns on
};

// Liger's defaults replace norms, rotary positions and the loss (liger_kernel/transformers/monkey_patch.py). Unsloth
// replaces the same.
const std::vector<FusedLayers>& switches() {
  static const std::vector<FusedLayers> all{
      {"use_liger_kernel", {"--fused-norms", "--fused-rotary", "--fused-loss"}},
      {"enable_liger_kernel", {"--fused-norms", "--fused-rotary", "--fused-loss"}},
      {"use_unsloth", {"--fused-norms", "--fused-rotary", "--fused-loss"}},
      {"torch_compile", {"--fused-norms", "--fused-rotary", "--fused-gelu", "--fused-loss"}},
      {"liger_rms_norm", {"--fused-norms"}},
      {"flash_attn_rms_norm", {"--fused-norms"}},
      {"liger_rope", {"--fused-rotary"}},
      {"liger_cross_entropy", {"--fused-loss"}},
      {"liger_fused_linear_cross_entropy", {"--fused-loss"}},
      {"flash_attn_cross_entropy", {"--fused-loss"}},
      {"cut_cross_entropy", {"--fused-loss"}}};
  return all;
}

}  // namespace

void read_fused_layers(LaunchSettings& s, Facts& f) {
  for (const auto& [key, unfused] : {std::pair{"attn_implementation", "eager"}, std::pair{"flash_attn", "disabled"}})
    if (s.has(key) && lower_case(s.text(key, "--fused-attention").value_or("")) == unfused)
      f.give_from("--no-fused-attention", "", s, key);
  for (const FusedLayers& one : switches())
    for (const char* option : one.options)
      if (s.has(one.key) && !f.has(option) && s.is_on(one.key, option)) f.give_flag(option, s, one.key);
}

}  // namespace lockstep::sim::launch
