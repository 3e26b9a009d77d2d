// Memory of a GPU: counts by hand, laws, and activations as in `train --memory-plan`.
#include "sim/program/gpu_memory.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "engine/train/memory_report.hpp"
#include "sim/scenario/check.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

Scenario scenario_of(const std::string& model, Precision precision, Optimizer optimizer) {
  Scenario s;
  s.model = model::zoo_graph(model);
  s.compute.precision = precision;
  s.compute.optimizer = optimizer;
  s.cluster.gpu.memory_bytes = 80e9;
  return s;
}

double parameters_of(const Scenario& s) {
  return static_cast<double>(s.model.parameter_count());
}

double state_bytes(const GpuMemory& m) {
  return m.weights_bytes + m.gradients_bytes + m.master_weights_bytes + m.optimizer_state_bytes;
}

}  // namespace

TEST_CASE("Activations are to the byte what train --memory-plan says, for every network of the zoo") {
  train::Request request;
  request.batch = 8;
  for (const std::string& name : model::zoo_names()) {
    for (const bool is_half : {false, true}) {
      request.device = is_half ? "cuda" : "host";
      request.precision = is_half ? "fp16" : "fp32";
      const Json plan = train::memory_plan_json(model::zoo_graph(name), train::resolve(request));
      const Scenario s = scenario_of(name, is_half ? Precision::fp16 : Precision::fp32, Optimizer::momentum);
      INFO(name);
      CHECK(plan.at("offline_bytes").get<double>() == gpu_memory(s, 1, 8).activations_bytes);
    }
  }
}

TEST_CASE("Bytes per parameter by hand: with Adam in mixed precision 2 + 2 + 4 + 4 + 4 = 16") {
  const auto per_parameter = [](Precision precision, Optimizer optimizer) {
    const Scenario s = scenario_of("gpt3_6b7", precision, optimizer);
    return state_bytes(gpu_memory(s, 1, 1)) / parameters_of(s);
  };
  CHECK(per_parameter(Precision::mixed, Optimizer::adam) == 16);
  CHECK(per_parameter(Precision::mixed, Optimizer::momentum) == 12);
  CHECK(per_parameter(Precision::mixed, Optimizer::sgd) == 8);
  CHECK(per_parameter(Precision::fp32, Optimizer::adam) == 16);
  CHECK(per_parameter(Precision::fp32, Optimizer::lars) == 12);
  CHECK(per_parameter(Precision::tf32, Optimizer::sgd) == 8);
}

TEST_CASE("A narrow optimizer state narrows checkpoints and the state of learners as well") {
  Scenario s = scenario_of("gpt3_6b7", Precision::mixed, Optimizer::adam);
  const double parameters = parameters_of(s);
  CHECK(checkpoint_bytes(s) == (4 + 2 * 4) * parameters);
  s.compute.kept.state = model::StatePrecision::bf16;
  CHECK(checkpoint_bytes(s) == (4 + 2 * 2) * parameters);
  s.compute.kept.master = model::MasterWeights::none;
  CHECK(checkpoint_bytes(s) == (2 + 2 * 2) * parameters);

  Scenario learners = scenario_of("resnet50", Precision::mixed, Optimizer::momentum);
  learners.algorithm = Algorithm::sma;
  const double in_single = gpu_memory(learners, 1, 16).optimizer_state_bytes;
  learners.compute.kept.state = model::StatePrecision::bf16;
  CHECK(in_single == 4 * parameters_of(learners));
  CHECK(gpu_memory(learners, 1, 16).optimizer_state_bytes == in_single / 2);
  learners.compute.kept.master = model::MasterWeights::none;
  CHECK_THAT(find_problem(learners)->wrong, Contains("single precision"));
}

TEST_CASE("A loss in single precision has 8 bytes of each score more where scores are in half precision") {
  Scenario s = scenario_of(model::fused_attention_name("gpt2"), Precision::mixed, Optimizer::adam);
  const double scores = 1024. * 50257;
  const GpuMemory fused = gpu_memory(s, 1, 16);
  s.compute.loss_bytes_per_logit = 48;
  const GpuMemory single = gpu_memory(s, 1, 16);
  CHECK(single.activations_bytes == fused.activations_bytes + 8 * 16 * scores);
  CHECK(single.total_bytes() - single.reserved_bytes == Approx(17.2e9).epsilon(0.1));  // PyTorch's peak on an H100
  CHECK(single.largest_batch() < fused.largest_batch());
  s.compute.precision = Precision::fp32;
  const double of_floats = gpu_memory(s, 1, 16).total_bytes();
  s.compute.loss_bytes_per_logit = 0;
  CHECK(gpu_memory(s, 1, 16).total_bytes() == of_floats);
}

