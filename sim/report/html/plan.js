// The page of a plan (lockstep/plan-result/1): the answer first, then what it rests on.
'use strict';

function objectiveText(objective) {
  const deadline = isNumber(objective.deadline_s) ? format.shortDuration(objective.deadline_s) : '', budget = isNumber(objective.budget) ? format.money(objective.budget) : '';
  const caution = objective.cautious ? ', by the high bounds' : '';
  return ({'least-time': 'least time', 'least-cost': 'least cost', 'least-cost-by-deadline': 'least cost within ' + deadline,
          'least-time-in-budget': 'least time for at most ' + budget}[objective.kind] || objective.kind) + caution;
}

const settingValue = value => typeof value === 'number' ? valueText(value) : plainText(value);

// "batch_per_gpu" as "batch per GPU".
const axisName = name => name.replaceAll('_', ' ').replace(/\b(gpu|nic)(s?)\b/gi, (word, one, s) => one.toUpperCase() + s);
const axisTitle = name => capital(axisName(name));
const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

// "GPU H100, nodes 4": of axes with several values, as the others say nothing about a point.
function settingText(point, plan) {
  const varied = plan.axes.filter(axis => axis.values.length > 1).map(axis => axis.name);
  return (varied.length ? varied : plan.axes.map(axis => axis.name)).filter(name => name in point.setting).map(
    name => axisName(name) + ' ' + settingValue(point.setting[name])).join(', ') || point.id;
}

// "36.7 of 80 GiB": as in the programs' tables, the capacity without its decimals
function memoryText(point) {
  const {bytes, capacity_bytes: capacity} = point.memory || {};
  if (!isNumber(bytes) || !isNumber(capacity)) return format.bytes(point.memory_bytes_per_gpu);
  const gibi = 2 ** 30;
  return fixed(bytes / gibi, 1) + SPACE + 'of' + SPACE + fixed(capacity / gibi, 0) + SPACE + 'GiB';
}

const planFigures = [
  ['Time', 'time_s', format.duration, true], ['Cost', 'cost', format.money, true], ['Throughput', 'samples_per_s', format.rate, true],
  ['Goodput', 'goodput', format.percent], ['Without failures', 'time_without_failures_s', format.duration], ['Cost without failures', 'cost_without_failures', format.money], ['Interruptions', 'interruptions', format.number], ['Losses of spot nodes', 'spot_interruptions', format.number], ['Waiting for nodes', 'waiting_for_nodes_s', format.duration], ['Checkpoint every', 'checkpoint_interval_s', format.duration],
  ['Scaling efficiency', 'scaling_efficiency', format.percent], ['GPUs', 'gpus', format.count], ['Nodes', 'nodes', format.count],
  ['Batch per GPU', 'batch_per_gpu', format.count], ['Global batch', 'global_batch', format.count], ['Iteration', 'iteration_s', format.milliseconds], ['Compute', 'compute_s', format.milliseconds],
  ['Exposed communication', 'exposed_communication_s', format.milliseconds], ['Idle', 'idle_s', format.milliseconds],
  ['Memory per GPU', 'memory_bytes_per_gpu', (bytes, point) => memoryText(point)], ['Energy', 'energy_j', format.energy], ['Power of a node', 'node_power_w', value => format.count(value) + SPACE + 'W'],
  ['CO2', 'co2_kg', value => format.number(value) + SPACE + 'kg']];

function boundsNote(point, key, show) {
  return isNumber(point[key + '_low']) && isNumber(point[key + '_high']) ? boundsText(show, point[key + '_low'], point[key + '_high']) : '';
}

// What the report looks at more closely: the recommended point, else the one that comes closest to the objective.
const focusOf = (result, byId) => byId.get(result.answer.recommended) || byId.get(result.answer.closest);

