// The script of a window. The server filters, sorts and renders; the script sends commands, puts the parts of the page
// that come back in their places, and loads the rows that scroll into view.

import { formerText, isPlacing, isTyped, keepingFocus, keepTexts, putBackTexts, typedFields } from "./typing.js";

const meta = (name) => document.querySelector(`meta[name=${name}]`).content;
const $ = (id) => document.getElementById(id);
const token = meta("token");
const base = `/w/${meta("window")}`;

// MARK: Commands

let queue = Promise.resolve();
// How many commands that change something have no answer yet.
let pending = 0;

// Sends commands one after another, so that their answers arrive in order. The result tells whether the command was
// carried out. If it was not, what the person has typed must stay.
function run(command) {
  let isDone = false;
  const isChange = !command.query && !command.refresh;
  if (isChange) pending += 1;
  queue = queue.then(() => busy(send("/do", command))).finally(() => {
    if (isChange) pending -= 1;
  }).then(async (answer) => {
    if (answer === null) return;
    isDone = place(answer);
    await list.reload();
  }).catch((error) => say(`The program does not answer. ${error.message}`, true)).then(() => isDone);
  return queue;
}

// Tells the person that an answer takes long, for example because a server is waited for.
async function busy(answer) {
  const timer = setTimeout(() => { $("busy").textContent = "Working…"; }, 500);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
    $("busy").textContent = "";
  }
}

