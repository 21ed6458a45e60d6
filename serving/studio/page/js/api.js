// Requests to the studio. A failed request throws an Error with the studio's message and the status of HTTP.

async function answered(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok)
    throw Object.assign(
        new Error(body.error || `${response.status} ${response.statusText}`), {status: response.status});
  return body;
}

const query = (parameters) => {
  const text = new URLSearchParams(parameters).toString();
  return text ? '?' + text : '';
};

export const get = async (path, parameters = {}) => answered(await fetch(path + query(parameters)));

export const post = async (path, body = {}) => answered(
    await fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)}));

/** Posts raw bytes. */
export const send = async (path, parameters, content) => answered(await fetch(
    path + query(parameters),
    {method: 'POST', headers: {'Content-Type': 'application/octet-stream'}, body: content || new Blob()}));

/** Server-sent events: `on` maps event types to functions of the parsed data. close() ends the stream. */
export function follow(path, parameters, on) {
  const source = new EventSource(path + query(parameters));
  for (const [kind, act] of Object.entries(on)) source.addEventListener(kind, (event) => act(JSON.parse(event.data)));
  return source;
}

const message = document.getElementById('message');
let forget = null;

/** Shows a message for a few seconds. */
export function showMessage(text) {
  message.textContent = text;
  clearTimeout(forget);
  forget = setTimeout(() => {
    message.textContent = '';
  }, 6000);
}
