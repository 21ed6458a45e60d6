// Accessibility checks; returns a list of failures. page_test.py runs this in the page.
(() => {
  const faults = [];
  const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== 'hidden';
  const where = (element) => `<${element.tagName.toLowerCase()} class="${element.getAttribute('class') || ''}"> ` +
      (element.textContent || '').trim().slice(0, 40);

  // Parses a CSS colour to [red, green, blue, opacity].
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    layers.push(matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1]);
    return layers.reverse().reduce((below, top) => over(top, below));
  };
  const light = ([r, g, b]) => {
    const part = (value) => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);

  // Text has a contrast of 4.5 to 1
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !shown(element) || element.closest('.editor pre, .unseen, script, option'))
      continue;
    const style = getComputedStyle(element), isDrawn = element.namespaceURI.includes('svg');
    if (isDrawn && element.classList.contains('on-heat')) continue;  // its background is a cell, not the page
    const below = ground(element), colour = over(rgba(isDrawn ? style.fill : style.color), below);
    if (contrast(colour, below) < 4.5) faults.push(`contrast ${contrast(colour, below).toFixed(2)}: ${where(element)}`);
  }

  // Controls and pictures have accessible names
  for (const element of document.querySelectorAll(
           'a, button, input, select, textarea, [tabindex="0"], img, svg[role=img]')) {
    if (!shown(element) || element.type === 'hidden') continue;
    const labelled = [...(element.labels || [])].map((label) => label.textContent).join(' ');
    const own = element.getAttribute('aria-label') || element.getAttribute('alt') || labelled || element.textContent;
    if (!own.trim()) faults.push('no name: ' + element.outerHTML.slice(0, 90));
  }

  // One h1, no skipped heading levels; unique names of landmarks
  const levels = [...document.querySelectorAll('h1, h2, h3')].filter(shown).map((one) => Number(one.tagName[1]));
  if (levels.filter((one) => one === 1).length !== 1) faults.push('headings of the first level: ' + levels);
  levels.reduce((before, now) => {
    if (now > before + 1) faults.push(`a heading of level ${now} behind one of level ${before}`);
    return now;
  }, 0);
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  if (new Set(ids).size !== ids.length) faults.push('an id twice: ' + ids);
  if (!document.documentElement.lang || !document.title) faults.push('no language or title');

  // Nothing is wider than the page
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll('main *')].filter(
        (one) => one.getBoundingClientRect().right > innerWidth + 1 &&
            !one.closest('.wide, .editor, .graph, pre, svg, .unseen'));
    faults.push(`wider than the page, ${document.documentElement.scrollWidth}: ${wide.slice(0, 3).map(where)}`);
  }
  return faults;
})()
