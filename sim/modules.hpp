#pragma once
// Declares the namespace of every module. They are inline: code of a later module writes `Program` and not
// `program::Program`, but equal names of two modules never clash at link time.
namespace lockstep::sim {
inline namespace api {}
inline namespace catalogue {}
inline namespace cluster {}
inline namespace collective {}
inline namespace convergence {}
inline namespace cost {}
inline namespace explain {}
inline namespace failures {}
inline namespace job {}
inline namespace job_plan {}
inline namespace job_prediction {}
inline namespace launch {}
inline namespace loss {}
inline namespace loss_curve {}
inline namespace messages {}
inline namespace plan {}
inline namespace plan_mpi {}
inline namespace point {}
inline namespace program {}
inline namespace python {}
inline namespace quantity {}
inline namespace replay {}
inline namespace replica {}
inline namespace report {}
inline namespace scenario {}
inline namespace schedule {}
inline namespace split {}
inline namespace stack {}
inline namespace validation {}
}  // namespace lockstep::sim
