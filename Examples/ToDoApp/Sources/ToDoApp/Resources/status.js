// Waits until the list is open, and offers to try again if it cannot be opened.

const token = document.querySelector("meta[name=token]").content;

document.getElementById("retry")?.addEventListener("click", async () => {
  await fetch("/retry", { method: "POST", headers: { "X-Token": token } });
  location.reload();
});

async function wait() {
  const text = await (await fetch("/state")).text();
  if (text === "open") return location.replace("/");
  if (text === "failed") return location.reload();
  const [percent, from, to] = text.split(" ");
  if (to) {
    document.getElementById("state").textContent = `The list is brought from version ${from} to version ${to}.`;
    document.getElementById("progress").value = Number(percent);
  }
  setTimeout(wait, 200);
}
if (document.getElementById("opening")) wait();
