// Questions in a dialog.
import {field, h} from '/js/dom.js';

let last = 0;

/**
 * Asks with a title, an explanation (text or elements) and buttons [value, label, class]; a button without a value
 * cancels. Resolves to the value of the pressed button, or to ''.
 */
export function ask(title, content, buttons) {
  const name = `dialog-${++last}`;
  const dialog = h('dialog', {'aria-labelledby': name}, h('h2', {id: name}, title), [content].flat());
  dialog.append(
      h('div', {className: 'row end'},
        buttons.map(
            ([value, label, kind]) =>
                h('button', {type: 'button', className: kind || '', onclick: () => dialog.close(value)}, label))));
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.onclose = () => {
      dialog.remove();
      resolve(dialog.returnValue);
    };
    dialog.showModal();
  });
}

/** Asks whether to do something; `label` names what is done. */
export const confirmed = async (title, text, label, kind = 'first') =>
    await ask(title, h('p', {}, text), [['', 'Cancel'], ['yes', label, kind]]) === 'yes';

/** Asks for a text. Resolves to it, or to '' if nothing or the same was entered. */
export async function askText(title, label, value, button, meaning) {
  const input = h('input', {value, spellcheck: false, autocomplete: 'off'});
  const content = field(label, input, meaning);
  input.onkeydown = (event) => {
    if (event.key === 'Enter') input.closest('dialog').close('yes');
  };
  const answer = ask(title, content, [['', 'Cancel'], ['yes', button, 'first']]);
  input.focus();
  input.setSelectionRange(0, value.lastIndexOf('.') > 0 ? value.lastIndexOf('.') : value.length);
  const text = await answer === 'yes' ? input.value.trim() : '';
  return text === value ? '' : text;
}
