// What pages do beyond plain HTML: keys, the palette, and news from the server. Everything works without it.
"use strict";

const typing = (element) => element.matches("input, textarea, select, [contenteditable]");

// A narrow screen shows only a part of the menu.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// How far something that takes its time has come.
const progress = document.getElementById("progress");
let hideProgress = 0;

function say(text) {
  progress.hidden = false;
  progress.textContent = text;
  clearTimeout(hideProgress);
  hideProgress = setTimeout(() => (progress.hidden = true), 5000);
}

// Rows of the list: j and k move, Enter opens.
const rows = () => [...document.querySelectorAll("table.rows tbody tr")].filter((row) => row.querySelector("a"));

function select(step) {
  const all = rows();
  if (!all.length) return;
  const now = all.findIndex((row) => row.getAttribute("aria-selected") === "true");
  if (now >= 0) all[now].removeAttribute("aria-selected");
  const next = all[Math.min(all.length - 1, Math.max(0, now + step))];
  next.setAttribute("aria-selected", "true");
  next.querySelector("a").focus();
  next.scrollIntoView({ block: "nearest" });
}

// The palette: every page of the menu, and the skills whose names contain what is typed.
const palette = document.getElementById("palette");
const paletteText = document.getElementById("palette-text");
const paletteList = document.getElementById("palette-list");
let asked = 0;

function offer(entries) {
  paletteList.replaceChildren(
    ...entries.map(([title, address], index) => {
      const link = document.createElement("a");
      link.href = address;
      link.textContent = title;
      if (index === 0) link.setAttribute("aria-selected", "true");
      const item = document.createElement("li");
      item.append(link);
      return item;
    }),
  );
}

async function fillPalette() {
  const text = paletteText.value.trim().toLowerCase();
  const pages = [...document.querySelectorAll("nav a")].map((link) => [link.textContent, link.getAttribute("href")]);
  const fitting = pages.filter(([title]) => title.toLowerCase().includes(text));
  offer(fitting);
  if (!text) return;
  const mine = ++asked;
  const response = await fetch("/skills.json?" + new URLSearchParams({ q: text }));
  if (!response.ok || mine !== asked) return;
  const { skills } = await response.json();
  offer([...fitting, ...skills.slice(0, 12).map((skill) => [skill.name, "/skill?" + new URLSearchParams({ name: skill.path })])]);
}

function movePalette(step) {
  const links = [...paletteList.querySelectorAll("a")];
  const now = links.findIndex((link) => link.hasAttribute("aria-selected"));
  if (!links.length) return;
  links[now]?.removeAttribute("aria-selected");
  const next = links[(now + step + links.length) % links.length];
  next.setAttribute("aria-selected", "true");
  next.scrollIntoView({ block: "nearest" });
}

function openPalette() {
  paletteText.value = "";
  palette.showModal();
  fillPalette();
}

const openButton = document.getElementById("open-palette");
openButton.hidden = false;
openButton.addEventListener("click", openPalette);
paletteText.addEventListener("input", fillPalette);
paletteText.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") movePalette(1);
  else if (event.key === "ArrowUp") movePalette(-1);
  else if (event.key === "Enter") paletteList.querySelector("a[aria-selected]")?.click();
  else return;
  event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    openPalette();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || palette.open || typing(event.target)) return;
  if (event.key === "/") {
    event.preventDefault();
    (document.getElementById("search") ?? document.getElementById("quick")).focus();
  } else if (event.key === "j") select(1);
  else if (event.key === "k") select(-1);
  else if (event.key === "u") document.querySelector(".notice form button")?.click();
});

// What was just done, as a toast: it stays until it is closed, and `u` undoes.
document.documentElement.classList.add("scripted");
for (const notice of document.querySelectorAll(".notice")) {
  const close = document.createElement("button");
  close.type = "button";
  close.className = "close";
  close.textContent = "×";
  close.setAttribute("aria-label", "Close");
  close.addEventListener("click", () => notice.remove());
  notice.append(close);
}

// A form that takes its time says so, and is sent once.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.hasAttribute("hx-get")) return;
  if (form.getAttribute("aria-busy") === "true") return event.preventDefault();
  form.setAttribute("aria-busy", "true");
  setTimeout(() => say("Working…"), 400);
});
addEventListener("pageshow", () => document.querySelectorAll("form[aria-busy]").forEach((form) => form.removeAttribute("aria-busy")));

// News: changes on disk reload the lists that ask for it, progress is shown while it lasts.
const { skill } = document.body.dataset;
const events = new EventSource(skill ? "/events?" + new URLSearchParams({ skill }) : "/events");
events.addEventListener("change", () => document.body.dispatchEvent(new CustomEvent("library-changed")));
events.addEventListener("progress", (event) => {
  const { what, done, total, unit } = JSON.parse(event.data);
  const shown = unit === "bytes" ? (count) => `${Math.ceil(count / 1000)} kB` : (count) => count;
  say(`${what}: ${shown(done)}${total ? ` of ${shown(total)}` : ""}${unit === "bytes" ? "" : ` ${unit}`}`);
});
addEventListener("pagehide", () => events.close());
