#include "sim/job_prediction/carried_rate.hpp"

#include "engine/base/text.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/peak_check.hpp"

namespace lockstep::sim::job_prediction {
namespace {

JobPrediction predict_on_one(const JobQuestion& question, const std::string& gpu, const Catalogue& catalogue) {
  JobQuestion alone;
  alone.job = question.job;
  alone.job.gpu = {gpu, "", ""};
  alone.job.gpus_per_node = 0;
  alone.job.link = {};
  alone.job.network = {};
  alone.job.exchange.clear();
  alone.job.epochs = 0;
  alone.job.decodes_on_host = false;
  alone.gpus = {1};
  alone.ignores_memory = true;
  return predict_job(alone, catalogue, 1);
}

}  // namespace

CarriedRate carry_rate(const JobQuestion& question, const Catalogue& catalogue) {
  try {
    const JobPrediction measured = predict_on_one(question, question.rate_gpu, catalogue);
    const JobPrediction own = predict_on_one(question, question.job.gpu.stated, catalogue);
    const Precision precision = own.scenario.compute.precision, of_measured = measured.scenario.compute.precision;
    if (precision != of_measured)
      throw InputError("its usual precision is " + name_of(of_measured) + ", and that of " + question.job.gpu.stated +
                       " " + name_of(precision) + "; allowed: with --precision");
    check_below_peak("--rate " + short_number(question.rate_samples_per_s), measured.scenario,
                     question.rate_samples_per_s);
    return {measured.job.gpu.id, question.rate_samples_per_s * own.largest().samples_per_s.predicted /
                                     measured.largest().samples_per_s.predicted};
  } catch (const InputError& error) {
    throw InputError("--rate-gpu " + question.rate_gpu + ": " + error.what());
  }
}

}  // namespace lockstep::sim::job_prediction
