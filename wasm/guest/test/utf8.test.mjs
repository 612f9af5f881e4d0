// TextEncoder and TextDecoder, compared with Node's.
import test from "node:test";
import assert from "node:assert/strict";
import { run, valueOf } from "./harness.mjs";

// Each case runs in the guest and here; both must agree, errors included.
async function same(expression) {
  const source = `(() => { try { return ${expression} } catch (e) { return [e.name] } })()`;
  const plain = (v) => JSON.parse(JSON.stringify(v));
  assert.deepEqual(await valueOf("return " + source), plain(eval(source)), expression);
}

test("G11 TextEncoder encodes as the standard says", async () => {
  for (const text of ["''", "'abc'", "'é€😀'", "'a\\ud800b\\udc00'", "'\\0\\u007f\\u0080\\u07ff\\u0800\\uffff'", "undefined", "5", "null", "'x'.repeat(5000) + '😀'"]) {
    await same(`[...new TextEncoder().encode(${text})]`);
  }
  await same("[...new TextEncoder().encode()]");
  await same("[new TextEncoder().encoding, String(new TextEncoder()), new TextEncoder().encode('a') instanceof Uint8Array]");
  await same("TextEncoder()");
});

test("G11 TextEncoder.encodeInto writes whole characters", async () => {
  for (const [text, room] of [["'abc'", 2], ["'aé€😀'", 3], ["'aé€😀'", 5], ["'aé€😀'", 6], ["'aé€😀'", 9], ["'aé€😀'", 10], ["'aé€😀'", 50], ["'\\ud800x'", 3], ["'x'", 0], ["''", 4]]) {
    await same(`(() => { const b = new Uint8Array(${room}); const r = new TextEncoder().encodeInto(${text}, b); return [r.read, r.written, [...b]] })()`);
  }
  await same("new TextEncoder().encodeInto('a', [])");
});

test("G11 TextDecoder decodes valid and malformed bytes as the standard says", async () => {
  for (const bytes of [
    "", "0x61,0x62", "0xc3,0xa9,0xe2,0x82,0xac,0xf0,0x9f,0x98,0x80", "0xff", "0x80,0x61", "0xc3", "0xc3,0x61", "0xe2,0x82", "0xe2,0x82,0x61", "0xf0,0x9f,0x98",
    "0xc0,0x80", "0xc1,0xbf", "0xe0,0x80,0x80", "0xe0,0x9f,0xbf", "0xed,0xa0,0x80", "0xed,0x9f,0xbf", "0xf0,0x80,0x80,0x80", "0xf0,0x8f,0xbf,0xbf", "0xf4,0x8f,0xbf,0xbf",
    "0xf4,0x90,0x80,0x80", "0xf5,0x80,0x80,0x80", "0xef,0xbb,0xbf,0x61", "0xef,0xbb,0xbf,0xef,0xbb,0xbf", "0x61,0xef,0xbb,0xbf", "0xef,0xbb", "0xf0,0x9f,0xf0,0x9f,0x98,0x80", "0,0x25,0x32",
    "0xef,0xbf,0xbe", "0xef,0xbb,0xbf,0xff",
  ]) {
    for (const options of ["", ", { fatal: true }", ", { ignoreBOM: true }", ", { fatal: true, ignoreBOM: true }"]) {
      await same(`new TextDecoder('utf-8'${options}).decode(new Uint8Array([${bytes}]))`);
    }
  }
});

test("G11 TextDecoder streams", async () => {
  for (const chunks of ["[0xf0],[0x9f,0x98],[0x80]", "[0xef],[0xbb],[0xbf,0x61]", "[0xe2,0x82],[0x61]", "[0xe2],[]", "[0x61],[0xff],[0x62]", "[0xef,0xbb,0xbf],[0xef,0xbb,0xbf]", "[0xc3],[0xc3,0xa9]"]) {
    for (const fatal of [false, true]) {
      await same(`(() => { const d = new TextDecoder('utf8', { fatal: ${fatal} }); const out = [];
        for (const c of [${chunks}]) out.push(d.decode(new Uint8Array(c), { stream: true })); out.push(d.decode(), d.decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x7a]))); return out })()`);
    }
  }
});

test("G11 TextDecoder takes every buffer, and refuses other labels and input", async () => {
  await same("new TextDecoder().decode(new Uint8Array([1, 97, 98, 2]).subarray(1, 3))");
  await same("new TextDecoder().decode(new Uint8Array([97, 98]).buffer)");
  await same("new TextDecoder().decode(new DataView(new Uint8Array([97, 98, 99]).buffer, 1))");
  await same("new TextDecoder().decode(new Uint16Array([0x6261]))");
  await same("new TextDecoder().decode()");
  await same("new TextDecoder().decode('text')");
  await same("new TextDecoder().decode(null)");
  await same("new TextDecoder().decode({})");
  await same("[' UTF-8 ', 'utf8', 'unicode-1-1-utf-8'].map((l) => new TextDecoder(l).encoding)");
  await same("new TextDecoder('nope')");
  await same("(() => { const d = new TextDecoder('utf-8', { fatal: 1, ignoreBOM: 0 }); return [d.fatal, d.ignoreBOM, String(d)] })()");
  await same("new TextDecoder('utf-8', null).fatal");
});

test("G11 a megabyte goes round in reasonable time", async () => {
  const started = performance.now();
  assert.equal(await valueOf("const t = 'ab€😀é'.repeat(150000); return new TextDecoder().decode(new TextEncoder().encode(t)) === t"), true);
  assert.ok(performance.now() - started < 20000);
});

test("G11 hostile prototypes don't reach the coders", async () => {
  const guest = await run(`
    const e = new TextEncoder(), d = new TextDecoder();
    for (const name of ["slice", "charCodeAt", "replace", "toWellFormed"]) String.prototype[name] = () => { throw 1 };
    Uint8Array.fromBase64 = Uint8Array.prototype.toBase64 = Uint8Array.prototype.set = () => { throw 1 };
    decodeURIComponent = encodeURIComponent = escape = unescape = () => { throw 1 };
    return [d.decode(e.encode("é😀")), d.decode(new Uint8Array([255, 97]))]`);
  assert.deepEqual(guest.value, ["é😀", "\ufffda"]);
});
