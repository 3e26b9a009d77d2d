// Records with keys as publications write them: names with additional text, racks of NVLink, and facts that follow from
// the software.
#include <fstream>
#include <map>
#include <set>

#include "sim/cost/training_kernels.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job/hub_name.hpp"
#include "sim/job/shape_model.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

std::string id_of(const std::string& text) {
  const sim::GpuRead read = sim::read_gpu_name(catalogue().gpus, text);
  return read.entry == nullptr ? "" : read.entry->id;
}

struct Said {
  double predicted;
  std::vector<Assumption> assumptions;
  std::string unmapped;

  std::string of(const std::string& key) const {
    for (const Assumption& a : assumptions)
      if (a.pointer == key && a.kind == "assumed")
        return a.value.is_string() ? a.value.get<std::string>() : a.value.dump();
    return "";
  }
};

Said of_record(Json record, const Json& changes = Json::object()) {
  record.update(changes);
  record.emplace("id", "a");
  const auto records = records_from(Json::array({record}).dump());
  const sim::Prediction p = predict(records).at(0);
  return {p.predicted, p.task.assumptions, p.task.unmapped};
}

// A rack's GPUs as vendors describe them: trays of four, each with four ports.
const Json kRack{{"metric", "throughput_per_gpu"},
                 {"unit", "tokens/s/GPU"},
                 {"software", "nemo"},
                 {"model", "Qwen3_235B_a22B"},
                 {"gpu", "GB200-NVL72"},
                 {"gpus", 64},
                 {"gpus_per_node", 4},
                 {"network", "NVL72, 4x InfiniBand NDR per 4 GPUs"},
                 {"seq", 4096},
                 {"tp", 2},
                 {"pp", 1},
                 {"dp", 32},
                 {"ep", 64},
                 {"microbatch", 1},
                 {"global_batch", 1024},
                 {"sharding", "zero1"},
                 {"precision", "fp8"}};
const Json kBert{{"metric", "throughput"},
                 {"unit", "samples/s"},
                 {"software", "mlperf"},
                 {"model", "BERT-large"},
                 {"gpu", "H100-SXM5-80GB"},
                 {"gpus", 8},
                 {"gpus_per_node", 8},
                 {"network", "8x InfiniBand NDR"},
                 {"seq", 512},
                 {"microbatch", 48},
                 {"global_batch", 384}};
const Json kBloom{{"metric", "step_time"},
                  {"unit", "s"},
                  {"software", "megatron-deepspeed"},
                  {"model", "GPT 104B"},
                  {"params", 104e9},
                  {"layers", 64},
                  {"hidden", 11600},
                  {"heads", 80},
                  {"vocab", 250880},
                  {"gpu", "A100-80GB-SXM"},
                  {"gpus", 64},
                  {"gpus_per_node", 8},
                  {"network", "4x Omni-Path"},
                  {"seq", 2048},
                  {"tp", 4},
                  {"pp", 8},
                  {"dp", 2},
                  {"microbatch", 1},
                  {"global_batch", 128},
                  {"precision", "fp16"}};

}  // namespace

TEST_CASE("a model by its name on the HuggingFace hub is the catalogue's, at the given length") {
  for (const auto& [name, id] :
       std::vector<std::pair<std::string, std::string>>{{"meta-llama/Llama-3.1-8B", "llama3_1_8b"},
                                                        {"meta-llama/Llama-3.1-8B-Instruct@4096", "llama3_1_8b@4096"},
                                                        {"lmsys/vicuna-13b-v1.5", "llama2_13b"},
                                                        {"openai/clip-vit-large-patch14-336", "clip_vit_l14_336"},
                                                        {"Qwen/Qwen3-235B-A22B", "qwen3_235b_a22b"},
                                                        {"llama3_1_8b", "llama3_1_8b"},
                                                        {"acme/unknown-7b", "acme/unknown-7b"}}) {
    INFO(name);
    sim::Job job;
    job.model.stated = name;
    sim::read_hub_name(job, catalogue());
    CHECK(job.model.stated == id);
  }
}