function planAnswer(result, byId) {
  const best = focusOf(result, byId), second = byId.get(result.answer.runner_up);
  const why = result.answer.why && result.answer.why !== result.answer.text ? h('p', {}, result.answer.why) : null;
  if (!best) return section('answer', 'The answer', h('p', {class: 'answer'}, result.answer.text || 'No configuration meets the objective.'), why);
  const figure = ([name, key, show, hasBounds]) => isNumber(best[key]) && {name, value: show(best[key], best), note: hasBounds ? boundsNote(best, key, key === 'samples_per_s' ? format.count : show) : ''};
  return section('answer', 'The answer', h('p', {class: 'answer'}, capital(result.answer.text || settingText(best, result.plan))), tiles([
    {name: result.answer.recommended ? 'Recommended' : 'Closest', value: plural(best.gpus, 'GPU'), note: settingText(best, result.plan)}, ...['time_s', 'cost', 'samples_per_s', 'goodput', 'scaling_efficiency'].map(key => figure(planFigures.find(one => one[1] === key)))]), why,
    h('p', {class: 'note-line'}, 'Predicted in fidelity ' + best.fidelity + '; the ranges are the bounds of the prediction.'),
    runnerUpTable(best, second, result.plan));
}

function runnerUpTable(best, second, plan) {
  if (!second) return null;
  const axesShown = plan.axes.filter(axis => axis.values.length > 1 && [best, second].some(point => point.setting[axis.name] !== point.gpus));
  const keys = ['time_s', 'cost', 'samples_per_s', 'scaling_efficiency', 'gpus', 'memory_bytes_per_gpu'];
  const rows = [
    ...axesShown.map(axis => ({name: axisTitle(axis.name), values: [best, second].map(point => settingValue(point.setting[axis.name]))})),
    ...planFigures.filter(([, key]) => keys.includes(key) && isNumber(best[key])).map(([name, key, show, hasBounds]) => ({
      name, values: [best, second].map(point => show(point[key], point)), notes: hasBounds && [best, second].map(point => boundsNote(point, key, show)),
      change: isNumber(second[key]) && best[key] !== 0 ? second[key] / best[key] - 1 : undefined}))];
  const cell = index => row => [row.values[index], row.notes && h('span', {class: 'bounds'}, row.notes[index])];
  return h('div', {}, h('h3', {}, 'Beside the runner-up'), dataTable({caption: 'The recommended configuration beside the runner-up', rows, pageSize: 100, fileName: 'runner-up.csv', columns: [
    {title: 'What', value: row => row.name, rowHeader: true}, {title: 'Recommended', number: true, value: row => row.values[0], node: cell(0)},
    {title: 'Runner-up', number: true, value: row => row.values[1], node: cell(1)},
    {title: 'Difference', number: true, value: row => row.change, text: row => format.change(row.change)}]}));
}

// ---- charts ----

// The fastest point at each number of GPUs, for each type of GPU.
function fastestPoints(points) {
  const fastest = new Map();
  for (const point of points.filter(one => one.status === 'ok' && isNumber(one.samples_per_s))) {
    const name = point.gpu || '', key = name + '/' + point.gpus;
    if (!fastest.has(key) || fastest.get(key).samples_per_s < point.samples_per_s) fastest.set(key, {...point, variant: name});
  }
  return groupsOf([...fastest.values()].sort((a, b) => a.gpus - b.gpus));
}

function planScaling(result) {
  const hasSeveral = list => new Set(list.map(point => point.gpus)).size > 1;
  const around = [...(result.scaling || [])].sort((a, b) => a.gpus - b.gpus), fastest = fastestPoints(result.points);
  if (hasSeveral(around))
    return section('scaling', 'Throughput and scaling', h('p', {}, 'The ' + (result.answer.recommended ? 'recommended' : 'closest') + ' setting on other numbers of GPUs (fidelity ' +
                   [...new Set(around.map(point => point.fidelity))].join(', ') + ').'), h('div', {class: 'charts'}, scalingCharts([{name: '', points: around}])));
  if (!hasSeveral(fastest.flatMap(group => group.points))) return null;
  return section('scaling', 'Throughput and scaling', h('p', {}, 'The fastest point at each number of GPUs.'), h('div', {class: 'charts'}, scalingCharts(fastest)));
}

