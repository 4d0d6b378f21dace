// Verify a certificate in the browser: the signature, every digest, and Merkle proofs, as `assay verify` does.
const STANDING = ["visibility", "withdrawn", "next_methodology", "reply", "in_words", "questions"];
const STATED = ["letter", "declared", "probabilities", "method", "attribute", "confidence", "methodology",
  "engine_version", "seed", "evidence_digest", "rated_at", "expires_at"];
const PREDICATE = "urn:assay:predicate:rating:v1", PAYLOAD = "application/vnd.in-toto+json";
const card = document.getElementById("verify"), { data, list } = { data: card.dataset, list: card.querySelector("ol") };
const encode = (text) => new TextEncoder().encode(text);
const bytes = (base64) => Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
const unhex = (text) => Uint8Array.from(text.replace("sha256:", "").match(/../g) ?? [], (two) => parseInt(two, 16));
const joined = async (...parts) => new Uint8Array(await new Blob(parts).arrayBuffer());
const sha = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", await joined(...parts)));
const digest = (hash) => `sha256:${[...hash].map((one) => one.toString(16).padStart(2, "0")).join("")}`;

// Numbers are kept as they are written: canonical JSON has the same digits.
class Digits { constructor(source) { this.source = source; } }
const parse = (text) => JSON.parse(text, (_, value, { source }) => (typeof value === "number" ? new Digits(source) : value));
const points = (key) => Array.from(key, (one) => one.codePointAt(0).toString(16).padStart(6, "0")).join("");
function canonical(value) {
  if (value instanceof Digits) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort((one, other) => (points(one) < points(other) ? -1 : 1));
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`;
}
const digestOf = async (value) => digest(await sha(encode(canonical(value))));
const only = (value, wanted) => Object.fromEntries(Object.entries(value).filter(([name]) => wanted(name)));

async function read(address) {
  const answer = await fetch(address, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}`);
  return parse(await answer.text());
}

// RFC 9162, section 2.1.3.2: the root that a leaf and its path lead to.
async function rootOf(leaf, place, last, path) {
  for (const step of path) {
    if (!last) return null;
    if (place & 1 || place === last) {
      leaf = await sha(new Uint8Array([1]), step, leaf);
      while (!(place & 1) && place) [place, last] = [place >> 1, last >> 1];
    } else leaf = await sha(new Uint8Array([1]), leaf, step);
    [place, last] = [place >> 1, last >> 1];
  }
  return last ? null : digest(leaf);
}
const leafOf = (value) => sha(new Uint8Array([0]), encode(canonical(value)));

async function signed(keys, id, signature, message) {
  const key = keys.find((one) => one.kid === id);
  if (!key) throw new Error(`it is signed by the key ${id}, which is unknown`);
  const { kty, crv, x } = key;
  const imported = await crypto.subtle.importKey("jwk", { kty, crv, x }, "Ed25519", false, ["verify"]);
  if (!await crypto.subtle.verify("Ed25519", imported, signature, message)) {
    throw new Error(`the signature by the key ${id} is not one of what is shown`);
  }
  return `by the key ${id}`;
}
function same(name, found, sealed) {
  if (found !== sealed) throw new Error(`the ${name} digest is ${found}, and ${sealed} was sealed`);
  return found;
}

