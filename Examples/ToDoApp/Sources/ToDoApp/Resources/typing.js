// Texts that a person has typed and the page has not sent. They must not be lost.

// Whether a field has such a text.
export function isTyped(field) {
  if (!field?.matches("input:not([type=checkbox], [type=radio], [type=file]), textarea")) return false;
  // A field of one line shows no line breaks.
  const shown = field.tagName === "INPUT" ? field.defaultValue.replace(/[\r\n]/g, "") : field.defaultValue;
  return field.value !== shown;
}

// The fields with such texts. A search is no text of the list.
export function typedFields(root = document) {
  return [...root.querySelectorAll("input:not([type=search]), textarea")].filter(isTyped);
}

// What a field had when the person began to type.
export function formerText(field) { return field.dataset.was ?? field.defaultValue; }

// Whether parts of the page are being replaced. A field that is replaced loses the focus, although nobody has left it.
export let isPlacing = false;

// Replaces parts of the page. The element with the focus keeps it, and fields keep what has been typed and not sent.
export function keepingFocus(replace) {
  const old = document.activeElement;
  const [start, end] = [old?.selectionStart, old?.selectionEnd];
  // The name of a category that does not have the focus has been sent, and may have been refused.
  const typed = typedFields()
    .filter((field) => field.dataset.field || (field === old && field.dataset.category))
    .map((field) => ({ field, text: field.value, was: formerText(field) }));
  isPlacing = true;
  replace();
  isPlacing = false;
  for (const { field, text, was } of typed) {
    const next = field.isConnected ? null : document.getElementById(field.id);
    if (!next) continue;
    next.value = text;
    next.dataset.was = was;
  }
  if (!old?.id || old.isConnected) return;
  const field = document.getElementById(old.id);
  if (!field) return;
  field.focus({ preventScroll: true });
  if (start !== null && start !== undefined && field.setSelectionRange) field.setSelectionRange(start, end);
}

const key = "typed";

// Keeps the texts for the page that takes the place of this one.
export function keepTexts() {
  const texts = typedFields().map((field) => ({
    // The fields of forms have no identifiers. Those of items and categories keep theirs in all pages.
    selector: field.id ? `#${CSS.escape(field.id)}` : `#${field.form.id} [name=${field.name}]`,
    text: field.value,
    was: formerText(field),
    hasFocus: field === document.activeElement,
  }));
  sessionStorage.setItem(key, JSON.stringify(texts));
}

// Puts the texts of the former page into their fields. The field that had the focus gets it. The others lose it, which
// sends their texts.
//
// The result has the texts whose fields are not in the page.
export function putBackTexts() {
  const texts = JSON.parse(sessionStorage.getItem(key) ?? "[]");
  sessionStorage.removeItem(key);
  const lost = [];
  for (const { selector, text, was, hasFocus } of texts) {
    const field = document.querySelector(selector);
    if (!field) {
      lost.push(text);
      continue;
    }
    field.value = text;
    field.dataset.was = was;
    if (hasFocus) field.focus();
    else field.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
  }
  return lost;
}