TEST_CASE("A GELU in steps keeps 12 bytes of each of its elements more, one kernel a pass none") {
  Scenario s = scenario_of(model::fused_attention_name("gpt2"), Precision::mixed, Optimizer::adam);
  const double of_kernel = gpu_memory(s, 1, 3).activations_bytes;
  s.compute.gelu_bytes = 170;
  CHECK(gpu_memory(s, 1, 3).activations_bytes - of_kernel == Approx(12.0 * 3 * 12 * 1024 * 4 * 768));
}

TEST_CASE("A softmax in single precision keeps six bytes of a score, and a mask's one behind a dropout") {
  Scenario s = scenario_of("gpt2", Precision::mixed, Optimizer::adam);
  const double in_half = gpu_memory(s, 1, 3).activations_bytes, scores = 3. * 12 * 12 * 1024 * 1024;
  s.compute.softmax_bytes = 4;
  CHECK(gpu_memory(s, 1, 3).activations_bytes - in_half == Approx((6 + 1 - 4) * scores));
  for (model::Layer& layer : s.model.layers.edit()) {
    if (layer.kind != model::LayerKind::attention) continue;
    layer.attention.dropout = false;
    layer.kept_elements /= 2;
  }
  const double with = gpu_memory(s, 1, 3).activations_bytes;
  s.compute.softmax_bytes = 0;
  CHECK(with - gpu_memory(s, 1, 3).activations_bytes == Approx((6 - 2) * scores));
  s.model = model::zoo_graph(model::fused_attention_name("gpt2"));
  const double fused = gpu_memory(s, 1, 3).activations_bytes;
  s.compute.softmax_bytes = 4;
  CHECK(gpu_memory(s, 1, 3).activations_bytes == fused);
}

TEST_CASE("6.7 billion parameters: Adam's second moment is 4 bytes of each more than momentum") {
  const Scenario adam = scenario_of("gpt3_6b7", Precision::mixed, Optimizer::adam);
  const Scenario momentum = scenario_of("gpt3_6b7", Precision::mixed, Optimizer::momentum);
  const double more = gpu_memory(adam, 8, 1).total_bytes() - gpu_memory(momentum, 8, 1).total_bytes();
  CHECK(more == 4 * parameters_of(adam));
  CHECK(more == Approx(26.6e9).epsilon(0.01));
}

TEST_CASE("Sharding divides the state by the number of GPUs, and holds the units in flight") {
  Scenario s = scenario_of("gpt3_1b3", Precision::mixed, Optimizer::adam);
  const GpuMemory whole = gpu_memory(s, 64, 4);
  s.algorithm = Algorithm::sharded;
  s.sharding.unit_bytes = 1;
  const GpuMemory of_8 = gpu_memory(s, 8, 4), of_64 = gpu_memory(s, 64, 4);
  CHECK(state_bytes(of_8) == Approx(state_bytes(whole) / 8).epsilon(1e-12));
  CHECK(state_bytes(of_64) == Approx(state_bytes(whole) / 64).epsilon(1e-12));
  CHECK(of_64.activations_bytes == whole.activations_bytes);
  // They are the table of words, 2048 x 50257 in half precision, and that of the 2048 positions; weights and gradients.
  CHECK(of_64.communication_bytes == of_8.communication_bytes);
  CHECK(of_64.communication_bytes == 2 * 2 * 2048.0 * (50257 + 2048));
  s.sharding.gathers_again = false;
  CHECK(gpu_memory(s, 64, 4).weights_bytes == 2 * parameters_of(s));
}

TEST_CASE("ZeRO-1 keeps all gradients, and 8-bit moments take a quarter and the scales of their blocks") {
  Scenario s = scenario_of("gpt3_1b3", Precision::mixed, Optimizer::adam);
  s.algorithm = Algorithm::sharded;
  s.sharding.gathers_again = false;
  const GpuMemory zero2 = gpu_memory(s, 64, 4);
  s.sharding.keeps_gradients = true;
  const GpuMemory zero1 = gpu_memory(s, 64, 4);
  CHECK(zero1.gradients_bytes == 2 * parameters_of(s));
  CHECK(zero1.total_bytes() - zero2.total_bytes() == Approx(2 * parameters_of(s) * 63 / 64));
  s.compute.kept = {model::StatePrecision::eight_bits, model::MasterWeights::fp16};
  const GpuMemory narrow = gpu_memory(s, 64, 4);
  CHECK(narrow.optimizer_state_bytes == Approx(2 * (1 + 1.0 / 64) * parameters_of(s) / 64));
  CHECK(narrow.master_weights_bytes == Approx(2 * parameters_of(s) / 64));
}

