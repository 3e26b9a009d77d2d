// Parameters of transformers, whole against published totals and in parts on ranks.
#include "tests/catch.hpp"
#include "tests/split/shapes.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

double of_all_ranks(const TransformerShape& shape, const ParallelSpec& spec) {
  double sum = 0;
  for (const Part& part : partition(shape.layers, spec.pipeline, spec.virtual_stages)) {
    const RankParameters of_rank = rank_parameters(shape, spec, part);
    sum += spec.tensor * (of_rank.dense + spec.expert * of_rank.experts);
  }
  return sum;
}

}  // namespace

TEST_CASE("parameters are the published totals") {
  CHECK(parameter_count(llama3_8b()) == 8'030'261'248);
  CHECK(parameter_count(llama(80, 8192, 64, 8, 28672, 128256, 8192)) == 70'553'706'496);
  CHECK(parameter_count(llama(126, 16384, 128, 8, 53248, 128256, 8192)) == 405'853'388'800);
  CHECK(parameter_count(mixtral_8x7b()) == 46'702'792'704);
  CHECK(parameter_count(gpt(12, 768, 12, 50257, 1024)) == 124'439'808);     // GPT-2
  CHECK(parameter_count(gpt(48, 1600, 25, 50257, 1024)) == 1'557'611'200);  // GPT-2 XL
  CHECK(parameter_count(gpt(96, 12288, 96, 51200, 2048)) ==
        174'615'846'912);  // 12 L h^2 (1 + 13/12h + (V+s)/12Lh) + 2h
  // 671B with its experts' balancing biases, 256 each of 58 layers, which are not learned by gradients.
  CHECK(parameter_count(deepseek_v3()) == 671'026'404'352);
}

TEST_CASE("tensor, expert and pipeline ranks hold the model once, but for what is replicated") {
  TransformerShape shape = llama3_8b();
  ParallelSpec spec;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameter_count(shape))));
  spec.pipeline = 4;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameter_count(shape))));
  spec.tensor = 8;
  // Norms stand on every tensor rank.
  const double norms = (2 * 32 + 1) * 4096.0;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameter_count(shape)) + 7 * norms).epsilon(1e-14));
  // 8 key-value heads on 16 ranks are there twice.
  spec.tensor = 16;
  const double repeated = 32 * 2.0 * 4096 * 8 * 128;
  CHECK(of_all_ranks(shape, spec) ==
        Approx(static_cast<double>(parameter_count(shape)) + 15 * norms + repeated).epsilon(1e-14));
  ParallelSpec experts;
  experts.expert = experts.data = 8;
  const RankParameters of_rank = rank_layer_parameters(mixtral_8x7b(), experts, 0);
  CHECK(of_rank.experts == 3.0 * 4096 * 14336);
}

TEST_CASE("a tied embedding stands on the first and on the last stage") {
  const TransformerShape shape = gpt(4, 64, 4, 1000, 16);
  ParallelSpec spec;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameter_count(shape))));
  spec.pipeline = 2;
  CHECK(of_all_ranks(shape, spec) == Approx(static_cast<double>(parameter_count(shape)) + 64 * 1000.0));
}

TEST_CASE("splits that do not fit a model are refused with what would") {
  ParallelSpec spec;
  spec.tensor = 5;
  CHECK_THROWS_WITH(check_fits(llama3_8b(), spec), Contains("32 heads are not divided by 5"));
  spec.tensor = 16;
  CHECK_NOTHROW(check_fits(llama3_8b(), spec));
  spec.tensor = 8;
  CHECK_THROWS_WITH(check_fits(llama(2, 96, 24, 12, 96, 10, 64), spec),
                    Contains("neither divide 12 key-value heads nor repeat them"));
  spec = {};
  spec.context = 3;
  CHECK_THROWS_WITH(check_fits(llama3_8b(), spec), Contains("/parallel/context") && Contains("divided by 6"));
  spec = {};
  spec.expert = 2;
  CHECK_THROWS_WITH(check_fits(llama3_8b(), spec), Contains("the model has no experts; allowed: 1"));
  spec.expert = 3;
  CHECK_THROWS_WITH(check_fits(mixtral_8x7b(), spec), Contains("8 experts are not divided by 3"));
  spec.expert = 2;
  spec.tensor = 2;
  CHECK_THROWS_WITH(check_fits(mixtral_8x7b(), spec), Contains("/parallel/sequence"));
  spec.sequence = true;
  CHECK_NOTHROW(check_fits(mixtral_8x7b(), spec));
}
