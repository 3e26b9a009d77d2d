// Converts a split that the predictor found to options of a job; given options are kept. Used when the page is built,
// and in the page itself, where assemble.mjs puts it without "export".
export function optionsOfSplit(parallel, given) {
  const options = {};
  const keep = (key, value) => { if (given[key] === undefined) options[key] = value; };
  for (const key of ['tensor', 'pipeline', 'context', 'expert', 'micro_batch', 'sharding', 'recompute']) keep(key, parallel[key]);
  if (parallel.pipeline > 1) keep('schedule', parallel.schedule);
  if (parallel.schedule === 'interleaved') keep('virtual_stages', parallel.virtual_stages);
  if (parallel.tensor > 1) keep('sequence_parallel', parallel.sequence);
  if (parallel.expert_tensor !== undefined) keep('expert_tensor', parallel.expert_tensor);
  if (parallel.sharding_group !== undefined) keep('sharding_group', parallel.sharding_group);
  if (parallel.recompute_modules && parallel.recompute_modules.length > 0) keep('recompute_modules', parallel.recompute_modules);
  if (parallel.expert_overlap) keep('expert_overlap', true);
  if (parallel.offload_layers > 0) keep('offload_layers', parallel.offload_layers);
  if (parallel.offload_optimizer) keep('offload_optimizer', true);
  if (parallel.context > 1) keep('context_exchange', parallel.context_exchange);
  return options;
}
