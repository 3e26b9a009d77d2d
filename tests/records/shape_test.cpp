// Transformers that a record describes by numbers, and rates that it counts in FLOP.
#include "sim/job/shape_model.hpp"

#include <algorithm>

#include "engine/model/zoo/zoo.hpp"
#include "sim/validation/predict.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {

TEST_CASE("a GPT by its shape has 12 L h^2 parameters, its table and what norms and biases add") {
  sim::ShapeSpec shape;
  shape.layers = 24;
  shape.hidden = 2304;
  shape.heads = 24;
  shape.sequence = 2048;
  REQUIRE(sim::says_shape(shape));
  const auto own = sim::model_of_shape(shape, "GPT 1.7B", *catalogue().own_models);
  REQUIRE(own != nullptr);
  // Narayanan et al. 2021, equation 2, give 12 L h^2 (1 + 13 / (12 h) + (V + s) / (12 L h)).
  const double h = 2304, layers = 24, words = 51200, tokens = 2048;
  const double parameters = 12 * layers * h * h * (1 + 13 / (12 * h) + (words + tokens) / (12 * layers * h));
  CHECK(static_cast<double>(own->graph.parameter_count()) == Approx(parameters).epsilon(1e-4));
  CHECK(own->fused->parameter_count() == own->graph.parameter_count());
  shape.heads = 23;
  CHECK_FALSE(sim::says_shape(shape));
}

TEST_CASE("another length of sequence is another model of the same parameters") {
  const sim::ModelEntry& entry = *catalogue().models.named("llama3_8b");
  sim::OwnModels& models = *catalogue().own_models;
  const auto own = sim::find_with_sequence(entry, 2048, models);
  REQUIRE(own != nullptr);
  CHECK(sim::find_with_sequence(entry, 2048, models) == own);
  sim::OwnModels others;
  CHECK(sim::find_with_sequence(entry, 2048, others) != own);
  CHECK(own->entry.id == "llama3_8b@2048");
  CHECK(own->entry.tokens == 2048);
  CHECK(own->graph.parameter_count() == model::zoo_graph("llama3_8b").parameter_count());
  CHECK(own->graph.macs() < model::zoo_graph("llama3_8b").macs() / 4);
  CHECK(sim::find_with_sequence(*catalogue().models.named("gpt2"), 4096, models) == nullptr);  // 1024 learned positions
}

TEST_CASE("operations per second are samples per second, counted as sources do") {
  const auto of = [](const std::string& metric, const std::string& unit, const std::string& also = "") {
    const std::string job =
        R"([{"id": "r", "software": "pytorch", "model": "GPT", "layers": 24, "hidden": 2304, "heads": 24,
                                 "seq": 2048, "vocab": 51200, "gpu": "A100", "gpus": 1, "batch": 16, "precision": "mixed",)" +
        also + R"("metric": ")" + metric + R"(", "value": 1, "unit": ")" + unit + R"("}])";
    const auto records = records_from(job);
    const auto predictions = sim::predict_records(sim::targets_of(records), records, catalogue(), 1);
    INFO(metric << ": " << predictions.front().task.unmapped);
    REQUIRE(predictions.front().is_mapped());
    return predictions.front().predicted;
  };
  const double samples_per_s = of("throughput", "samples/s");
  // Narayanan et al. 2021, appendix: 96 B s L h^2 (1 + s/(6h) + V/(16 L h)) with recomputation, 3/4 of it without;
  // nothing of the vocabulary is computed again.
  const double s = 2048, l = 24, h = 2304, v = 51200;
  const double flop = 72 * s * l * h * h * (1 + s / (6 * h)) + 6 * s * h * v;
  CHECK(of("model_flops_per_gpu", "TFLOP/s/GPU") == Approx(samples_per_s * flop * 1e-12).epsilon(2e-3));
  CHECK(of("achieved_flops_per_gpu", "TFLOP/s/GPU") == Approx(samples_per_s * flop * 1e-12).epsilon(2e-3));
  CHECK(of("mfu", "%") == Approx(100 * samples_per_s * flop / 312e12).epsilon(2e-3));
  CHECK(of("throughput_per_gpu", "tokens/s/GPU") == Approx(samples_per_s * s));
  // Without what a causal mask hides: of the scores and the sums over values, 12 s^2 L h with both passes, half.
  const std::string causal = R"("causal_flops": true, )";
  CHECK(of("model_flops_per_gpu", "TFLOP/s/GPU", causal) ==
        Approx(samples_per_s * (flop - 6 * s * s * l * h) * 1e-12).epsilon(2e-3));
  CHECK(of("throughput", "samples/s", causal) == samples_per_s);
}

TEST_CASE("fused attention reaches less of a Hopper's peak by kernels of its predecessor") {
  const auto attention = [](const std::string& software, const std::string& gpu) {
    const auto records = records_from(R"([{"id": "r", "software": ")" + software + R"(", "gpu": ")" + gpu +
                                      R"(", "model": "llama3_8b", "gpus": 8, "gpus_per_node": 8, "sharding": "zero3",
                                      "batch": 1, "precision": "bf16", "metric": "throughput", "value": 1,
                                      "unit": "samples/s"}])");
    const auto predictions = sim::predict_records(sim::targets_of(records), records, catalogue(), 1);
    INFO(predictions.front().task.unmapped);
    REQUIRE(predictions.front().is_mapped());
    return predictions.front().task.target.front().scenario.compute.attention_efficiency;
  };
  CHECK(attention("pytorch-fsdp", "H100") < attention("pytorch-fsdp", "A100"));
  CHECK(attention("nemo", "H100") > attention("pytorch-fsdp", "H100"));
  CHECK(attention("nemo", "A100") == attention("pytorch-fsdp", "A100"));
}

TEST_CASE(
    "a replica whose weights and gradients no GPU holds is refused; a state that none holds is said to be divided") {
  const auto mapped = [](const std::string& model, const std::string& also) {
    const auto records =
        records_from(R"([{"id": "r", "software": "megatron", "gpu": "A100", "gpus": 64, "gpus_per_node": 8,
                                      "model": ")" +
                     model + R"(", "batch": 1, "global_batch": 64, "precision": "bf16", )" + also +
                     R"("metric": "step_time", "value": 1, "unit": "s"}])");
    return sim::predict_records(sim::targets_of(records), records, catalogue(), 1).front().task;
  };
  const auto unmapped = [&](const std::string& model, const std::string& also) { return mapped(model, also).unmapped; };
  const auto is_divided = [&](const std::string& model) {
    const auto assumptions = mapped(model, "").assumptions;
    return std::any_of(assumptions.begin(), assumptions.end(),
                       [](const auto& one) { return one.pointer == "optimizer state"; });
  };
  // 4 bytes of 175 billion parameters; an A100 has 80 GB.
  CHECK_THAT(unmapped("gpt3_175b", ""),
             Contains("698 GB") && Contains("85.5 GB") && Contains("needed: tp, pp or sharding"));
  CHECK(unmapped("gpt3_175b", R"("tp": 8, "pp": 8, )").empty());
  CHECK(unmapped("gpt3_175b", R"("sharding": "zero3", )").empty());
  CHECK(unmapped("llama3_8b", "").empty());
  CHECK(unmapped("gpt2", "").empty());
  CHECK(is_divided("llama3_8b"));  // 16 bytes of 8 billion
  CHECK_FALSE(is_divided("gpt2"));
}

}  // namespace lockstep::tests
