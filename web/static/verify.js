// Verify a certificate as `assay verify` does: signature, digests, Merkle proofs.
const UNSEALED = "visibility withdrawn next_methodology reply standing because in_words questions choices".split(" ");
const STATED = ["letter", "declared", "probabilities", "method", "attribute", "confidence", "methodology",
  "engine_version", "seed", "evidence_digest", "rated_at", "expires_at"];
const card = document.getElementById("verify"), data = card.dataset;
const [button, list, outcome] = ["button", "ol", ".outcome"].map((name) => card.querySelector(name));
const utf8 = (text) => new TextEncoder().encode(text);
const bytes = (base64) => Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
const unhex = (text) => Uint8Array.from(text.replace("sha256:", "").match(/../g), (two) => parseInt(two, 16));
const join = async (...parts) => new Blob(parts).arrayBuffer();
const sha = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", await join(...parts)));
const named = (hash) => `sha256:${[...hash].map((one) => one.toString(16).padStart(2, "0")).join("")}`;

class Digits { constructor(source) { this.source = source; } valueOf() { return Number(this.source); } }
const parse = (text) => JSON.parse(text, (_, one, { source }) => (typeof one === "number" ? new Digits(source) : one));
const points = (key) => Array.from(key, (one) => one.codePointAt(0).toString(16).padStart(6, "0")).join();
function canonical(value) {
  if (value instanceof Digits) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const keys = Object.keys(value).sort((one, other) => (points(one) < points(other) ? -1 : 1));
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`;
}
const digest = async (value) => named(await sha(utf8(canonical(value))));
const leaf = (value) => sha(Uint8Array.of(0), utf8(canonical(value)));
const part = (value, wanted) => Object.fromEntries(Object.entries(value).filter(([name]) => wanted(name)));

const fail = (text) => { throw new Error(text); };

async function read(address) {
  const answer = await fetch(address, { cache: "no-store" });
  return answer.ok ? parse(await answer.text()) : fail(`${address} answered ${answer.status}`);
}

const same = (name, found, sealed) =>
  found === sealed ? found : fail(`the ${name} digest is ${found}, and ${sealed} was sealed`);

// RFC 9162, 2.1.3.2: the root that a leaf and its path lead to.
async function root(hash, place, last, path) {
  for (const step of path.map(unhex)) {
    if (!last) return null;
    const left = place & 1 || place === last;
    hash = await sha(Uint8Array.of(1), ...(left ? [step, hash] : [hash, step]));
    while (left && !(place & 1) && place) [place, last] = [place >> 1, last >> 1];
    [place, last] = [place >> 1, last >> 1];
  }
  return last ? null : named(hash);
}

async function signed(keys, id, signature, message) {
  const { kty, crv, x } = keys.find(({ kid }) => kid === id) ?? fail(`the key ${id} is unknown`);
  const key = await crypto.subtle.importKey("jwk", { kty, crv, x }, "Ed25519", false, ["verify"]);
  return (await crypto.subtle.verify("Ed25519", key, signature, message)) ? `by the key ${id}` : fail(`the key ${id} did not sign this`);
}

async function* checks() {
  const addresses = [data.rating, data.attestation, "/.well-known/jwks.json", `/v1/log/entries?rating=${data.id}`];
  const [rating, { payload, payloadType, signatures: [{ keyid, sig }] }, { keys }, { items }] =
    await Promise.all(addresses.map(read));
  const content = bytes(payload), { target } = rating;
  const head = utf8(`DSSEv1 ${utf8(payloadType).length} ${payloadType} ${content.length} `);
  yield ["signature", async () => signed(keys, keyid, bytes(sig), await join(head, content))];
  const stated = parse(new TextDecoder().decode(content)), sealed = stated.predicate;
  const identity = part(target, (name) => ["kind", "protocol", "url", "settings"].includes(name));
  yield ["target", async () => same("target", await digest(identity), target.digest)];
  const found = await digest(part(rating, (name) => !UNSEALED.includes(name)));
  yield ["rating", () => same("rating", found, sealed.rating_digest)];
  yield ["statement", () => {
    const subject = { name: target.name, digest: { sha256: target.digest.slice(7) }, ...(target.url && { uri: target.url }) };
    const predicate = { rating: rating.id, rating_digest: found, ...part(rating, (name) => name === "requester") };
    for (const name of STATED) predicate[name] = rating[name] ?? null;
    const again = { _type: "https://in-toto.io/Statement/v1", subject: [subject],
      predicateType: "urn:assay:predicate:rating:v1", predicate };
    const equal = payloadType === "application/vnd.in-toto+json" && rating.id === data.id && canonical(again) === canonical(stated);
    return equal
      ? `${rating.letter ?? "no letter"}, ${rating.declared ? "" : "not "}declared, rated ${rating.rated_at}`
      : fail("the certificate states another document");
  }];
  yield ["evidence", async () => {
    const any = 1 + Math.floor(Math.random() * data.questions);
    const proof = await read(`${data.proof}/${any}/proof`).catch(() => read(`${data.proof}/1/proof`));
    const { observation, leaf_index: place, tree_size: size } = proof;
    same("evidence", await root(await leaf(observation), +place, size - 1, proof.proof), sealed.evidence_digest);
    return `observation ${place + 1} of ${+size}, chosen at random, was sealed`;
  }];
  if (items.length) yield ["log", () => logged(items, keys, found)];
}

async function logged(items, keys, found) {
  const log = await read("/v1/log"), [note, lines] = log.checkpoint.split("\n\n"), [, size, head] = note.split("\n");
  const own = lines.split("\n").find((line) => line.startsWith(`— ${log.origin} `)) ?? "";
  await signed(keys, log.key_id, bytes(own.split(" ").at(-1)).slice(4), utf8(`${note}\n`));
  for (const { entry, position } of items) {
    const { path } = await read(`/v1/log/proof/inclusion?position=${+position}&size=${size}`);
    same("log", await root(await leaf(entry), +position, size - 1, path), named(bytes(head)));
    if (entry.event === "published") same("logged", entry.document_digest, found);
  }
  return `entry ${items.map((one) => one.position + 1)} of ${size}, under a signed checkpoint`;
}

button.hidden = false;
button.onclick = async () => {
  let good = true;
  const tell = (name, said, mark) => {
    const line = document.createElement("li"), sign = document.createElement("b");
    sign.textContent = list.dataset[mark];
    line.append(sign, ` ${name}: ${said}`);
    line.className = mark;
    list.append(line);
    good &&= mark === "good";
  };
  outcome.textContent = list.textContent = "";
  delete data.verified;
  button.disabled = true;
  try {
    if (!crypto.subtle) fail("browsers compute digests on https only");
    for await (const [name, check] of checks()) {
      try { tell(name, await check(), "good"); } catch (error) { tell(name, error.message, "bad"); }
    }
  } catch (error) { tell("certificate", error.message, "bad"); }
  const mark = good ? "good" : "bad";
  outcome.className = `outcome ${mark}`;
  outcome.textContent = outcome.dataset[mark];
  data.verified = good;
  button.disabled = false;
};