async function* checks() {
  const [rating, envelope, { keys }] = await Promise.all(
    [data.rating, data.attestation, "/.well-known/jwks.json"].map(read));
  const payload = bytes(envelope.payload), [{ keyid, sig }] = envelope.signatures;
  const head = `DSSEv1 ${encode(envelope.payloadType).length} ${envelope.payloadType} ${payload.length} `;
  yield ["signature", async () => signed(keys, keyid, bytes(sig), await joined(encode(head), payload))];
  const stated = parse(new TextDecoder().decode(payload)), sealed = stated.predicate;
  const kept = ["kind", "protocol", "url", "settings"], { target } = rating;
  yield ["target", async () => same("target", await digestOf(only(target, (name) => kept.includes(name))), target.digest)];
  const found = await digestOf(only(rating, (name) => !STANDING.includes(name)));
  yield ["rating", async () => same("rating", found, sealed.rating_digest)];
  yield ["statement", async () => {
    const facts = Object.fromEntries(STATED.map((name) => [name, rating[name] ?? null]));
    const subject = { name: target.name, digest: { sha256: target.digest.slice(7) }, ...(target.url && { uri: target.url }) };
    const restated = { _type: "https://in-toto.io/Statement/v1", subject: [subject], predicateType: PREDICATE,
      predicate: { rating: rating.id, rating_digest: found, ...facts } };
    if (envelope.payloadType !== PAYLOAD || rating.id !== data.id || canonical(restated) !== canonical(stated)) {
      throw new Error("the certificate states something else than the rating's document");
    }
    return `${rating.letter ?? "no letter"}, ${rating.declared ? "declared" : "not declared"}, rated ${rating.rated_at}`;
  }];
  yield ["evidence", async () => {
    const seq = 1 + Math.floor(Math.random() * data.questions), at = `${data.proof}/`;
    const proof = await read(`${at}${seq}/proof`).catch(() => read(`${at}1/proof`));
    const place = Number(proof.leaf_index.source), size = Number(proof.tree_size.source);
    const root = await rootOf(await leafOf(proof.observation), place, size - 1, proof.proof.map(unhex));
    same("evidence", root, sealed.evidence_digest);
    return `observation ${place + 1} of ${size}, chosen at random, is one of those that were sealed`;
  }];
  const { items } = await read(`/v1/log/entries?rating=${data.id}`);
  if (items.length) yield ["log", () => logged(items, keys, found)];
}

// Every entry of the rating is in the log whose head the agency signed, and the published one has this digest.
async function logged(items, keys, found) {
  const log = await read("/v1/log"), [note, lines] = log.checkpoint.split("\n\n");
  const own = lines.split("\n").find((line) => line.startsWith(`— ${log.origin} `)) ?? "";
  await signed(keys, log.key_id, bytes(own.split(" ").at(-1)).slice(4), encode(`${note}\n`));
  const [, size, root] = note.split("\n");
  for (const { entry, position } of items) {
    const proof = await read(`/v1/log/proof/inclusion?position=${position.source}&size=${size}`);
    const up = await rootOf(await leafOf(entry), Number(position.source), size - 1, proof.path.map(unhex));
    same("log", up, digest(bytes(root)));
    if (entry.event === "published") same("logged", entry.document_digest, found);
  }
  return `entry ${items.map((one) => Number(one.position.source) + 1).join(", ")} of ${size}, under a signed checkpoint`;
}

function tell(name, said, good) {
  const line = document.createElement("li"), mark = document.createElement("b");
  mark.textContent = list.dataset[good ? "good" : "bad"];
  line.append(mark, ` ${name} `, Object.assign(document.createElement("span"), { textContent: said, className: "muted s" }));
  line.className = good ? "good" : "bad";
  list.append(line);
}

async function verify() {
  list.replaceChildren();
  const outcome = card.querySelector(".outcome");
  outcome.textContent = "";
  delete data.verified;
  let good = true;
  const fail = (name, error) => { good = false; tell(name, error.message, false); };
  try {
    if (!crypto.subtle) throw new Error("this browser computes digests on https only");
    for await (const [name, check] of checks()) {
      try { tell(name, await check(), true); } catch (error) { fail(name, error); }
    }
  } catch (error) { fail("certificate", error); }
  outcome.textContent = outcome.dataset[good ? "good" : "bad"];
  outcome.className = `outcome ${good ? "good" : "bad"}`;
  data.verified = good;
}

const button = card.querySelector("button");
button.hidden = false;
button.addEventListener("click", verify);
