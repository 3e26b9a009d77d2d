#include "engine/train/memory_report.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "engine/model/memory_plan.hpp"
#include "engine/train/trained_algorithm.hpp"

namespace lockstep::train {
namespace {

/// On the host, activations are in single precision, even if half precision is emulated.
int element_bytes(const Settings& settings) {
  const bool half = settings.precision == device::Precision::fp16 || settings.precision == device::Precision::bf16;
  return half && settings.request.device != "host" ? 2 : 4;
}

/// The number of concurrent passes on the host.
std::int64_t passes_at_once(const Settings& settings, std::int64_t learners) {
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t threads = settings.request.threads > 0 ? settings.request.threads : cores;
  return std::min(threads, learners * settings.request.gpus);
}

std::string line(const std::string& what, std::int64_t bytes, std::int64_t of) {
  char text[160];
  const double saved = of > 0 ? 100 * (1 - static_cast<double>(bytes) / static_cast<double>(of)) : 0;
  std::snprintf(text, sizeof text, "  %-44s %10s  %5.1f %% saved\n", what.c_str(),
                format_bytes(static_cast<double>(bytes)).c_str(), saved);
  return text;
}

}  // namespace

Json memory_plan_json(const model::Graph& graph, const Settings& settings) {
  const model::MemoryPlan plan = model::offline_plan(graph);
  const int learners = settings.learners_of_process() / settings.request.gpus;
  const std::int64_t image_bytes = element_bytes(settings);
  const auto bytes = [&](std::int64_t elements) { return elements * settings.batch * image_bytes; };
  Json json = Json::object();
  json["learners"] = learners;
  json["batch"] = settings.batch;
  json["element_bytes"] = image_bytes;
  json["buffers"] = plan.buffers.size();
  json["unplanned_bytes"] = bytes(plan.unshared_elements);
  json["offline_bytes"] = bytes(plan.arena_elements);
  json["least_bytes"] = bytes(model::least_elements(plan));
  json["replicated_bytes"] = bytes(plan.arena_elements) * learners;
  const bool takes_turns = settings.request.device == "host";
  json["turns_bytes"] = takes_turns ? Json(bytes(plan.arena_elements) * passes_at_once(settings, learners)) : nullptr;
  json["optimizer_bytes"] = optimizer_bytes(settings, graph.parameter_count());
  json["pooled_is"] = takes_turns ? "computed: the host takes turns in whole arenas (turns_bytes)"
                                  : "computed: a captured pass has fixed addresses, so each learner has its own";
  json["pooled_bytes"] = model::pooled_bytes(graph, plan, learners, settings.batch, element_bytes(settings));
  return json;
}

std::string memory_plan_text(const model::Graph& graph, const Settings& settings) {
  const Json plan = memory_plan_json(graph, settings);
  const std::int64_t learners = plan.at("learners");
  const std::int64_t unplanned = plan.at("unplanned_bytes");
  std::string text = graph.name + ", batch " + plan.at("batch").dump() + ": outputs and their gradients, " +
                     plan.at("buffers").dump() + " buffers\n";
  text += line("one learner, every buffer by itself", unplanned, unplanned);
  text += line("one learner, offline plan", plan.at("offline_bytes"), unplanned);
  text += line("  (live at the fullest step)", plan.at("least_bytes"), unplanned);
  if (plan.at("optimizer_bytes") > 0) {
    const std::int64_t bytes = plan.at("optimizer_bytes");
    text += "beside them the state of --optimizer " + name_of(settings.rule) +
            ", of each replica: " + format_bytes(static_cast<double>(bytes)) + "\n";
  }
  if (learners == 1) return text;
  const std::string all = std::to_string(learners) + " learners, ";
  text += line(all + "every buffer by itself", unplanned * learners, unplanned * learners);
  text += line(all + "an offline plan each", plan.at("replicated_bytes"), unplanned * learners);
  if (!plan.at("turns_bytes").is_null()) {
    const std::int64_t gpus = settings.request.gpus;
    text += line("all of the host, taking turns", plan.at("turns_bytes"), unplanned * learners * gpus);
  }
  text += line(all + "shared pools (computed only)", plan.at("pooled_bytes"), unplanned * learners);
  return text;
}

}  // namespace lockstep::train
