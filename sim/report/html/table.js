// Tables that sort by a click or a key on a column's heading, filter by words, turn pages, open a row's details, save
// themselves as CSV, and print whole where that is sensible.
'use strict';

const PRINTED_ROWS = 100;  // a longer table prints the page that is shown

// dataTable({caption, columns, rows, ...}) gives an element whose showRows(rows) replaces the rows.
//   columns     [{title, value(row), text(row), node(row), number, rowHeader, note}]: value sorts and is saved; text
//               (default: the value) is shown, or node. Missing values come last, whichever way the column is sorted.
//               sortBy(row): where the order is another than the value's; descendingFirst
//               saved: [[title, value], ...] where the CSV is to hold something else
//   sort        {column: index, descending}: at the start
//   pageSize    rows at a time; a table that fits has no tools
//   details     row => element or undefined: shown below the row on demand
//   fileName    of the CSV
function dataTable(options) {
  const state = {rows: options.rows, words: '', sort: options.sort || null, page: 0, size: options.pageSize || 25,
                 isPrinted: false};
  const columns = options.columns.map(column => ({text: row => plainText(column.value(row)), ...column}));
  const body = h('tbody', {});
  const status = h('p', {class: 'table-status', role: 'status'});
  const headings = columns.map((column, index) => headingOf(column, () => sortBy(index)));
  const needsTools = options.rows.length > 12;
  const pager = options.rows.length > 25 ? pagerOf(turn => { state.page += turn; render(); }, size => {
    Object.assign(state, {size, page: 0});
    render();
  }, state.size) : null;
  const table = h('table', {}, h('caption', {}, options.caption),
                  h('thead', {}, h('tr', {}, options.details && h('th', {scope: 'col', class: 'opener'},
                                                                 h('span', {class: 'unseen'}, 'Details')), headings)),
                  body);
  const element = h('div', {class: 'table-box'}, needsTools && toolsOf(search, save),
                    h('div', {class: 'scroller', tabindex: '0', role: 'region', 'aria-label': options.caption}, table),
                    needsTools && h('div', {class: 'table-foot'}, status, pager && pager.element));

  function search(words) {
    Object.assign(state, {words: words.toLowerCase().trim(), page: 0});
    render();
  }
  function sortBy(index) {
    const isSame = state.sort && state.sort.column === index;
    state.sort = {column: index, descending: isSame ? !state.sort.descending : !!columns[index].descendingFirst};
    state.page = 0;
    render();
  }
  function save() {
    saveFile(options.fileName || 'table.csv', 'text/csv', csvOf(columns, chosen()));
  }
  function chosen() {
    const words = state.words.split(/\s+/).filter(Boolean);
    const rows = words.length === 0 ? state.rows : state.rows.filter(row => {
      const text = columns.map(column => column.text(row)).join(' ').toLowerCase();
      return words.every(word => text.includes(word));
    });
    return state.sort ? sorted(rows, columns[state.sort.column], state.sort.descending) : rows;
  }
  function render() {
    const rows = chosen();
    const size = state.isPrinted && rows.length <= PRINTED_ROWS ? PRINTED_ROWS : state.size;
    state.page = Math.max(0, Math.min(state.page, Math.ceil(rows.length / size) - 1));
    const first = state.page * size;
    const shown = rows.slice(first, first + size);
    body.replaceChildren(...shown.flatMap(row => rowsOf(columns, row, options.details)));
    if (rows.length === 0)
      body.append(h('tr', {}, h('td', {colspan: columns.length + (options.details ? 1 : 0)}, 'No row fits.')));
    headings.forEach((heading, index) => {
      const isSorted = state.sort && state.sort.column === index;
      heading.setAttribute('aria-sort', isSorted ? (state.sort.descending ? 'descending' : 'ascending') : 'none');
    });
    status.textContent = rows.length === 0 ? 'No row' : 'Rows ' + format.count(first + 1) + ' to ' +
      format.count(first + shown.length) + ' of ' + format.count(rows.length) +
      (rows.length < state.rows.length ? ' (' + format.count(state.rows.length) + ' in all)' : '');
    if (pager) pager.allow(first > 0, first + size < rows.length);
  }
  const printed = isPrinted => () => {
    if (!element.isConnected) return;
    state.isPrinted = isPrinted;
    render();
  };
  beforePrint.push(printed(true));
  afterPrint.push(printed(false));
  element.showRows = rows => {
    Object.assign(state, {rows, page: 0});
    render();
  };
  render();
  return element;
}

