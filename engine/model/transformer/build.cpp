// A transformer's layers. Names: "l12/q" is the query matrix of the twelfth layer, "e3/..." and "d3/..." are an
// encoder's and a decoder's.
#include <cmath>

#include "engine/base/text.hpp"
#include "engine/model/transformer/spec.hpp"

namespace lockstep::model {
namespace {

constexpr double kMasked = 0.15;  // fraction of the tokens (Devlin et al. 2019, section 3.1)

class Builder {
 public:
  Builder(const TransformerSpec& spec, const SequenceJob& job)
      : s_(spec),
        fused_(job.fused_attention),
        tokens_(job.tokens > 0 ? job.tokens : spec.usual_tokens()),
        net_(spec.name, title(), input_shape()) {
    if (spec.patches.image > 0 && job.tokens > 0 && job.tokens != spec.usual_tokens())
      fail("its patches are " + std::to_string(spec.usual_tokens()) + " tokens");
    if (spec.positions == PositionKind::learned && spec.patches.image == 0 && tokens_ > spec.context)
      fail(std::to_string(tokens_) + " tokens are more than its " + std::to_string(spec.context) + " positions");
  }

  Graph build() {
    if (s_.patches.image > 0) return image_classifier();
    return s_.decoder_layers > 0 ? encoder_decoder() : one_stack();
  }

 private:
  [[noreturn]] void fail(const std::string& wrong) const {
    throw InputError("model " + in_quotes(s_.name) + ": " + wrong);
  }

  Shape input_shape() const {
    if (s_.patches.image > 0) return {s_.patches.channels, s_.patches.image, s_.patches.image};
    return {1, s_.decoder_layers > 0 ? 2 * tokens_ : tokens_, 1};
  }

  std::string title() const {
    if (s_.patches.image > 0) return s_.title;
    const std::string one = std::to_string(tokens_);
    return s_.title + ", " + (s_.decoder_layers > 0 ? one + " + " + one : one) + " tokens";
  }

  Graph one_stack() {
    net_.count_tokens(tokens_);
    table_ = net_.embedding("words", 0, s_.vocabulary, embedding_width());
    int at = embedded(table_);
    for (int i = 0; i < s_.layers; ++i) at = layer("l" + std::to_string(i + 1), at, i);
    if (s_.final_norm) at = norm("norm", at);
    return predicted(at);
  }

  Graph encoder_decoder() {
    net_.count_tokens(2 * tokens_);
    table_ = net_.embedding("words", 0, s_.vocabulary, s_.hidden);
    int encoded = side("source");
    for (int i = 0; i < s_.layers; ++i) encoded = layer("e" + std::to_string(i + 1), encoded, i, Side::encoder);
    if (s_.final_norm) encoded = dropped("encoded", norm("encoded/norm", encoded));
    memory_ = encoded;
    int at = side("target");
    for (int i = 0; i < s_.decoder_layers; ++i) at = layer("d" + std::to_string(i + 1), at, i, Side::decoder);
    return predicted(s_.final_norm ? dropped("decoded", norm("norm", at)) : at);
  }

  Graph image_classifier() {
    Window window;
    window.kernel_h = window.kernel_w = window.stride_h = window.stride_w = s_.patches.patch;
    const int patches = net_.conv("patches", 0, s_.hidden, window, true);
    int at = dropped("positions", net_.positions("positions", patches, s_.usual_tokens(), 1));
    for (int i = 0; i < s_.layers; ++i) at = layer("l" + std::to_string(i + 1), at, i);
    at = net_.take("class", norm("norm", at), 1);
    net_.softmax("loss", net_.linear("head", at, s_.vocabulary, s_.output_bias));
    return net_.finish();
  }

  // Returns the embedded tokens of the encoder or decoder, with positions and the norm before the layers.
  int side(const std::string& n) {
    int at = net_.take(n, table_, tokens_);
    if (s_.positions == PositionKind::learned) at = net_.positions(n + "/positions", at, s_.position_rows);
    if (s_.embedding_norm) at = norm(n + "/norm", at);
    return dropped(n, at);
  }

  int embedding_width() const { return s_.embedding_width > 0 ? s_.embedding_width : s_.hidden; }

  int embedded(int at) {
    if (embedding_width() != s_.hidden) at = net_.linear("words/out", at, s_.hidden, false);
    if (s_.positions == PositionKind::learned) at = net_.positions("positions", at, s_.position_rows);
    if (s_.token_types > 0) at = net_.positions("types", at, s_.token_types);
    if (s_.embedding_norm) at = norm("words/norm", at);
    return dropped("words", at);
  }

