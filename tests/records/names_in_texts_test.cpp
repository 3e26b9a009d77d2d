// Names of GPUs, links, networks and models as publications spell them.
#include "sim/records/names_in_texts.hpp"

#include "engine/model/zoo/zoo.hpp"
#include "sim/records/network_text.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {
namespace {

std::string gpu_of(const std::string& name) {
  const sim::GpuEntry* gpu = sim::gpu_in_text(catalogue(), name);
  return gpu == nullptr ? "none" : gpu->id;
}

std::string link_of(const std::string& name) {
  const sim::IntraNodeEntry* entry = sim::intra_node_in_text(catalogue(), name);
  return entry == nullptr ? "none" : entry->id;
}

}  // namespace

TEST_CASE("the words of every entry find it in a text") {
  for (const sim::GpuEntry& gpu : catalogue().gpus) {
    for (const std::string& alias : gpu.in_texts) CHECK(gpu_of(alias) == gpu.id);
    if (!gpu.in_texts.empty()) CHECK(gpu_of("NVIDIA " + gpu.name) == gpu.id);
    CHECK(gpu_of(gpu.id) == gpu.id);
    CHECK_NOTHROW(catalogue().intra_node_by_id(gpu.intra_node));
    CHECK(sim::read_network_text(catalogue(), gpu.network).has_value());
  }
  for (const sim::IntraNodeEntry& link : catalogue().intra_nodes)
    for (const std::string& alias : link.in_texts) CHECK(link_of(alias) == link.id);
  for (const sim::NetworkEntry& network : catalogue().networks)
    for (const std::string& alias : network.in_texts) CHECK(sim::network_in_text(catalogue(), alias)->id == network.id);
  for (const sim::ModelEntry& model : catalogue().models) {
    for (const std::string& alias : model.in_texts) CHECK(sim::model_in_text(catalogue(), alias)->id == model.id);
    CHECK(sim::model_in_text(catalogue(), model.id)->id == model.id);
    CHECK_NOTHROW(model::zoo_graph(model.id));
  }
}

TEST_CASE("GPUs are found under the names of data sheets and of logs") {
  CHECK(gpu_of("Tesla V100-SXM2-16GB") == "v100-sxm2");
  CHECK(gpu_of("8x V100 NVLink") == "v100-sxm2");
  CHECK(gpu_of("8xV100") == "v100-sxm2");
  CHECK(gpu_of("NVIDIA A100-SXM4-80GB (400W)") == "a100-sxm4");
  CHECK(gpu_of("NVIDIA A100-SXM4-40GB (400W)") == "a100-sxm4-40");
  CHECK(gpu_of("A100SXM4") == "a100-sxm4");
  CHECK(gpu_of("NVIDIA A100-PCIE-40GB (250W)") == "a100-pcie-40");
  CHECK(gpu_of("NVIDIA H100-PCIe-80GB") == "h100-pcie");
  CHECK(gpu_of("Tesla P100 (PCIe system, NOT NVLink)") == "p100-pcie");
  CHECK(gpu_of("TITAN X (Pascal)") == "titanx-pascal");
  CHECK(gpu_of("GeForce GTX TITAN X") == "titanx-maxwell");
  CHECK(gpu_of("K80 (die)") == "k80");
  CHECK(gpu_of("NVIDIA GeForce RTX 2080Ti") == "rtx2080ti");
  CHECK(gpu_of("NVIDIA H100 80GB HBM3") == "h100-sxm");
  CHECK(gpu_of("NVIDIA A100 80GB PCIe") == "a100-pcie");
  CHECK(gpu_of("A100x8") == "a100-sxm4");
  CHECK(gpu_of("GTX 980") == "gtx980");
  CHECK(gpu_of("RTX A6000") == "rtxa6000");
  CHECK(gpu_of("NVIDIA RTX 6000 Ada Generation") == "rtx6000ada");
  CHECK(gpu_of("Quadro RTX 6000") == "rtx6000");
  for (const char* other : {"TPU v3", "MI250X", "AMD Instinct MI100", "Gaudi2", "Xeon 8280"})
    CHECK(gpu_of(other) == "none");
}