function plainText(value) {
  if (value === undefined || value === null) return NONE;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function headingOf(column, sort) {
  return h('th', {scope: 'col', class: column.number && 'number', 'aria-sort': 'none'},
           h('button', {type: 'button', click: sort, title: column.note}, column.title,
             h('span', {class: 'arrow', 'aria-hidden': 'true'})));
}

function cellOf(column, row) {
  const attributes = {class: column.number && 'number'};
  if (column.rowHeader) attributes.scope = 'row';
  return h(column.rowHeader ? 'th' : 'td', attributes, column.node ? column.node(row) : column.text(row));
}

function rowsOf(columns, row, details) {
  const cells = columns.map(column => cellOf(column, row));
  if (!details) return [h('tr', {}, cells)];
  const main = h('tr', {});
  let below = null;
  const button = h('button', {type: 'button', class: 'open', 'aria-expanded': 'false', click: () => {
    if (below) {
      below.remove();
      below = null;
    } else {
      below = h('tr', {class: 'details'}, h('td', {colspan: cells.length + 1}, details(row)));
      main.after(below);
    }
    button.setAttribute('aria-expanded', String(below !== null));
  }}, h('span', {class: 'unseen'}, 'Details of ' + columns[0].text(row)));
  main.append(h('td', {class: 'opener'}, button), ...cells);
  return [main];
}

function sorted(rows, column, descending) {
  const value = column.sortBy || column.value;
  const collator = new Intl.Collator('en-GB', {numeric: true});
  const isMissing = v => v === undefined || v === null || Number.isNaN(v);
  const compare = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));
  return rows.map(row => [value(row), row]).sort(([a], [b]) => {
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
    return descending ? compare(b, a) : compare(a, b);
  }).map(pair => pair[1]);
}

function toolsOf(search, save) {
  let waiting;
  const id = newId('search');
  const input = h('input', {type: 'search', id, autocomplete: 'off', input: () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => search(input.value), 150);
  }});
  return h('div', {class: 'table-tools'}, h('label', {for: id}, 'Find'), input,
           h('button', {type: 'button', class: 'plain', click: save}, 'Save as CSV'));
}

function pagerOf(turn, resize, size) {
  const back = h('button', {type: 'button', class: 'plain', click: () => turn(-1)}, 'Previous');
  const on = h('button', {type: 'button', class: 'plain', click: () => turn(1)}, 'Next');
  const id = newId('size');
  const select = h('select', {id, change: () => resize(Number(select.value))},
                   [...new Set([size, 25, 100, 1000])].sort((a, b) => a - b).map(
                     count => h('option', {value: count, selected: count === size}, format.count(count))));
  return {
    element: h('div', {class: 'pager'}, h('label', {for: id}, 'Rows a page'), select, back, on),
    allow: (hasEarlier, hasLater) => { back.disabled = !hasEarlier; on.disabled = !hasLater; },
  };
}

// RFC 4180.
function csvOf(columns, rows) {
  const field = text => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const line = fields => fields.map(field).join(',') + '\r\n';
  const saved = value => value === undefined || value === null ? '' : plainText(value);
  const parts = columns.flatMap(column => column.saved || [[column.title, column.value]]);
  return line(parts.map(part => part[0])) + rows.map(row => line(parts.map(part => saved(part[1](row))))).join('');
}