  int norm(const std::string& name, int at) { return net_.norm(name, s_.norm, at); }
  int dropped(const std::string& name, int at) { return s_.dropout ? net_.dropout(name + "/drop", at) : at; }
  int activated(const std::string& name, int at) {
    if (s_.activation == LayerKind::relu) return net_.relu(name, at);
    return net_.activation(name, s_.activation, at);
  }

  enum class Side { only, encoder, decoder };

  int layer(const std::string& n, int at, int index, Side side = Side::only) {
    const auto attend = [&](int x) {
      return attention(n, x, x, index, side != Side::encoder && s_.causal, index == 0 ? s_.distance_buckets : 0);
    };
    const auto feed = [&](int x) { return s_.has_experts(index) ? mixture(n, x) : feed_forward(n, x, s_.inner); };
    if (s_.norm_place == NormPlace::parallel || s_.norm_place == NormPlace::parallel_one) {
      const int normed = norm(n + "/norm1", at);
      const int attended = dropped(n + "/out", attend(normed));
      const int fed =
          dropped(n + "/down", feed(s_.norm_place == NormPlace::parallel ? norm(n + "/norm2", at) : normed));
      return net_.add(n + "/add", {at, attended, fed});
    }
    const LayerParts parts = s_.parts_of(index);
    if (parts.mixing == TokenMixing::recurrence) at = joined(n, 1, at, [&](int x) { return recurrence(n, x); });
    if (parts.mixing == TokenMixing::attention) at = joined(n, 1, at, attend);
    if (side == Side::decoder)
      at = joined(n + "/cross", 1, at, [&](int x) { return attention(n + "/cross", x, memory_, index, false, 0); });
    return parts.feed_forward == FeedForward::none ? at : joined(n, 2, at, feed);
  }

  int recurrence(const std::string& n, int at) {
    const auto width = static_cast<int>(s_.recurrence.input_width());
    const int in = net_.linear(n + "/in", at, width, s_.recurrence_bias);
    return net_.linear(n + "/out", net_.recurrence(n + "/recurrence", in, s_.recurrence), s_.hidden,
                       s_.recurrence_bias);
  }

  template <typename Part>
  int joined(const std::string& n, int which, int at, const Part& part) {
    const std::string number = std::to_string(which);
    const NormPlace place = s_.norm_place;
    int out = place == NormPlace::after || place == NormPlace::behind ? at : norm(n + "/norm" + number, at);
    out = part(out);
    if (place == NormPlace::behind) out = norm(n + "/norm" + number, out);
    if (place == NormPlace::both) out = norm(n + "/norm" + number + "/behind", out);
    out = net_.add(n + "/add" + number, {at, dropped(n + "/part" + number, out)});
    return place == NormPlace::after ? norm(n + "/norm" + number, out) : out;
  }

  int headed(const std::string& name, int from, int heads, int index) {
    const bool is_value = name.back() == 'v';
    const bool is_turned = s_.unturned_every == 0 || (index + 1) % s_.unturned_every != 0;
    int at = net_.linear(name, from, heads * s_.head_dim, s_.qkv_bias);
    if (s_.qk_norm_whole && !is_value) at = net_.norm(name + "/norm", LayerKind::rms_norm, at);
    if (s_.qk_norm && !is_value) at = net_.norm(name + "/norm", LayerKind::rms_norm, at, s_.head_dim);
    if (s_.positions == PositionKind::rotary && !is_value && is_turned)
      at = net_.rotary(name + "/rotary", at, heads * s_.rotary_features);
    return at;
  }

  int attention(const std::string& n, int at, int memory, int index, bool causal, int buckets) {
    AttentionShape shape;
    shape.heads = s_.heads;
    shape.causal = causal;
    shape.window = s_.window_of(index);
    shape.chunked = s_.chunked && shape.window > 0;
    shape.sinks = s_.sinks;
    shape.fused = fused_;
    shape.dropout = s_.attention_dropout;
    shape.buckets = buckets;
    if (s_.latent.kv_rank > 0) return latent_attention(n, at, shape);
    const int q = headed(n + "/q", at, s_.heads, index), k = headed(n + "/k", memory, s_.kv_heads, index);
    const int v = headed(n + "/v", memory, s_.kv_heads, index);
    shape.kv_heads = s_.kv_heads;
    shape.head_dim = shape.value_dim = s_.head_dim;
    int attended = net_.attention(n + "/attention", {q, k, v}, shape);
    if (s_.attention_gate) {  // the gate's sigmoid costs as much as a SiLU
      const int weight = net_.linear(n + "/weight", at, s_.heads * s_.head_dim, s_.qkv_bias);
      attended =
          net_.multiply(n + "/weighed", {attended, net_.activation(n + "/weight/active", LayerKind::silu, weight)});
    }
    return net_.linear(n + "/out", attended, s_.hidden, s_.attention_out_bias);
  }