async function send(path, body, options = {}) {
  const response = await fetch(base + path, {
    ...options,
    method: "POST",
    headers: { "X-Token": token, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status === 410) return restart();
  if (response.ok) return response.status === 204 ? null : response.text();
  await sayReason(response);
  return null;
}

async function sayReason(response) {
  const reason = await response.json().catch(() => ({}));
  say(reason.error?.message ?? "The program refused the request.", true);
}

let isGone = false;

// The server was started again: its new windows have new addresses. What was typed goes to the new page.
function restart() {
  isGone = true;
  location.replace("/");
  return null;
}

function say(text, isError) {
  const line = document.createElement("p");
  line.className = isError ? "error" : "";
  line.setAttribute("role", isError ? "alert" : "status");
  line.textContent = text;
  // What is behind a dialog can neither be read nor reached.
  const place = document.querySelector("dialog[open] .dialog-messages") ?? $("messages");
  place.replaceChildren(line);
  // The next answer takes the line away, even if it has the same messages as the one before.
  delete placed.messages;
}

// MARK: Parts of the page

let isEdited = false;
const placed = {};

// Puts each template into the element that it is for. A part that is as before stays, with what is chosen in it.
// The result is false if a message says that the command was refused.
function place(html) {
  let isDone = true;
  const parts = document.createElement("template");
  parts.innerHTML = html;
  keepingFocus(() => {
    for (const part of parts.content.querySelectorAll("template[data-for]")) {
      if (part.content.querySelector("[data-refused]")) isDone = false;
      if (placed[part.dataset.for] === part.innerHTML) continue;
      placed[part.dataset.for] = part.innerHTML;
      $(part.dataset.for).replaceChildren(part.content);
    }
  });
  refresh();
  return isDone;
}

// What depends on the parts that have been placed.
function refresh() {
  const edited = $("edited");
  isEdited = edited.dataset.edited === "true";
  document.title = (isEdited ? "• " : "") + edited.dataset.name + (isEdited ? " — edited" : "");
  markErrors("add-errors", $("add"));
  markErrors("category-errors", $("add-category"));
  // A category can vanish by an undo, or because somebody else removes it.
  if (query.category && !document.querySelector(`[data-filter="${CSS.escape(query.category)}"]`)) setCategory("");
  showDialog("alerts");
  showDialog("conflicts");
  notify();
  const count = list.count;
  $("list-status").textContent = count === 1 ? "1 item" : `${count} items`;
}

// Connects the mistakes of a form with their fields, so that a screen reader reads them together.
function markErrors(id, form) {
  const fields = id === "category-errors" ? document.querySelectorAll("nav input") : form.querySelectorAll("input");
  for (const field of fields) field.removeAttribute("aria-invalid");
  for (const error of $(id).querySelectorAll("[data-field]")) {
    const field = form.elements[error.dataset.field] ?? $(error.dataset.field);
    if (!field) continue;
    error.id = `${id}-${error.dataset.field}`;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", error.id);
  }
}

let escaped;
$("alerts-dialog").addEventListener("cancel", () => { escaped = $("alerts").innerHTML; });

function showDialog(name) {
  const dialog = $(`${name}-dialog`);
  // A dialog that was closed by the Escape key comes again when its contents change.
  const isEmpty = $(name).childElementCount === 0 || $(name).innerHTML === escaped;
  if (isEmpty && dialog.open) dialog.close();
  if (!isEmpty && !dialog.open) dialog.showModal();
}

// MARK: The list

// The table has a body for each page of rows. Only pages near the window have rows; the others keep their height.
const list = {
  table: $("items"),
  // The server has rendered the first page.
  near: new Set([$("items").tBodies[0]]),
  version: 0,
  rowHeight: 64,

  get count() { return Number($("list").querySelector("[data-count]").dataset.count); },
  get pageSize() { return Number($("list").querySelector("[data-count]").dataset.page); },

  layout() {
    const pages = Math.max(1, Math.ceil(this.count / this.pageSize));
    this.table.setAttribute("aria-rowcount", this.count + 1);
    while (this.table.tBodies.length > pages) {
      const last = this.table.tBodies[this.table.tBodies.length - 1];
      this.observer.unobserve(last);
      this.near.delete(last);
      last.remove();
    }
    while (this.table.tBodies.length < pages) {
      const page = this.table.createTBody();
      page.className = "page";
      page.dataset.offset = (this.table.tBodies.length - 1) * this.pageSize;
    }
    for (const page of this.table.tBodies) {
      if (!this.near.has(page)) this.empty(page);
      this.observer.observe(page);
    }
  },

  // Shows the list again after a command.
  async reload() {
    this.version += 1;
    this.layout();
    await Promise.all([...this.near].map((page) => this.load(page)));
  },

  async load(page) {
    const version = this.version;
    const response = await fetch(`${base}/rows?offset=${page.dataset.offset}`);
    if (response.status === 410) return restart();
    if (version !== this.version) return;
    // The rows that are shown stay. The command may have given the reason already.
    if (!response.ok) return document.querySelector("#messages .error") ? null : sayReason(response);
    const html = await response.text();
    keepingFocus(() => { page.innerHTML = html; });
    if (page.rows.length) this.rowHeight = page.offsetHeight / page.rows.length;
    selection.show();
  },

  // Replaces rows by a space of their height.
  empty(page) {
    if (page.contains(document.activeElement) || typedFields(page).length > 0) return;
    const rows = Math.min(this.pageSize, this.count - Number(page.dataset.offset));
    const height = page.rows.length > 1 ? page.offsetHeight : rows * this.rowHeight;
    const space = document.createElement("td");
    space.colSpan = 5;
    space.style.height = `${Math.max(0, height)}px`;
    const row = document.createElement("tr");
    row.className = "space";
    row.append(space);
    page.replaceChildren(row);
  },

  observer: new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && !list.near.has(target)) {
        list.near.add(target);
        if (!target.rows.length || target.rows[0].className === "space") list.load(target);
      } else if (!isIntersecting && list.near.delete(target)) {
        list.empty(target);
      }
    }
  }, { rootMargin: "800px" }),
};

// MARK: The query

const query = {
  column: document.querySelector("th:not([aria-sort=none]) [data-sort]").dataset.sort,
  isAscending: document.querySelector("th[aria-sort=ascending]") !== null,
  text: $("filter").elements.text.value,
  due: $("filter").elements.due.value,
  category: null,
  isUncategorized: false,
};
setCategory(document.querySelector("[data-filter][aria-pressed=true]")?.dataset.filter ?? "");

