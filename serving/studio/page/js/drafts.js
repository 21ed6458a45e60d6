// Unsaved texts, kept in the browser's tab until they are saved or discarded.
const kPrefix = 'cortado draft ';

/** {text, digest, time}: the digest is that of the file from which the draft began. Null if there is none. */
export function draftOf(path) {
  try {
    return JSON.parse(sessionStorage.getItem(kPrefix + path));
  } catch {
    return null;
  }
}

/** Returns whether it was kept; the browser may have no space for it. */
export function keepDraft(path, text, digest) {
  try {
    sessionStorage.setItem(kPrefix + path, JSON.stringify({text, digest, time: Date.now() / 1000}));
    return true;
  } catch {
    return false;
  }
}

export const dropDraft = (path) => sessionStorage.removeItem(kPrefix + path);

/** The paths with drafts. */
export const drafts = () =>
    Object.keys(sessionStorage).filter((key) => key.startsWith(kPrefix)).map((key) => key.slice(kPrefix.length)).sort();

window.addEventListener('beforeunload', (event) => {
  if (drafts().length > 0) event.preventDefault();  // the browser asks before the tab and its drafts are closed
});
