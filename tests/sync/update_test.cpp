// Rules of updates: each by hand, and properties of all.
#include "engine/sync/update.hpp"

#include <cmath>
#include <map>
#include <stdexcept>

#include "engine/sync/host_vector_ops.hpp"
#include "tests/catch.hpp"

namespace lockstep::sync {
namespace {

using Floats = std::vector<float>;

UpdateOptions options_of(UpdateRule rule, double weight_decay = 0) {
  UpdateOptions options;
  options.rule = rule;
  options.weight_decay = weight_decay;
  return options;
}

/// Returns a weight and a bias after updates by these gradients.
Floats after(const UpdateOptions& options, Floats w, const std::vector<Floats>& gradients, double rate) {
  HostVectorOps ops;
  const Layout layout = make_layout({{0, 1, true}, {1, 1, false}});
  Updater updater(ops, 2, 0, options);
  for (const Floats& g : gradients) updater.update(layout, rate, g.data(), w.data());
  return w;
}

/// Stores the state that it visits, and restores it.
class Memory final : public StateVisitor {
 public:
  explicit Memory(VectorOps& ops) : ops_(ops) {}
  void vector(const std::string& name, DeviceVector& value) override {
    if (is_read_)
      ops_.upload(value.size(), vectors_.at(name).data(), value.data());
    else
      vectors_[name] = value.to_host();
  }
  void integer(const std::string& name, std::int64_t& value) override {
    if (is_read_)
      value = integers_.at(name);
    else
      integers_[name] = value;
  }
  void real(const std::string&, double&) override { FAIL("no update keeps a real number"); }
  void read() { is_read_ = true; }
  std::size_t vectors() const { return vectors_.size(); }