TEST_CASE("a GPU's name is read with what publications put beside it") {
  CHECK(id_of("Blackwell GPU (B200-SXM-180GB)") == "b200");
  CHECK(id_of("A100-SXM (transcription says 40GB)") == "a100-sxm4");
  CHECK(id_of("H100-SXM5-80GB") == "h100-sxm");
  CHECK(id_of("GB200-NVL72") == "gb200");
  CHECK(id_of("GB300 NVL36") == "gb300");
  CHECK(id_of("H100 NVL") == "h100-nvl");  // a PCIe board, which says no number
  CHECK(id_of("B200 (H100)").empty());     // two
  CHECK(id_of("Radeon (RX 7900)").empty());
  CHECK(id_of("()").empty());
  CHECK(id_of(")(").empty());
  CHECK(sim::read_gpu_name(catalogue().gpus, "GB200-NVL72").nvl == 72);
  for (const auto& [text, id] : std::map<std::string, std::string>{{"HGX B300-SXM-288GB", "b300"},
                                                                   {"H800-SXM-80GB", "h800-sxm"},
                                                                   {"NVIDIA L40S-48GB", "l40s"},
                                                                   {"DGX A100 80GB", "a100-sxm4"}}) {
    INFO(text);
    REQUIRE(sim::read_gpu_name(catalogue().gpus, text).entry != nullptr);
    CHECK(sim::read_gpu_name(catalogue().gpus, text).entry->id == id);
  }
  // Neither an L40S with a socket, nor an H100 of another memory is known.
  CHECK(sim::read_gpu_name(catalogue().gpus, "L40S SXM4").entry == nullptr);
  CHECK(sim::read_gpu_name(catalogue().gpus, "H100-SXM5-94GB").entry == nullptr);
  CHECK(sim::read_gpu_name(catalogue().gpus, "GB200-NVL4").nvl == 4);
  CHECK(sim::read_gpu_name(catalogue().gpus, "H100 NVL").nvl == 0);
}

TEST_CASE("a network's text may begin with what NVLink joins") {
  const auto cut = [](std::string text) { return std::pair<int, std::string>(sim::cut_nvl(text), text); };
  CHECK(cut("NVL72, 4x NDR") == std::pair<int, std::string>(72, "4x NDR"));
  CHECK(cut("nvl36") == std::pair<int, std::string>(36, ""));
  CHECK(cut("8x NDR") == std::pair<int, std::string>(0, "8x NDR"));
  CHECK(cut("NVLink") == std::pair<int, std::string>(0, "NVLink"));
  CHECK(cut("NVL72x") == std::pair<int, std::string>(0, "NVL72x"));
  CHECK(cut("NVL123456789, NDR").first == 0);
}

TEST_CASE("nodes are joined as far as a domain goes and jobs divide") {
  for (const int domain : {0, 1, 4, 36, 72})
    for (const int stated : {1, 2, 4, 8})
      for (const int gpus : {0, 4, 8, 64, 72, 96, 100, 256, 576}) {
        INFO(domain << " " << stated << " " << gpus);
        const sim::JoinedNode node = sim::joined_node(stated, domain, {gpus});
        CHECK(node.gpus == stated * node.trays);
        CHECK((node.trays == 1 || node.gpus <= domain));
        CHECK((node.trays == 1 || gpus <= node.gpus || gpus % node.gpus == 0));
      }
  CHECK(sim::joined_node(4, 72, {256}).gpus == 64);
  CHECK(sim::joined_node(4, 72, {576}).gpus == 72);
  CHECK(sim::joined_node(4, 72, {96, 128}).gpus == 32);
  CHECK(sim::joined_node(4, 72, {8, 64, 256}).gpus == 64);
}

TEST_CASE("trays of a rack are one node, which is said") {
  const Said rack = of_record(kRack);
  REQUIRE(rack.unmapped.empty());
  CHECK(rack.of("gpus_per_node") == "64");
  // The same as a record that gives it directly, whether GPU or network says so.
  CHECK(of_record(kRack, {{"gpus_per_node", 64}, {"network", "64x NDR"}}).predicted == rack.predicted);
  CHECK(of_record(kRack, {{"gpu", "GB200"}}).predicted == rack.predicted);
  CHECK(of_record(kRack, {{"network", "4x NDR"}}).predicted == rack.predicted);
  CHECK(of_record(kRack, {{"gpu", "GB200"}, {"network", "4x NDR"}}).predicted == rack.predicted);
  // Four GPUs whose link is given form a node. Experts then send over the network.
  const Said node = of_record(kRack, {{"gpu", "GB200"}, {"network", "4x NDR"}, {"link", "nvlink5"}});
  CHECK(node.of("gpus_per_node").empty());
  CHECK(node.predicted < 0.5 * rack.predicted);
  // Ports are the rack's: over several of them it is as if each were said to have its own.
  const Said racks = of_record(kRack, {{"gpus", 256}, {"dp", 128}, {"global_batch", 4096}});
  CHECK(racks.predicted ==
        of_record(kRack,
                  {{"gpus", 256}, {"dp", 128}, {"global_batch", 4096}, {"gpus_per_node", 64}, {"network", "64x NDR"}})
            .predicted);
}

