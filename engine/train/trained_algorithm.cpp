#include "engine/train/trained_algorithm.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/base/text.hpp"
#include "engine/model/optimizer.hpp"
#include "engine/sync/sma.hpp"

namespace lockstep::train {

// Each is defined in a file of algorithms/.
const TrainedAlgorithm& s_sgd_algorithm();
const TrainedAlgorithm& sma_algorithm();
const TrainedAlgorithm& ea_sgd_algorithm();
const TrainedAlgorithm& backup_workers_algorithm();
const TrainedAlgorithm& async_sgd_algorithm();
const TrainedAlgorithm& local_sgd_algorithm();
const TrainedAlgorithm& sharded_algorithm();
const TrainedAlgorithm& async_easgd_algorithm();

const std::vector<const TrainedAlgorithm*>& all_trained_algorithms() {
  static const std::vector<const TrainedAlgorithm*> all{
      &s_sgd_algorithm(),     &sma_algorithm(),       &ea_sgd_algorithm(),  &backup_workers_algorithm(),
      &async_sgd_algorithm(), &local_sgd_algorithm(), &sharded_algorithm(), &async_easgd_algorithm()};
  return all;
}

const TrainedAlgorithm& trained_algorithm(Algorithm algorithm) {
  for (const TrainedAlgorithm* trained : all_trained_algorithms())
    if (trained->algorithm() == algorithm) return *trained;
  throw std::logic_error(name_of(algorithm) + " is not trained");
}

bool TrainedAlgorithm::reads(const std::string& flag) const {
  const std::vector<Flag> own = flags();
  return std::any_of(own.begin(), own.end(), [&](const Flag& f) { return f.name == flag; });
}

sync::UpdateOptions update_options(const Settings& s) {
  const Request& r = s.request;
  sync::UpdateOptions options;
  options.momentum = s.momentum;
  options.weight_decay = r.weight_decay;
  if (r.lars) options.lars = sync::LarsOptions{*r.lars, 0};
  options.rule = s.rule;
  options.adam.beta1 = share_of(r, "--beta1").value_or(options.adam.beta1);
  options.adam.beta2 = share_of(r, "--beta2").value_or(options.adam.beta2);
  options.adam.epsilon = positive_of(r, "--epsilon").value_or(options.adam.epsilon);
  return options;
}

std::int64_t optimizer_bytes(const Settings& s, std::int64_t parameters) {
  const TrainedAlgorithm& trained = trained_algorithm(s.algorithm);
  if (!trained.reads("--optimizer")) return 0;
  const std::int64_t shards = trained.shards(s);
  const int arrays =
      model::update_arrays(sync::is_adam(s.rule) ? model::Optimizer::adam : model::Optimizer::momentum).state;
  return arrays * ((parameters + shards - 1) / shards) * static_cast<std::int64_t>(sizeof(float));
}

std::vector<Flag> update_flags(std::vector<Flag> others) {
  std::vector<Flag> flags{{"--momentum", ""},
                          {"--lars", ""},
                          {"--optimizer", ""},
                          {"--beta1", "Adam's decay of the mean of gradients (0.9)"},
                          {"--beta2", "Adam's decay of the mean of their squares (0.999)"},
                          {"--epsilon", "Adam's, added to the root of that mean (1e-8)"}};
  flags.insert(flags.end(), others.begin(), others.end());
  return flags;
}

std::unique_ptr<Trainable> make_trainable(const Settings& s, sync::Processes& processes, sync::VectorOps& ops,
                                          const sync::Layout& layout, const std::vector<float>& initial,
                                          std::int64_t images) {
  return trained_algorithm(s.algorithm).make({s, processes, ops, layout, initial, images});
}

void Trainable::add_learner(int) {
  throw std::logic_error("this algorithm has a fixed number of learners");
}
void Trainable::remove_learner(int) {
  throw std::logic_error("this algorithm has a fixed number of learners");
}

void add_meetings(const sync::Centre& centre, Json& epoch) {
  const std::vector<std::int64_t>& counts = centre.meetings_by_staleness();
  std::int64_t meetings = 0, sum = 0;
  Json histogram = Json::array();  // [staleness, count], as in simulate
  for (std::size_t age = 0; age < counts.size(); ++age) {
    meetings += counts[age];
    sum += counts[age] * static_cast<std::int64_t>(age);
    if (counts[age] > 0) histogram.push_back({age, counts[age]});
  }
  const bool has_any = meetings > 0;
  epoch["staleness"] = {{"mean", has_any ? Json(static_cast<double>(sum) / static_cast<double>(meetings)) : Json()},
                        {"max", has_any ? Json(counts.size() - 1) : Json()},
                        {"histogram", histogram}};
  epoch["iterations_of_processes"] = centre.iterations_of();
}

void check_asynchronous(const Request& r, int processes, const std::string& what) {
  if (processes < 2) refuse(what, "its workers are processes, and this is the only one", "mpirun -n 2 or more");
  if (r.device != "host") refuse("--device " + r.device, what + " has its centre on the host", "--device host");
  if (r.gpus != 1) refuse("--gpus", what + " has a worker in each process", "1");
  if (r.learners.value_or(1) != 1) refuse("--learners", what + " has a worker in each process", "1");
  if (r.precision == "fp16")
    refuse("--precision fp16", "a loss scale is agreed upon in every iteration", "fp32 or bf16 with " + what);
}

// ---- values of flags ----

void refuse(const std::string& flag, const std::string& wrong, const std::string& allowed) {
  throw InputError(flag + ": " + wrong + "; allowed: " + allowed);
}

bool is_given(const Request& request, const std::string& flag) {
  return request.of_algorithm.count(flag) > 0;
}

std::optional<std::string> word_of(const Request& request, const std::string& flag) {
  const auto found = request.of_algorithm.find(flag);
  return found == request.of_algorithm.end() ? std::nullopt : std::optional<std::string>(found->second);
}

std::optional<double> number_of(const Request& request, const std::string& flag) {
  const std::optional<std::string> word = word_of(request, flag);
  if (!word) return std::nullopt;
  std::size_t read = 0;
  double value = 0;
  try {
    value = std::stod(*word, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read == 0 || read != word->size()) refuse(flag, in_quotes(*word) + " is no number", "a number");
  return value;
}

std::optional<double> positive_of(const Request& request, const std::string& flag) {
  const std::optional<double> value = number_of(request, flag);
  if (value && !(*value > 0 && std::isfinite(*value)))
    refuse(flag, short_number(*value) + " is out of range", "above 0");
  return value;
}

std::optional<double> at_least_0_of(const Request& request, const std::string& flag) {
  const std::optional<double> value = number_of(request, flag);
  if (value && !(*value >= 0 && std::isfinite(*value)))
    refuse(flag, short_number(*value) + " is out of range", "0 or more");
  return value;
}

std::optional<double> share_of(const Request& request, const std::string& flag) {
  const std::optional<double> value = number_of(request, flag);
  if (value && !(*value >= 0 && *value < 1)) refuse(flag, short_number(*value) + " is out of range", "0 to below 1");
  return value;
}

std::optional<std::int64_t> whole_of(const Request& request, const std::string& flag, std::int64_t least,
                                     std::int64_t most) {
  const std::optional<double> value = number_of(request, flag);
  if (!value) return std::nullopt;
  const std::string allowed = std::to_string(least) + " to " + std::to_string(most);
  if (*value != std::floor(*value)) refuse(flag, short_number(*value) + " is no whole number", allowed);
  if (!(*value >= static_cast<double>(least) && *value <= static_cast<double>(most)))
    refuse(flag, short_number(*value) + " is out of range", allowed);
  return static_cast<std::int64_t>(*value);
}

int tau_of(const Request& request, bool may_be_never) {
  const std::optional<std::string> word = word_of(request, "--tau");
  if (!word) return 1;
  if (*word == "never" && may_be_never) return sync::kNever;
  const bool digits = !word->empty() && word->size() <= 7 &&
                      std::all_of(word->begin(), word->end(), [](char c) { return c >= '0' && c <= '9'; });
  const int tau = digits ? std::stoi(*word) : 0;
  if (tau < 1 || tau > 1'000'000)
    refuse("--tau", in_quotes(*word) + " is no number of iterations",
           may_be_never ? "1 to 1000000, or never" : "1 to 1000000");
  return tau;
}

std::optional<double> pull_of(const Request& request) {
  const std::optional<double> alpha = number_of(request, "--alpha");
  if (alpha && !(*alpha >= 0 && *alpha <= 1)) refuse("--alpha", short_number(*alpha) + " is out of range", "0 to 1");
  return alpha;
}

Flag alpha_flag() {
  return {"--alpha", "pull to the average (from the number of learners)"};
}

Json alpha_json(const Request& request) {
  const std::optional<double> pull = pull_of(request);
  return pull ? Json(*pull) : Json("from the number of learners");
}

void require_one_replica_per_gpu(const Request& request, Algorithm algorithm) {
  if (request.learners.value_or(1) != 1)
    refuse("--learners", name_of(algorithm) + " has one replica per GPU", "1 (a larger --batch has the same effect)");
}

}  // namespace lockstep::train
