// Asking the studio. A mistake is an Error with the studio's words.

async function answered(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.error || `${response.status} ${response.statusText}`);
  return body;
}

const query = (parameters) => {
  const text = new URLSearchParams(parameters).toString();
  return text ? '?' + text : '';
};

export const get = async (path, parameters = {}) => answered(await fetch(path + query(parameters)));

export const post = async (path, body = {}) => answered(
    await fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)}));

/** Bytes as they are. */
export const send = async (path, parameters, content) => answered(await fetch(
    path + query(parameters),
    {method: 'POST', headers: {'Content-Type': 'application/octet-stream'}, body: content || new Blob()}));

/** Server-sent events: `on` has a function of the parsed data for each kind. close() ends it. */
export function follow(path, parameters, on) {
  const source = new EventSource(path + query(parameters));
  for (const [kind, act] of Object.entries(on)) source.addEventListener(kind, (event) => act(JSON.parse(event.data)));
  return source;
}

const told = document.getElementById('told');
let forget = null;

/** A line for a few seconds. */
export function tell(text) {
  told.textContent = text;
  clearTimeout(forget);
  forget = setTimeout(() => {
    told.textContent = '';
  }, 6000);
}
