// Nothing that ran is refused: published results whose split is given fit into their GPUs' memory.
#include <map>

#include "sim/quantity/task_memory.hpp"
#include "sim/validation/result_task.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

// Results that exceed the counted memory although they ran.
const std::map<std::string, std::string>& exceptions() {
  static const std::map<std::string, std::string> all{
      {"MLP-v0.7-bert-Google-gpu-v100-8-TF2.0-thr", "the system's description gives neither memory nor micro-batch"},
      {"TT-l31-8b-Full-A6000",
       "its optimizer frees each gradient in the backward pass and pages its state to the host"},
      {"L-3219", "the page's own peak, 150,032 MiB, exceeds the 143,771 MiB of an H200"},
      {"L-3220", "as L-3219"}};
  return all;
}

bool gives_split(const sim::Job& job) {
  return job.split.divides_replicas() || job.split.has("tensor") || job.split.has("pipeline") ||
         job.split.has("sharding") || job.split.task == sim::kAdapters || job.batch_per_gpu > 0;
}

// Returns "36.7 of 79.6 GiB" for a result that exceeds the memory, else an empty text.
std::string excess_of(const sim::Record& record, const std::vector<sim::Record>& given) {
  const sim::Record resolved = sim::resolve_target(record, catalogue());
  const sim::QuantityTask task = sim::task_of(resolved, given, catalogue());
  const std::optional<sim::GpuMemory> memory = sim::count_task_memory(task);
  return !memory || memory->fits() ? "" : sim::memory_text(*memory);
}

sim::Record read_one(const Json& record) {
  return records_from(Json::array({record}).dump()).at(0);
}

sim::Job closed(const Json& record) {
  return sim::resolve_target(read_one(record), catalogue());
}

bool fits(const Json& record) {
  return excess_of(read_one(record), {}).empty();
}

}  // namespace

TEST_CASE("published results with a given split fit into memory, except those named with a reason", "[suites]") {
  const std::vector<sim::Record> records = sim::records_of(committed_suites());
  const std::vector<sim::Record> given = sim::given_results(records, catalogue());
  std::size_t counted = 0, excepted = 0;
  for (const sim::Record* record : sim::targets_of(records)) {
    if (!gives_split(*record)) continue;
    ++counted;
    const std::string excess = excess_of(*record, given);
    if (excess.empty()) continue;
    INFO(record->id << ": " << excess);
    CHECK(exceptions().count(record->id) == 1);
    ++excepted;
  }
  CHECK(excepted == exceptions().size());
  CHECK(counted > 3000);
}

TEST_CASE("a split that fits only with recomputation is assumed to repeat the least that suffices") {
  Json record{{"id", "a"},
              {"metric", "throughput_per_gpu"},
              {"unit", "tokens/s/GPU"},
              {"software", "megatron"},
              {"model", "llama3_8b"},
              {"gpu", "h100-sxm"},
              {"gpus", 8},
              {"tp", 4},
              {"pp", 1},
              {"precision", "bf16"},
              {"sharding", "zero1"},
              {"seq", 8192},
              {"microbatch", 1}};
  CHECK_FALSE(closed(record).split.has("recompute"));
  record["microbatch"] = 8;
  const sim::Job job = closed(record);
  CHECK(job.split.values.recompute == sim::Recomputation::full);
  CHECK_THAT(job.why_assumed("split/recompute"), Contains("the least with which the split fits"));
  const int layers = job.split.values.recompute_layers;
  CHECK(layers > 0);
  CHECK(layers < 32);
  record["recompute"] = "full";
  record["recompute_layers"] = layers;
  CHECK(fits(record));
  record["recompute_layers"] = layers - 1;
  CHECK_FALSE(fits(record));
  // A given value stays, even if it does not fit.
  record.erase("recompute_layers");
  record["recompute"] = "none";
  CHECK(closed(record).split.values.recompute == sim::Recomputation::none);
  CHECK_FALSE(fits(record));
}

TEST_CASE("offloaded activations leave a GPU over the PCIe of its generation, or over NVLink-C2C") {
  const auto link = [](const char* gpu) {
    const Json record{{"id", "a"},
                      {"metric", "throughput_per_gpu"},
                      {"unit", "tokens/s/GPU"},
                      {"software", "nemo"},
                      {"model", "llama3_8b"},
                      {"gpu", gpu},
                      {"gpus", 4},
                      {"gpus_per_node", 4},
                      {"sharding", "zero3"},
                      {"microbatch", 1},
                      {"global_batch", 64},
                      {"precision", "bf16"},
                      {"seq", 8192},
                      {"offload_layers", 20}};
    const sim::QuantityTask task = sim::task_of(sim::resolve_target(read_one(record), catalogue()), {}, catalogue());
    INFO(task.unmapped);
    REQUIRE(task.target.size() == 1);
    return task.target.front().scenario.cluster.host_link_bytes_per_s();
  };
  CHECK(link("v100-sxm2-32") == 12e9);
  CHECK(link("a100-sxm4") == 24e9);
  CHECK(link("h100-sxm") == 50e9);
  CHECK(link("gb200") == 225e9);
}

}  // namespace lockstep::tests