function planPoint(point, plan) {
  return {x: point.time_s, y: point.cost, xLow: point.time_s_low, xHigh: point.time_s_high, yLow: point.cost_low, yHigh: point.cost_high,
          tip: [settingText(point, plan), 'time ' + withBounds(format.duration, point.time_s, point.time_s_low, point.time_s_high),
                'cost ' + withBounds(format.money, point.cost, point.cost_low, point.cost_high), plural(point.gpus, 'GPU') + ', fidelity ' + point.fidelity]};
}

// Machines of the points, a GPU (in a cluster, where several have it), in the order of the points; each has a look of its own.
const MACHINES_TOLD_APART = 7;

function machinesOf(points) {
  const clusters = new Map();
  for (const point of points) clusters.set(point.gpu, new Set([...(clusters.get(point.gpu) || []), point.cluster]));
  const nameOf = point => clusters.get(point.gpu).size > 1 ? point.cluster : point.gpu;
  const names = [...new Set(points.map(nameOf))];
  const lookOf = point => Math.min(names.indexOf(nameOf(point)), MACHINES_TOLD_APART);
  return {names: names.length > MACHINES_TOLD_APART ? [...names.slice(0, MACHINES_TOLD_APART), 'Other machines'] : names, lookOf};
}

function frontierChart(result, byId) {
  const plan = result.plan, placed = result.points.filter(point => point.status === 'ok' && isNumber(point.time_s) && isNumber(point.cost));
  if (placed.length === 0) return null;
  const frontier = result.frontier.map(id => byId.get(id)).filter(point => point && isNumber(point.cost));
  const named = [['Recommended', result.answer.recommended], ['Runner-up', result.answer.runner_up], ['Closest', result.answer.closest]].map(([name, id]) => [name, byId.get(id)]).filter(pair => pair[1]);
  const others = placed.filter(point => !point.on_frontier && !named.some(([, one]) => one === point));
  const isLogX = spreadsFar(placed.map(point => point.time_s)), isLogY = spreadsFar(placed.map(point => point.cost));
  const machines = machinesOf(placed);
  const end = (point, key, side) => isNumber(point[key + side]) ? point[key + side] : point[key];  // guides reach as far as bounds
  const ends = key => [Math.min(...placed.map(point => end(point, key, '_low'))), Math.max(...placed.map(point => end(point, key, '_high')))];
  const {deadline_s: deadline, budget: budget} = plan.objective;
  const guides = [isNumber(deadline) && {name: 'Deadline ' + format.shortDuration(deadline), isGuide: true, points: ends('cost').map(y => ({x: deadline, y}))},
                  isNumber(budget) && {name: 'Budget ' + format.money(budget), isGuide: true, points: ends('time_s').map(x => ({x, y: budget}))}].filter(Boolean);
  const series = [
    ...named.map(([name, point]) => ({name, look: machines.lookOf(point), size: name === 'Runner-up' ? 8 : 10, isHollow: name === 'Runner-up', points: [planPoint(point, plan)]})),
    {name: 'Frontier', look: 0, looks: frontier.map(machines.lookOf), hasLine: true, size: 5, points: frontier.map(point => planPoint(point, plan))},
    ...machines.names.map((name, look) => ({name, look, isHollow: true, size: others.length > 500 ? 2 : 4,
      points: others.filter(point => machines.lookOf(point) === look).map(point => planPoint(point, plan))})), ...guides];
  return pointChart({title: 'Cost against time', note: 'frontier: nothing else is both faster and cheaper', height: 420, series,
    x: {...axes.duration, isLog: isLogX}, y: {...axes.cost, isLog: isLogY},
    summary: plural(frontier.length, 'point') + ' on the frontier of ' + plural(placed.length, 'point') + '; the table lists them.'});
}

