#include "sim/launch/facts.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

std::string source_text(const Place& place, const std::string& written) {
  return place.text() + " (" + written + ")";
}

[[noreturn]] void refuse_conflict(const std::string& what, const std::string& first, const std::string& first_source,
                                  const std::string& second, const std::string& second_source) {
  throw InputError(second_source + ": " + what + " " + in_quotes(second) + " contradicts " + in_quotes(first) + " at " +
                   first_source + "; make them agree, or remove one");
}

}  // namespace

void Facts::give_number(std::optional<GivenNumber>& fact, const std::string& what, const GivenNumber& given) {
  if (given.value < 1)
    throw InputError(source_text(given.place, given.written) + ": " + std::to_string(given.value) + " " + what +
                     "; give 1 or more");
  if (fact && fact->value != given.value)
    refuse_conflict(what, std::to_string(fact->value), source_text(fact->place, fact->written),
                    std::to_string(given.value), source_text(given.place, given.written));
  fact = given;
}

void Facts::give_nodes(std::int64_t value, const Place& place, const std::string& written) {
  give_number(nodes_, "nodes", {value, place, written});
}
void Facts::give_gpus_per_node(std::int64_t value, const Place& place, const std::string& written) {
  give_number(gpus_per_node_, "GPUs per node", {value, place, written});
}
void Facts::give_gpus(std::int64_t value, const Place& place, const std::string& written) {
  give_number(gpus_, "GPUs", {value, place, written});
}

void Facts::give(const std::string& option, const std::string& value, const Place& place, const std::string& written) {
  for (const LaunchOption& known : options_) {
    if (known.name != option) continue;
    if (known.value != value)
      refuse_conflict(option, known.value, source_text(known.place, known.written), value, source_text(place, written));
    return;
  }
  options_.push_back({option, value, place, written});
}

void Facts::give_default(const std::string& option, const std::string& value, const std::string& why) {
  const bool may_be_open = option == "--precision" || option == "--sharding" || option == "--recompute" ||
                           (has_open_output && (option == "--tensor" || option == "--pipeline"));
  if (has(option) || options_of_recipe.count(option) > 0) return;
  if (has_open_part && may_be_open) return open_options.push_back(option);
  options_.push_back({option, value, {}, why});
}

void Facts::give_from(const std::string& option, const std::string& value, LaunchSettings& settings,
                      const std::string& key) {
  if (const LaunchSetting* setting = settings.take(key, option)) give(option, value, setting->place, setting->written);
}

void Facts::give_whole(const std::string& option, LaunchSettings& settings, const std::string& key) {
  const std::optional<std::int64_t> value = settings.whole(key, option);
  if (!value) return;
  const LaunchSetting* setting = settings.take(key, option);
  give(option, std::to_string(*value), setting->place, setting->written);
}

void Facts::give_flag(const std::string& option, LaunchSettings& settings, const std::string& key) {
  if (!settings.is_on(key, option)) return;
  const LaunchSetting* setting = settings.take(key, option);
  give(option, "", setting->place, setting->written);
}

std::optional<std::string> Facts::drop(const std::string& option) {
  const auto given =
      std::find_if(options_.begin(), options_.end(), [&](const LaunchOption& o) { return o.name == option; });
  if (given == options_.end()) return std::nullopt;
  const std::string written = given->written;
  options_.erase(given);
  return written;
}

std::string Facts::value_of(const std::string& option) const {
  for (const LaunchOption& known : options_)
    if (known.name == option) return known.value;
  return "";
}

bool Facts::has(const std::string& option) const {
  return std::any_of(options_.begin(), options_.end(), [&](const LaunchOption& o) { return o.name == option; });
}

std::int64_t Facts::number_of(const std::string& option, std::int64_t otherwise) const {
  for (const LaunchOption& known : options_)
    if (known.name == option) return std::stoll(known.value);
  return otherwise;
}

std::optional<std::int64_t> Facts::gpus() const {
  if (gpus_) return gpus_->value;
  if (!gpus_per_node_ || (has_unknown_nodes && !nodes_)) return std::nullopt;
  return gpus_per_node_->value * (nodes_ ? nodes_->value : 1);
}

std::int64_t Facts::gpus_of_node() const {
  if (gpus_per_node_) return gpus_per_node_->value;
  return gpus_ && nodes_ && nodes_->value > 0 && gpus_->value % nodes_->value == 0 ? gpus_->value / nodes_->value : 0;
}