TEST_CASE("What updates on servers keeps no state of the optimizer") {
  Scenario s = scenario_of("resnet50", Precision::mixed, Optimizer::adam);
  s.algorithm = Algorithm::async_sgd;
  CHECK(state_bytes(gpu_memory(s, 8, 4)) == 4 * parameters_of(s));
  s.algorithm = Algorithm::parameter_server;
  s.parameter_server = ParameterServerSpec();
  CHECK(state_bytes(gpu_memory(s, 8, 4)) == 4 * parameters_of(s));
  s.parameter_server->scheme = ServerScheme::best;  // factors are applied by every worker
  CHECK(state_bytes(gpu_memory(s, 8, 4)) == 16 * parameters_of(s));
  s.algorithm = Algorithm::async_easgd;
  CHECK(state_bytes(gpu_memory(s, 8, 4)) == 16 * parameters_of(s));
}

TEST_CASE("Buffers of gradients: DDP's copy of all, a threshold's largest, none where tensors travel as they are") {
  Scenario s = scenario_of("resnet50", Precision::fp32, Optimizer::momentum);
  CHECK(gpu_memory(s, 8, 4).communication_bytes == 0);
  s.communication.wire = Wire::fp16;
  CHECK(gpu_memory(s, 8, 4).communication_bytes == 2 * 2'359'296);  // the largest tensor, a 3x3 convolution's
  s.communication.fusion_threshold_bytes = 25 << 20;
  const double fused = gpu_memory(s, 8, 4).communication_bytes;
  CHECK(fused >= 25 << 20);
  CHECK(fused <= (25 << 20) + 2 * 2'359'296);
  s.communication.fuses_as_ddp = true;
  CHECK(gpu_memory(s, 8, 4).communication_bytes == 2 * parameters_of(s));
  CHECK(gpu_memory(s, 1, 4).communication_bytes == 0);
}