TEST_CASE("MLPerf's transformers train in eight bits and unpadded unless a record says otherwise") {
  const Said open = of_record(kBert);
  REQUIRE(open.unmapped.empty());
  CHECK(open.of("precision") == "fp8");
  CHECK(open.of("tokens of a sequence") == "256");
  CHECK(open.predicted == of_record(kBert, {{"precision", "fp8"}, {"seq", 256}}).predicted);
  CHECK(open.predicted > 1.1 * of_record(kBert, {{"precision", "bf16"}}).predicted);
  CHECK(of_record(kBert, {{"seq", 128}}).of("tokens of a sequence").empty());  // stated, and not the most
  // A100 has no eight bits, other software pads samples, and a GPT's samples have full length.
  CHECK(of_record(kBert, {{"gpu", "A100-80GB-SXM"}}).of("precision") == "mixed");
  CHECK(of_record(kBert, {{"software", "pytorch"}}).of("tokens of a sequence").empty());
  CHECK(of_record(kBert, {{"software", "pytorch"}}).of("precision") == "mixed");
  CHECK(of_record(kBert, {{"model", "GPT-3 13B"}, {"seq", 2048}, {"microbatch", 1}, {"global_batch", 8}, {"tp", 8}})
            .of("tokens of a sequence")
            .empty());
}

TEST_CASE("what software computes again is said where a record leaves it open") {
  const Said open = of_record(kBloom);
  REQUIRE(open.unmapped.empty());
  CHECK(open.of("recompute") == "full");
  CHECK(open.predicted == of_record(kBloom, {{"recompute", "full"}}).predicted);
  CHECK(open.predicted > 1.15 * of_record(kBloom, {{"recompute", "none"}}).predicted);
  const Json titan{{"software", "torchtitan"},
                   {"recompute", "selective"},
                   {"tp", 1},
                   {"pp", 1},
                   {"dp", 64},
                   {"sharding", "zero3"},
                   {"model", "llama3-8b"},
                   {"params", 8e9},
                   {"layers", 32},
                   {"hidden", 4096},
                   {"heads", 32}};
  CHECK(of_record(kBloom, titan).of("recompute") == "alternate-matrices");
}

// Records of suites give, by hand, facts that their sources do not give. Without these, the program must assume the
// same, so that validate reports the errors for a stranger's records.
TEST_CASE("what suites assume by hand the program assumes by itself") {
  std::ifstream in(LOCKSTEP_SOURCE_DIR "/scenarios/published/suites/transformers-at-scale.json");
  const Json suite = Json::parse(in);
  const std::set<std::string> by_itself{"precision", "seq", "recompute", "sequence_parallel"};
  std::map<std::string, int> of_source;
  for (const Json& record : suite.at("records")) {
    if (!record.contains("assumed") || !record.contains("software")) continue;
    const std::string software = record.at("software"), metric = record.at("metric");
    if (software != "mlperf" && software != "megatron-deepspeed") continue;
    if (metric != "throughput" && metric != "step_time") continue;
    // For these boards the suite's default is half precision, because vendors other than NVIDIA submitted them.
    const std::set<std::string> others{"l4", "l40", "rtx4090"};
    if (others.count(record.at("gpu").get<std::string>()) > 0) continue;
    Json stranger = record;
    bool is_all = true;
    for (const auto& [key, why] : record.at("assumed").items()) {
      is_all = is_all && by_itself.count(key) > 0;
      stranger.erase(key);
    }
    stranger.erase("assumed");
    if (!is_all || ++of_source[record.at("source")] > 2) continue;
    if (record.at("assumed").contains("seq")) stranger["seq"] = 512;
    INFO(record.at("id"));
    const Said hand = of_record(record), itself = of_record(stranger);
    CHECK(itself.unmapped == hand.unmapped);
    CHECK(itself.predicted == Approx(hand.predicted).epsilon(1e-9));
  }
  CHECK(of_source.size() >= 8);
}

