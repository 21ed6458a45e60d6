// Accessibility checks; returns a list of failures. accessibility.py runs this in a page. It checks what usual tools
// for accessibility check: contrast, names, labels, headings, landmarks, lists, tables, sizes of targets, visible
// focus.
(() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== 'hidden';
  const isSeen = (element) => shown(element) && !element.classList.contains('unseen');
  const textOf = (element) => (element?.textContent || '').replace(/\s+/g, ' ').trim().toLowerCase();
  const kInteractive = 'a[href], button, input, select, textarea, summary';
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

  const isDrawn = (element) => element.namespaceURI.includes('svg');
  const backgroundOf = (element) => {  // the label of a box lies on a plate, which is drawn just before it
    const plate = element.previousElementSibling;
    return isDrawn(element) && plate?.matches('.plate') ? rgba(getComputedStyle(plate).fill) : ground(element);
  };

  /** Text has a contrast of 4.5 to 1. */
  function checkContrast() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.textContent.trim() || !shown(element) || element.closest('.editor pre, .unseen, script, option'))
        continue;
      const style = getComputedStyle(element);
      if (isDrawn(element) && element.classList.contains('on-heat')) continue;  // its background is a cell
      const below = backgroundOf(element), colour = over(rgba(isDrawn(element) ? style.fill : style.color), below);
      if (contrast(colour, below) < 4.5)
        faults.push(`contrast ${contrast(colour, below).toFixed(2)}: ${where(element)}`);
    }
  }

  /** Controls and pictures have names; a visible label is part of the name; ids that are referred to exist. */
  function checkNames() {
    const byIds = (element, attribute) => (element.getAttribute(attribute) || '').split(/\s+/).filter(Boolean);
    for (const element of all('a, button, input, select, textarea, progress, [tabindex="0"], img, svg[role=img]')) {
      if (!shown(element) || element.type === 'hidden') continue;
      const labelled = [...(element.labels || [])].map(textOf).join(' ');
      const given = (element.getAttribute('aria-label') || '').toLowerCase();
      const own = given ||
          byIds(element, 'aria-labelledby').map((id) => textOf(document.getElementById(id))).join(' ') ||
          element.getAttribute('alt') || labelled || textOf(element);
      if (!own.trim() && !(element.tagName === 'IMG' && element.hasAttribute('alt')))
        faults.push('no name: ' + element.outerHTML.slice(0, 90));
      if (element.matches('a, button') && given && textOf(element) && !given.includes(textOf(element)))
        faults.push(`its name lacks its text: ${given}: ${where(element)}`);
    }
    for (const attribute of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for'])
      for (const element of all(`[${attribute}]`))
        for (const id of byIds(element, attribute))
          if (!document.getElementById(id)) faults.push(`${attribute} of no element: ${id}`);
  }

  /** Roles exist; no control is in another, hidden from screen readers only, or has a tab order of its own. */
  function checkRoles() {
    const kRoles = [
      'alert',   'group',     'img',         'list',    'log',    'region',   'status',       'tab',
      'tablist', 'tabpanel',  'option',      'listbox', 'dialog', 'none',     'presentation', 'search',
      'switch',  'separator', 'application', 'button',  'menu',   'menuitem', 'progressbar',  'tooltip',
      'note',    'figure',    'table',       'row',     'cell',   'tree',     'treeitem'
    ];
    for (const element of all('[role]'))
      if (!kRoles.includes(element.getAttribute('role'))) faults.push('unknown role: ' + where(element));
    for (const element of all(kInteractive)) {
      if (element.parentElement.closest('a[href], button, summary'))
        faults.push('a control in a control: ' + where(element));
      if (element.closest('[aria-hidden=true]')) faults.push('a control that is hidden: ' + where(element));
    }
    for (const element of all('[tabindex]'))
      if (element.tabIndex > 0) faults.push('a tab order of its own: ' + where(element));
  }

  /** Areas that scroll can be focused, so that keys can scroll them. */
  function checkScrolling() {
    for (const element of all('pre, .wide, .graph, .chooser')) {
      if (!shown(element) || element.closest('.editor')) continue;
      const scrolls = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
      const isReached = element.tabIndex >= 0 || element.querySelector(kInteractive + ', [tabindex="0"]');
      if (scrolls && !isReached) faults.push('keys cannot scroll it: ' + where(element));
    }
  }

  /** Tables are in areas that scroll, and show that they go on. */
  function checkTables() {
    for (const element of all('table').filter(shown)) {
      const area = element.closest('.wide');
      if (!area || getComputedStyle(area).backgroundImage === 'none') faults.push('a table that is cut: ' + where(element));
    }
  }

  /** Pictures keep their proportions. */
  function checkPictures() {
    for (const one of all('img').filter(shown)) {
      const {width, height} = one.getBoundingClientRect();
      if (one.naturalWidth === 0 || getComputedStyle(one).objectFit !== 'fill') continue;
      const shouldBe = width * one.naturalHeight / one.naturalWidth;
      if (Math.abs(height - shouldBe) > 1)
        faults.push(`squashed to ${width} x ${height}, not ${shouldBe.toFixed(1)}: ${one.alt}`);
    }
  }

  /** What an input wants is said where it refuses: browsers add the title to their message. */
  function checkPatterns() {
    for (const input of all('[pattern]'))
      if (!input.title) faults.push('a pattern without a title: ' + where(input.parentElement));
  }

  /** One h1, no skipped levels, no empty headings. */
  function checkHeadings() {
    const headings = all('h1, h2, h3, h4, h5, h6').filter(shown),
          levels = headings.map((one) => Number(one.tagName[1]));
    if (levels.filter((one) => one === 1).length !== 1) faults.push('headings of the first level: ' + levels);
    levels.reduce((before, now) => {
      if (now > before + 1) faults.push(`a heading of level ${now} after one of level ${before}`);
      return now;
    }, 0);
    for (const element of headings)
      if (!textOf(element)) faults.push('an empty heading');
  }

  /** Language, title, zoom, one main landmark with all content, unique ids and landmark names. */
  function checkDocument() {
    const ids = all('[id]').map((one) => one.id), twice = ids.filter((one, i) => ids.indexOf(one) !== i);
    if (twice.length > 0) faults.push('an id twice: ' + twice);
    if (!document.documentElement.lang || !document.title) faults.push('no language or title');
    if (/user-scalable\s*=\s*no|maximum-scale/.test(document.querySelector('meta[name=viewport]')?.content || ''))
      faults.push('zooming is disabled');
    if (all('main').length !== 1) faults.push('landmarks main: ' + all('main').length);
    const kLandmarks = 'main, header, footer, nav, aside, dialog, [role=status], [role=alert], .skip';
    for (const element of all('h1, h2, p, table, form'))
      if (shown(element) && !element.closest(kLandmarks)) faults.push('outside of the landmarks: ' + where(element));
    for (const kind of ['nav', 'aside']) {
      const names = all(kind).filter(shown).map((one) => one.getAttribute('aria-label') || '');
      if (names.length > 1 && new Set(names).size < names.length)
        faults.push(`landmarks ${kind} without names of their own`);
    }
  }

  /** Items and heads are where they belong. */
  function checkLists() {
    for (const element of all('li'))
      if (!element.parentElement.matches('ul, ol, menu')) faults.push('an item outside of a list: ' + where(element));
    for (const element of all('ul > *, ol > *'))
      if (!element.matches('li, script, template')) faults.push('not an item, in a list: ' + where(element));
    for (const element of all('dl > *'))
      if (!element.matches('dt, dd, div')) faults.push('not a term, in a list of terms: ' + where(element));
    for (const element of all('th'))
      if (shown(element) && !element.getAttribute('scope')) faults.push('a head without a scope: ' + where(element));
  }

  const targets = all('a[href], button, input, select, textarea, summary').filter(isSeen).map((element) => {
    const label = element.labels?.[0],
          boxes = [element, ...(label ? [label] : [])].map((one) => one.getBoundingClientRect());
    return {element, box: boxes.reduce((a, b) => a.width * a.height >= b.width * b.height ? a : b)};
  });

  /** Targets have 24 x 24 pixels, or as much room around; links in text are exempt. */
  function checkTargets() {
    const isInText = (element) => getComputedStyle(element).display === 'inline' &&
        [...element.parentElement.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim());
    const middle = ({left, right, top, bottom}) => [(left + right) / 2, (top + bottom) / 2];
    for (const {element, box} of targets) {
      if ((box.width >= 24 && box.height >= 24) || isInText(element)) continue;
      const [x, y] = middle(box);
      const crowded = targets.some((other) => {
        const dx = Math.max(other.box.left - x, 0, x - other.box.right);
        const dy = Math.max(other.box.top - y, 0, y - other.box.bottom);
        return other.element !== element && !other.element.contains(element) && Math.hypot(dx, dy) < 12;
      });
      if (crowded) faults.push(`a target of ${box.width.toFixed()} x ${box.height.toFixed()}: ${where(element)}`);
    }
  }

  /** The focus is visible: outline, border, shadow or background change. */
  function checkFocus() {
    const looks = (element) => {
      const style = getComputedStyle(element);
      return [style.outlineStyle, style.outlineWidth, style.borderColor, style.boxShadow, style.backgroundColor].join();
    };
    const focused = document.activeElement, x = scrollX, y = scrollY;
    for (const {element} of targets.slice(0, 60)) {
      if (element.disabled) continue;
      element.blur();
      const before = looks(element);
      element.focus({preventScroll: true, focusVisible: true});
      if (document.activeElement === element && looks(element) === before)
        faults.push('no visible focus: ' + where(element));
    }
    if (focused && focused !== document.body)
      focused.focus({preventScroll: true});
    else
      document.activeElement?.blur();
    scrollTo(x, y);
  }

  /** Nothing is wider than the page. */
  function checkWidth() {
    if (document.documentElement.scrollWidth <= innerWidth) return;
    const wide = all('main *').filter(
        (one) => one.getBoundingClientRect().right > innerWidth + 1 &&
            !one.closest('.wide, .editor, .graph, pre, svg, .unseen'));
    faults.push(`wider than the page, ${document.documentElement.scrollWidth}: ${wide.slice(0, 3).map(where)}`);
  }

  for (const check
           of [checkContrast, checkNames, checkRoles, checkScrolling, checkHeadings, checkDocument, checkLists,
               checkTargets, checkFocus, checkWidth, checkTables, checkPictures, checkPatterns])
    check();
  return faults;
})()
