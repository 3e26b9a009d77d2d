// Models beside the zoo's: parameters and multiply-adds against the totals of their authors' or of torchvision's
// versions.
#include "sim/records/models.hpp"

#include "tests/catch.hpp"

namespace lockstep::tests {

TEST_CASE("further models have the parameters of their publications") {
  const auto parameters = [](const char* id) { return sim::record_model(id).parameter_count(); };
  // torchvision's totals.
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
  // Devlin et al. 2019: 110 M and 340 M; Radford et al. 2019: 117 M (124 M as released).
  CHECK(parameters("bert_base") == Approx(110e6).epsilon(0.02));
  CHECK(parameters("bert_large") == Approx(340e6).epsilon(0.02));
  CHECK(parameters("gpt2") == Approx(124e6).epsilon(0.02));
  CHECK(parameters("gpt2_xl") == Approx(1558e6).epsilon(0.02));
  CHECK(parameters("gpt3_6b7") == Approx(6.7e9).epsilon(0.02));  // Brown et al. 2020, Table 2.1
  // He et al. 2016, Table 6: 0.27, 0.85 and 1.7 M; Zagoruyko & Komodakis 2016: 36.5 M; slim's Inception-ResNet: 55.8 M.
  CHECK(parameters("resnet20_cifar") == Approx(0.27e6).epsilon(0.02));
  CHECK(parameters("resnet56_cifar") == Approx(0.85e6).epsilon(0.02));
  CHECK(parameters("resnet110_cifar") == Approx(1.7e6).epsilon(0.03));
  CHECK(parameters("wide_resnet_28_10") == Approx(36.5e6).epsilon(0.01));
  CHECK(parameters("inception_resnet_v2") == Approx(55.8e6).epsilon(0.01));
  CHECK(parameters("resnet200") == Approx(64.7e6).epsilon(0.01));
  // 11 x 11 x 3 x 64 + 25 x 64 x 192 + 9 (192 x 384 + 384 x 384 + 384 x 256) + 9216 x 4096 + 4096^2 + 4096 x 1000 and
  // the biases 64 + 192 + 384 + 384 + 256 + 4096 + 4096 + 1000.
  CHECK(parameters("alexnet_tf") == 23'232 + 307'200 + 9 * 319'488 + 37'748'736 + 16'777'216 + 4'096'000 + 10'472);
}

TEST_CASE("further models have the multiply-adds of their publications") {
  const auto macs = [](const char* id) { return static_cast<double>(sim::record_model(id).macs()); };
  CHECK(macs("resnet18") == Approx(1.8e9).epsilon(0.02));  // He et al. 2016, Table 1
  CHECK(macs("resnet34") == Approx(3.6e9).epsilon(0.02));
  CHECK(macs("mobilenet_v1") == Approx(569e6).epsilon(0.01));  // Howard et al. 2017, Table 8
  CHECK(macs("mobilenet_v2") == Approx(300e6).epsilon(0.01));  // Sandler et al. 2018, Table 4
  // 24 layers of 12 x 1024^2 multiply-adds for each of 128 tokens and 2 x 128^2 x 1024 of attention; the words for 15 %
  // of the tokens, rounded up: 20.
  CHECK(macs("bert_large") == 24.0 * (12. * 1024 * 1024 * 128 + 2. * 128 * 128 * 1024) + 20 * 30522.0 * 1024);
}

TEST_CASE("models of the zoo are found beside the further ones") {
  CHECK(sim::record_model("resnet50").parameter_count() == 25'557'032);
  for (const std::string& name : sim::further_models()) CHECK(sim::record_model(name).name == name);
  CHECK_THROWS_AS(sim::record_model("resnet51"), InputError);
}

}  // namespace lockstep::tests
