// Waits until the list is open, and offers to try again if it cannot be opened or read.

const token = document.querySelector("meta[name=token]").content;
const isFailed = document.getElementById("failed") !== null;

// The server forgets a window that no page is connected to. This page stands for its window while the list is away.
const id = document.querySelector("meta[name=window]").content;
const events = id ? new EventSource(`/w/${id}/events`) : null;
events?.addEventListener("back", () => location.reload());

document.getElementById("retry")?.addEventListener("click", async () => {
  await fetch("/retry", { method: "POST", headers: { "X-Token": token } });
  location.reload();
});

async function state() {
  try {
    return await (await fetch("/state")).text();
  } catch {
    return "stopped";
  }
}

async function waitUntilOpen() {
  const text = await state();
  if (text === "open") return location.replace("/");
  if (text === "failed") return location.reload();
  const [percent, from, to] = text.split(" ");
  if (to) {
    document.getElementById("state").textContent = `The list is brought from version ${from} to version ${to}.`;
    document.getElementById("progress").value = Number(percent);
  }
  setTimeout(waitUntilOpen, 200);
}

// A list that comes back, or that somebody has opened in another window, is shown.
async function waitUntilBack(former) {
  const text = await state();
  if (text === "open" && former !== "open") return location.reload();
  setTimeout(() => waitUntilBack(text), 1000);
}

if (isFailed) waitUntilBack("open");
else waitUntilOpen();
