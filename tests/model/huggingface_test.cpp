// Published HuggingFace configurations: compares their parameters with the totals of their checkpoints.
#include "engine/model/transformer/huggingface.hpp"

#include <algorithm>

#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"

namespace lockstep::model {
namespace {

struct Read {
  TransformerSpec spec;
  std::vector<Assumption> assumptions;
};

Read read(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "config.json");
  const TransformerSpec spec = transformer_of_huggingface(document.root());
  return {spec, document.assumptions()};
}

// Returns the sum over the layers, after comparing it with the closed form of the specification.
std::int64_t parameters(const std::string& text) {
  const TransformerSpec spec = read(text).spec;
  const std::int64_t sum = transformer_graph(spec).parameter_count();
  CHECK(parameters_of(spec).total() == sum);
  return sum;
}

std::string problem(const std::string& text) {
  try {
    transformer_graph(read(text).spec);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

// Sizes are those of each model's config.json on huggingface.co. Totals are those of its checkpoint ("safetensors" on
// the same page). For Gemma, T5 and Qwen1.5-MoE they are also "params" of KerasHub's presets, for GPT-NeoX of its model
// card, for ViT torchvision's.
TEST_CASE("configurations have the parameters of their checkpoints") {
  CHECK(parameters(R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
      "vocab_size": 128256, "rope_theta": 500000.0, "max_position_embeddings": 8192})") == 8'030'261'248);
  CHECK(parameters(R"({"model_type": "llama"})") == 6'738'415'616);     // the class's defaults are Llama-7B's
  CHECK(parameters(R"({"model_type": "mistral"})") == 7'241'732'096);   // Mistral-7B-v0.1's
  CHECK(parameters(R"({"model_type": "mixtral"})") == 46'702'792'704);  // Mixtral-8x7B-v0.1's
  CHECK(parameters(R"({"model_type": "deepseek_v3"})") == 671'026'419'200);
  CHECK(parameters(R"({"model_type": "gpt2"})") == 124'439'808);
  CHECK(parameters(R"({"model_type": "gemma"})") == 8'537'680'896);   // Gemma-7B's
  CHECK(parameters(R"({"model_type": "gemma2"})") == 2'614'341'888);  // Gemma-2-2B's
  CHECK(parameters(R"({"model_type": "gpt_neox", "vocab_size": 50432})") == 20'554'567'680);
  CHECK(parameters(R"({"model_type": "opt"})") == 125'239'296);  // OPT-125M's
  CHECK(parameters(R"({"model_type": "opt", "do_layer_norm_before": false, "ffn_dim": 4096, "hidden_size": 1024,
      "num_attention_heads": 16, "num_hidden_layers": 24, "word_embed_proj_dim": 512})") == 331'196'416);
  CHECK(parameters(R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
      "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "use_sliding_window": false,
      "sliding_window": 131072})") == 7'615'616'512);
  CHECK(parameters(R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "head_dim": 128,
      "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8})") == 8'190'735'360);
  CHECK(parameters(R"({"model_type": "qwen2_moe"})") == 14'315'784'192);  // Qwen1.5-MoE-A2.7B's
  CHECK(parameters(R"({"model_type": "qwen3_moe", "hidden_size": 2048, "head_dim": 128, "num_hidden_layers": 48})") ==
        30'532'122'624);
  CHECK(parameters(R"({"model_type": "deepseek_v2", "vocab_size": 102400, "hidden_size": 2048, "q_lora_rank": null,
      "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16,
      "num_key_value_heads": 16, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
      "first_k_dense_replace": 1})") == 15'706'484'224);
  CHECK(parameters(R"({"model_type": "t5", "d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12})") ==
        222'903'552);
  CHECK(parameters(R"({"model_type": "roberta", "max_position_embeddings": 514, "type_vocab_size": 1})") ==
        124'697'433);
  CHECK(parameters(R"({"model_type": "vit", "num_labels": 1000})") == 86'567'656);
}

// Totals are those of the checkpoints on huggingface.co. For Gemma 3 and Llama 4 they are those of the language model:
// the checkpoint's less the vision tower, which is the same for every size (416,866,032 and 871,932,416), and Gemma's
// projection.
TEST_CASE("configurations of 2024 and later have the parameters of their checkpoints") {
  CHECK(parameters(R"({"model_type": "phi3"})") == 3'821'079'552);  // Phi-3-mini's
  CHECK(parameters(R"({"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40,
      "num_attention_heads": 40, "num_key_value_heads": 10})") == 13'960'238'080);
  CHECK(parameters(R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 24,
      "num_key_value_heads": 8, "vocab_size": 200064, "tie_word_embeddings": true,
      "partial_rotary_factor": 0.75})") == 3'836'021'760);  // Phi-4-mini
  CHECK(parameters(R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
      "num_attention_heads": 32})") == 2'779'683'840);      // Phi-2
  CHECK(parameters(R"({"model_type": "gemma3_text", "vocab_size": 262144, "hidden_size": 1152,
      "intermediate_size": 6912, "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1,
      "sliding_window": 512})") == 999'885'952);
  CHECK(parameters(R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "text_config":
      {"hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62, "num_attention_heads": 32,
       "num_key_value_heads": 16, "head_dim": 128}, "vision_config": {"hidden_size": 1152}})") ==
        27'432'406'640 - 416'866'032 - (1152 * 5376 + 1152));
  CHECK(parameters(R"({"model_type": "olmo2", "vocab_size": 100352})") == 7'298'617'344);
  CHECK(parameters(R"({"model_type": "olmo2", "vocab_size": 100352, "hidden_size": 5120, "intermediate_size": 27648,
      "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8})") == 32'234'279'936);
  CHECK(parameters(R"({"model_type": "olmo3", "vocab_size": 100278})") == 7'298'011'136);
  CHECK(parameters(R"({"model_type": "olmoe", "intermediate_size": 1024})") == 6'919'161'856);
  CHECK(parameters(R"({"model_type": "glm"})") == 9'399'951'360);
  CHECK(parameters(R"({"model_type": "glm4", "attention_bias": true})") == 9'400'279'040);
  CHECK(parameters(R"({"model_type": "glm4", "hidden_size": 6144, "intermediate_size": 23040,
      "num_hidden_layers": 61, "num_attention_heads": 48})") == 32'566'081'536);
  CHECK(parameters(R"({"model_type": "llama4", "text_config": {}})") == 108'641'793'536 - 871'932'416);  // Scout
  CHECK(parameters(R"({"model_type": "llama4_text", "num_local_experts": 128, "interleave_moe_layer_step": 2})") ==
        401'583'781'376 - 871'932'416);  // Maverick
  CHECK(parameters(R"({"model_type": "gpt_oss"})") == 116'829'156'672);
  CHECK(parameters(R"({"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32,
      "experts_per_token": 4})") == 20'914'757'184);
  CHECK(parameters(R"({"model_type": "kimi_k2", "vocab_size": 163840, "num_attention_heads": 64,
      "n_routed_experts": 384, "first_k_dense_replace": 1})") == 1'026'408'232'448);
  CHECK(parameters(R"({"model_type": "smollm3"})") == 3'075'098'624);
  CHECK(parameters(R"({"model_type": "starcoder2"})") == 3'030'371'328);
  CHECK(parameters(R"({"model_type": "starcoder2", "hidden_size": 6144, "intermediate_size": 24576,
      "num_hidden_layers": 40, "num_attention_heads": 48, "num_key_value_heads": 4,
      "tie_word_embeddings": false})") == 15'957'889'024);
  CHECK(parameters(R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_head": 48, "n_layer": 40, "n_inner": 24576,
      "n_positions": 8192, "vocab_size": 49152})") == 15'517'456'384);  // StarCoderBase
  CHECK(parameters(R"({"model_type": "falcon"})") == 6'921'720'704);    // Falcon-7B's
  CHECK(parameters(R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
      "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": true})") == 41'303'293'952);
  CHECK(parameters(R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16})") ==
        559'214'592);
  CHECK(parameters(R"({"model_type": "bloom", "hidden_size": 14336, "n_layer": 70, "n_head": 112})") ==
        176'247'271'424);
  CHECK(parameters(R"({"model_type": "gptj"})") == 6'050'882'784);
  CHECK(parameters(R"({"model_type": "bart"})") == 406'291'456);  // BART-large's
  CHECK(parameters(R"({"model_type": "bart", "d_model": 768, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072,
      "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12, "decoder_attention_heads": 12})") ==
        139'420'416);
}

TEST_CASE("configurations of other families have the parameters of their checkpoints") {
  CHECK(parameters(R"({"model_type": "internlm2", "intermediate_size": 14336, "num_key_value_heads": 8,
      "vocab_size": 92544, "bias": false})") == 7'737'708'544);
  CHECK(parameters(R"({"model_type": "baichuan"})") == 7'505'973'248);  // Baichuan2-7B's
  CHECK(parameters(R"({"model_type": "seed_oss", "hidden_size": 5120})") == 36'151'104'512);
  CHECK(
      parameters(R"({"model_type": "stablelm", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
      "vocab_size": 100352, "use_qkv_bias": true})") == 1'644'515'328);  // stablelm-2-1_6b's
  CHECK(parameters(R"({"model_type": "cohere"})") == 34'980'831'232);    // Command R's
  CHECK(parameters(R"({"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32,
      "vocab_size": 50432})") == 6'649'286'656);                         // MPT-7B's
  CHECK(parameters(R"({"model_type": "phimoe", "attention_bias": true, "lm_head_bias": true})") == 41'873'153'344);
  CHECK(parameters(R"({"model_type": "dbrx", "d_model": 6144, "n_layers": 40, "n_heads": 48, "vocab_size": 100352,
      "attn_config": {"kv_n_heads": 8}, "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16,
      "moe_top_k": 4}})") == 131'596'523'520);
  CHECK(parameters(R"({"model_type": "mt5"})") == 300'176'768);  // mt5-small's
  // By hand: Nemotron-4's layers of 15B have 32 x (4 h^2 and 2 h 4 h of weights, two layer norms).
  CHECK(parameters(R"({"model_type": "nemotron"})") ==
        32 * (4 * 6144LL * 6144 + 8 * 6144LL * 6144 + 4 * 6144) + 2 * 6144 + 2 * 256000LL * 6144);
  // distilbert-base-uncased with its head of masked words; xlm-roberta-base with its own.
  CHECK(parameters(R"({"model_type": "distilbert"})") == 66'985'530);
  CHECK(parameters(R"({"model_type": "xlm-roberta", "vocab_size": 250002, "type_vocab_size": 1,
      "max_position_embeddings": 514})") == 278'295'186);
}

TEST_CASE("GLM-4.5 and MiniMax-M2 have the parameters of their names, less what predicts further tokens") {
  CHECK(parameters(R"({"model_type": "glm4_moe", "head_dim": 128, "attention_bias": true})") ==
        Approx(106e9).epsilon(0.01));
  CHECK(parameters(R"({"model_type": "glm4_moe", "head_dim": 128, "attention_bias": true, "use_qk_norm": true,
      "hidden_size": 5120, "intermediate_size": 12288, "num_hidden_layers": 92, "n_routed_experts": 160,
      "moe_intermediate_size": 1536, "first_k_dense_replace": 3})") == Approx(355e9).epsilon(0.01));
  // The checkpoint has 228,703,644,928 including the scale factors of its eight-bit weights.
  CHECK(parameters(R"({"model_type": "minimax_m2"})") == Approx(228.7e9).epsilon(1e-4));
  CHECK(problem(R"({"model_type": "minimax_m2", "attn_type_list": [0, 1]})").find("linear attention") !=
        std::string::npos);
}

TEST_CASE("a window, a chunk and full attention see the pairs that are counted by hand") {
  AttentionShape shape;
  shape.causal = true;
  shape.keys = 10;
  CHECK(shape.seen_pairs(10) == 55);
  shape.window = 4;
  CHECK(shape.seen_pairs(10) == 1 + 2 + 3 + 4 * 7);
  shape.chunked = true;
  CHECK(shape.seen_pairs(10) == 10 + 10 + 3);  // chunks of 4, 4 and 2
  shape.window = 16;
  CHECK(shape.seen_pairs(10) == 55);
}

TEST_CASE("layers see what their kind says: Gemma 3, Llama 4, OLMo 3, gpt-oss") {
  const auto windows = [](const std::string& text) { return read(text).spec.windows; };
  const std::vector<int> gemma = windows(R"({"model_type": "gemma3_text"})");
  CHECK(std::count(gemma.begin(), gemma.end(), 0) == 4);  // of 26: the 6th, 12th, 18th and 24th
  CHECK(gemma.at(5) == 0);
  const std::vector<int> llama4 = windows(R"({"model_type": "llama4_text"})");
  CHECK(std::count(llama4.begin(), llama4.end(), 0) == 12);
  CHECK(read(R"({"model_type": "llama4_text"})").spec.chunked);
  CHECK(windows(R"({"model_type": "olmo3"})") == windows(R"({"model_type": "olmo3", "layer_types": [)" + [] {
          std::string types;
          for (int i = 0; i < 32; ++i)
            types += std::string(i > 0 ? ", " : "") + (i % 4 == 3 ? "\"full_attention\"" : "\"sliding_attention\"");
          return types;
        }() + "]}"));
  const std::vector<int> oss = windows(R"({"model_type": "gpt_oss"})");
  CHECK(oss.at(0) == 128);
  CHECK(oss.at(1) == 0);
}

TEST_CASE("an adapter's configuration says what it is and what to do") {
  const auto refused = [](const std::string& text) {
    try {
      model_from_json(JsonDocument::parse(text, "adapter_config.json").root());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused(R"({"peft_type": "LORA", "r": 16, "base_model_name_or_path": "meta-llama/Llama-2-70b-hf"})") ==
        "adapter_config.json: /peft_type: an adapter (LORA of rank 16), no model; allowed: the config.json of "
        "meta-llama/Llama-2-70b-hf with --lora-rank 16");
  CHECK(refused(R"({"peft_type": "PREFIX_TUNING"})").find("the model that it adapts") != std::string::npos);
}

TEST_CASE("what is known and not modelled is refused in a plain sentence") {
  CHECK_THAT(
      problem(R"({"model_type": "zamba2"})"),
      Contains("architecture \"zamba2\": its state-space layers stand in parallel with attention or share weights, "
               "which is not modelled; allowed: llama"));
  CHECK_THAT(problem(R"({"model_type": "rwkv"})"), Contains("layers of linear attention"));
  CHECK_THAT(problem(R"({"model_type": "wav2vec2"})"), Contains("reads sound"));
  CHECK_THAT(problem(R"({"model_type": "siglip"})"), Contains("two towers"));
  for (const std::string& type : huggingface_types()) CHECK(why_not_modelled(type).empty());
  try {
    model_from_json(JsonDocument::parse(R"({"_class_name": "AutoencoderKL"})", "config.json").root());
    FAIL_CHECK("a configuration of diffusers was taken");
  } catch (const InputError& error) {
    CHECK_THAT(std::string(error.what()), Contains("/_class_name: a part of a diffusion model (AutoencoderKL)"));
  }
}

TEST_CASE("BERT: its body has the total without heads, its head is that of what it is trained for") {
  // TensorFlow's and PyTorch's BertModel have 109,482,240 without heads but with the pooler (768^2 + 768).
  const TransformerSpec masked = read(R"({"model_type": "bert", "architectures": ["BertForMaskedLM"]})").spec;
  const ParameterParts parts = parameters_of(masked);
  CHECK(parts.total() - parts.output + 768 * 768 + 768 == 109'482'240);
  // The layer before the loss has 768^2 + 768, a norm, and a bias per word.
  CHECK(parts.output == 768 * 768 + 768 + 2 * 768 + 30522);
  // BertForPreTraining of the release has 110,106,428.
  CHECK(parameters(R"({"model_type": "bert", "architectures": ["BertForPreTraining"]})") == 110'106'428);
}

TEST_CASE("T5-base by hand") {
  // An encoder layer has four matrices 768^2, two of 768 x 3072, and two norms; a decoder layer has four more matrices
  // and one more norm. Each side has a table of 32 distances for 12 heads and a final norm. The words are 32128 x 768,
  // once.
  const std::int64_t network = 2 * 768LL * 3072, attention = 4 * 768LL * 768;
  const std::int64_t sum = 12 * (attention + network + 2 * 768) + 12 * (2 * attention + network + 3 * 768) +
                           2 * 32 * 12 + 2 * 768 + 32128LL * 768;
  CHECK(sum == 222'903'552);
}

TEST_CASE("what a configuration leaves out stands in with its class's default, and is said") {
  const Read llama =
      read(R"({"model_type": "llama", "hidden_size": 4096, "torch_dtype": "bfloat16", "bos_token_id": 1})");
  std::vector<std::string> pointers;
  for (const Assumption& a : llama.assumptions) {
    CHECK(a.source == "default of transformers' LlamaConfig");
    pointers.push_back(a.pointer);
  }
  CHECK(std::count(pointers.begin(), pointers.end(), "/vocab_size") == 1);
  CHECK(std::count(pointers.begin(), pointers.end(), "/hidden_size") == 0);
  // For a window, null means none, and an absent key means the class's default.
  CHECK(read(R"({"model_type": "mistral"})").spec.window_of(0) == 4096);
  CHECK(read(R"({"model_type": "mistral", "sliding_window": null})").spec.window_of(0) == 0);
  CHECK(read(R"({"model_type": "gemma2"})").spec.window_of(0) == 4096);
  CHECK(read(R"({"model_type": "gemma2"})").spec.window_of(1) == 0);
  CHECK(read(R"({"model_type": "gpt_neo"})").spec.window_of(1) == 256);
  const TransformerSpec sparse =
      read(R"({"model_type": "qwen3_moe", "decoder_sparse_step": 2, "mlp_only_layers": [3]})").spec;
  CHECK(!sparse.has_experts(0));
  CHECK(sparse.has_experts(1));
  CHECK(!sparse.has_experts(3));
}

TEST_CASE("windows repeat by a number, by letters or as listed") {
  const auto spec = [](const std::string& text) { return read(text).spec; };
  const TransformerSpec command = spec(R"({"model_type": "cohere2"})");
  CHECK(command.window_of(2) == 4096);
  CHECK(command.window_of(3) == 0);
  CHECK(command.unturned_every == 4);
  const TransformerSpec letters = spec(R"({"model_type": "exaone4", "sliding_window_pattern": "LLG"})");
  CHECK(letters.window_of(1) == 4096);
  CHECK(letters.window_of(2) == 0);
  CHECK(letters.window_of(31) == 0);  // the last one has no window
  CHECK(letters.unturned_every == 3);
  CHECK(spec(R"({"model_type": "exaone4", "sliding_window": null})").unturned_every == 0);
  CHECK(problem(R"({"model_type": "exaone4", "sliding_window_pattern": "LX"})") != "");
  CHECK(spec(R"({"model_type": "dots1", "sliding_window": 512, "max_window_layers": 60})").window_of(61) == 512);
}

TEST_CASE("layers with experts begin and end where the configuration says") {
  const TransformerSpec ernie = read(R"({"model_type": "ernie4_5_moe", "moe_layer_start_index": 2,
      "moe_layer_interval": 2, "moe_layer_end_index": 5})")
                                    .spec;
  for (int layer = 0; layer < ernie.layers; ++layer) CHECK(ernie.has_experts(layer) == (layer == 3 || layer == 5));
  CHECK(!read(R"({"model_type": "deepseek"})").spec.has_experts(1));
  const TransformerSpec deepseek = read(R"({"model_type": "deepseek", "n_routed_experts": 64, "num_experts_per_tok": 6,
      "first_k_dense_replace": 1})")
                                       .spec;
  CHECK(!deepseek.has_experts(0));
  CHECK(deepseek.has_experts(1));
}

TEST_CASE("a model that sees images is its language model, and says so") {
  const auto says_so = [](const Read& read) {
    return std::any_of(read.assumptions.begin(), read.assumptions.end(), [](const Assumption& assumed) {
      return assumed.source.find("the part that sees images is left out") != std::string::npos;
    });
  };
  const std::string sizes = R"("hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
      "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064)";
  const std::int64_t qwen = parameters(R"({"model_type": "qwen2", )" + sizes + "}");
  const std::string nested = R"({"model_type": "qwen2_5_vl", "text_config": {)" + sizes + "}}";
  CHECK(parameters(nested) == qwen);
  CHECK(says_so(read(nested)));
  const std::string flat = R"({"model_type": "qwen2_vl", )" + sizes + "}";  // as Qwen2-VL's files of 2024
  CHECK(parameters(flat) == qwen);
  CHECK(says_so(read(flat)));
  // LLaVA and others say which language model they have.
  CHECK(parameters(R"({"model_type": "llava", "text_config": {"model_type": "qwen2", )" + sizes + "}}") == qwen);
  CHECK(problem(R"({"model_type": "qwen2_5_vl", "text_config": {}})") != "");
  CHECK(parameters(R"({"model_type": "llava", "text_config": {}})") == parameters(R"({"model_type": "llama"})"));
  CHECK_THAT(problem(R"({"model_type": "llava", "text_config": {"model_type": "lama"}})"),
             Contains("/text_config/model_type: architecture \"lama\" is unknown"));
  CHECK_THAT(problem(R"({"model_type": "llava", "text_config": {"model_type": "llava"}})"),
             Contains("/text_config/model_type: no language model"));
}

TEST_CASE("what is not understood is refused by name") {
  CHECK(problem(R"({"model_type": "lama"})")
            .find("config.json: /model_type: architecture \"lama\" is unknown; allowed: llama, mistral, ") == 0);
  CHECK_THAT(problem(R"({"model_type": "lama"})"), Contains("; nearest: llama, "));
  CHECK(problem(R"({"model_type": "zamba"})") != "");
  CHECK(problem(R"({"model_type": "llama", "hidden_act": "relu6"})").find("config.json: /hidden_act: activation") == 0);
  CHECK(problem(R"({"model_type": "llama", "hidden_size": "big"})").find("config.json: /hidden_size") == 0);
  CHECK(problem(R"({"model_type": "llama", "hidden_size": 4095})").find("config.json: /hidden_size: 4095 features") ==
        0);
  CHECK(problem(R"({"model_type": "bert", "position_embedding_type": "relative_key"})") != "");
  CHECK(problem(R"({"model_type": "deepseek_v3", "moe_layer_freq": 2})") != "");
  CHECK(problem(R"({"model_type": "llama", "architectures": ["LlamaForSequenceClassification"]})")
            .find("config.json: /architectures/0: no model of the loss of") == 0);
  CHECK(problem(R"({"model_type": "gemma2", "layer_types": ["full_attention"]})").find("config.json: /layer_types") ==
        0);
}

TEST_CASE("a model is a file's, a name's or a configuration's, at the length that the job says") {
  const auto graph = [](const std::string& text) {
    const JsonDocument document = JsonDocument::parse(text, "model.json");
    return model_from_json(document.root());
  };
  CHECK(graph(R"({"config": {"model_type": "llama"}, "sequence": 1024})").tokens == 1024);
  CHECK(graph(R"({"model_type": "llama"})").tokens == 2048);
  CHECK(graph(R"({"model_type": "llama", "sequence": 512})").tokens == 512);  // as --set /model/sequence=512 writes
  CHECK(graph(R"({"name": "llama3_8b", "sequence": 2048})").tokens == 2048);
  CHECK(graph(R"({"name": "llama3_8b"})").tokens == 8192);
  const Graph passes = graph(R"({"name": "llama3_8b", "sequence": 2048, "attention": "in-passes"})");
  CHECK(zoo_name_of(passes) == "");
  CHECK_THROWS_AS(graph(R"({"name": "llama3_8b", "length": 2048})"), InputError);
  CHECK_THROWS_AS(graph(R"({"name": "resnet50", "sequence": 2048})"), InputError);
  CHECK_THROWS_AS(graph(R"({"config": "elsewhere.txt"})"), InputError);
  std::map<std::string, std::string> inputs;
  const std::string file = std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/models/llama3_8b/config.json";
  CHECK(graph_of(file, inputs).parameter_count() == 8'030'261'248);
  CHECK(graph_of(file + "@4096", inputs).tokens == 4096);
  CHECK(inputs.count(file) == 1);
  // No backend computes it, under any name.
  CHECK_THROWS_WITH(trainable_graph_of(file, inputs), Contains("no backend has layers of sequences"));
  CHECK_THROWS_WITH(trainable_graph_of("llama3_8b@4096", inputs), Contains("no backend has its attention"));
}

}  // namespace lockstep::model
