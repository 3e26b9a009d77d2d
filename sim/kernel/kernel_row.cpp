#include "sim/kernel/kernel_row.hpp"

#include <charconv>
#include <cmath>

#include "sim/kernel/kernel_laws.hpp"

namespace lockstep::sim {
inline namespace kernel {
namespace {

/// Reads cells of one row.
class Cells {
 public:
  explicit Cells(const KernelCells& cells) : cells_(cells) {}

  const std::string& text(const std::string& column) const {
    const auto found = cells_.find(column);
    if (found == cells_.end()) throw InputError("no column " + in_quotes(column));
    if (found->second.empty()) throw InputError("column " + in_quotes(column) + " is empty");
    return found->second;
  }
  double number(const std::string& column, double low = 1) const {
    const std::string& cell = text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value) || value < low ||
        value > 1e18)
      throw InputError("column " + in_quotes(column) + ": " + in_quotes(cell) + " is no number from " +
                       short_number(low) + " to 1e18");
    return value;
  }
  bool has(const std::string& column) const {
    const auto found = cells_.find(column);
    return found != cells_.end() && !found->second.empty();
  }
  double number_or(const std::string& column, double otherwise) const {
    return has(column) ? number(column, 0) : otherwise;
  }
  std::string text_or(const std::string& column, const std::string& otherwise) const {
    return has(column) ? cells_.at(column) : otherwise;
  }
  bool flag(const std::string& column, bool otherwise) const { return number_or(column, otherwise ? 1 : 0) > 0; }
  KernelPrecision precision() const { return choice_named<KernelPrecision>(text("precision"), "precision"); }

 private:
  const KernelCells& cells_;
};

std::string key_of(std::initializer_list<double> numbers) {
  std::string key;
  for (double number : numbers) key += short_number(number) + " ";
  return key;
}

KernelRow read_gemm(const Cells& cells) {
  const GemmShape shape{cells.number("m"), cells.number("n"), cells.number("k")};
  KernelRow row;
  row.law = kernel_law_name(KernelKind::gemm, "", cells.precision());
  row.work = gemm_work(shape, cells.precision());
  row.split_key = key_of({shape.n, shape.k});
  return row;
}

KernelRow read_attention(const Cells& cells) {
  const std::string kind = cells.text_or("kind", "context");
  if (kind != "context" && kind != "encoder")
    throw InputError("kind " + in_quotes(kind) + " is not known; allowed: context, encoder");
  AttentionKernelShape shape{cells.number("batch"), cells.number("seq"), cells.number("heads"),
                             cells.number_or("kv_heads", 0), cells.number("head_dim")};
  shape.is_causal = cells.flag("causal", kind == "context");
  shape.window = cells.number_or("window", 0);
  shape.has_cache = kind == "context" && cells.precision() == KernelPrecision::bf16;
  KernelRow row;
  row.law = kernel_law_name(KernelKind::attention, kind, cells.precision());
  row.work = attention_work(shape, cells.precision());
  row.split_key = key_of({shape.heads, shape.head_dim, shape.batch * shape.sequence});
  return row;
}

KernelRow read_mla(const Cells& cells) {
  const MlaShape shape{cells.number("batch"), cells.number("seq"), cells.number("heads")};
  KernelRow row;
  const KernelPrecision cache = choice_named<KernelPrecision>(cells.text_or("kv_cache", "bf16"), "kv_cache");
  row.law = kernel_law_name(KernelKind::mla, "cache in " + name_of(cache), cells.precision());
  row.work = mla_work(shape);
  row.split_key = key_of({shape.heads, shape.batch * shape.sequence});
  return row;
}

double skew_of(const std::string& distribution) {
  constexpr const char* kPowerLaw = "power_law_";
  if (distribution == "balanced") return 0;
  if (distribution.rfind(kPowerLaw, 0) == 0) {
    const std::string exponent = distribution.substr(std::string(kPowerLaw).size());
    double value = 0;
    const auto [end, error] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), value);
    if (error == std::errc() && end == exponent.data() + exponent.size() && value >= 0 && value <= 3) return value;
  }
  throw InputError("distribution " + in_quotes(distribution) + " is not known; allowed: balanced, power_law_EXPONENT");
}

KernelRow read_experts(const Cells& cells) {
  ExpertsKernelShape shape{cells.number("tokens"), cells.number("hidden"), cells.number("inter"), cells.number("topk"),
                           cells.number("experts")};
  shape.tensor_ranks = cells.has("tp") ? cells.number("tp") : 1;
  shape.expert_ranks = cells.has("ep") ? cells.number("ep") : 1;
  shape.is_gated = cells.flag("gated", true);
  shape.skew = skew_of(cells.text_or("distribution", "balanced"));
  if (shape.expert_ranks > shape.experts) throw InputError("column \"ep\": more ranks than experts");
  KernelRow row;
  row.law = kernel_law_name(KernelKind::experts, shape.is_gated ? "" : "ungated", cells.precision());
  row.work = experts_work(shape, cells.precision());
  row.split_key =
      key_of({shape.hidden, shape.inner, shape.active, shape.experts, shape.tensor_ranks, shape.expert_ranks});
  return row;
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

KernelRow read_collective(const Cells& cells) {
  CollectiveShape shape;
  shape.operation = choice_named<CollectiveOperation>(cells.text("op"), "op");
  shape.gpus = cells.number("gpus", 2);
  shape.size_bytes = cells.number("bytes");
  KernelRow row;
  row.law = kernel_law_name(KernelKind::collective,
                            name_of(shape.operation) + "/" + first_word(cells.text_or("library", "nccl")));
  row.work = collective_work(shape);
  row.split_key = key_of({shape.size_bytes, shape.gpus});
  return row;
}

KernelRow read_dispatch(const Cells& cells) {
  DispatchShape shape{cells.number("tokens"), cells.number("hidden"), cells.number("topk"), cells.number("experts"),
                      cells.number("gpus", 2)};
  shape.multiprocessors = cells.number_or("sms", 0);
  KernelRow row;
  row.law = kernel_law_name(KernelKind::dispatch, cells.text("library") + "/" + cells.text("op"));
  row.work = dispatch_work(shape);
  row.split_key = key_of({shape.tokens, shape.hidden, shape.multiprocessors});
  return row;
}

KernelRow read_cast(const Cells& cells) {
  const std::string operation = cells.text("op");
  CastShape shape{cells.number("m"), cells.number("k")};
  if (operation == "compute_scale")
    shape.element_bytes = 2;
  else if (operation != "scale_matrix")
    throw InputError("op " + in_quotes(operation) + " is not known; allowed: compute_scale, scale_matrix");
  KernelRow row;
  row.law = kernel_law_name(KernelKind::cast, operation);
  row.work = cast_work(shape);
  row.split_key = key_of({shape.k});
  return row;
}

KernelRow read_kind(KernelKind kind, const Cells& cells) {
  switch (kind) {
    case KernelKind::gemm:
      return read_gemm(cells);
    case KernelKind::attention:
      return read_attention(cells);
    case KernelKind::mla:
      return read_mla(cells);
    case KernelKind::experts:
      return read_experts(cells);
    case KernelKind::collective:
      return read_collective(cells);
    case KernelKind::dispatch:
      return read_dispatch(cells);
    case KernelKind::cast:
      break;
  }
  return read_cast(cells);
}

}  // namespace

KernelRow read_kernel_row(KernelKind kind, const KernelCells& cells) {
  KernelRow row = read_kind(kind, Cells(cells));
  row.gpu = Cells(cells).text("gpu");
  return row;
}

}  // namespace kernel
}  // namespace lockstep::sim
