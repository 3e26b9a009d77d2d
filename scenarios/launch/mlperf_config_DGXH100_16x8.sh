## A submission's sizes in variables; the model and the GPU are given beside --from.
source $(dirname ${BASH_SOURCE[0]})/parts/mlperf_common.sh
export TENSOR_MODEL_PARALLEL=4
export PIPELINE_MODEL_PARALLEL=4
export INTERLEAVED_PIPELINE=2
export MINIBS="${MINIBS:=64}"
export MICRO_BATCH_SIZE=2
export TP_COMM_OVERLAP=True
export DGXNNODES="${DGXNNODES:=16}"
export WALLTIME_RUNANDTIME=120
export WALLTIME=$((5 + ${NEXP:-1} * ($WALLTIME_RUNANDTIME + 5)))
export DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//')
