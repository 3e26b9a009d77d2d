// Numbers as text, as the programs' tables write them. A value that is missing is a dash.
'use strict';

const NONE = '\u2013';
const SPACE = '\u00a0';  // keeps a number and its unit on one line

const isNumber = value => typeof value === 'number' && Number.isFinite(value);

function fixed(value, digits) {
  const [whole, fraction] = Math.abs(value).toFixed(digits).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  const sign = value < 0 && Number(value.toFixed(digits)) !== 0 ? '\u2212' : '';
  return sign + grouped + (fraction ? '.' + fraction : '');
}

// At least three significant digits, none of them spent on what a whole number shows anyway.
function significant(value) {
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude < -4 || magnitude > 14) return value.toExponential(2);
  return fixed(value, Math.max(0, 2 - magnitude));
}

// Where the programs' tables differ: plan says samples, and minutes with one digit; results of sequences say so.
const style = {rateUnit: 'images/s', minuteDigits: 2, currency: 'USD'};

const orNone = format => value => isNumber(value) ? format(value) : NONE;

const format = {
  count: orNone(value => fixed(value, 0)),
  number: orNone(significant),
  percent: orNone(value => fixed(100 * value, 1) + SPACE + '%'),
  change: orNone(value => (value > 0 ? '+' : '') + fixed(100 * value, 1) + SPACE + '%'),
  points: orNone(value => (value > 0 ? '+' : '') + fixed(100 * value, 1) + SPACE + 'points'),
  // From one second on seconds with four significant digits, as the tables' iterations.
  milliseconds: orNone(value => value >= 1 ? fixed(value, value < 10 ? 3 : value < 100 ? 2 : 1) + SPACE + 's' : (value < 1e-4 && value > 0 ? significant(value * 1e3) : fixed(value * 1e3, 1)) +
                                SPACE + 'ms'),
  duration: orNone(seconds => {
    if (seconds === 0) return '0' + SPACE + 's';
    if (Math.abs(seconds) < 1) return format.milliseconds(seconds);
    if (Math.abs(seconds) < 120) return fixed(seconds, 1) + SPACE + 's';
    if (Math.abs(seconds) < 7200) return fixed(seconds / 60, style.minuteDigits) + SPACE + 'min';
    if (Math.abs(seconds) < 172800) return fixed(seconds / 3600, 2) + SPACE + 'h';
    return fixed(seconds / 86400, 2) + SPACE + 'd';
  }),
  rate: orNone(value => (value < 100 ? significant(value) : fixed(value, 0)) + SPACE + style.rateUnit),
  money: orNone(value => fixed(value, Math.abs(value) < 100 ? 2 : 0) + SPACE + style.currency),
  bytes: orNone(value => {
    const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
    let unit = 0;
    while (Math.abs(value) >= 999.5 && unit + 1 < units.length) {
      value /= 1000;
      ++unit;
    }
    return (unit === 0 ? fixed(value, 0) : significant(value)) + SPACE + units[unit];
  }),
  energy: orNone(joules => joules < 3.6e6 ? significant(joules / 1e3) + SPACE + 'kJ'
                                          : significant(joules / 3.6e6) + SPACE + 'kWh'),
  // For the ends of axes: short, without digits that a tick does not need.
  short: orNone(value => {
    const size = Math.abs(value);
    if (size >= 1e9) return trimmed(value / 1e9) + 'G';
    if (size >= 1e6) return trimmed(value / 1e6) + 'M';
    if (size >= 1e4) return trimmed(value / 1e3) + 'k';
    return size !== 0 && size < 1e-3 ? value.toExponential(0) : trimmed(value);
  }),
  shortDuration: orNone(seconds => {
    if (seconds === 0) return '0';
    if (seconds < 1e-3) return trimmed(seconds * 1e6) + SPACE + '\u00b5s';
    if (seconds < 1) return trimmed(seconds * 1e3) + SPACE + 'ms';
    if (seconds < 60) return trimmed(seconds) + SPACE + 's';
    if (seconds < 3600) return trimmed(seconds / 60) + SPACE + 'min';
    return seconds < 172800 ? trimmed(seconds / 3600) + SPACE + 'h' : trimmed(seconds / 86400) + SPACE + 'd';
  }),
};

function trimmed(value) {
  return String(Number(value.toPrecision(3))).replace(/\B(?=(\d{3})+(\.|$))/g, ',');
}

// "4.96 min (4.70 to 5.22 min)"; without bounds the value alone.
function withBounds(show, value, low, high) {
  return show(value) + (isNumber(low) && isNumber(high) ? ' (' + boundsText(show, low, high) + ')' : '');
}

function boundsText(show, low, high) {
  const [from, to] = [show(low), show(high)];
  const unit = to.slice(to.lastIndexOf(SPACE));
  return (to.includes(SPACE) && from.endsWith(unit) ? from.slice(0, -unit.length) : from) + ' to ' + to;
}

const plural = (count, noun) => format.count(count) + ' ' + noun + (count === 1 ? '' : 's');