  // All heads' keys share the rotated features, which are computed from the token itself.
  int latent_attention(const std::string& n, int at, AttentionShape shape) {
    const LatentSpec& l = s_.latent;
    const int query = s_.heads * (l.nope_dim + l.rope_dim);
    int q = at;
    if (l.q_rank > 0)
      q = net_.norm(n + "/q_down/norm", LayerKind::rms_norm, net_.linear(n + "/q_down", at, l.q_rank, false));
    q = net_.rotary(n + "/q/rotary", net_.linear(n + "/q", q, query, false), s_.heads * l.rope_dim);
    const int latent =
        net_.norm(n + "/kv_down/norm", LayerKind::rms_norm, net_.linear(n + "/kv_down", at, l.kv_rank, false));
    const int turned = net_.rotary(n + "/k_shared/rotary", net_.linear(n + "/k_shared", at, l.rope_dim, false));
    const int k = net_.concat(n + "/k/join", {net_.linear(n + "/k", latent, s_.heads * l.nope_dim, false), turned});
    const int v = net_.linear(n + "/v", latent, s_.heads * l.value_dim, false);
    shape.kv_heads = s_.heads;
    shape.head_dim = l.nope_dim + l.rope_dim;
    shape.shared_dim = l.rope_dim;
    shape.value_dim = l.value_dim;
    return net_.linear(n + "/out", net_.attention(n + "/attention", {q, k, v}, shape), s_.hidden, false);
  }

  int feed_forward(const std::string& n, int at, int inner) {
    const int up = net_.linear(n + "/up", at, inner, s_.inner_bias);
    if (!s_.gated) return net_.linear(n + "/down", activated(n + "/active", up), s_.hidden, s_.inner_bias);
    const int gate = activated(n + "/active", net_.linear(n + "/gate", at, inner, s_.inner_bias));
    return net_.linear(n + "/down", net_.multiply(n + "/gated", {gate, up}), s_.hidden, s_.inner_bias);
  }

  int mixture(const std::string& n, int at) {
    const MixtureSpec& m = s_.mixture;
    const int router = net_.router(n + "/router", at, m.count, m.active, m.balancing_bias);
    const int routed = net_.experts(n + "/experts", {at, router}, m.inner, s_.gated, m.bias);
    if (m.shared_inner == 0) return routed;
    int shared = feed_forward(n + "/shared", at, m.shared_inner);
    if (m.shared_gate)
      shared = net_.multiply(n + "/shared/weighed", {shared, net_.linear(n + "/shared/weight", at, 1, false)});
    return net_.add(n + "/experts/add", {routed, shared});
  }

  Graph predicted(int at) {
    if (s_.objective == Objective::masked_and_next_sentence) {
      const int pooled = net_.linear("pooler", net_.take("first", at, 1), s_.hidden, true);
      net_.softmax("sentence/loss",
                   net_.linear("sentence", net_.activation("pooler/tanh", LayerKind::tanh, pooled), 2));
    }
    if (s_.objective != Objective::next_token) {
      at = net_.take("masked", at, static_cast<int>(std::ceil(kMasked * tokens_)));
      at = norm("transform/norm", activated("transform/active", net_.linear("transform", at, s_.hidden, true)));
    }
    if (embedding_width() != s_.hidden) at = net_.linear("words/in", at, embedding_width(), false);
    at = s_.tied_output ? net_.tied_linear("output", at, table_, s_.output_bias)
                        : net_.linear("output", at, s_.vocabulary, s_.output_bias);
    net_.softmax("loss", at);
    return net_.finish();
  }

  const TransformerSpec& s_;
  const bool fused_;
  const int tokens_;
  GraphBuilder net_;
  int table_ = 0, memory_ = 0;
};

}  // namespace

Graph transformer_graph(const TransformerSpec& spec, const SequenceJob& job) {
  Graph graph = Builder(spec, job).build();
  const int tokens = job.tokens > 0 ? job.tokens : spec.usual_tokens();
  graph.transformer = std::make_shared<const TransformerJob>(TransformerJob{spec, {tokens, job.fused_attention}, ""});
  return graph;
}

}  // namespace lockstep::model