TEST_CASE("numbers of a GPT make one where its parameters are those that are stated") {
  CHECK(of_record(kBloom).of("model") == "GPT 104B");
  const Said other = of_record(kBloom, {{"model", "Own 400B"}, {"params", 400e9}});
  CHECK_THAT(other.unmapped, Contains("a GPT of the stated layers, hidden and heads has"));
}

TEST_CASE("parameters and hidden features say the layers of a GPT") {
  // GPT-3 175B: 96 layers of 96 heads, whose 12 h^2 are 174 of 175 billion parameters.
  sim::ShapeSpec shape;
  shape.parameters = 175e9;
  shape.hidden = 12288;
  CHECK(sim::complete_shape(shape, 8));
  CHECK(shape.layers == 96);
  CHECK(shape.heads == 96);
  sim::ShapeSpec odd;  // BLOOM's search: 14400 features, 64 of them to a head of 4 tensor ranks would be 225
  odd.parameters = 200e9;
  odd.hidden = 14400;
  odd.vocabulary = 250880;
  CHECK(sim::complete_shape(odd, 8));
  CHECK(odd.layers == 79);  // (200e9 - 250880 x 14400) / (12 x 14400^2)
  CHECK(odd.heads % 8 == 0);
  CHECK(odd.hidden % odd.heads == 0);
  sim::ShapeSpec small;
  small.parameters = 1e6;
  small.hidden = 12288;
  CHECK_FALSE(sim::complete_shape(small, 1));  // its table of words alone has more
  odd.layers = odd.heads = 0;
  CHECK_FALSE(sim::complete_shape(odd, 7));  // 7 ranks divide no heads of 14400 features
  CHECK(odd.layers == 0);
  const Said open = of_record(kBloom, {{"layers", nullptr}, {"heads", nullptr}});
  CHECK(open.of("layers") == "63");  // (104e9 - 250880 x 11600) / (12 x 11600^2) is 62.6
  CHECK(open.predicted == Approx(of_record(kBloom).predicted).epsilon(0.05));
}

TEST_CASE("a network cut down to a node is read by its name") {
  const Json cut{
      {"model", "llama3-70b (12 layers)"}, {"layers", 12}, {"hidden", 8192}, {"heads", 64}, {"params", nullptr}};
  Json by_key = cut;
  by_key["model"] = "llama3_70b";
  CHECK(of_record(kBloom, cut).predicted == of_record(kBloom, by_key).predicted);
  CHECK_FALSE(of_record(kBloom, {{"model", "llama3-70b (12 layers)"}, {"layers", 13}}).unmapped.empty());  // which?
}

// The effect of software on a vocabulary, on losses and on GELUs; the given GPU and model are the same.
TEST_CASE("kernels of transformers are those of their software") {
  Json gpt2{
      {"metric", "step_time"}, {"unit", "s"},      {"model", "GPT-2"},   {"gpu", "H100-80GB-SXM"}, {"gpus", 1},
      {"seq", 1024},           {"microbatch", 16}, {"global_batch", 16}, {"precision", "bf16"},    {"software", ""}};
  const std::string unaligned = "products of a vocabulary that is not padded, over others";
  const std::string loss = "bytes of the loss per score", gelu = "bytes of the GELU per element";
  const Said eager = of_record(gpt2, {{"software", "pytorch"}});
  CHECK(eager.of(unaligned) == "0.185");
  CHECK(eager.of(loss) == "48.0");
  CHECK(eager.of(gelu).empty());
  const Said compiled = of_record(gpt2, {{"software", "torch.compile"}});
  CHECK(compiled.of(unaligned).empty());
  CHECK(compiled.of(loss).empty());
  const Said in_steps = of_record(gpt2, {{"software", "HuggingFace"}});
  CHECK(in_steps.of(unaligned) == "0.185");
  CHECK(in_steps.of(gelu) == "170.0");
  CHECK(compiled.predicted < eager.predicted);
  CHECK(eager.predicted < in_steps.predicted);
  const Said padded = of_record(gpt2, {{"software", "megatron"}});
  CHECK(padded.of(unaligned).empty());
  CHECK(padded.of(loss) == "48.0");
  // A vocabulary of 128,256, and SiLU.
  const Said llama = of_record(gpt2, {{"software", "HuggingFace"}, {"model", "Llama 3.2 1B"}});
  CHECK(llama.of(unaligned).empty());
  CHECK(llama.of(gelu).empty());
}

