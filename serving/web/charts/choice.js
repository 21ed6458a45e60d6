// The choice of curves, of charts with more curves than there are colours.
'use strict';

(() => {
  const {html} = Charts.parts;
  const kMax = 8;

  /** The colours, 0 to 7, of chosen curves. Shows a list of checkboxes if some curves have none. */
  Charts.Choice = class {
    constructor(label, onChange) {
      this.onChange = onChange;
      this.colours = new Map();  // by the name of a chosen curve
      this.known = new Set();
      this.words = html('summary');
      this.list = html('fieldset', {}, html('legend', {className: 'unseen'}, `Curves of ${label}`));
      this.element = html('details', {className: 'chart-choice', hidden: true}, this.words, this.list);
    }

    /** Adds new curves: the first ones are chosen. They may have colours already. */
    offer(series) {
      const added = series.filter(({name}) => !this.known.has(name));
      for (const {name, colour} of added) {
        this.known.add(name);
        if (colour !== undefined)
          this.colours.set(name, colour);
        else if (this.colours.size < kMax)
          this.choose(name);
        this.list.append(this.boxFor(name));
      }
      this.element.hidden = this.known.size <= kMax;
      if (added.length) this.describe();
    }

    choose(name) {
      const used = new Set(this.colours.values());
      for (let colour = 0; colour < kMax; ++colour) {
        if (used.has(colour)) continue;
        this.colours.set(name, colour);
        return;
      }
    }

    boxFor(name) {
      const box = html('input', {type: 'checkbox', value: name, checked: this.colours.has(name)});
      box.onchange = () => {
        if (box.checked)
          this.choose(name);
        else
          this.colours.delete(name);
        this.describe();
        this.onChange();
      };
      return html('label', {}, box, name);
    }

    describe() {
      const isFull = this.colours.size >= kMax;
      this.words.textContent = `${this.colours.size} of ${this.known.size} curves, at most ${kMax}: choose`;
      for (const box of this.list.querySelectorAll('input')) box.disabled = isFull && !box.checked;
    }
  };
})();