function setCategory(filter) {
  query.isUncategorized = filter === "none";
  query.category = filter === "" || filter === "none" ? null : filter;
}

function show() { return run({ query: { _0: query } }); }

// A new filter ends the selection: nobody should delete items that are not shown any more.
function filter() {
  selection.clear();
  return show();
}

document.querySelector("thead").addEventListener("click", (event) => {
  const column = event.target.dataset.sort;
  if (!column) return;
  query.isAscending = column === query.column ? !query.isAscending : true;
  query.column = column;
  for (const header of document.querySelectorAll("th[aria-sort]")) {
    const isOwn = header.querySelector("[data-sort]").dataset.sort === column;
    header.setAttribute("aria-sort", !isOwn ? "none" : query.isAscending ? "ascending" : "descending");
  }
  show();
});

let typing;
$("filter").elements.text.addEventListener("input", (event) => {
  query.text = event.target.value;
  clearTimeout(typing);
  typing = setTimeout(filter, 200);
});
$("filter").elements.due.addEventListener("change", (event) => {
  query.due = event.target.value;
  filter();
});
$("filter").addEventListener("submit", (event) => event.preventDefault());

// MARK: Editing in place

const rowID = (element) => element.closest("tr").dataset.id;

// The command that sends the text of a field.
function setting(field) {
  return { set: { id: rowID(field), field: field.dataset.field, value: field.value, was: formerText(field) } };
}

function submit(field) {
  if (isPlacing || !isTyped(field)) return;
  const command = setting(field);
  const shown = field.defaultValue;
  delete field.dataset.was;
  field.defaultValue = field.value;
  run(command).then((isDone) => {
    if (isDone) return;
    // The text counts as typed and not sent again.
    field.defaultValue = shown;
    field.dataset.was = command.set.was;
  });
}

list.table.addEventListener("focusout", (event) => {
  if (event.target.dataset.field) submit(event.target);
});

list.table.addEventListener("keydown", (event) => {
  const field = event.target;
  if (!field.dataset.field) return;
  if (event.key === "Escape") {
    field.value = field.defaultValue;
    delete field.dataset.was;
  }
  if (event.key === "Enter" && field.tagName === "INPUT") submit(field);
  const next = { ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling" }[event.key];
  if (next && field.dataset.field === "title") {
    field.closest("tr")[next]?.querySelector("[data-field=title]")?.focus();
    event.preventDefault();
  }
});

list.table.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-action]");
  if (!button) return;
  const ids = [rowID(button)];
  const isOn = button.getAttribute("aria-pressed") !== "true";
  if (button.dataset.action !== "delete") return run({ [button.dataset.action]: { ids, isOn } });
  // The focus of the keyboard goes to the next row.
  const row = button.closest("tr");
  const next = (row.nextElementSibling ?? row.previousElementSibling)?.querySelector("[data-action=delete]")?.id;
  run({ delete: { ids } }).then(() => {
    if (document.activeElement === document.body) $(next)?.focus();
  });
});

// A menu of categories is filled when it is about to open.
function fillCategories(menu) {
  if (menu.dataset.filled) return;
  menu.dataset.filled = "true";
  const chosen = menu.value;
  const options = [new Option("–", menu.dataset.bulk ? "none" : "")];
  if (menu.dataset.bulk) options.unshift(new Option("Choose…", ""));
  for (const item of $("categories").querySelectorAll("li[data-id]")) {
    const name = item.querySelector("input");
    options.push(new Option(name.defaultValue || name.placeholder, item.dataset.id));
  }
  menu.replaceChildren(...options);
  menu.value = chosen;
}

document.addEventListener("focusin", (event) => {
  if (event.target.matches("select[data-action], select[data-bulk]")) fillCategories(event.target);
});
list.table.addEventListener("change", (event) => {
  const target = event.target;
  if (target.dataset.action === "categorize") {
    run({ categorize: { ids: [rowID(target)], category: target.value || null } });
  }
});

// MARK: Several items

