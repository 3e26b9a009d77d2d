// Transformers by their numbers: parameters compared with published totals, multiply-adds with the papers' formulae.
#include "engine/model/transformer/spec.hpp"

#include "engine/model/transformer/huggingface.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

TransformerSpec spec_of(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "config.json");
  return transformer_of_huggingface(document.root());
}

// Returns the sum over the layers, after comparing it with the closed form of the specification.
std::int64_t parameters_of_config(const std::string& text) {
  const TransformerSpec spec = spec_of(text);
  const std::int64_t sum = transformer_graph(spec).parameter_count();
  CHECK(parameters_of(spec).total() == sum);
  return sum;
}

}  // namespace

// Totals of the checkpoints' tensors on huggingface.co ("safetensors" of the model's page); Llama-2, Mixtral, Gemma and
// T5 also in KerasHub's presets ("params"), DeepSeek-V3 as the sum of its tensors without layer 61.
TEST_CASE("language models have the parameters of their checkpoints") {
  const auto total = [](const char* name) { return zoo_graph(name).parameter_count(); };
  CHECK(total("llama2_7b") == 6'738'415'616);
  CHECK(total("llama2_13b") == 13'015'864'320);
  CHECK(total("llama2_70b") == 68'976'648'192);
  CHECK(total("llama3_8b") == 8'030'261'248);
  CHECK(total("llama3_70b") == 70'553'706'496);
  CHECK(total("llama3_1_405b") == 405'853'388'800);
  CHECK(total("mistral_7b") == 7'241'732'096);
  CHECK(total("mixtral_8x7b") == 46'702'792'704);
  CHECK(total("deepseek_v3") == 671'026'419'200);
  CHECK(total("qwen2_0_5b") == 494'032'768);
  CHECK(total("qwen2_7b") == 7'615'616'512);
  CHECK(total("qwen2_72b") == 72'706'203'648);
  CHECK(total("qwen3_0_6b") == 596'049'920);
  CHECK(total("qwen3_8b") == 8'190'735'360);
  CHECK(total("qwen3_30b_a3b") == 30'532'122'624);
  // Brown et al. 2020, Table 2.1, rounded there.
  CHECK(total("gpt3_125m") == Approx(125e6).epsilon(0.005));
  CHECK(total("gpt3_350m") == Approx(356e6).epsilon(0.005));
  CHECK(total("gpt3_760m") == Approx(760e6).epsilon(0.005));
  CHECK(total("gpt3_175b") == Approx(175.0e9).epsilon(0.005));
  // Mixtral 8x22B has 141 billion (Mistral AI 2024); Qwen3, Table 2, has 235 billion.
  CHECK(total("mixtral_8x22b") == Approx(141e9).epsilon(0.005));
  CHECK(total("qwen3_235b_a22b") == Approx(235e9).epsilon(0.005));
  // Checkpoints of LLaMA, Llama 3.2, Qwen2.5 and BLOOM: equal to the parameter.
  CHECK(total("llama_7b") == 6'738'415'616);
  CHECK(total("llama_33b") == 32'528'943'616);
  CHECK(total("llama_65b") == 65'285'660'672);
  CHECK(total("llama3_2_1b") == 1'235'814'400);
  CHECK(total("llama3_2_3b") == 3'212'749'824);
  CHECK(total("qwen2_5_14b") == 14'770'033'664);
  CHECK(total("qwen2_5_32b") == 32'763'876'352);
  CHECK(total("bloom_176b") == 176'247'271'424);
  // Rounded as published: PaLM, Table 1; DeepSeek-V2, section 1; Grok-1, Llama 4: names; gpt-oss: its checkpoints.
  CHECK(total("palm_8b") == Approx(8.63e9).epsilon(0.005));
  CHECK(total("palm_62b") == Approx(62.50e9).epsilon(0.005));
  CHECK(total("palm_540b") == Approx(540.35e9).epsilon(0.005));
  CHECK(total("deepseek_v2") == Approx(236e9).epsilon(0.005));
  CHECK(total("deepseek_v2_lite") == Approx(15.7e9).epsilon(0.005));
  CHECK(total("grok_1") == Approx(314e9).epsilon(0.01));
  CHECK(total("gpt_oss_20b") == 20'914'757'184);
  CHECK(total("gpt_oss_120b") == 116'829'156'672);
  CHECK(total("llama4_scout") == Approx(109e9).epsilon(0.02));
  CHECK(total("llama4_maverick") == Approx(400e9).epsilon(0.01));
  CHECK(total("nemotron4_15b") == Approx(15.6e9).epsilon(0.01));
  CHECK(total("nemotron4_340b") == Approx(341e9).epsilon(0.01));
  CHECK(total("internlm_20b") == Approx(20e9).epsilon(0.01));
  // Checkpoints, equal to the parameter, as their pages count them.
  CHECK(total("tinyllama_1b1") == 1'100'048'384);
  CHECK(total("codellama_34b") == 33'743'970'304);
  CHECK(total("yi_6b") == 6'061'035'520);
  CHECK(total("yi_34b") == 34'388'917'248);
  CHECK(total("baichuan2_7b") == 7'505'973'248);
  CHECK(total("baichuan2_13b") == 13'896'668'160);
  CHECK(total("phi3_mini") == 3'821'079'552);
  CHECK(total("gemma_2b") == 2'506'172'416);
  CHECK(total("gemma_7b") == 8'537'680'896);
  CHECK(total("gemma2_9b") == 9'241'705'984);
  CHECK(total("gemma2_27b") == 27'227'128'320);
  CHECK(total("opt_1b3") == 1'315'758'080);
  CHECK(total("opt_6b7") == 6'658'473'984);
  CHECK(total("opt_30b") == 29'974'540'288);
  CHECK(total("gpt_neox_20b") == 20'554'567'680);
  CHECK(total("pythia_6b9") == 6'857'302'016);
  CHECK(total("pythia_160m") == 162'322'944);
  CHECK(total("pythia_410m") == 405'334'016);
  CHECK(total("pythia_1b") == 1'011'781'632);
  CHECK(total("pythia_1b4") == 1'414'647'808);
  CHECK(total("pythia_2b8") == 2'775'208'960);
  CHECK(total("mistral_nemo_12b") == 12'247'782'400);
  CHECK(total("t5_small") == 60'506'624);
  CHECK(total("t5_base") == 222'903'552);
  CHECK(total("t5_large") == 737'668'096);
  CHECK(total("t5_3b") == 2'851'598'336);
  CHECK(total("t5_11b") == 11'307'321'344);
  CHECK(total("mpt_7b") == 6'649'286'656);
  CHECK(total("starcoder_15b") == 15'517'456'384);
  CHECK(total("falcon_40b") == 41'303'293'952);
  CHECK(total("falcon_180b") == 179'522'565'120);
  // Attention and the network share one norm.
  CHECK(total("gpt_j_6b") == 6'050'882'784);
  CHECK(total("falcon_7b") == 6'921'720'704);
  CHECK(total("opt_175b") == Approx(175e9).epsilon(0.005));
}

TEST_CASE("models of further publishers have the parameters of their checkpoints") {
  // Equal to the parameter: "safetensors" on each model's page, BloombergGPT's paper, Table 4.
  const std::vector<std::pair<std::string, std::int64_t>> exact{{"exaone_3_5_7_8b", 7'818'448'896},
                                                                {"command_r_35b", 34'980'831'232},
                                                                {"deepseek_7b", 6'910'365'696},
                                                                {"deepseek_moe_16b", 16'375'728'128},
                                                                {"deepseek_coder_33b", 33'342'991'360},
                                                                {"chatglm3_6b", 6'243'584'000},
                                                                {"bloomberggpt_50b", 50'558'868'480},
                                                                {"bloom_1b1", 1'065'314'304},
                                                                {"bloom_1b7", 1'722'408'960},
                                                                {"bloom_3b", 3'002'557'440},
                                                                {"gpt_neo_1b3", 1'315'575'808},
                                                                {"gpt_neo_2b7", 2'651'307'520},
                                                                {"opt_125m", 125'239'296},
                                                                {"opt_2b7", 2'651'596'800},
                                                                {"pythia_70m", 70'426'624},
                                                                {"codellama_7b", 6'738'546'688},
                                                                {"mistral_small_24b", 23'572'403'200},
                                                                {"codestral_22b", 22'247'282'688},
                                                                {"mistral_large_123b", 122'610'069'504},
                                                                {"qwen1_5_moe_a2_7b", 14'315'784'192},
                                                                {"qwen3_coder_480b", 480'154'875'392},
                                                                {"granite3_2b", 2'533'531'648},
                                                                {"granite3_8b", 8'170'848'256},
                                                                {"internlm2_7b", 7'737'708'544},
                                                                {"internlm2_20b", 19'861'149'696},
                                                                {"baichuan_7b", 7'000'559'616},
                                                                {"yi_9b", 8'829'407'232},
                                                                {"phi1_5", 1'418'270'720},
                                                                {"phi3_5_moe", 41'873'153'344},
                                                                {"stablelm_3b", 2'795'443'200},
                                                                {"stablelm2_1_6b", 1'644'515'328},
                                                                {"dbrx_132b", 131'596'523'520},
                                                                {"t5_v1_1_xxl", 11'135'332'352},
                                                                {"mt5_xl", 3'742'619'648},
                                                                {"moonlight_16b_a3b", 15'960'110'208},
                                                                {"ministral_8b", 8'019'808'256},
                                                                {"open_llama_3b", 3'426'473'600},
                                                                {"codellama_13b", 13'016'028'160},
                                                                {"falcon3_7b", 7'455'550'464},
                                                                {"gemma3_270m", 268'098'176},
                                                                {"mamba_130m", 129'135'360},
                                                                {"mamba_370m", 371'516'416},
                                                                {"mamba_1_4b", 1'372'178'432}};
  for (const auto& [name, parameters] : exact) {
    INFO(name);
    CHECK(zoo_graph(name).parameter_count() == parameters);
  }
  // Rounded, as the names or papers give them. Names count the part that sees images, here some 0.4 billion.
  struct Rounded {
    const char* name;
    double parameters, epsilon;
  };
  for (const Rounded& model : std::vector<Rounded>{
           {"qwen3_5_9b", 9.0e9, 0.02},        {"qwen3_5_27b", 27.0e9, 0.02},      {"qwen3_5_35b_a3b", 35.0e9, 0.02},
           {"glm4_7_flash", 30e9, 0.03},       {"kimi_k2_5", 1.03e12, 0.01},       {"jamba_1_5_large", 398e9, 0.01},
           {"ministral3_8b", 8.5e9, 0.01},     {"cerebras_gpt_13b", 13e9, 0.02},   {"seed_coder_8b", 8.25e9, 0.005},
           {"mimo_7b", 7.6e9, 0.01},           {"exaone_3_5_2_4b", 2.41e9, 0.005}, {"exaone_3_5_32b", 32.0e9, 0.005},
           {"exaone4_32b", 32.0e9, 0.005},     {"codellama_70b", 69.0e9, 0.005},   {"olmo_1b", 1.18e9, 0.005},
           {"olmo_7b", 6.89e9, 0.005},         {"command_r7b", 8.03e9, 0.005},     {"command_a_111b", 111e9, 0.005},
           {"ernie4_5_0_3b", 0.36e9, 0.01},    {"ernie4_5_21b_a3b", 21.8e9, 0.01}, {"ernie4_5_300b_a47b", 300e9, 0.01},
           {"apertus_8b", 8.05e9, 0.005},      {"apertus_70b", 70.6e9, 0.005},     {"afm_4_5b", 4.6e9, 0.01},
           {"dots_llm1", 142e9, 0.01},         {"deepseek_67b", 67.4e9, 0.005},    {"xglm_7_5b", 7.5e9, 0.005},
           {"glm_130b", 130e9, 0.015},         {"mt_nlg_530b", 530e9, 0.005},      {"turing_nlg_17b", 17.2e9, 0.005},
           {"qwen2_57b_a14b", 57.4e9, 0.005},  {"mpt_30b", 30e9, 0.005},           {"seed_oss_36b", 36.2e9, 0.005},
           {"minitron_4b", 4.19e9, 0.005},     {"bart_large", 406e6, 0.005},       {"distilbert_base", 67e6, 0.01},
           {"xlm_roberta_large", 560e6, 0.005}}) {
    INFO(model.name);
    CHECK(zoo_graph(model.name).parameter_count() == Approx(model.parameters).epsilon(model.epsilon));
  }
}

TEST_CASE("the language model of one that sees images is that of the same size") {
  const std::vector<std::pair<std::string, std::string>> pairs{{"qwen2_vl_7b", "qwen2_7b"},
                                                               {"qwen2_5_vl_3b", "qwen2_5_3b"},
                                                               {"qwen2_5_vl_7b", "qwen2_7b"},
                                                               {"qwen2_5_vl_32b", "qwen2_5_32b"},
                                                               {"qwen2_5_vl_72b", "qwen2_72b"},
                                                               {"qwen3_vl_4b", "qwen3_4b"},
                                                               {"qwen3_vl_8b", "qwen3_8b"},
                                                               {"qwen3_vl_32b", "qwen3_32b"},
                                                               {"qwen3_vl_30b_a3b", "qwen3_30b_a3b"},
                                                               {"qwen3_vl_235b_a22b", "qwen3_235b_a22b"},
                                                               {"kimi_k2_5", "kimi_k2"}};
  for (const auto& [seeing, reading] : pairs) {
    INFO(seeing);
    const Graph graph = zoo_graph(seeing + "@4096"), same = zoo_graph(reading + "@4096");
    CHECK(graph.parameter_count() == same.parameter_count());
    CHECK(graph.layers.size() == same.layers.size());
  }
}

TEST_CASE("Llama 3 8B by hand") {
  // Tables in and out 2 x 128256 x 4096; a layer: queries and output 2 x 4096^2, keys and values 2 x 4096 x 1024, the
  // network 3 x 4096 x 14336, two norms; the last norm.
  const std::int64_t layer = 2 * 4096LL * 4096 + 2 * 4096LL * 1024 + 3 * 4096LL * 14336 + 2 * 4096;
  CHECK(zoo_graph("llama3_8b").parameter_count() == 2 * 128256LL * 4096 + 32 * layer + 4096);
  CHECK(zoo_graph("llama3_8b").tokens == 8192);
}

TEST_CASE("DeepSeek-V3 by hand") {
  // Queries by a vector of 1536; keys and values by one of 512, and 64 rotated features that all 128 heads share.
  const std::int64_t attention = 7168LL * 1536 + 1536 + 1536LL * 128 * 192 + 7168LL * (512 + 64) + 512 +
                                 512LL * 128 * (128 + 128) + 128LL * 128 * 7168;
  const std::int64_t dense = 3 * 7168LL * 18432, expert = 3 * 7168LL * 2048;
  const std::int64_t mixture = 256 * expert + expert + 256 * 7168LL + 256;  // one shared; router and its bias
  const std::int64_t total = 2 * 129280LL * 7168 + 61 * (attention + 2 * 7168) + 3 * dense + 58 * mixture + 7168;
  CHECK(total == 671'026'419'200);
  CHECK(zoo_graph("deepseek_v3").parameter_count() == total);
}

TEST_CASE("multiply-adds are those of PaLM's appendix B and of Megatron's formula") {
  // Chowdhery et al. 2022: 6 N + 12 l h s FLOP per token and training step, h s features of all heads; N without the
  // table that is only looked up.
  for (const char* name : {"llama2_7b", "llama3_70b", "qwen3_8b"}) {
    INFO(name);
    const Graph graph = zoo_graph(std::string(name) + "@4096");
    double tables = 0, biases_and_norms = 0, width = 0, layers = 0;
    for (const Layer& layer : graph.layers) {
      if (layer.kind == LayerKind::embedding) tables += static_cast<double>(layer.parameter_count());
      for (const Parameter& p : layer.parameters)
        if (p.role != ParameterRole::weight) biases_and_norms += static_cast<double>(p.elements);
      if (layer.kind == LayerKind::attention) width = layer.in.channels, ++layers;
    }
    const double n = static_cast<double>(graph.parameter_count()) - tables - biases_and_norms;
    CHECK(6.0 * static_cast<double>(graph.macs()) / graph.tokens == Approx(6 * n + 12 * layers * width * 4096));
  }
  // Narayanan et al. 2021, appendix: 96 B s l h^2 (1 + s / 6 h + V / 16 l h) with the forward pass computed twice;
  // 72 B s l h^2 (1 + s / 6 h + V / 12 l h) without.
  const Graph gpt = zoo_graph("gpt3_175b");
  const double s = 2048, l = 96, h = 12288, v = 50257;
  CHECK(6.0 * static_cast<double>(gpt.macs()) ==
        Approx(72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h))).epsilon(1e-12));
}

TEST_CASE("of experts those at work are counted") {
  // Mixtral uses 12.9 billion of 46.7 (Jiang et al. 2024), including its tables. DeepSeek-V3 uses 37 of 671 billion,
  // with the output's table but not the input's.
  const TransformerSpec mixtral = spec_of(R"({"model_type": "mixtral"})");
  CHECK(parameters_of(mixtral).total() == 46'702'792'704);
  CHECK(static_cast<double>(active_parameters(mixtral)) + 32000. * 4096 == Approx(12.9e9).epsilon(0.005));
  const Graph v3 = zoo_graph("deepseek_v3@1");
  CHECK(static_cast<double>(v3.macs()) == Approx(37e9).epsilon(0.02));
  // The graph's multiply-adds of a token are its active matrices, and attention to the one key.
  const TransformerSpec spec = spec_of(R"({"model_type": "deepseek_v3"})");
  CHECK(static_cast<double>(v3.macs()) ==
        Approx(static_cast<double>(active_parameters(spec)) + 61. * 128 * (192 + 128)).epsilon(1e-4));
}

TEST_CASE("a longer sequence has as many parameters, and attention that grows with its square") {
  const Graph one = zoo_graph("llama3_8b@4096"), two = zoo_graph("llama3_8b@8192");
  CHECK(one.name == "llama3_8b@4096");
  CHECK(two.name == "llama3_8b");
  CHECK(one.parameter_count() == two.parameter_count());
  const auto attention = [](const Graph& graph) {
    std::int64_t sum = 0;
    for (const Layer& layer : graph.layers) sum += layer.kind == LayerKind::attention ? layer.macs : 0;
    return sum;
  };
  CHECK(attention(two) == 4 * attention(one));
  CHECK(two.macs() - attention(two) == 2 * (one.macs() - attention(one)));
  CHECK(zoo_name_of(one) == "llama3_8b@4096");
  CHECK(zoo_name_of(two) == "llama3_8b");
  CHECK_THROWS_WITH(zoo_graph("gpt3_175b@4096"), "model \"gpt3_175b\": 4096 tokens are more than its 2048 positions");
  CHECK_THROWS_WITH(zoo_graph("resnet50@10"), "model \"resnet50\" has samples of one length; allowed: \"resnet50\"");
  for (const char* name : {"llama3_8b@x", "llama3_8b@", "llama3_8b@0", "alexnet@5", "@5"})
    CHECK_THROWS_AS(zoo_graph(name), InputError);
  CHECK(zoo_graph("gpt2_fused@512").layers.size() == zoo_graph("gpt2@512").layers.size());
  for (const char* name : {"gpt2@512", "gpt2_fused@512"}) CHECK(zoo_name_of(zoo_graph(name)) == name);
  CHECK_THROWS_AS(zoo_graph("llama3_9b@4096"), InputError);
}

TEST_CASE("a window bounds the pairs, a causal mask does not change what is counted") {
  AttentionShape a;
  a.keys = 8;
  CHECK(a.pairs_without_causal_mask(8) == 64);
  CHECK(a.seen_pairs(8) == 64);
  a.causal = true;
  CHECK(a.pairs_without_causal_mask(8) == 64);
  CHECK(a.seen_pairs(8) == 36);  // 1 + 2 + ... + 8
  CHECK(a.seen_pairs(2) == 15);  // the last two queries see 7 and 8
  a.window = 3;
  CHECK(a.pairs_without_causal_mask(8) == 24);
  CHECK(a.seen_pairs(8) == 1 + 2 + 6 * 3);
  CHECK(a.seen_pairs(2) == 6);
}

TEST_CASE("what another head or another attention would change is another graph") {
  const TransformerSpec gpt2 = spec_of(R"({"model_type": "gpt2"})");
  const Graph fused = transformer_graph(gpt2, {1024, true}), passes = transformer_graph(gpt2, {1024, false});
  CHECK(fused.macs() == passes.macs());
  CHECK(parameters_of_config(R"({"model_type": "gpt2"})") == 124'439'808);
  CHECK(fused.macs() == zoo_graph("gpt2").macs());
  const auto kept = [](const Graph& graph) {
    std::int64_t sum = 0;
    for (const Layer& layer : graph.layers) sum += layer.kept_elements;
    return sum;
  };
  CHECK(kept(fused) == 12 * 2 * 12 * 1024);            // sums of exponentials
  CHECK(kept(passes) == 12 * 2 * 12 * 1024 * 1024LL);  // weights, and those left by dropout
}

TEST_CASE("a transformer with one layer of each kind has the layers of the whole one") {
  const auto of_block = [](const Graph& graph, std::size_t block) {
    std::vector<Layer> layers;
    const std::string name = "l" + std::to_string(block + 1) + "/";
    for (const Layer& layer : graph.layers)
      if (layer.name.rfind(name, 0) == 0) layers.push_back(layer);
    return layers;
  };
  int fewer = 0;
  for (const std::string& name : zoo_names()) {
    const Graph whole = zoo_graph(name);
    if (!whole.transformer) continue;
    const TransformerSpec& spec = whole.transformer->spec;
    const DistinctLayers distinct = find_distinct_layers(spec);
    const Graph few = transformer_graph(distinct.spec, whole.transformer->job);
    INFO(name);
    REQUIRE(distinct.kind_of_layer.size() == static_cast<std::size_t>(spec.layers + spec.decoder_layers));
    if (distinct.spec.layers < spec.layers) ++fewer;
    for (std::size_t block = 0; spec.decoder_layers == 0 && block < distinct.kind_of_layer.size(); ++block) {
      const std::vector<Layer> mine = of_block(whole, block), same = of_block(few, distinct.kind_of_layer[block]);
      REQUIRE(!mine.empty());
      REQUIRE(mine.size() == same.size());
      for (std::size_t i = 0; i < mine.size(); ++i) {
        CHECK(mine[i].kind == same[i].kind);
        CHECK(mine[i].macs == same[i].macs);
        CHECK(mine[i].input_elements == same[i].input_elements);
        CHECK(mine[i].parameters.size() == same[i].parameters.size());
        CHECK(mine[i].attention.window == same[i].attention.window);
      }
    }
  }
  CHECK(fewer > 50);
}

}  // namespace lockstep::model