TEST_CASE("Learners are Crossbow's: three models each and three of the GPU, and an arena each") {
  Scenario s = scenario_of("resnet32_crossbow", Precision::fp32, Optimizer::sgd);
  s.algorithm = Algorithm::sma;
  s.learners.per_gpu = 4;
  s.learners.workspace_bytes = 64e6;
  s.cluster.gpu.reserved_bytes = 1e9;
  const GpuMemory m = gpu_memory(s, 8, 16);
  const double model = 4 * parameters_of(s);
  CHECK(m.weights_bytes + m.gradients_bytes + m.averages_bytes == Approx((4 * 3 + 3) * model).epsilon(1e-12));
  CHECK(m.activations_bytes == 4 * 16 * 4 * 633'876.0);
  CHECK(m.workspace_bytes == 4 * 64e6);
  CHECK(m.optimizer_state_bytes == 0);
  s.cluster.gpu.memory_bytes = m.total_bytes();
  CHECK(gpu_memory(s, 8, 16).fits());
  s.learners.per_gpu = 5;
  CHECK_FALSE(gpu_memory(s, 8, 16).fits());
}

TEST_CASE("The largest batch fits and one more does not") {
  for (const char* name : {"resnet50", "vgg16", "bert_large", "gpt2_fused"}) {
    for (const double capacity : {12e9, 16e9, 80e9}) {
      Scenario s = scenario_of(name, Precision::mixed, Optimizer::adam);
      s.cluster.gpu.memory_bytes = capacity;
      s.input.bytes_per_sample = 1e5;
      const int largest = gpu_memory(s, 8, 1).largest_batch();
      INFO(name << " in " << capacity << ": " << largest);
      REQUIRE(largest > 0);
      CHECK(gpu_memory(s, 8, 65536).largest_batch() == largest);
      CHECK(gpu_memory(s, 8, largest).fits());
      CHECK_FALSE(gpu_memory(s, 8, largest + 1).fits());
    }
  }
}

TEST_CASE("Memory is told in the unit of the GPU's") {
  CHECK(memory_text(36.7e9, 80e9) == "34.2 of 74.5 GiB");
  CHECK(memory_text(2.5e9, 11.3e9) == "2.3 of 10.5 GiB");
  CHECK(memory_text(26131e9, 80e9) == "24336 of 74.5 GiB");
  CHECK(memory_text(5e6, 16e6) == "4.8 of 15.3 MiB");
  Scenario s = scenario_of("resnet50", Precision::fp32, Optimizer::momentum);
  const std::vector<std::pair<int, GpuMemory>> points{
      {1, gpu_memory(s, 1, 64)}, {8, gpu_memory(s, 8, 64)}, {16, gpu_memory(s, 16, 32)}};
  CHECK(memory_line(points) == "Memory per GPU: 6.4 of 74.5 GiB at 1 to 8 GPUs, 4.0 of 74.5 GiB at 16 GPUs.\n");
  CHECK(memory_line({points.front()}) == "Memory per GPU: 6.4 of 74.5 GiB.\n");
}

TEST_CASE("What does not fit is refused with the excess, the largest part and what would fit") {
  Scenario s = scenario_of("resnet50", Precision::fp32, Optimizer::momentum);
  s.cluster.gpu.memory_bytes = 16e9;
  CHECK_NOTHROW(check_memory(s, 8, 64, "f"));
  const std::string error = error_of([&] { check_memory(s, 8, 65536, "f: /batch_per_gpu"); });
  const int largest = gpu_memory(s, 8, 1).largest_batch();
  CHECK(error ==
        "f: /batch_per_gpu: memory: batch 65536 needs 4963 of 14.9 GiB a GPU, 4948 GiB too much, the largest part "
        "activations of 4962 GiB; allowed: a batch of at most " +
            std::to_string(largest) + ", or --ignore-memory");
  s.ignores_memory = true;
  CHECK_NOTHROW(check_memory(s, 8, 65536, "f"));
  Scenario large = scenario_of("gpt3_13b", Precision::mixed, Optimizer::adam);
  CHECK_THAT(why_not_in_memory(large, 64, gpu_memory(large, 64, 1)), Contains("(no batch fits)"));
}

TEST_CASE("what fits by less than the error of memory is said to barely fit") {
  Scenario s = scenario_of("resnet50", Precision::fp32, Optimizer::momentum);
  const double needed = gpu_memory(s, 8, 64).total_bytes();
  for (const double spare : {-0.01, 0.01, 0.9 * sim::kMemoryError, 1.1 * sim::kMemoryError}) {
    s.cluster.gpu.memory_bytes = needed * (1 + spare);
    const GpuMemory memory = gpu_memory(s, 8, 64);
    const bool barely_fits = spare > 0 && spare < sim::kMemoryError;
    CHECK(memory.barely_fits() == barely_fits);
    CHECK(sim::barely_fits_text(memory).empty() != barely_fits);
    const Json json = memory_json(memory);
    CHECK(json["barely_fits"] == barely_fits);
    CHECK(json["spare_bytes"].get<double>() == Approx(needed * spare).epsilon(1e-9));
  }
  s.cluster.gpu.memory_bytes = 80e9;
  const double left = 80e9 - needed;
  s.cluster.gpu.reserved_bytes += left - 0.1 * (1 << 30);
  CHECK(sim::barely_fits_text(gpu_memory(s, 8, 64)) ==
        "It fits with 0.1 GiB to spare of 74.5; the error of predicted memory is 10 %, so it may not fit.");
}

TEST_CASE("sharding and more GPUs are advised where they fit, and only there") {
  int advised = 0;
  for (const char* name : {"flux1_dev", "wan2_1_1_3b", "wan2_1_14b", "gpt3_13b", "sdxl"}) {
    for (const int gpus : {2, 8, 512}) {
      INFO(name << " on " << gpus);
      Scenario s = scenario_of(name, Precision::mixed, Optimizer::adam);
      s.cluster.gpu.memory_bytes = 80e9;
      const GpuMemory memory = gpu_memory(s, gpus, 1);
      if (memory.largest_batch() > 0) continue;
      const std::string error = why_not_in_memory(s, gpus, memory);
      s.algorithm = Algorithm::sharded;
      const GpuMemory sharded = gpu_memory(s, gpus, 1);
      const bool is_advised = error.find("the algorithm sharded") != std::string::npos;
      if (is_advised) CHECK(sharded.total_bytes() <= sharded.capacity_bytes);
      if (!is_advised) CHECK(sharded.total_bytes() > 0.97 * sharded.capacity_bytes);
      advised += is_advised ? 1 : 0;
      const std::string too_much = why_not_in_memory(s, gpus, sharded);
      if (too_much.find("more GPUs") != std::string::npos)
        CHECK(why_not_in_memory(s, 65536, gpu_memory(s, 65536, 1)).empty());
    }
  }
  CHECK(advised > 1);
}

}  // namespace lockstep::sim
