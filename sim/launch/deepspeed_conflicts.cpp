#include "sim/launch/deepspeed_conflicts.hpp"

#include <cmath>

#include "engine/base/text.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

// A number with the setting that gives it; 0: no setting does.
struct Given {
  std::int64_t value = 0;
  LaunchSetting setting;
};

Given given_number(LaunchSettings& s, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (const auto value = s.whole(key); value && *value > 0) return {*value, s.at(key)};
  return {};
}

[[noreturn]] void refuse_pair(const LaunchSetting& one, const LaunchSetting& other) {
  throw InputError(one.text() + ": contradicts " + other.text() + "; make them agree");
}

// Returns the number of the arguments or of DeepSpeed's configuration, which agree if both give it.
Given agreed_number(LaunchSettings& s, const std::vector<std::string>& arguments, const std::string& of_deepspeed) {
  const Given argument = given_number(s, arguments), configured = given_number(s, {of_deepspeed});
  if (argument.value > 0 && configured.value > 0 && argument.value != configured.value)
    refuse_pair(argument.setting, configured.setting);
  return argument.value > 0 ? argument : configured;
}

// True: on; false: off; none: not given, or "auto".
std::optional<bool> state_of(LaunchSettings& s, const std::string& key) {
  const std::string value = s.switch_value(key);
  if (is_among(value, {"true", "yes", "1", "on", "full"})) return true;
  if (is_among(value, {"false", "no", "0", "off"})) return false;
  return std::nullopt;
}

}  // namespace

void refuse_conflicting_batches(LaunchSettings& s, const Facts& f) {
  const Given micro = agreed_number(s, {"per_device_train_batch_size", "micro_batch_size", "per_gpu_train_batch_size"},
                                    "train_micro_batch_size_per_gpu");
  const Given steps = agreed_number(s, {"gradient_accumulation_steps"}, kAccumulationOfDeepspeed);
  const Given all = agreed_number(s, {"global_batch_size"}, "train_batch_size");
  // As real numbers, because products of a file's numbers may exceed 64 bits.
  const auto gpus = double(f.gpus().value_or(f.given_gpus));
  const double ranks =
      double(f.number_of("--tensor", 1)) * double(f.number_of("--pipeline", 1)) * double(f.number_of("--context", 1));
  if (all.value == 0 || micro.value == 0 || ranks < 1 || gpus < ranks || std::fmod(gpus, ranks) != 0) return;
  const double replicas = gpus / ranks, once = double(micro.value) * replicas;
  if (steps.value > 0 ? double(all.value) == once * double(steps.value) : std::fmod(double(all.value), once) == 0)
    return;
  const std::string product = std::to_string(micro.value) + " x " +
                              (steps.value > 0 ? std::to_string(steps.value) + " x " : "") +
                              std::to_string(static_cast<std::int64_t>(replicas));
  throw InputError(all.setting.text() + ": is " + (steps.value > 0 ? "not " : "no multiple of ") + product +
                   (steps.value > 0 ? ": micro-batch x accumulation x replicas (" : ": micro-batch x replicas (") +
                   micro.setting.text() + (steps.value > 0 ? ", " + steps.setting.text() : "") + "); make them agree");
}

void refuse_conflicting_precisions(LaunchSettings& s) {
  const std::vector<std::string> bf16{"bf16", "bf16.enabled", "bfloat16.enabled"}, fp16{"fp16", "fp16.enabled"};
  for (const std::string& one : bf16)
    for (const std::string& other : fp16)
      if (state_of(s, one) == true && state_of(s, other) == true) refuse_pair(s.at(one), s.at(other));
  for (const auto& keys : {bf16, fp16})
    for (std::size_t i = 1; i < keys.size(); ++i) {
      const std::optional<bool> argument = state_of(s, keys.front()), configured = state_of(s, keys[i]);
      if (argument && configured && *argument != *configured) refuse_pair(s.at(keys.front()), s.at(keys[i]));
    }
}

}  // namespace lockstep::sim::launch