TEST_CASE("models with another's backbone or on small images are others") {
  for (const char* name :
       {"SSD-ResNet101", "SSD300 (VGG-16)", "Mask R-CNN ResNet-50", "Wide ResNet-40-2", "ResNet-50 (CIFAR-10)", "LSTM",
        "3D U-Net", "UNet3D", "nnU-Net", "Transformer-XL large", "Swin Transformer", "RetinaNet (ResNeXt-50)",
        "EfficientNet", "EfficientDet-D0", "ResNeXt-152", "DistilBERT base", "LLaMA 7B"}) {
    INFO(name);
    CHECK(sim::model_in_text(catalogue(), name) == nullptr);
  }
  CHECK(sim::model_in_text(catalogue(), "SSD-ResNet50")->id == "ssd300_resnet50");
  CHECK(sim::model_in_text(catalogue(), "SSD300 (ResNet-34 backbone)")->id == "ssd300_resnet34");
  CHECK(sim::model_in_text(catalogue(), "Wide ResNet-50-2")->id == "wide_resnet50");
  CHECK(sim::model_in_text(catalogue(), "SE-ResNeXt-101 (32x4d)")->id == "se_resnext101");
  CHECK(sim::model_in_text(catalogue(), "ResNeXt-101-32x8d")->id == "resnext101_32x8d");
  CHECK(sim::model_in_text(catalogue(), "ResNeXt-101 (64x4d)")->id == "resnext101_64x4d");
  CHECK(sim::model_in_text(catalogue(), "GPT-3 13B")->id == "gpt3_13b");
  CHECK(sim::model_in_text(catalogue(), "GPT-3 1.3B")->id == "gpt3_1b3");
  CHECK(sim::model_in_text(catalogue(), "GPT-3 3B") == nullptr);
  CHECK(sim::model_in_text(catalogue(), "MobileNetV3-Large") == nullptr);
  CHECK(sim::model_in_text(catalogue(), "ALBERT-xxlarge") == nullptr);
  CHECK(sim::model_in_text(catalogue(), "EfficientNet-B4")->id == "efficientnet_b4");
  CHECK(sim::model_in_text(catalogue(), "Vision Transformer B/16")->id == "vit_b16");
  CHECK(sim::model_in_text(catalogue(), "Transformer (big), WMT14 En-De")->id == "transformer_big");
  CHECK(sim::model_in_text(catalogue(), "Megatron-LM GPT-2 8.3B")->id == "megatron_8b3");
  CHECK(sim::model_in_text(catalogue(), "Megatron GPT-2 345M")->id == "gpt2_medium");
  CHECK(sim::model_in_text(catalogue(), "ResNet-50 v1.5")->id == "resnet50_v15");
  CHECK(sim::model_in_text(catalogue(), "MobileNetV2")->id == "mobilenet_v2");
  CHECK(sim::model_in_text(catalogue(), "Inception-v4")->id == "inception_v4");
  CHECK(sim::model_in_text(catalogue(), "BERT-Large (phase 1)")->id == "bert_large");
}

TEST_CASE("a network is the part that carries the most or that is called Compute") {
  const auto found = [](const char* text) { return *sim::read_network_text(catalogue(), text); };
  const auto eight = found(
      "Storage: 2x ConnectX-6 IB HDR 200Gb/sec, Management: 1x Ethernet 100Gb/Sec, "
      "Compute: 8x ConnectX-6 IB HDR 200Gb/Sec");
  CHECK(eight.entry->id == "ib-hdr");
  CHECK(eight.ports == 8);
  const auto forty = found("40GbE switch");
  CHECK(forty.entry->id == "ethernet");
  CHECK(forty.port_bytes_per_s == Approx(5e9));
  CHECK(found("25 Gb/s RoCE").port_bytes_per_s == Approx(0.94 * 25e9 / 8));
  CHECK(found("100GbE ConnectX-4, RoCEv2 + GPUDirect RDMA").entry->rdma);
  CHECK(found("1x Ethernet 40Gb/Sec, 8x ConnectX-6 IB HDR 200Gb/Sec").ports == 8);
  for (const char* ten :
       {"10 GbE", "10GigE", "10 Gigabit Ethernet", "10Gbps Ethernet", "TCP/IP 10 Gb/s", "10000 Mb/s TCP"})
    CHECK(found(ten).port_bytes_per_s == Approx(1.25e9));
  CHECK(found("Gigabit Ethernet").port_bytes_per_s == Approx(0.125e9));
  CHECK(found("NDR x8").ports == 8);
  CHECK(found("8x400Gb/s NDR").ports == 8);
  CHECK(found("dual-rail EDR").ports == 2);
  CHECK(found("8x ConnectX-7").entry->id == "ib-ndr");
  CHECK(found("HDR100").port_bytes_per_s == found("EDR").port_bytes_per_s);
  // Four ports of 100 Gbit/s, said as one rate.
  CHECK(found("AWS EFA 400 Gbps").port_bytes_per_s == Approx(0.94 * 50e9));
  // What a user would write is read as it would be for a user.
  CHECK(found("56 Gb/s InfiniBand").entry->id == "ib-fdr");
  CHECK(found("100gbe").port_bytes_per_s == Approx(12.5e9));
  CHECK_FALSE(sim::read_network_text(catalogue(), "carrier pigeons"));
  CHECK(sim::says_no_network("none (single server)"));
  CHECK_FALSE(sim::says_no_network("10GbE"));
}

TEST_CASE("a text too long for a name, or for a regular expression, names nothing") {
  const std::string many(60000, '9');
  CHECK(sim::gpu_in_text(catalogue(), "V100 " + many) == nullptr);
  CHECK(sim::model_in_text(catalogue(), "ResNet-50 " + many) == nullptr);
  CHECK_FALSE(sim::read_network_text(catalogue(), many + " GbE"));
}

}  // namespace lockstep::tests