 private:
  VectorOps& ops_;
  std::map<std::string, Floats> vectors_;
  std::map<std::string, std::int64_t> integers_;
  bool is_read_ = false;
};

}  // namespace

// The loss is f = w^2 / 2 + w^4 / 4. Nesterov's method (Sutskever et al. 2013, Eq. 3, 4) takes its gradient at theta +
// mu v:
//   v' = mu v - gamma f'(theta + mu v);  theta' = theta + v'
// The parameter trained here is w = theta + mu v.
TEST_CASE("Nesterov's momentum takes the gradient where momentum alone would lead") {
  HostVectorOps ops;
  UpdateOptions options = options_of(UpdateRule::nesterov);
  options.momentum = 0.75;
  Updater updater(ops, 1, 0, options);
  float w = 1.5F;
  double theta = 1.5, v = 0;
  for (int t = 0; t < 40; ++t) {
    const float g = w + w * w * w;
    updater.update(plain_layout(1), 0.125, &g, &w);
    const double ahead = theta + 0.75 * v;
    v = 0.75 * v - 0.125 * (ahead + ahead * ahead * ahead);
    theta += v;
    CHECK(w == Approx(theta + 0.75 * v).margin(1e-5));
  }
  CHECK(std::abs(w) < 0.01F);
}

// g + 0.5 w = 2, so v = -0.25 * 2 = -0.5 and w = 2 + 0.5 * -0.5 - 0.5 = 1.25. The bias has v = -0.25, w = 2 - 0.125 -
// 0.25.
TEST_CASE("Nesterov's update by hand, biases do not decay") {
  UpdateOptions options = options_of(UpdateRule::nesterov, 0.5);
  options.momentum = 0.5;
  CHECK(after(options, {2, 2}, {{1, 1}}, 0.25) == Floats{1.25F, 1.625F});
}

// With equal gradients both corrected moments are the gradient and its square: every step is gamma, to epsilon.
TEST_CASE("Adam's steps by equal gradients are the learning rate, whatever their scale") {
  for (const UpdateRule rule : {UpdateRule::adam, UpdateRule::adamw})
    for (const float scale : {1e-4F, 1.0F, 1e6F}) {
      const Floats w = after(options_of(rule), {3, 4}, std::vector<Floats>(10, {2 * scale, -scale}), 0.125);
      CHECK(w[0] == Approx(3 - 1.25).margin(3e-4));
      CHECK(w[1] == Approx(4 + 1.25).margin(3e-4));
    }
}

// beta1 0.5, beta2 0.75, gamma 0.5, gradients 1 and 3, epsilon as good as none:
//   t = 1: m = 0.5, v = 0.25, both corrected 1; w = 2 - 0.5 = 1.5
//   t = 2: m = 0.25 + 1.5 = 1.75, corrected by 1 - 0.25: 7/3; v = 0.1875 + 2.25 = 2.4375, by 1 - 0.5625: 39/7
//          w = 1.5 - 0.5 (7/3) / sqrt(39/7)
TEST_CASE("Two steps of Adam by hand") {
  UpdateOptions options = options_of(UpdateRule::adam);
  options.adam = {0.5, 0.75, 1e-30};
  const Floats w = after(options, {2, 2}, {{1, 1}, {3, 3}}, 0.5);
  CHECK(w[0] == Approx(1.5 - 0.5 * (7.0 / 3) / std::sqrt(39.0 / 7)));
  CHECK(w[1] == w[0]);
}

// epsilon is added to the root: a first gradient of epsilon makes half a step.
TEST_CASE("Adam's epsilon stands beside the root of the second moment") {
  UpdateOptions options = options_of(UpdateRule::adam);
  options.adam.epsilon = 0.25;
  CHECK(after(options, {1, 1}, {{0.25F, 0.75F}}, 0.5)[0] == Approx(1 - 0.25));
  CHECK(after(options, {1, 1}, {{0.25F, 0.75F}}, 0.5)[1] == Approx(1 - 0.375));
}

// No gradient: AdamW's weight shrinks by gamma lambda of itself, Adam's moves by gamma as by any gradient. Biases stay.
TEST_CASE("AdamW decays weights apart from the moments, Adam through them") {
  const std::vector<Floats> nothing(3, {0, 0});
  const Floats decoupled = after(options_of(UpdateRule::adamw, 0.5), {2, 2}, nothing, 0.25);
  CHECK(decoupled == Floats{2 * 0.875F * 0.875F * 0.875F, 2});
  const Floats coupled = after(options_of(UpdateRule::adam, 0.5), {2, 2}, {{0, 0}}, 0.25);
  CHECK(coupled[0] == Approx(1.75));
  CHECK(coupled[1] == 2);
}

TEST_CASE("An updater that takes over another's state goes on with the same bits") {
  HostVectorOps ops;
  for (const UpdateRule rule : {UpdateRule::momentum, UpdateRule::nesterov, UpdateRule::adam, UpdateRule::adamw}) {
    INFO(name_of(rule));
    Updater first(ops, 2, 0, options_of(rule, 0.01)), second(ops, 2, 0, options_of(rule, 0.01));
    const Floats g{0.3F, -2};
    Floats w{1, 1};
    for (int t = 0; t < 3; ++t) first.update(plain_layout(2), 0.1, g.data(), w.data());
    Memory memory(ops);
    first.visit_state(memory);
    memory.read();
    second.visit_state(memory);
    CHECK(memory.vectors() == (is_adam(rule) ? 2U : 1U));
    Floats other = w;
    for (int t = 0; t < 3; ++t) {
      first.update(plain_layout(2), 0.1, g.data(), w.data());
      second.update(plain_layout(2), 0.1, g.data(), other.data());
    }
    CHECK(w == other);
  }
}

TEST_CASE("Options of updates out of range are refused") {
  const auto refused = [](UpdateOptions options, AdamOptions adam, std::optional<LarsOptions> lars = {}) {
    options.adam = adam;
    options.lars = lars;
    try {
      check(options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const UpdateOptions adam = options_of(UpdateRule::adam);
  CHECK(refused(adam, {}).empty());
  CHECK(refused(adam, {1, 0.999, 1e-8}) == "update: betas must be in [0, 1)");
  CHECK(refused(adam, {0.9, -0.1, 1e-8}) == "update: betas must be in [0, 1)");
  CHECK(refused(adam, {0.9, 0.999, 0}) == "update: Adam's epsilon must be positive");
  CHECK(refused(adam, {}, LarsOptions{}) == "update: LARS adapts the rates of momentum alone");
  CHECK(refused(options_of(UpdateRule::nesterov), {}, LarsOptions{}) ==
        "update: LARS adapts the rates of momentum alone");
}

}  // namespace lockstep::sync
