// The page of a validation (lockstep/validation/1): how far predictions are off, suite by suite and record by record.
'use strict';

function recordsOf(validation) {
  return validation.suites.flatMap(suite => suite.records.map(record => ({suite: suite.name, ...record})));
}

// Linear between neighbours, as in the program.
function quantile(values, share) {
  if (values.length === 0) return undefined;
  const ordered = [...values].sort((a, b) => a - b), at = share * (ordered.length - 1), below = Math.floor(at);
  return ordered[below] + (at - below) * (ordered[Math.min(below + 1, ordered.length - 1)] - ordered[below]);
}

const isInside = record => record.low <= record.published && record.published <= record.high;

function scoreOf(records) {
  const compared = records.filter(record => isNumber(record.error));
  const errors = compared.map(record => Math.abs(record.error));
  return {count: compared.length, unmapped: records.length - compared.length, median: quantile(errors, 0.5), p90: quantile(errors, 0.9),
          worst: errors.length ? Math.max(...errors) : undefined, coverage: compared.length ? compared.filter(isInside).length / compared.length : undefined};
}

function validationAnswer(validation, records) {
  const test = scoreOf(records.filter(record => record.use === 'test'));
  const broken = validation.suites.flatMap(suite => suite.broken || []);
  const text = 'On ' + plural(test.count, 'published result') + ' that no constant was fitted on, predictions are off by ' + format.percent(test.median) +
    ' in the median and by at most ' + format.percent(test.p90) + ' for nine in ten; the bounds hold ' + format.percent(test.coverage) + ' of them.';
  return section('answer', 'In short', h('p', {class: 'answer'}, text), tiles([
    {name: 'Results not fitted on', value: format.count(test.count), note: format.count(test.unmapped) + ' more cannot be predicted'},
    {name: 'Median error', value: format.percent(test.median)}, {name: '90th percentile', value: format.percent(test.p90)},
    {name: 'Inside the bounds', value: format.percent(test.coverage)},
    {name: 'Tolerances', value: broken.length === 0 ? 'all kept' : format.count(broken.length) + ' broken'}]),
    broken.length > 0 && h('ul', {class: 'warnings'}, broken.map(line => h('li', {}, line))));
}

function suitesTable(validation) {
  const rows = validation.suites.flatMap(suite => ['fit', 'test'].map(use => ({name: suite.name, use, broken: (suite.broken || []).length, ...suite[use]})));
  const percent = (title, key, note) => ({title, note, number: true, value: row => row.predicted > 0 ? row[key] : undefined,
                                          text: row => row.predicted > 0 ? format.percent(row[key]) : NONE});
  return dataTable({caption: 'Errors by suite; fit: constants were fitted on these records, test: they were not', rows, pageSize: 100, fileName: 'suites.csv', columns: [
    {title: 'Suite', value: row => row.name, rowHeader: true}, {title: 'Use', value: row => row.use},
    {title: 'n', number: true, value: row => row.predicted, text: row => format.count(row.predicted)},
    {title: 'Unmapped', number: true, value: row => row.unmapped, text: row => format.count(row.unmapped), note: 'Results that cannot be expressed as a simulation'},
    percent('Median', 'median_error'), percent('90th', 'p90_error'), percent('Worst', 'worst_error'),
    percent('Inside bounds', 'coverage'), percent('Half width', 'median_width', 'Median of half the bounds\u2019 width over the prediction'),
    {title: 'Tolerances', value: row => row.use === 'fit' || row.predicted === 0 ? undefined : row.broken === 0 ? 'kept' : 'broken'},
    {title: 'Worst record', value: row => row.worst_id || undefined, node: row => h('span', {class: 'id'}, row.worst_id || NONE)}]});
}

const RATIO_END = 10;

// Classes of results, by what their metrics are called.
const RESULT_CLASSES = [['throughput', /^(images_per_s|throughput(_per_gpu)?|achieved_flops_per_gpu|model_flops_per_gpu|mfu|hfu)$/],
                        ['iteration time', /^(step_time|iteration_s|epoch_seconds)$/], ['all-reduce, exchanges', /^(allreduce_|comm_|required_bandwidth|node_traffic)/],
                        ['time to accuracy', /^(time_to_accuracy_s|training_time_s|epochs_to_accuracy)$/], ['scaling', /^(speedup|scaling_efficiency|throughput_gain)/],
                        ['peak memory', /memory/], ['other', /./]];
