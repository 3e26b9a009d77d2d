// Compares jobs side by side: the kept ones and the controls' job.
'use strict';

let pinned = [];  // [{options, summary}]; without summary until that is computed

const ROWS = [
  ['Iteration', summary => summary.iteration, duration, -1],
  ['Throughput, per s', summary => rateOf(summary), value => format.count(value), 1],
  ['MFU', summary => isNumber(summary.mfu) ? {value: summary.mfu} : undefined, format.percent, 1],
  ['Memory of a GPU', summary => summary.memory && {value: summary.memory.bytes}, gib, -1],
  ['Training', summary => summary.training, duration, -1],
  ['On the calendar', summary => summary.calendar, duration, -1],
  ['GPU hours', summary => summary.hours, value => format.count(value), -1],
  ['Cost', summary => summary.usd, format.money, -1],
];

// The options in which jobs differ; they label the columns.
function differences(jobs) {
  const keys = [...new Set(jobs.flatMap(job => Object.keys(job.options)))];
  return keys.filter(key => new Set(jobs.map(job => JSON.stringify(job.options[key]))).size > 1);
}

function cellOf(row, summary, base) {
  const [, of, show] = row, one = summary && of(summary), reference = base && of(base);
  if (!one) return NONE;
  const change = reference && reference !== one ? ` (${format.change(one.value / reference.value - 1)})` : '';
  return [withBounds(show, one.value, one.low, one.high), h('span', {class: 'bounds'}, change)];
}

function showCompare(now) {
  const place = document.getElementById('compare').lastElementChild;
  const keep = h('button', {type: 'button', class: 'plain', id: 'pin', click: pinJob}, 'Keep this job to compare');
  if (pinned.length === 0) {
    place.replaceChildren(h('p', {class: 'note-line'}, 'Keep a job, change a control, and read both side by side.'), keep);
    return;
  }
  const jobs = [...pinned, ...(now ? [now] : [])], base = pinned[0].summary, keys = differences(jobs);
  const shown = ROWS.filter(row => jobs.some(job => job.summary && row[1](job.summary)));
  const name = (job, index) => index < pinned.length ? `Job ${index + 1}` : 'Now';
  place.replaceChildren(
    plainTable('Jobs side by side; changes are relative to job 1', [['Figure'], ...jobs.map((job, index) => [name(job, index), true])], [
      ...keys.map(key => [labelOf(key), ...jobs.map(job => job.options[key] === undefined ? 'automatic' : textOf(job.options[key]))]),
      ...shown.map(row => [row[0], ...jobs.map((job, index) => cellOf(row, job.summary, index ? base : null))])]),
    h('p', {class: 'buttons'}, keep,
      pinned.map((job, index) => h('button', {type: 'button', class: 'plain', click: () => takeJob(job.options)}, `Take job ${index + 1}`)),
      h('button', {type: 'button', class: 'plain', click: () => { pinned = []; pinsChanged(); }}, 'Forget kept jobs')));
}

async function fillPinned(ask) {
  for (const job of pinned.filter(one => !one.summary)) {
    try {
      job.summary = summaryOf((await ask('job', job.options)).json, job.options);
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
    }
    pinsChanged();
  }
}
