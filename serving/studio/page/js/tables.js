// Tables that scroll in their own area.
import {h} from '/js/dom.js';

/** The area of a wide table. The keyboard can focus it, and so scroll it. */
export const scrolling = (label, table, kind = '') =>
    h('div', {className: 'wide ' + kind, tabIndex: 0, role: 'group', 'aria-label': label}, table);