const classOf = record => RESULT_CLASSES.find(([, metrics]) => metrics.test(record.metric))[0];

// Predicted over published, a column of points for each class of results: what is compared has no unit, and needs no decades.
function scatterFigure(records) {
  const shown = records.filter(record => isNumber(record.error) && record.published > 0 && record.predicted > 0), of = name => shown.filter(record => classOf(record) === name);
  const classes = RESULT_CLASSES.map(([name]) => name).filter(name => of(name).length > 0);
  const place = new Map(classes.flatMap((name, column) => of(name).map((record, index, all) => [record, column + 0.7 * ((index + 0.5) / all.length - 0.5)])));
  const ratio = record => record.predicted / record.published, clipped = value => Math.min(RATIO_END, Math.max(1 / RATIO_END, value));
  const point = record => ({x: place.get(record), y: clipped(ratio(record)),
    tip: [record.id, record.metric.replaceAll('_', ' ') + ': predicted ' + format.number(record.predicted) + ', published ' + format.number(record.published) + ' ' + record.unit,
          'error ' + format.change(record.error) + ' (' + record.suite + ', ' + record.use + ')']});
  const series = ['test', 'fit'].map((use, index) => ({name: use === 'test' ? 'test: not fitted on' : 'fit: fitted on', look: index, size: shown.length > 500 ? 2 : 3, isHollow: true,
                                                       points: shown.filter(record => record.use === use).map(point)})).filter(one => one.points.length > 0);
  const ends = [-0.5, Math.max(classes.length, 1) - 0.5];
  const guide = (name, at, isUnnamed) => ({name, isGuide: true, isUnnamed, points: ends.map(x => ({x, y: at}))});
  const missing = records.filter(record => isNumber(record.error)).length - shown.length, far = shown.filter(record => ratio(record) !== clipped(ratio(record))).length;
  const medianOf = name => quantile(of(name).map(ratio), 0.5);
  return pointChart({title: 'Predicted over published, by class', note: 'dashed: equal, half and double' + (far ? '; ' + far + ' beyond a factor of ' + RATIO_END + ' stand at the edge' : '') + (missing ? '; ' + missing + ' at zero left out' : ''),
    x: {label: 'Class of results', show: value => Number.isInteger(value) && classes[value] !== undefined ? wrapped(classes[value]) : '', exact: classes.map((name, column) => column), min: ends[0], max: ends[1]},
    y: {label: 'Predicted / published', show: value => trimmed(value), isLog: true, values: [0.4, 2.5]},
    series: [...series, guide('equal, half, double', 1), guide('half', 0.5, true), guide('double', 2, true)], height: 420,
    summary: classes.map(name => plural(of(name).length, 'record') + ' of ' + name + ', in the median ' + trimmed(medianOf(name)) + ' times the published').join('; ') + '. The table of records below holds them all.'});
}

const HISTOGRAM_STEP = 0.1, HISTOGRAM_END = 1;

function histogramFigure(records) {
  const bins = Math.round(2 * HISTOGRAM_END / HISTOGRAM_STEP) + 2;
  const binOf = error => Math.max(0, Math.min(bins - 1, Math.floor((error + HISTOGRAM_END) / HISTOGRAM_STEP + 1e-9) + 1));
  const names = Array.from({length: bins}, (unused, index) => {
    const low = Math.round(100 * (HISTOGRAM_STEP * (index - 1) - HISTOGRAM_END)), high = low + Math.round(100 * HISTOGRAM_STEP);
    if (index === 0) return 'below \u2212100 %';
    return index === bins - 1 ? '100 % and more' : (low + ' to ' + high + ' %').replaceAll('-', '\u2212');
  });
  const series = ['test', 'fit'].map(use => {
    const values = new Array(bins).fill(0);
    for (const record of records) if (record.use === use && isNumber(record.error)) ++values[binOf(record.error)];
    return {name: use === 'test' ? 'test: not fitted on' : 'fit: fitted on', values, tips: values.map((count, index) => ['error ' + names[index], use + ': ' + plural(count, 'record')])};
  });
  return barChart({title: 'Errors', note: '(predicted \u2212 published) / published', categories: names, categoryLabel: 'Error', isStacked: true, series, height: 420,
    value: {label: 'Records', show: format.short, full: format.count}, summary: 'How many records are off by how much.',
    table: barsTable('Errors', 'Error', names, series, format.count)});
}

