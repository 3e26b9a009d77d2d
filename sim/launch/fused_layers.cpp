#include "sim/launch/fused_layers.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

struct FusedLayers {
  const char* key;                   ///< true or false
  std::vector<const char*> options;  ///< that it turns on
};

// Liger's defaults replace norms and rotary positions, and join output matrix and loss
// (liger_kernel/transformers/monkey_patch.py). Unsloth replaces the same layers one by one.
const std::vector<FusedLayers>& keys_of_several() {
  static const std::vector<FusedLayers> all{
      {"use_liger_kernel", {"--fused-norms", "--fused-rotary", "--chunked-loss"}},
      {"enable_liger_kernel", {"--fused-norms", "--fused-rotary", "--chunked-loss"}},
      {"use_unsloth", {"--fused-norms", "--fused-rotary", "--fused-loss"}},
      {"torch_compile", {"--fused-norms", "--fused-rotary", "--fused-gelu", "--fused-loss"}}};
  return all;
}

// Each of these keys is for one kind of layer, and overrides the keys above.
const std::vector<std::pair<const char*, const char*>>& keys_of_one() {
  static const std::vector<std::pair<const char*, const char*>> all{
      {"liger_rms_norm", "--fused-norms"},
      {"liger_kernel_config.rms_norm", "--fused-norms"},
      {"flash_attn_rms_norm", "--fused-norms"},
      {"liger_rope", "--fused-rotary"},
      {"liger_kernel_config.rope", "--fused-rotary"},
      {"liger_cross_entropy", "--fused-loss"},
      {"liger_kernel_config.cross_entropy", "--fused-loss"},
      {"liger_fused_linear_cross_entropy", "--chunked-loss"},
      {"liger_kernel_config.fused_linear_cross_entropy", "--chunked-loss"},
      {"flash_attn_cross_entropy", "--fused-loss"},
      {"cut_cross_entropy", "--chunked-loss"}};
  return all;
}

}  // namespace

void read_fused_layers(LaunchSettings& s, Facts& f) {
  for (const auto& [key, unfused] : {std::pair{"attn_implementation", "eager"}, std::pair{"flash_attn", "disabled"}})
    if (s.has(key) && lower_case(s.text(key, "--fused-attention").value_or("")) == unfused)
      f.give_from("--no-fused-attention", "", s, key);
  if (s.has("eager_attention") && s.is_on("eager_attention", "--no-fused-attention") && !f.has("--no-fused-attention"))
    f.give_flag("--no-fused-attention", s, "eager_attention");
  std::set<std::string> on, off;
  for (const auto& [key, option] : keys_of_one()) {
    if (!s.has(key)) continue;
    const bool is_on = s.is_on(key, option);
    (is_on ? on : off).insert(option);
    if (is_on && !f.has(option)) f.give_flag(option, s, key);
  }
  for (const FusedLayers& several : keys_of_several())
    for (const char* option : several.options) {
      const bool is_off = off.count(option) > 0 && on.count(option) == 0;
      if (s.has(several.key) && s.is_on(several.key, option) && !f.has(option) && !is_off)
        f.give_flag(option, s, several.key);
    }
}

}  // namespace lockstep::sim::launch