// As measured on an H100, within what reading its times allows; without a mask nothing was.
// Forward and backward, causal, over 660 TFLOP/s: cuDNN 9.19 on our H100 (results/h100/2026-11-26).
TEST_CASE("attention by its law is as fast as we measured on an H100, forward and backward") {
  const sim::GpuEntry& h100 = *catalogue().gpus.named("H100");
  const sim::TrainingKernels kernels(std::make_shared<const sim::KernelLaws>(catalogue().kernel_laws_of(h100)),
                                     sim::kernel_peaks(h100.spec), sim::KernelPrecision::bf16, {1, 1});
  struct Measured {
    int head_dim, tokens;
    double reached;
  };
  for (const Measured& one : {Measured{64, 512, 0.25}, Measured{64, 1024, 0.36}, Measured{64, 4096, 0.55},
                              Measured{128, 4096, 0.67}, Measured{128, 8192, 0.75}}) {
    model::AttentionShape shape;
    shape.heads = shape.kv_heads = 16;
    shape.head_dim = shape.value_dim = one.head_dim;
    shape.causal = true;
    shape.keys = one.tokens;
    const int batch = std::max(1, 16384 / one.tokens);
    const double forward_s = kernels.attention_s(shape, one.tokens, batch);
    const double both_s = forward_s * (1 + 2.5 / sim::kAttentionBackward);
    const double flop = 3.5 * 4. * batch * 16 * one.head_dim * static_cast<double>(shape.seen_pairs(one.tokens));
    INFO(one.head_dim << " features, " << one.tokens << " tokens: " << flop / both_s / 660e12);
    CHECK(flop / both_s / 660e12 == Approx(one.reached).epsilon(0.13));
  }
}

// Laws on Hopper are those of FlashAttention-3. Other software uses older kernels.
TEST_CASE("software without attention kernels for Hopper is slower there, and as fast on an A100") {
  const Json job{{"metric", "step_time"},
                 {"unit", "s"},
                 {"model", "Llama 3.2 1B"},
                 {"gpu", "H100-80GB-SXM"},
                 {"gpus", 1},
                 {"microbatch", 2},
                 {"seq", 4096},
                 {"global_batch", 2},
                 {"precision", "bf16"},
                 {"software", "pytorch"}};
  const std::string key = "what fused attention reaches, over its law";
  CHECK(of_record(job).of(key) == "1.0");
  CHECK(of_record(job, {{"software", "pytorch-1"}, {"fused_attention", true}}).of(key) == "0.55");
  CHECK(of_record(job, {{"software", "pytorch-1"}, {"fused_attention", true}, {"gpu", "A100-80GB-SXM"}}).of(key) ==
        "1.0");
}

TEST_CASE("images may lie by pixel, sequences have no such layout") {
  const Json images{
      {"metric", "throughput"}, {"unit", "images/s"},  {"model", "ResNet-50"}, {"gpu", "H100-80GB-SXM"}, {"gpus", 1},
      {"batch_per_gpu", 256},   {"precision", "bf16"}, {"software", "pytorch"}};
  const double by_channel = of_record(images).predicted;
  CHECK(of_record(images, {{"channels_last", true}}).predicted > 1.2 * by_channel);
  CHECK(of_record(images, {{"channels_last", false}}).predicted == by_channel);
  // In single precision nothing is copied.
  const double single = of_record(images, {{"precision", "fp32"}}).predicted;
  CHECK(of_record(images, {{"precision", "fp32"}, {"channels_last", true}}).predicted == single);
  const Said words =
      of_record(images, {{"model", "GPT-2"}, {"seq", 1024}, {"unit", "samples/s"}, {"channels_last", true}});
  CHECK(words.unmapped.find("has no images; allowed: of networks of images") != std::string::npos);
}

}  // namespace lockstep::tests
