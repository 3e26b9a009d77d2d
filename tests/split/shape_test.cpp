// Parameters of transformers: totals compared with published ones, and parts on ranks.
#include "tests/catch.hpp"
#include "tests/split/shapes.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

double of_all_ranks(const TransformerShape& shape, const ParallelSpec& spec) {
  double sum = 0;
  for (const ModelPart& part : partition(shape.layers, spec.pipeline, spec.virtual_stages)) {
    const RankParameters of_rank = rank_parameters(shape, spec, part);
    sum += spec.tensor * (of_rank.dense + spec.expert * of_rank.experts);
  }
  return sum;
}

}  // namespace

TEST_CASE("one rank has the model's parameters, whatever the architecture") {
  TransformerShape sandwich = llama(6, 256, 8, 4, 512, 1000, 64);
  sandwich.norm_place = model::NormPlace::both;
  sandwich.qk_norm = sandwich.qkv_bias = sandwich.tied_output = true;
  TransformerShape bert = gpt(4, 128, 4, 500, 64);
  bert.token_types = 2;
  bert.embedding_norm = bert.output_bias = true;
  bert.final_norm = false;
  bert.objective = model::Objective::masked_and_next_sentence;
  TransformerShape qwen = llama(4, 128, 4, 2, 256, 500, 64);
  qwen.mixture = mixture(8, 2, 64, 96, 0);
  qwen.mixture.shared_gate = true;
  qwen.mixture.every = 2;
  for (const TransformerShape& shape :
       {llama3_8b(), mixtral_8x7b(), deepseek_v3(), gpt(96, 12288, 96, 51200, 2048), sandwich, bert, qwen})
    CHECK(of_all_ranks(shape, {}) == static_cast<double>(parameters_of(shape).total()));
  CHECK(of_all_ranks(llama3_8b(), {}) == 8'030'261'248);
  CHECK(of_all_ranks(mixtral_8x7b(), {}) == 46'702'792'704);
  CHECK(of_all_ranks(deepseek_v3(), {}) == 671'026'419'200);
  CHECK(of_all_ranks(gpt(48, 1600, 25, 50257, 1024), {}) == 1'557'611'200);  // GPT-2 XL
}

TEST_CASE("a shape is a specification and a job's sequence") {
  model::TransformerSpec spec = llama3_8b();
  spec.context = 131072;
  CHECK(TransformerShape(spec, {}).sequence == 8192);
  CHECK(TransformerShape(spec, {4096, false}).sequence == 4096);
  CHECK(!TransformerShape(spec, {4096, false}).has_fused_attention);
}

TEST_CASE("tensor, expert and pipeline ranks hold the model once, but for what is replicated") {
  TransformerShape shape = llama3_8b();
  ParallelSpec spec;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameters_of(shape).total())));
  spec.pipeline = 4;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameters_of(shape).total())));
  spec.tensor = 8;
  // Every tensor rank has the norms.
  const double norms = (2 * 32 + 1) * 4096.0;
  CHECK(of_all_ranks(shape, spec) ==
        Approx(static_cast<double>(parameters_of(shape).total()) + 7 * norms).epsilon(1e-14));
  // 8 key-value heads on 16 ranks exist twice.
  spec.tensor = 16;
  const double repeated = 32 * 2.0 * 4096 * 8 * 128;
  CHECK(of_all_ranks(shape, spec) ==
        Approx(static_cast<double>(parameters_of(shape).total()) + 15 * norms + repeated).epsilon(1e-14));
  ParallelSpec experts;
  experts.expert = experts.data = 8;
  const RankParameters of_rank = rank_layer_parameters(mixtral_8x7b(), experts, 0);
  CHECK(of_rank.experts == 3.0 * 4096 * 14336);
  // Each of eight ranks has one expert, whether they are replicas or also tensor ranks.
  experts.tensor = 2;
  experts.expert_tensor = 1;
  experts.sequence = true;
  CHECK(rank_layer_parameters(mixtral_8x7b(), experts, 0).experts == 3.0 * 4096 * 14336);
  CHECK(experts.expert_gradient_ranks() == 2);
  experts.expert_tensor = 0;
  CHECK(rank_layer_parameters(mixtral_8x7b(), experts, 0).experts == 3.0 * 4096 * 14336 / 2);
  CHECK(experts.expert_gradient_ranks() == 1);
}

TEST_CASE("a tied embedding stands on the first and on the last stage") {
  const TransformerShape shape = gpt(4, 64, 4, 1000, 16);
  ParallelSpec spec;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameters_of(shape).total())));
  spec.pipeline = 2;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameters_of(shape).total()) + 64 * 1000.0));
}

TEST_CASE("splits that do not fit a model are refused with what would") {
  ParallelSpec spec;
  spec.tensor = 5;
  CHECK_THROWS_WITH(check_divisible(llama3_8b(), spec), Contains("32 heads are not divided by 5"));
  spec.tensor = 16;
  CHECK_NOTHROW(check_divisible(llama3_8b(), spec));
  spec.tensor = 8;
  CHECK_THROWS_WITH(check_divisible(llama(2, 96, 24, 12, 96, 10, 64), spec),
                    Contains("neither divide 12 key-value heads nor repeat them"));
  spec = {};
  spec.context = 3;
  CHECK_THROWS_WITH(check_divisible(llama3_8b(), spec), Contains("/parallel/context") && Contains("divided by 6"));
  spec = {};
  spec.expert = 2;
  CHECK_THROWS_WITH(check_divisible(llama3_8b(), spec), Contains("the model has no experts; allowed: 1"));
  spec.expert = 3;
  CHECK_THROWS_WITH(check_divisible(mixtral_8x7b(), spec), Contains("8 experts are not divided by 3"));
  spec.expert = 2;
  spec.tensor = 2;
  CHECK_THROWS_WITH(check_divisible(mixtral_8x7b(), spec), Contains("/parallel/sequence"));
  spec.sequence = true;
  CHECK_NOTHROW(check_divisible(mixtral_8x7b(), spec));
  TransformerShape translator = llama3_8b();
  translator.decoder_layers = 6;
  CHECK_THROWS_WITH(check_divisible(translator, {}), Contains("encoder and a decoder is not modelled"));
}
