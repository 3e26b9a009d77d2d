#pragma once
// Laws of the loss of a language model: from parameters, tokens and batch to the loss, and back to the tokens.
//
//   `L(N, D)  = E + (A / N^alpha + B / D_min^beta)^gamma      nats per token`
//   `D        = D_min (1 + batch / B_crit)                     tokens needed at this batch`
//   `B_crit   = critical_at_1e10 (D_min / 1e10)^critical_exponent   tokens`
//
// With gamma = 1 this is Chinchilla's form (Hoffmann et al. 2022, approach 3). With E = 0, beta = 1 and gamma = alpha_D
// it is Kaplan's (2020, eq. 1.5). The latter is an approximation, since the paper trains many steps on a data set of D
// tokens.
//
// D_min are the tokens needed in the limit of small batches: (S/S_min - 1)(D/D_min - 1) = 1 (McCandlish et al. 2018,
// eq. 2.11). The critical batch is a power of D_min, the same for all N. Below it a larger batch needs few extra
// tokens. Far above it the number of steps stops falling.
// Batches so small that they train worse are not modelled: a larger batch never lowers the loss.
//
// N counts the parameters as the law's runs did (ParameterCount). In a mixture of experts N is between the active and all
// parameters (effective_parameters()).
#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::loss {

/// Which parameters N counts.
enum class ParameterCount { all, without_embeddings };

/// Holds a value with its prediction interval.
struct BoundedValue {
  double middle = 0, low = 0, high = 0;
};

struct Interval {
  double low = 0, high = 0;
  bool contains(double x) const { return x >= low * (1 - 1e-9) && x <= high * (1 + 1e-9); }
};

/// The law's parameters as the fit has them: amplitudes at N = 1e9 and D_min = 1e10, where they hardly correlate with the
/// exponents.
enum LossParameter { kLogE, kLogA, kLogB, kAlpha, kBeta, kLogCritical, kCriticalExponent, kLossParameters };
using LossVector = Eigen::Matrix<double, kLossParameters, 1>;
using LossMatrix = Eigen::Matrix<double, kLossParameters, kLossParameters>;

constexpr double kLossCoverage = 0.8;  ///< of all intervals of losses and tokens
constexpr double kReferenceParameters = 1e9;
constexpr double kReferenceTokens = 1e10;

struct LossLaw {
  std::string id, name;
  std::vector<std::string> aliases;
  std::string kind;             ///< published or fitted
  std::string source;           ///< of the constants
  std::string critical_source;  ///< of the critical batch, which may be another law's
  std::string data;             ///< text and vocabulary of the runs: other ones shift the loss
  ParameterCount counts = ParameterCount::all;
  /// ln E, ln(A / 1e9^alpha), ln(B / 1e10^beta), alpha, beta, ln(critical batch at D_min = 1e10), its exponent. ln E is
  /// -infinity where the law has no E.
  LossVector parameters = LossVector::Zero();
  LossMatrix covariance = LossMatrix::Zero();
  double gamma = 1;
  double spread = 0;   ///< of ln L of a run about the law: scale of Student's t
  double degrees = 4;  ///< of freedom of that t
  Interval parameter_range, token_range,
      batch_range;  ///< of the runs; batch_range.high = 0: their batches are not known

  double amplitude_a() const;
  double amplitude_b() const;
};

/// The least loss that `parameters` reach, with endless data.
double least_loss(const LossLaw& law, double parameters);
/// Tokens, of a training whose small-batch tokens are `minimal_tokens`.
double critical_batch(const LossLaw& law, double minimal_tokens);
/// Convert D_min to D, and D to D_min. Both return tokens; batch_tokens 0: a small batch.
double tokens_at_batch(const LossLaw& law, double minimal_tokens, double batch_tokens);
double minimal_tokens(const LossLaw& law, double tokens, double batch_tokens);

double loss_of(const LossLaw& law, double parameters, double tokens, double batch_tokens);
/// D_min; infinity if the loss is at most least_loss().
double minimal_tokens_to(const LossLaw& law, double parameters, double loss);

/// Returns the loss with the interval that holds a new run's loss with probability `coverage`. Outside the range of the
/// law's runs the spread is multiplied by 1 + ln(N / N_max) + ln(D / D_max) (assumed).
BoundedValue predict_loss(const LossLaw& law, double parameters, double tokens, double batch_tokens, double coverage);
/// Tokens to a loss. `middle` or `high` are infinity where the loss, or its upper end, is out of reach.
BoundedValue predict_tokens(const LossLaw& law, double parameters, double loss, double batch_tokens, double coverage);

/// Says how far a point is beyond the law's runs: "4.1e11 parameters are 25 times the most of its runs"; empty inside
/// their range.
std::vector<std::string> beyond_range(const LossLaw& law, double parameters, double tokens);

/// The size and tokens of the least loss for a training's operations, 6 N D, at a small batch. The 80 %
/// interval of the size follows from the covariance of the law's parameters.
struct ComputeOptimum {
  BoundedValue parameters;
  double tokens = 0, loss = 0;
};
ComputeOptimum optimum_of(const LossLaw& law, double flops);

/// N of a mixture of experts: the geometric mean of active and all parameters, with these two as its bounds (assumed). A
/// dense model has one number.
BoundedValue effective_parameters(double active, double all);

}  // namespace lockstep::sim::loss
