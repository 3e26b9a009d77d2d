// Networks that no paper in scenarios/published trains. Their parameters and multiply-adds are compared with the totals
// of their authors' or of torchvision's versions.
#include "engine/model/zoo/zoo.hpp"

#include <cmath>

#include "tests/catch.hpp"

namespace lockstep::model {

TEST_CASE("further models have the parameters of their publications") {
  const auto parameters = [](const char* id) { return zoo_graph(id).parameter_count(); };
  // Totals of torchvision
  CHECK(parameters("resnet18") == 11'689'512);
  CHECK(parameters("resnet34") == 21'797'672);
  CHECK(parameters("resnext50") == 25'028'904);
  CHECK(parameters("vgg11") == 132'863'336);
  CHECK(parameters("vgg13") == 133'047'848);
  CHECK(parameters("alexnet_owt") == 61'100'840);
  CHECK(parameters("squeezenet") == 1'248'424);
  CHECK(parameters("mobilenet_v2") == 3'504'872);
  CHECK(parameters("densenet121") == 7'978'856);
  CHECK(parameters("densenet169") == 14'149'480);
  CHECK(parameters("densenet201") == 20'013'928);
  // Howard et al. 2017, Table 8: 4.2 M; Szegedy et al.: 42.7 M as TensorFlow's slim has it.
  CHECK(parameters("mobilenet_v1") == Approx(4.2e6).epsilon(0.01));
  CHECK(parameters("inception_v4") == Approx(42.7e6).epsilon(0.005));
  CHECK(parameters("nin") == Approx(7.6e6).epsilon(0.01));
  // Brown et al. 2020, Table 2.1.
  CHECK(parameters("gpt3_1b3") == Approx(1.3e9).epsilon(0.02));
  CHECK(parameters("gpt3_6b7") == Approx(6.7e9).epsilon(0.02));
  // He et al. 2016, Table 6, have 0.27, 0.85 and 1.7 M; Zagoruyko & Komodakis 2016 36.5 M; slim's Inception-ResNet has
  // 55.8 M.
  CHECK(parameters("resnet20_cifar") == Approx(0.27e6).epsilon(0.02));
  CHECK(parameters("resnet56_cifar") == Approx(0.85e6).epsilon(0.02));
  CHECK(parameters("resnet110_cifar") == Approx(1.7e6).epsilon(0.03));
  CHECK(parameters("wide_resnet_28_10") == Approx(36.5e6).epsilon(0.01));
  CHECK(parameters("inception_resnet_v2") == Approx(55.8e6).epsilon(0.01));
  CHECK(parameters("resnet200") == Approx(64.7e6).epsilon(0.01));
  // It has 11 x 11 x 3 x 64 + 25 x 64 x 192 + 9 (192 x 384 + 384 x 384 + 384 x 256) + 9216 x 4096 + 4096^2 + 4096 x
  // 1000 weights and the biases 64 + 192 + 384 + 384 + 256 + 4096 + 4096 + 1000.
  CHECK(parameters("alexnet_tf") == 23'232 + 307'200 + 9 * 319'488 + 37'748'736 + 16'777'216 + 4'096'000 + 10'472);
}

TEST_CASE("transformers have the parameters of their releases") {
  const auto parameters = [](const char* id) { return zoo_graph(id).parameter_count(); };
  // Totals of the released checkpoints
  CHECK(parameters("bert_base") == 110'106'428);
  CHECK(parameters("bert_large") == 336'226'108);
  CHECK(parameters("bert_large_512") == parameters("bert_large"));
  CHECK(parameters("roberta_base") == 124'697'433);
  CHECK(parameters("roberta_large") == 355'412'057);
  CHECK(parameters("gpt2") == 124'439'808);
  CHECK(parameters("gpt2_medium") == 354'823'168);
  CHECK(parameters("gpt2_large") == 774'030'080);
  CHECK(parameters("gpt2_xl") == 1'557'611'200);
  CHECK(parameters("megatron_8b3") == Approx(8.3e9).epsilon(0.01));  // Shoeybi et al. 2019, Table 1
  CHECK(parameters("vit_b16") == 86'567'656);                        // torchvision
  CHECK(parameters("vit_l16") == 304'326'632);
  CHECK(parameters("transformer_base") == Approx(65e6).epsilon(0.03));  // Vaswani et al. 2017, Table 3
  CHECK(parameters("transformer_big") == Approx(213e6).epsilon(0.015));
}

TEST_CASE("gated and dense networks have the counts of their publications") {
  const auto parameters = [](const char* id) { return zoo_graph(id).parameter_count(); };
  const auto macs = [](const char* id) { return static_cast<double>(zoo_graph(id).macs()); };
  // Totals of torchvision
  CHECK(parameters("resnext101_32x8d") == 88'791'336);
  CHECK(parameters("resnext101_64x4d") == 83'455'272);
  CHECK(parameters("wide_resnet50") == 68'883'240);
  CHECK(parameters("wide_resnet101") == 126'886'696);
  CHECK(parameters("efficientnet_b0") == 5'288'548);
  CHECK(parameters("efficientnet_b4") == 19'341'616);
  CHECK(parameters("efficientnet_b7") == 66'347'960);
  CHECK(macs("resnext101_32x8d") == Approx(16.414e9).epsilon(0.01));
  CHECK(macs("wide_resnet50") == Approx(11.398e9).epsilon(0.01));
  CHECK(macs("efficientnet_b0") == Approx(0.386e9).epsilon(0.01));
  CHECK(macs("efficientnet_b4") == Approx(4.394e9).epsilon(0.01));
  CHECK(macs("efficientnet_b7") == Approx(37.746e9).epsilon(0.01));
  CHECK(macs("vit_b16") == Approx(17.564e9).epsilon(0.01));
  CHECK(macs("vit_l16") == Approx(61.555e9).epsilon(0.01));
  // Xie et al. 2017, Table 1 (44.2 M); Hu et al. 2018: 28.1 M and 27.6 M; SE-ResNeXt-101 as released: 48.96 M.
  CHECK(parameters("resnext101") == Approx(44.2e6).epsilon(0.01));
  CHECK(parameters("se_resnet50") == Approx(28.1e6).epsilon(0.01));
  CHECK(parameters("se_resnext50") == Approx(27.6e6).epsilon(0.01));
  CHECK(parameters("se_resnext101") == Approx(48.96e6).epsilon(0.01));
  CHECK(parameters("unet") == Approx(31.03e6).epsilon(0.001));  // of Ronneberger et al.'s network, 31 million
  CHECK(parameters("gnmt") == Approx(160e6).epsilon(0.01));     // as MLPerf's reference logs it
}

TEST_CASE("MLPerf's networks of images and volumes have the parameters of their reference implementations") {
  const auto parameters = [](const char* id) { return zoo_graph(id).parameter_count(); };
  // Counted by running the constructors of github.com/mlcommons/training and hpc: RetinaNet without its frozen norms.
  CHECK(parameters("retinanet") == 37'060'652);
  CHECK(parameters("unet3d") == 31'190'243);
  CHECK(parameters("deepcam") == 56'454'720);
  // Convolutions of 27 weights from 4 to 32, 64, 128, 256 and 512 channels, then 4^3 x 512 features to 128, 64 and 4.
  const std::int64_t convolutions =
      27 * (4 * 32 + 32 * 64 + 64 * 128 + 128 * 256 + 256 * 512) + 32 + 64 + 128 + 256 + 512;
  CHECK(parameters("cosmoflow") == convolutions + 32768 * 128 + 128 + 128 * 64 + 64 + 64 * 4 + 4);
}

TEST_CASE("MLPerf's networks of volumes have the multiply-adds of their convolutions") {
  const auto macs = [](const char* id) { return static_cast<double>(zoo_graph(id).macs()); };
  // CosmoFlow: each convolution keeps its size, which a pooling halves.
  double cosmoflow = 32768. * 128 + 128 * 64 + 64 * 4;
  for (int i = 0, in = 4; i < 5; in = 32 << i++) cosmoflow += std::pow(128 >> i, 3) * 27 * in * (32 << i);
  CHECK(macs("cosmoflow") == cosmoflow);
  // 3D U-Net at 128^3: 32 channels four times at full size (two of them from 1 and 64), and 3 classes.
  const double full = std::pow(128, 3) * (27. * (1 * 32 + 32 * 32 + 64 * 32 + 32 * 32) + 32 * 3);
  CHECK(macs("unet3d") > full);
  CHECK(macs("unet3d") < 3 * full);
}

TEST_CASE("further models have the multiply-adds of their publications") {
  const auto macs = [](const char* id) { return static_cast<double>(zoo_graph(id).macs()); };
  CHECK(macs("resnet18") == Approx(1.8e9).epsilon(0.02));  // He et al. 2016, Table 1
  CHECK(macs("resnet34") == Approx(3.6e9).epsilon(0.02));
  CHECK(macs("mobilenet_v1") == Approx(569e6).epsilon(0.01));  // Howard et al. 2017, Table 8
  CHECK(macs("mobilenet_v2") == Approx(300e6).epsilon(0.01));  // Sandler et al. 2018, Table 4
  // 24 layers have 12 x 1024^2 multiply-adds for each of 128 tokens, and 2 x 128^2 x 1024 for attention. Added are the
  // pooler and the next-sentence classifier, and the vocabulary with a layer before it for 15 % of the tokens, rounded
  // up: 20.
  const double layers = 24.0 * (12. * 1024 * 1024 * 128 + 2. * 128 * 128 * 1024);
  CHECK(macs("bert_large") == layers + 1024. * 1024 + 2 * 1024 + 20 * (1024. * 1024 + 30522.0 * 1024));
}

TEST_CASE("fused attention saves passes, not multiplications") {
  const Graph passes = zoo_graph("gpt2");
  const Graph fused = zoo_graph("gpt2_fused");
  CHECK(passes.macs() == fused.macs());
  CHECK(passes.parameter_count() == fused.parameter_count());
  const auto kept = [](const Graph& graph) {
    double sum = 0;
    for (const Layer& layer : graph.layers) sum += static_cast<double>(layer.kept_elements);
    return sum;
  };
  // Each of 12 layers keeps the attention weights of 12 heads, 1,024 x 1,024, and those that dropout left. If fused, it
  // keeps only a sum in single precision per query.
  CHECK(kept(passes) - kept(fused) == 12.0 * 12 * 1024 * (2 * 1024 - 2));
}

TEST_CASE("every network has a name by which its layers are found, transformers one for each attention") {
  for (const std::string& name : zoo_names()) {
    INFO(name);
    CHECK(zoo_graph(name).name == name);
    CHECK(zoo_name_of(zoo_graph(name)) == name);
    CHECK(zoo_name_of(zoo_graph(fused_attention_name(name))) == fused_attention_name(name));
  }
  CHECK(fused_attention_name("gpt2") == "gpt2_fused");
  CHECK(fused_attention_name("resnet50") == "resnet50");
  for (const char* name : {"resnet50_fused", "_fused", "gpt2_fused_fused", "resnet51"})
    CHECK_THROWS_AS(zoo_graph(name), InputError);
  Graph own = zoo_graph("resnet50");
  own.layers.edit()[3].macs += 1;
  CHECK(zoo_name_of(own) == "");
  own.name = "mine";
  CHECK(zoo_name_of(own) == "");
}

}  // namespace lockstep::model