const selection = {
  ids: new Set(),

  show() {
    for (const box of list.table.querySelectorAll("tbody .pick input")) box.checked = this.ids.has(rowID(box));
    $("selection").hidden = this.ids.size === 0;
    $("selected-count").textContent = this.ids.size === 1 ? "1 selected" : `${this.ids.size} selected`;
    $("pick-all").checked = this.ids.size > 0 && this.ids.size >= list.count;
    $("pick-all").indeterminate = this.ids.size > 0 && this.ids.size < list.count;
    delete document.querySelector("select[data-bulk]").dataset.filled;
  },

  clear() {
    this.ids.clear();
    this.show();
  },
};

list.table.addEventListener("change", (event) => {
  const box = event.target;
  if (box.type !== "checkbox") return;
  const boxes = box.id === "pick-all" ? list.table.querySelectorAll("tbody .pick input") : [box];
  for (const other of boxes) {
    if (box.checked) selection.ids.add(rowID(other));
    else selection.ids.delete(rowID(other));
  }
  if (box.id === "pick-all" && !box.checked) selection.ids.clear();
  selection.show();
});

$("selection").addEventListener("click", (event) => {
  const action = event.target.closest("button")?.dataset.bulk;
  if (!action) return;
  const ids = [...selection.ids];
  run(action === "delete" ? { delete: { ids } } : { [action]: { ids, isOn: true } });
  selection.clear();
});
$("selection").addEventListener("change", (event) => {
  const category = event.target.value;
  if (category === "") return;
  run({ categorize: { ids: [...selection.ids], category: category === "none" ? null : category } });
  event.target.value = "";
  selection.clear();
});

// MARK: Adding, and categories

$("add").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { title, dueDate } = event.target.elements;
  const isDone = await run({ add: { title: title.value, dueDate: dueDate.value, category: query.category } });
  if (isDone && !$("add-errors").childElementCount) title.value = "";
  title.focus();
});

$("add-category").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name } = event.target.elements;
  const isDone = await run({ addCategory: { name: name.value } });
  if (isDone && !$("category-errors").childElementCount) name.value = "";
});

$("categories").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.filter !== undefined) {
    setCategory(button.dataset.filter);
    return filter();
  }
  const { id, index } = button.closest("li").dataset;
  if (button.dataset.category === "remove") {
    if (query.category === id) setCategory("");
    run({ deleteCategory: { id } });
  } else {
    run({ moveCategory: { id, index: Number(index) + (button.dataset.category === "up" ? -1 : 1) } });
  }
});
$("categories").addEventListener("focusout", (event) => {
  const field = event.target;
  if (field.dataset.category !== "rename" || isPlacing || !isTyped(field)) return;
  run({ renameCategory: { id: field.closest("li").dataset.id, name: field.value } });
});
$("categories").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.dataset.category === "rename") event.target.blur();
});

// The panel is beside the list, or above it in a narrow window, where it begins closed.
const narrow = matchMedia("(max-width: 760px)");
function foldPanel() { $("panel").open = !narrow.matches; }
narrow.addEventListener("change", foldPanel);
foldPanel();

// MARK: The toolbar, keys and closing

$("toolbar").addEventListener("click", (event) => {
  const command = event.target.closest("button")?.dataset.command;
  if (command) run({ [command]: {} });
});

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  const field = document.activeElement;
  if (key === "s") {
    if (field?.dataset.field) submit(field);
    // A name is sent when its field loses the focus.
    if (field?.dataset.category === "rename") field.blur();
    run({ save: {} });
  } else if (key === "z" && !isTyped(field)) {
    run(event.shiftKey ? { redo: {} } : { undo: {} });
  } else {
    return;
  }
  event.preventDefault();
});

// Whether something would be lost: unsaved changes, a command without an answer, or a text that was not sent. The date
// of a new item is none, because it has a value from the beginning.
function isUnsaved() {
  return !isGone && (isEdited || pending > 0 || typedFields().some((field) => field.name !== "dueDate"));
}

