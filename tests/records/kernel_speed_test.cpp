// Speeds of kernels in the scenario of a job.
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/job_scenario.hpp"
#include "sim/report/result.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {

TEST_CASE("a job in 8 bits has a speed of the kernels that stay in 16 bits") {
  sim::JobQuestion job = small_job();
  job.job.model.stated = "gpt2";
  job.job.gpu.stated = "H100";
  job.gpus = {8};
  job.job.batch_per_gpu = 32;
  const auto scenario_in = [&](const char* precision) {
    job.job.precision = sim::find_choice_in_words<sim::RecordPrecision>(precision);
    return sim::job_scenario(sim::predict_job(job, catalogue(), 1), catalogue());
  };
  const auto value = [](const Json& scenario, const char* key) {
    return scenario.at("compute").at("efficiency").at(key).at("value").get<double>();
  };
  const Json half = scenario_in("mixed");
  Json eight = scenario_in("fp8");
  CHECK_FALSE(half.at("compute").at("efficiency").contains("half_kernel_speed"));
  CHECK(value(eight, "half_kernel_speed") == Approx(value(half, "kernel_speed")).epsilon(1e-9));
  CHECK(value(eight, "half_kernel_speed") != Approx(value(eight, "kernel_speed")).epsilon(1e-4));
  eight["compute"]["precision"] = "mixed";
  const TemporaryFolder folder;
  const std::string path = folder.write("job.json", eight.dump());
  CHECK_THAT(error_of([&] { sim::load_scenario(path, {}); }),
             Contains("/compute/efficiency/half_kernel_speed: layers are in mixed; allowed: kernel_speed alone"));
}

}  // namespace lockstep::tests