function frontierSection(result, byId) {
  const chart = frontierChart(result, byId), frontier = result.frontier.map(id => byId.get(id)).filter(Boolean);
  if (!chart && frontier.length === 0) return null;
  return section('frontier', 'Time and cost', chart, frontier.length > 0 && dataTable({caption: 'The frontier, by time', rows: frontier, fileName: 'frontier.csv', columns: [
    {title: 'Setting', value: point => settingText(point, result.plan), rowHeader: true},
    {title: 'GPUs', number: true, value: point => point.gpus, text: point => format.count(point.gpus)}, boundedColumn('Time', 'time_s', format.duration),
    boundedColumn('Cost', 'cost', format.money), {title: 'Fidelity', value: point => point.fidelity},
    {title: 'Objective', value: point => point.meets_objective ? 'met' : 'not met'}]}));
}

const GROUPS_SHOWN = 20;

// The longest groups of layers in their order, the rest as one.
function shownGroups(groups) {
  const time = group => (group.forward_s || 0) + (group.backward_s || 0) + (group.update_s || 0);
  if (groups.length <= GROUPS_SHOWN) return groups;
  const longest = new Set([...groups].sort((a, b) => time(b) - time(a)).slice(0, GROUPS_SHOWN - 1));
  const rest = groups.filter(group => !longest.has(group)), sum = key => rest.reduce((total, group) => total + (group[key] || 0), 0);
  return [...groups.filter(group => longest.has(group)), {name: plural(rest.length, 'other group'), layers: sum('layers') || undefined, forward_s: sum('forward_s'),
          backward_s: sum('backward_s'), update_s: sum('update_s'), gradient_bytes: sum('gradient_bytes')}];
}

const groupTitle = group => group.name + (group.layers > 1 ? ' (' + plural(group.layers, 'layer') + ')' : '');
const perLayer = group => group.layers > 0 ? (group.forward_s + group.backward_s + group.update_s) / group.layers : undefined;

function planBreakdown(result, byId) {
  const breakdown = result.breakdown;
  if (!breakdown || !breakdown.parts || breakdown.parts.length === 0) return null;
  const point = byId.get(breakdown.point), groups = breakdown.layer_groups || [];
  const parts = breakdown.parts.map(part => ({name: capital(part.name), seconds: part.seconds}));
  const ofGroup = group => [['Forward', 'forward_s'], ['Backward', 'backward_s'], ['Update', 'update_s']].map(([name, key]) => ({name, seconds: group[key] || 0}));
  const finer = orNone(seconds => fixed(seconds * 1e3, 2) + SPACE + 'ms');
  const column = (title, key, show) => ({title, number: true, value: group => group[key], text: group => show(group[key])});
  return section('breakdown', 'Where an iteration goes',
    h('p', {}, (point ? settingText(point, result.plan) + ': ' : '') + 'an iteration takes ' + format.milliseconds(breakdown.iteration_s) + '.'),
    breakdown.note && h('p', {class: 'note-line'}, capital(breakdown.note) + '.'),
    iterationChart('The iteration', [{name: 'Iteration', parts}], 'Iteration'),
    groups.length > 0 && [iterationChart('Computation by group of layers', shownGroups(groups).map(group => ({name: groupTitle(group), parts: ofGroup(group)})), 'Group of layers', 'a long bar is of many layers; the table has the time of each'),
      dataTable({caption: 'Groups of layers', rows: groups, fileName: 'layer-groups.csv', columns: [{title: 'Group', value: group => group.name, rowHeader: true}, column('Layers', 'layers', format.count),
        {title: 'A layer', note: 'Mean of forward, backward and update', number: true, value: perLayer, text: group => finer(perLayer(group))}, column('Forward', 'forward_s', finer), column('Backward', 'backward_s', finer), column('Update', 'update_s', finer),
        column('Gradient', 'gradient_bytes', format.bytes)]})]);
}

// What the plan would recommend if it were so.
function thenText(row, result, byId) {
  const then = byId.get(row.recommended);
  if (!then) return 'none meets the objective';
  return row.recommended === result.answer.recommended ? 'the same' : settingText(then, result.plan) + ', ' + format.duration(row.then_time_s);
}

