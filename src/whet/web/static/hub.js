// What the pages of a hub do beyond plain HTML: verify the log, and take the secret of an invitation from its link.
"use strict";

const invitation = document.getElementById("invitation");
if (invitation && location.hash.length > 1) {
  invitation.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}

// The log: a Merkle tree as in RFC 6962, under a checkpoint that the hub signed with Ed25519.
const bytes = (text) => new TextEncoder().encode(text);
const decode = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const hex = (data) => [...data].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

async function sha256(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
}

const hashLeaf = (entry) => sha256(Uint8Array.of(0), entry);
const hashNode = (left, right) => sha256(Uint8Array.of(1), left, right);
const same = (one, other) => hex(one) === hex(other);
const half = (number) => Math.floor(number / 2);

function need(holds, message) {
  if (!holds) throw new Error(message);
}

async function checkInclusion(leaf, index, size, path, root) {
  need(index < size, "the signed log is shorter than that");
  let [number, last, value] = [index, size - 1, leaf];
  for (const other of path) {
    need(last > 0, "its path is too long");
    if (number % 2 || number === last) {
      value = await hashNode(other, value);
      while (number && !(number % 2)) [number, last] = [half(number), half(last)];
    } else value = await hashNode(value, other);
    [number, last] = [half(number), half(last)];
  }
  need(last === 0 && same(value, root), "its path does not lead to the signed root");
}

async function checkConsistency(old, now, path) {
  need(old.size <= now.size, `the log had ${old.size} entries before and has ${now.size} now`);
  if (old.size === now.size || old.size === 0) {
    need(old.size === 0 || same(old.root, now.root), `two roots were signed for ${now.size} entries`);
    return;
  }
  const values = Number.isInteger(Math.log2(old.size)) ? [old.root, ...path] : [...path];
  need(values.length > 0, "the proof of growth is too short");
  let [number, last] = [old.size - 1, now.size - 1];
  while (number % 2) [number, last] = [half(number), half(last)];
  let [before, after] = [values[0], values[0]];
  for (const other of values.slice(1)) {
    need(last > 0, "the proof of growth is too long");
    if (number % 2 || number === last) {
      [before, after] = [await hashNode(other, before), await hashNode(other, after)];
      while (number && !(number % 2)) [number, last] = [half(number), half(last)];
    } else after = await hashNode(after, other);
    [number, last] = [half(number), half(last)];
  }
  need(last === 0 && same(before, old.root) && same(after, now.root), `its first ${old.size} entries are no longer the same`);
}

async function readCheckpoint(note, keyText) {
  const [body, signatures] = note.split("\n\n");
  const [origin, size, root] = body.split("\n");
  const key = keyText.split("+");
  need(key[0] === origin, "the checkpoint is of another log");
  const publicKey = decode(key.slice(2).join("+")).slice(1);
  const line = signatures.split("\n").find((text) => text.startsWith(`\u2014 ${origin} `)) ?? "";
  const signature = decode(line.split(" ")[2] ?? "").slice(4);
  const imported = await crypto.subtle.importKey("raw", publicKey, { name: "Ed25519" }, false, ["verify"]);
  const holds = await crypto.subtle.verify({ name: "Ed25519" }, imported, signature, bytes(body + "\n"));
  need(holds, "the checkpoint is not signed with the key of this log");
  return { size: Number(size), root: decode(root) };
}

async function fetchText(address) {
  const response = await fetch(address);
  need(response.ok, `${address} answered ${response.status}`);
  return response.text();
}

async function verifyLog(key, told) {
  const kept = `whet-log ${key}`;
  const newest = await readCheckpoint(await fetchText("/log/checkpoint"), key);
  const before = JSON.parse(localStorage.getItem(kept) ?? "null");
  if (before) {
    const proof = JSON.parse(await fetchText(`/api/v1/log/consistency/${before.size}?size=${newest.size}`));
    await checkConsistency({ size: before.size, root: unhex(before.root) }, newest, proof.path.map(unhex));
  }
  const rows = [...document.querySelectorAll("tr[data-index]")];
  for (const [done, row] of rows.entries()) {
    told(`Checking ${done + 1} of ${rows.length}…`);
    const [head, ...rest] = (await fetchText(`/api/v1/log/proof/${row.dataset.index}`)).split("\n\n");
    const checkpoint = await readCheckpoint(rest.join("\n\n"), key);
    need(checkpoint.size === newest.size, "the log grew meanwhile; verify again");
    need(same(checkpoint.root, newest.root), `two roots were signed for ${newest.size} entries`);
    const [, index, ...path] = head.split("\n");
    need(index === `index ${row.dataset.index}`, `the proof of entry ${row.dataset.index} is about another entry`);
    const leaf = await hashLeaf(bytes(row.dataset.entry));
    await checkInclusion(leaf, Number(row.dataset.index), checkpoint.size, path.map(decode), checkpoint.root);
  }
  localStorage.setItem(kept, JSON.stringify({ size: newest.size, root: hex(newest.root) }));
  const grown = before ? ` and the log of ${newest.size} entries continues the one of ${before.size} that this browser saw before` : "";
  return `Verified: ${rows.length} entries are in the log that the hub signed${grown}.`;
}

const verify = document.getElementById("verify");
if (verify && globalThis.crypto?.subtle) {
  const status = verify.querySelector("[role=status]");
  verify.hidden = false;
  verify.querySelector("button").addEventListener("click", async () => {
    status.className = "";
    try {
      status.textContent = await verifyLog(verify.dataset.key, (text) => (status.textContent = text));
    } catch (error) {
      const missing = error.name === "NotSupportedError";
      status.className = "failure";
      status.textContent = missing ? "This browser cannot check Ed25519 signatures." : `Not verified: ${error.message}.`;
    }
  });
}
