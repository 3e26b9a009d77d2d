#include "sim/job/hub_name.hpp"

#include <algorithm>
#include <vector>

#include "engine/base/text.hpp"
#include "sim/job/sized_name.hpp"

namespace lockstep::sim::job {

const ModelEntry* model_named(const std::string& name, const Catalogue& catalogue) {
  std::string last = name;
  while (!last.empty() && last.back() == '/') last.pop_back();
  last = last.substr(last.rfind('/') == std::string::npos ? 0 : last.rfind('/') + 1);
  const std::vector<std::string> endings{
      "-instruct", "-hf",   "-base", "-chat", "-it",   "-pt",   "-sft", "-rl",   "-thinking", "-reasoning", "-preview",
      "-deduped",  "-bf16", "-fp16", "-v0.1", "-v0.2", "-v0.3", "-v1",  "-v1.0", "-v1.5",     "-beta"};
  for (int round = 0; round < 6; ++round) {
    if (const ModelEntry* entry = catalogue.models.named(last); entry != nullptr) return entry;
    const std::string small = lower_case(last);
    const auto ending = std::find_if(endings.begin(), endings.end(), [&](const std::string& e) {
      return small.size() > e.size() && small.compare(small.size() - e.size(), e.size(), e) == 0;
    });
    const std::size_t dash = last.rfind('-');
    const bool is_dated = dash != std::string::npos && last.size() == dash + 5 &&
                          std::all_of(last.begin() + static_cast<std::ptrdiff_t>(dash) + 1, last.end(), is_digit);
    if (ending == endings.end() && !is_dated) break;
    last.resize(is_dated ? dash : last.size() - ending->size());
  }
  for (const std::string prefix : {"Meta-", "meta-"})
    if (last.compare(0, prefix.size(), prefix) == 0) return model_named(last.substr(prefix.size()), catalogue);
  return nullptr;
}

void read_hub_name(Job& job, const Catalogue& catalogue) {
  const SizedName sized = split_sized_name(job.model.stated);
  if (sized.model.find('/') == std::string::npos || catalogue.models.named(sized.model) != nullptr) return;
  if (const ModelEntry* entry = model_named(sized.model, catalogue))
    job.model.stated = entry->id + (sized.tokens.empty() ? "" : "@" + sized.tokens);
}

}  // namespace lockstep::sim::job