function sensitivitySection(result, byId) {
  const rows = result.sensitivity || [];
  if (rows.length === 0) return null;
  const names = rows.map(row => row.what), hasCost = rows.some(row => isNumber(row.cost_change));
  const bars = (name, key, full, show) => ({name, values: rows.map(row => isNumber(row[key]) ? 100 * row[key] : null),
    tips: rows.map(row => [row.what, name.toLowerCase() + ' ' + format.change(row[key]) + ', to ' + show(row[full])])});
  const series = [bars('Time', 'time_change', 'time_s', format.duration), ...(hasCost ? [bars('Cost', 'cost_change', 'cost', format.money)] : [])];
  return section('sensitivity', 'What if', h('p', {}, 'How the ' + (result.answer.recommended ? 'recommended' : 'closest') + ' configuration changes when one thing does, and which of all points would be recommended then.'),
    barChart({title: 'Change of time and cost', categories: names.map(wrapped), isSideways: true, height: 110 + (hasCost ? 52 : 38) * rows.length, series,
      value: {label: 'Change (%)', show: value => (value > 0 ? '+' : '') + trimmed(value).replace('-', '\u2212')}, summary: series[0].tips.map(tip => tip.join(': ')).join('. ') + '.'}),
    dataTable({caption: 'What if', rows, fileName: 'sensitivity.csv', columns: [{title: 'What if', value: row => row.what, rowHeader: true},
      {title: 'Time', number: true, value: row => row.time_s, text: row => format.duration(row.time_s)},
      {title: 'Change of time', number: true, value: row => row.time_change, text: row => format.change(row.time_change)},
      {title: 'Cost', number: true, value: row => row.cost, text: row => format.money(row.cost)},
      {title: 'Change of cost', number: true, value: row => row.cost_change, text: row => format.change(row.cost_change)},
      {title: 'Then recommended', value: row => row.why || thenText(row, result, byId)}]}));
}

// ---- the points ----

function pointDetails(plan) {
  return point => [
    point.why && h('p', {}, point.why), (point.warnings || []).length > 0 && h('ul', {class: 'warnings'}, point.warnings.map(text => h('li', {}, text))),
    facts([['Id', h('code', {}, point.id)], ['Cluster', point.cluster], ['GPU type', point.gpu], ...plan.axes.map(axis => [axisTitle(axis.name), settingValue(point.setting[axis.name])]),
           ...planFigures.filter(([, key]) => isNumber(point[key])).map(([name, key, show, hasBounds]) => [
             name, hasBounds ? withBounds(show, point[key], point[key + '_low'], point[key + '_high']) : show(point[key], point)])])];
}

function refinementText(result) {
  const refined = result.refinement, plan = result.plan;
  if (!refined || !refined.points) return '';
  return ' ' + plural(refined.points, 'point') + ' on or near the frontier ' + (refined.points === 1 ? 'was' : 'were') + ' predicted again in fidelity ' + plan.refined + '; fidelity ' + plan.coarse +
    ' had been off by ' + format.percent(refined.median_error) + ' in the median and ' + format.percent(refined.largest_error) + ' at most.';
}

