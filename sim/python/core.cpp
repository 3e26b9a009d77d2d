// lockstep._core: the questions of sim/api for Python. Options and answers are JSON texts. The GIL is released while an
// answer is computed, so that threads run in parallel.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error_report.hpp"
#include "engine/base/version.hpp"
#include "sim/api/answered_job.hpp"
#include "sim/api/answers.hpp"
#include "sim/kernel/kernel_files.hpp"
#include "sim/launch/from_option.hpp"

namespace py = pybind11;

namespace lockstep::sim::python {
namespace {

// The shipped catalogue, read once.
const Catalogue& shipped_catalogue() {
  static const Catalogue catalogue = load_catalogue(default_catalogue_folder());
  return catalogue;
}

JitterCache& shared_jitter() {
  static JitterCache cache;
  return cache;
}

std::string answer_text(const std::string& question, const std::string& options) {
  const py::gil_scoped_release others_run;
  return answer(question, Json::parse(options), shipped_catalogue()).dump();
}

std::shared_ptr<AnsweredJob> predict_options(const std::string& options) {
  const py::gil_scoped_release others_run;
  return std::make_shared<AnsweredJob>(read_job_question(Json::parse(options)), shipped_catalogue(), &shared_jitter());
}

// Returns one of the answers as a text; computes it on demand.
template <Json (AnsweredJob::*of)() const>
std::string text_of(const AnsweredJob& job) {
  const py::gil_scoped_release others_run;
  return (job.*of)().dump();
}

std::string table_of(const AnsweredJob& job) {
  const py::gil_scoped_release others_run;
  return job.table();
}

// {"options": [[option, value], ...], "unevaluated": [[option, why], ...], "unknown_words": unknown_words(), "read": the text that --from prints}.
// `gpus`: numbers that override the file's. `frees_split`: omits the options that --free-split leaves to the search.
std::string read_launch_json(const std::string& path, const std::string& text, const std::string& format,
                             const std::vector<int>& gpus, bool frees_split) {
  const py::gil_scoped_release others_run;
  LaunchRequest request{path, {}, gpus, frees_split};
  if (!format.empty()) {
    request.format = find_choice<LaunchFormat>(format);
    if (!request.format)
      throw InputError(format + ": no format of that name; allowed: " + joined(choice_names<LaunchFormat>()));
  }
  const LaunchedJob job =
      text.empty() ? read_launch(request, shipped_catalogue()) : read_launch_text(text, request, shipped_catalogue());
  Json options = Json::array(), unevaluated = Json::array();
  const std::vector<std::string>& searched = searched_options();
  for (const LaunchOption& option : job.options)
    if (!frees_split || std::find(searched.begin(), searched.end(), option.name) == searched.end())
      options.push_back({option.name, option.value});
  for (const Unevaluated& value : job.settings.unevaluated()) unevaluated.push_back({value.option, value.why});
  return Json{{"options", options},
              {"unevaluated", unevaluated},
              {"unknown_words", unknown_words(job)},
              {"read", launch_text(job, {})}}
      .dump();
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "Questions of sim/api/answers.hpp; use the package lockstep, which is built on it.";
  static py::exception<InputError> error(m, "LockstepError", PyExc_ValueError);
  error.attr("status") = "refused";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const InputError& refused) {
      const py::object raised = py::reinterpret_borrow<py::object>(error.ptr())(message_of(refused));
      raised.attr("status") = status_of(refused);
      PyErr_SetObject(error.ptr(), raised.ptr());
    }
  });
  m.def("answer", &answer_text, py::arg("question"), py::arg("options"));
  m.def("predict", &predict_options, py::arg("options"));
  m.def("alternatives", [] { return Json(alternative_options()).dump(); });
  m.def("read_launch", &read_launch_json, py::arg("path"), py::arg("text") = "", py::arg("format") = "",
        py::arg("gpus") = std::vector<int>(), py::arg("frees_split") = false);
  m.def("version", [] { return version_line(); });
  py::class_<AnsweredJob, std::shared_ptr<AnsweredJob>>(m, "AnsweredJob")
      .def("job", &text_of<&AnsweredJob::job>)
      .def("scenario", &text_of<&AnsweredJob::scenario>)
      .def("result", &text_of<&AnsweredJob::result>)
      .def("layers", &text_of<&AnsweredJob::layers>)
      .def("timeline", &text_of<&AnsweredJob::timeline>)
      .def("table", &table_of);
}

}  // namespace lockstep::sim::python