void Facts::add_machine(std::vector<LaunchOption>& options) const {
  const std::optional<std::int64_t> count = gpus();
  if (gpus_ && gpus_per_node_ && nodes_ && gpus_->value != gpus_per_node_->value * nodes_->value)
    refuse_conflict("GPUs", std::to_string(gpus_per_node_->value * nodes_->value),
                    source_text(nodes_->place, nodes_->written) + " and " +
                        source_text(gpus_per_node_->place, gpus_per_node_->written),
                    std::to_string(gpus_->value), source_text(gpus_->place, gpus_->written));
  if (gpus_ && nodes_ && !gpus_per_node_ && gpus_->value % nodes_->value != 0)
    throw InputError(source_text(gpus_->place, gpus_->written) + ": " + std::to_string(gpus_->value) +
                     " GPUs do not divide over the " + std::to_string(nodes_->value) + " nodes at " +
                     source_text(nodes_->place, nodes_->written) + "; make them agree, or remove one");
  if (count) {
    const GivenNumber& from = gpus_ ? *gpus_ : nodes_ ? *nodes_ : *gpus_per_node_;
    options.push_back({"--gpus", std::to_string(*count), from.place, from.written});
  }
  const std::int64_t per_node = gpus_of_node();
  const GivenNumber* from = gpus_per_node_ ? &*gpus_per_node_ : nodes_ ? &*nodes_ : nullptr;
  if (per_node > 0 && from != nullptr)
    options.push_back({"--gpus-per-node", std::to_string(per_node), from->place, from->written});
}

std::int64_t Facts::samples_of_iteration(const std::vector<int>& gpus) const {
  const std::int64_t count = gpus.size() == 1 ? gpus.front() : gpus.empty() ? this->gpus().value_or(0) : 0;
  const std::int64_t ranks = number_of("--tensor", 1) * number_of("--pipeline", 1) * number_of("--context", 1);
  if (count <= 0) return 0;
  return accumulation.value_or(1) * micro_batch.value_or(1) *
         std::max<std::int64_t>(1, count / std::max<std::int64_t>(1, ranks));
}

// `of_parts`: the global batch computed from its parts; 0: list the parts themselves.
void Facts::add_batch(std::vector<LaunchOption>& options, std::int64_t of_parts) const {
  if (micro_batch) options.push_back({"--micro-batch", std::to_string(*micro_batch), {}, "batch"});
  const bool has_parts = micro_batch || accumulation;
  if (global_batch || (has_parts && of_parts > 0)) {
    options.push_back({"--global-batch", std::to_string(global_batch.value_or(of_parts)), {}, "batch"});
    return;
  }
  if (accumulation) options.push_back({"--accumulation", std::to_string(*accumulation), {}, "batch"});
}

// Gives the size of sharding groups: all ranks of a copy, or a node. Otherwise a search would try smaller groups, too.
void Facts::add_group(std::vector<LaunchOption>& options, const std::vector<int>& gpus) const {
  const std::int64_t count = gpus.size() == 1 ? gpus.front() : gpus.empty() ? this->gpus().value_or(0) : 0;
  const std::int64_t ranks = number_of("--tensor", 1) * number_of("--pipeline", 1);
  const bool is_sharded = std::any_of(options_.begin(), options_.end(), [](const LaunchOption& option) {
    return option.name == "--sharding" && (option.value == "zero2" || option.value == "zero3");
  });
  if (!is_sharded || has("--sharding-group") || ranks < 1) return;
  if (shards_in_nodes) {
    const std::int64_t of_node = gpus_of_node(), group = of_node > 0 ? of_node : kUsualGpusPerNode;
    if (of_node > 0 || (count >= group && count % group == 0))
      options.push_back({"--sharding-group", std::to_string(group), {}, "hybrid: a node"});
    return;
  }
  const std::int64_t shared = ranks * sharded_copies;
  if (shared < 1 || count % shared != 0 || count < shared) return;
  options.push_back({"--sharding-group", std::to_string(count / shared), {}, "all ranks of a copy"});
}

void Facts::add_length(std::vector<LaunchOption>& options, const std::vector<int>& gpus) const {
  double trained = tokens.value_or(0);
  std::int64_t batch = global_batch.value_or(0);
  if (batch == 0 && accumulation) batch = samples_of_iteration(gpus);
  if (trained == 0 && samples) trained = double(*samples) * double(sequence);
  if (trained == 0 && iterations) trained = double(*iterations) * double(batch) * double(sequence);
  if (trained < 1 || trained > 1e18) return;
  options.push_back({"--tokens", std::to_string(static_cast<std::int64_t>(trained)), {}, "length of the training"});
  if (rampup.empty() || sequence == 0) return;
  const double ramp_tokens = double(rampup_samples) * double(sequence);
  if (ramp_tokens > 1e18) throw InputError("--rampup-batch-size: more than 1e18 tokens; give fewer samples");
  const std::string of_ramp = std::to_string(static_cast<std::int64_t>(ramp_tokens));
  options.push_back({"--batch-ramp", rampup + ":" + of_ramp, {}, "growing batch"});
}

std::vector<LaunchOption> Facts::options(const std::vector<int>& gpus, bool needs_global_batch) const {
  std::vector<LaunchOption> all;
  const auto add = [&](const std::string& name) {
    for (const LaunchOption& option : options_)
      if (option.name == name) all.push_back(option);
  };
  for (const char* first : {"--model", "--gpu"}) add(first);
  add_machine(all);
  for (const LaunchOption& option : options_)
    if (option.name != "--model" && option.name != "--gpu") all.push_back(option);
  add_group(all, gpus);
  add_batch(all, needs_global_batch ? samples_of_iteration(gpus) : 0);
  add_length(all, gpus);
  return all;
}

}  // namespace lockstep::sim::launch