function pointsSection(result) {
  const plan = result.plan, points = result.points, chosen = {};
  const varied = plan.axes.filter(axis => axis.values.length > 1);
  const marks = point => [point.id === result.answer.recommended && 'recommended', point.id === result.answer.runner_up && 'runner-up', point.id === result.answer.closest && 'closest', point.on_frontier && 'frontier'].filter(Boolean);
  const isGpuCount = axis => points.every(point => point.setting[axis.name] === point.gpus);
  const number = (title, key, show) => ({title, number: true, value: point => point[key], text: point => show(point[key])});
  const table = dataTable({caption: (result.points_left_out ? 'Points near the frontier' : 'All points') + '; refused ones break a limit of the plan', rows: points, pageSize: 25, fileName: 'points.csv', details: pointDetails(plan), sort: null, columns: [
    ...(varied.length ? [] : [{title: 'Point', value: point => point.id, rowHeader: true}]),
    ...varied.filter(axis => !isGpuCount(axis)).map((axis, index) => ({title: axisTitle(axis.name), rowHeader: index === 0, number: axis.values.every(isNumber),
      value: point => point.setting[axis.name], text: point => settingValue(point.setting[axis.name])})),
    number('GPUs', 'gpus', format.count),
    {title: 'Status', value: point => point.status, node: point => point.status === 'ok' ? ['ok', marks(point).length > 0 && h('span', {class: 'bounds'}, marks(point).join(', '))]
      : [h('span', {class: 'badge status-' + point.status}, point.status), h('span', {class: 'bounds reason'}, point.why)],
     text: point => [point.status, point.why, ...marks(point)].filter(Boolean).join(' ')},
    boundedColumn('Time', 'time_s', format.duration), boundedColumn('Cost', 'cost', format.money),
    number(capital(style.rateUnit), 'samples_per_s', format.count), number('Efficiency', 'scaling_efficiency', format.percent), {title: 'Memory', number: true, value: point => point.memory_bytes_per_gpu, text: memoryText},
    {title: 'Fidelity', value: point => point.fidelity}]});
  const update = () => table.showRows(points.filter(point => Object.entries(chosen).every(([name, value]) => !value ||
    (name === 'status' ? point.status === value || (value === 'on the frontier' && point.on_frontier) || (value === 'objective met' && point.meets_objective)
                       : settingValue(point.setting[name]) === value))));
  const choose = (label, name, values) => choice(label, values, value => { chosen[name] = value; update(); });
  const counts = ['ok', 'refused', 'failed', 'waiting'].map(status => [status, points.filter(point => point.status === status).length]).filter(pair => pair[1] > 0);
  const leftOut = result.points_left_out ? ' ' + plural(result.points_left_out, 'point') + ' further from the frontier are left out here; --csv and --json list all.' : '';
  return section('points', leftOut ? 'Points near the frontier' : 'All points', h('p', {}, plural(points.length, 'point') + ': ' + counts.map(([status, count]) => format.count(count) + ' ' + status).join(', ') + '.' + leftOut + refinementText(result)),
    h('div', {class: 'filters'}, choose('Show', 'status', [...counts.map(pair => pair[0]), 'on the frontier', 'objective met']),
      varied.filter(axis => axis.values.length <= 40).map(axis => choose(axisTitle(axis.name), axis.name, axis.values.map(settingValue)))), table);
}

// While a plan is worked out the file is written anew; the browser keeps its place when it loads it again.
function soFar(state) {
  if (!state) return null;
  setTimeout(() => location.reload(), 2000);
  const left = state.waiting > 0 ? format.count(state.waiting) + ' of ' + plural(state.points, 'point') + ' are still to be predicted' : 'the best points are being refined';
  return h('p', {id: 'so-far', role: 'status', class: 'note-line'}, 'As far as it is known: ' + left + '. This page follows.');
}

function planPage(result) {
  const plan = result.plan, byId = new Map(result.points.map(point => [point.id, point]));
  Object.assign(style, {rateUnit: 'samples/s', minuteDigits: 1, currency: plan.currency});
  const best = focusOf(result, byId);
  // The plan's warnings name the points that they are about, the recommended one's among them.
  const said = result.warnings || [], more = (best && best.warnings || []).filter(text => !said.some(one => one.endsWith(text)));
  const warnings = [...new Set([...said, ...more])];
  showHeader('capacity plan', plan.name, plan.description, [['Objective', objectiveText(plan.objective)], ['Points', format.count(result.points.length + (result.points_left_out || 0))],
    ...plan.axes.map(axis => [axisTitle(axis.name), axis.values.length > 8 ? plural(axis.values.length, 'value') : axis.values.map(settingValue).join(', ')])]);
  return [soFar(result.so_far), planAnswer(result, byId), warningsSection(warnings), frontierSection(result, byId), planScaling(result), planBreakdown(result, byId), sensitivitySection(result, byId),
          pointsSection(result), assumptionsSection(result.assumptions || []), provenanceSection(result.provenance)];
}