// A browser asks only on a page that has been used. Some browsers never ask.
let isAsked = false;
addEventListener("beforeunload", (event) => {
  isAsked = isUnsaved() && (navigator.userActivation?.hasBeenActive ?? true);
  if (isUnsaved()) event.preventDefault();
});
// The server forgets a closed window. One with changes that nobody was asked about must not count as closed.
// What was typed in it becomes a change.
addEventListener("pagehide", () => {
  if (isGone) return keepTexts();
  if (!isUnsaved() || isAsked) return navigator.sendBeacon(`${base}/close`, token);
  for (const field of typedFields(list.table)) send("/do", setting(field), { keepalive: true });
});

// MARK: Export and import

$("import").addEventListener("change", async (event) => {
  const file = event.target.files[0];
  event.target.value = "";
  try {
    if (file) await run({ load: { document: JSON.parse(await file.text()) } });
  } catch {
    say("The file cannot be read: it is not JSON.", true);
  }
});

// MARK: Alerts, conflicts, and changes of others

$("alerts").addEventListener("click", (event) => {
  const answer = event.target.dataset.answer;
  if (answer) send("/alert", { id: event.target.closest("[data-alert]").dataset.alert, answer });
});

let notified = new Set();

// The system's notification, in addition to the dialog, where the person allows it. An alert that comes again notifies
// again.
function notify() {
  $("notify").hidden = !("Notification" in window) || Notification.permission !== "default";
  const shown = new Set();
  for (const alert of $("alerts").querySelectorAll("[data-alert]")) {
    shown.add(alert.dataset.alert);
    if (notified.has(alert.dataset.alert) || !("Notification" in window)) continue;
    if (Notification.permission === "granted") new Notification(alert.querySelector("p").textContent);
  }
  notified = shown;
}
$("notify").addEventListener("click", async () => {
  await Notification.requestPermission();
  notify();
});

$("conflicts").addEventListener("submit", (event) => {
  event.preventDefault();
  const choices = [...event.target.querySelectorAll("fieldset")].map((choice) => ({
    id: choice.dataset.id,
    key: choice.dataset.key || null,
    isMine: choice.querySelector("input:checked").value === "mine",
  }));
  run({ resolve: { choices } });
});
$("conflicts").addEventListener("click", (event) => {
  if (event.target.dataset.close !== undefined) run({ decideLater: {} });
});
$("conflicts-dialog").addEventListener("cancel", () => run({ decideLater: {} }));

const events = new EventSource(`${base}/events`);
events.addEventListener("changed", showChanges);
events.addEventListener("away", (event) => tellAbsence(`${event.data} What you have not saved stays in this window.`));
events.addEventListener("back", () => {
  tellAbsence("");
  showChanges();
});

// Shows what others have saved. A request that waits for its turn shows the saves that come until then, too.
let isWaiting = false;
function showChanges() {
  if (isWaiting) return;
  isWaiting = true;
  queue = queue.then(() => { isWaiting = false; });
  run({ refresh: {} });
}

// Says above the list why nothing can be saved at the moment; an empty text takes that back.
function tellAbsence(text) {
  // The server repeats the reason each second. A screen reader would read it each time.
  if ($("away").textContent === text) return;
  $("away").textContent = text;
  $("away").hidden = text === "";
}
events.addEventListener("alerts", (event) => place(event.data));
events.addEventListener("review", (event) => say(`The server could not save while quitting. ${event.data}`, true));
let isCutOff = false;
events.addEventListener("open", () => {
  tellAbsence("");
  // Others may have saved while the connection was broken.
  if (isCutOff) showChanges();
  isCutOff = false;
});
events.addEventListener("error", () => {
  isCutOff = true;
  if (events.readyState === EventSource.CLOSED) restart();
  else tellAbsence("The program does not answer. This page goes on when it does.");
});

list.layout();
refresh();
const lost = putBackTexts();
if (lost.length > 0) say(`This page does not show what you were editing. You had typed: ${lost.join(" ")}`, true);
