// Runs in a worker, after Emscripten's core.js: loads the predictor once, then answers questions in order.
'use strict';

let core = null;

// Keeps only one iteration of a trace, because the whole would be megabytes.
function firstIterationOf(text) {
  const events = JSON.parse(text), kept = [], last = 1;
  for (const event of events) {
    if (event.ph === 'M' || (event.ph === 'X' && event.args && event.args.iteration === last)) kept.push(event);
  }
  return JSON.stringify(kept.some(event => event.ph === 'X') ? kept : events.slice(0, 20000));
}

async function load({module, files}) {
  core = await createCore({
    instantiateWasm(imports, receive) {
      const instance = new WebAssembly.Instance(module, imports);
      receive(instance, module);
      return instance.exports;
    },
  });
  for (const [path, text] of Object.entries(files)) {
    core.FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
    core.FS.writeFile(path, text);
  }
  return core.ccall('load_catalogue', 'string', [], []);
}

function answer({question, options}) {
  const text = core.ccall('answer_question', 'string', ['string', 'string'], [question, JSON.stringify(options)]);
  return question === 'timeline' && !text.startsWith('!') ? firstIterationOf(text) : text;
}

self.onmessage = async ({data}) => {
  const started = performance.now();
  let text;
  try {
    text = data.module ? await load(data) : answer(data);
  } catch (error) {
    text = '!' + (error instanceof RangeError || /memory/i.test(String(error)) ? 'not enough memory' : String(error));
  }
  self.postMessage({id: data.id, text, ms: performance.now() - started});
};
