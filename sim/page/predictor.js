// Runs the predictor in two workers. One answers the controls' job at once. The other computes everything that may come
// later, and is stopped when the job changes.
'use strict';

class AnswerError extends Error {}

async function unpackedBytes(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpackPredictor() {
  const [wasm, files] = await Promise.all([unpackedBytes('core-wasm'), unpackedBytes('core-files')]);
  const script = document.getElementById('core-script').textContent;
  return {
    address: URL.createObjectURL(new Blob([script], {type: 'text/javascript'})),
    module: await WebAssembly.compile(wasm),
    files: JSON.parse(new TextDecoder().decode(files)),
  };
}

class Lane {
  constructor(predictor) {
    this.predictor = predictor;
    this.waiting = new Map();
    this.nextId = 0;
    this.start();
  }

  start() {
    this.worker = new Worker(this.predictor.address);
    this.worker.onmessage = ({data}) => {
      const {resolve, reject} = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.text.startsWith('!')) reject(new AnswerError(data.text.slice(1)));
      else resolve({text: data.text, ms: data.ms});
    };
    this.loaded = this.post({module: this.predictor.module, files: this.predictor.files});
  }

  post(message) {
    return new Promise((resolve, reject) => {
      const id = this.nextId++;
      this.waiting.set(id, {resolve, reject});
      this.worker.postMessage({id, ...message});
    });
  }

  // Returns the answer's text. Throws AnswerError with the predictor's message.
  async ask(question, options) {
    await this.loaded;
    return this.post({question, options});
  }

  get isBusy() { return this.waiting.size > 0; }

  // Stops all computations; their promises are never settled.
  stop() {
    if (!this.isBusy) return;
    this.worker.terminate();
    this.waiting.clear();
    this.start();
  }
}

// Answers by question and options: undoing a change needs no computation.
const knownAnswers = new Map();
const MOST_KNOWN = 300;

async function askLane(lane, question, options) {
  const key = question + JSON.stringify(options);
  if (knownAnswers.has(key)) return knownAnswers.get(key);
  const {text, ms} = await lane.ask(question, options);
  const answer = {text, ms, json: JSON.parse(text)};
  knownAnswers.set(key, answer);
  if (knownAnswers.size > MOST_KNOWN) knownAnswers.delete(knownAnswers.keys().next().value);
  return answer;
}