function inputsList(record) {
  if (record.unmapped) return h('p', {}, record.unmapped);
  return [h('p', {}, record.id + ' rests on ' + plural(record.inputs.length, 'input') + ':'),
          assumptionsTable(record.inputs, 'Inputs of ' + record.id, record.id + '.csv')];
}

function recordsTable(records) {
  const number = (title, key) => ({title, number: true, value: row => row[key], text: row => format.number(row[key])});
  const size = row => isNumber(row.error) ? Math.abs(row.error) : undefined;
  return dataTable({caption: 'Records; the details hold the inputs with their sources', rows: records, pageSize: 25, fileName: 'records.csv', details: inputsList, columns: [
    {title: 'Record', value: row => row.id, rowHeader: true}, {title: 'Suite', value: row => row.suite}, {title: 'Use', value: row => row.use},
    {title: 'Metric', value: row => row.metric, text: row => row.metric.replaceAll('_', ' ')},
    {...number('Predicted', 'predicted'), node: row => [format.number(row.predicted),
                                                       isNumber(row.low) && h('span', {class: 'bounds'}, boundsText(format.number, row.low, row.high))],
     saved: ['predicted', 'low', 'high'].map(key => [key, row => row[key]])},
    number('Published', 'published'), {title: 'Unit', value: row => row.unit},
    {title: 'Error', note: 'Sorts by size', number: true, value: row => row.error, sortBy: size, text: row => format.change(row.error), descendingFirst: true},
    {title: 'In bounds', value: row => isNumber(row.error) ? (isInside(row) ? 'yes' : 'no') : undefined},
    {title: 'Inputs', value: row => row.unmapped ? 'unmapped' : kindsText(row.inputs)}]});
}

// A choice of one value of a key, or all.
function choice(label, values, change) {
  const id = newId('choice');
  const select = h('select', {id, change: () => change(select.value)}, h('option', {value: ''}, 'all'), values.map(value => h('option', {value}, value)));
  return h('span', {class: 'choice'}, h('label', {for: id}, label + ' '), select);
}

function validationPage(validation) {
  const records = recordsOf(validation), chosen = {suite: '', use: '', metric: ''};
  const chartsBox = h('div', {class: 'charts'}), summary = h('p', {role: 'status'}), table = recordsTable(records);
  const update = () => {
    const fitting = records.filter(record => Object.keys(chosen).every(key => !chosen[key] || record[key] === chosen[key]));
    const score = scoreOf(fitting);
    summary.textContent = plural(score.count, 'record') + ': median ' + format.percent(score.median) + ', 90th percentile ' + format.percent(score.p90) + ', worst ' +
      format.percent(score.worst) + '; ' + format.percent(score.coverage) + ' inside the bounds; ' + score.unmapped + ' unmapped.';
    figures.splice(0).forEach(figure => figure.chart && figure.chart.destroy());
    chartsBox.replaceChildren(scatterFigure(fitting), histogramFigure(fitting));
    redrawAll();
    table.showRows(fitting);
  };
  const different = key => [...new Set(records.map(record => record[key]))].sort();
  const choose = (label, key) => choice(label, different(key), value => { chosen[key] = value; update(); });
  showHeader('validation', 'Predictions against published results', 'Every published result that the project knows beside its prediction. Constants were fitted on the records marked fit alone.',
             [['Suites', format.count(validation.suites.length)], ['Records', format.count(records.length)]]);
  setTimeout(update);  // once the page stands: charts measure the place they have
  return [
    validationAnswer(validation, records), section('suites', 'Suites', suitesTable(validation)),
    section('records', 'Records', h('div', {class: 'filters'}, choose('Suite', 'suite'), choose('Use', 'use'), choose('Metric', 'metric')), summary, chartsBox, table),
    validation.provenance && provenanceSection(validation.provenance)];
}
