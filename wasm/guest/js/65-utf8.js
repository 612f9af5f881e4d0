// TextEncoder and TextDecoder: UTF-8 as the WHATWG Encoding Standard has it.

const UTF8_LABELS = freeze({
  __proto__: null, "utf-8": true, utf8: true, "unicode-1-1-utf-8": true, unicode11utf8: true, unicode20utf8: true,
  "x-unicode20utf8": true,
});
const CHUNK = 4096; // UTF-16 units that are turned into a string at a time
const REPLACEMENT = 0xfffd;

// scalarAt returns the scalar value at i of text; a lone surrogate is U+FFFD, as encoding makes of it.
function scalarAt(text, i) {
  const unit = charCodeAt(text, i);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  if (unit > 0xdbff || i + 1 >= text.length) return REPLACEMENT;
  const low = charCodeAt(text, i + 1);
  return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00) : REPLACEMENT;
}

const NOT_ASCII = /[^\x00-\x7f]/;

// toUTF8 returns the bytes of text. Loops in JavaScript take about a microsecond a character; built-ins that meet in
// strings of one character a byte do it in a hundredth of that.
function toUTF8(text) {
  const binary = execRegExp(NOT_ASCII, text) === null ? text : unescape(encodeURIComponent(toWellFormed(text)));
  return bytesFromBase64(btoa(binary));
}

// fromValidUTF8 returns the text of bytes, or undefined if they aren't valid UTF-8.
function fromValidUTF8(bytes) {
  const binary = atob(bytesToBase64(bytes));
  if (execRegExp(NOT_ASCII, binary) === null) return binary;
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    return undefined;
  }
}

// fitUTF8 writes the whole characters of text that fit into bytes.
function fitUTF8(text, bytes) {
  const room = typedLength(bytes);
  let read = 0;
  let written = 0;
  while (read < text.length) {
    const scalar = scalarAt(text, read);
    const size = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4;
    if (written + size > room) break;
    read += size === 4 ? 2 : 1;
    if (size === 1) {
      bytes[written++] = scalar;
      continue;
    }
    bytes[written++] = size === 2 ? 0xc0 | (scalar >> 6) : size === 3 ? 0xe0 | (scalar >> 12) : 0xf0 | (scalar >> 18);
    if (size === 4) bytes[written++] = 0x80 | ((scalar >> 12) & 0x3f);
    if (size >= 3) bytes[written++] = 0x80 | ((scalar >> 6) & 0x3f);
    bytes[written++] = 0x80 | (scalar & 0x3f);
  }
  return { read, written };
}

class TextEncoder {
  get encoding() {
    return "utf-8";
  }

  encode(input = "") {
    return toUTF8(input + "");
  }

  encodeInto(source, destination) {
    const text = source + "";
    if (typedTag(destination) !== "Uint8Array") {
      throw new NativeTypeError("TextEncoder.encodeInto: the destination must be a Uint8Array");
    }
    if (text.length * 3 > typedLength(destination)) return fitUTF8(text, destination);
    const bytes = toUTF8(text);
    typedSet(destination, bytes);
    return { read: text.length, written: typedLength(bytes) };
  }
}

const typedTag = (value) => (isObject(value) ? typedName(value) : undefined);

// bytesOf is a view of the bytes of a buffer or a view; undefined is no bytes.
function bytesOf(input) {
  if (input === undefined) return new NativeUint8Array(0);
  if (isObject(input)) {
    if (typedName(input) !== undefined) {
      return new NativeUint8Array(typedBuffer(input), typedByteOffset(input), typedByteLength(input));
    }
    if (isView(input)) {
      return new NativeUint8Array(viewBuffer(input), viewByteOffset(input), viewByteLength(input));
    }
    if (kindOf(input) === "buffer") return new NativeUint8Array(input);
  }
  throw new NativeTypeError("TextDecoder.decode: the input must be an ArrayBuffer, a typed array or a DataView");
}

class TextDecoder {
  #fatal;
  #ignoreBOM;
  #started = false; // a character was seen, so that U+FEFF is no longer a byte order mark
  #scalar = 0; // of the sequence that is incomplete
  #needed = 0; // continuation bytes it still needs
  #lower = 0x80; // bounds of its next byte
  #upper = 0xbf;

  constructor(label = "utf-8", options = undefined) {
    if (UTF8_LABELS[toLowerCase(trim(label + ""))] !== true) {
      throw new NativeRangeError("TextDecoder: only utf-8 is supported");
    }
    this.#fatal = options !== undefined && options !== null && !!options.fatal;
    this.#ignoreBOM = options !== undefined && options !== null && !!options.ignoreBOM;
  }

  get encoding() {
    return "utf-8";
  }

  get fatal() {
    return this.#fatal;
  }

  get ignoreBOM() {
    return this.#ignoreBOM;
  }

  decode(input = undefined, options = undefined) {
    const stream = options !== undefined && options !== null && !!options.stream;
    const bytes = bytesOf(input);
    if (!stream && this.#needed === 0) {
      const valid = fromValidUTF8(bytes);
      if (valid !== undefined) {
        const marked = !this.#started && !this.#ignoreBOM && charCodeAt(valid, 0) === 0xfeff;
        this.#reset();
        return marked ? slice(valid, 1) : valid;
      }
    }
    const length = typedLength(bytes);
    const units = list();
    let used = 0;
    let text = "";
    let scalar = this.#scalar;
    let needed = this.#needed;
    let lower = this.#lower;
    let upper = this.#upper;
    let started = this.#started;
    let malformed = false;
    const fatal = this.#fatal;
    this.#reset();
    for (let i = 0; i <= length; i++) {
      let done;
      if (i === length) {
        if (stream || needed === 0) break;
        malformed = true;
        done = REPLACEMENT;
        needed = 0;
      } else {
        const byte = bytes[i];
        if (needed === 0) {
          if (byte < 0x80) {
            done = byte;
          } else if (byte < 0xc2 || byte > 0xf4) {
            malformed = true;
            done = REPLACEMENT;
          } else {
            needed = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
            scalar = byte & (needed === 1 ? 0x1f : needed === 2 ? 0x0f : 0x07);
            lower = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
            upper = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
            continue;
          }
        } else if (byte < lower || byte > upper) {
          malformed = true;
          done = REPLACEMENT;
          needed = 0;
          i--; // The byte may begin a character of its own.
        } else {
          scalar = (scalar << 6) | (byte & 0x3f);
          lower = 0x80;
          upper = 0xbf;
          if (--needed > 0) continue;
          done = scalar;
        }
      }
      if (malformed && fatal) {
        throw new NativeTypeError("TextDecoder.decode: the bytes are not valid UTF-8");
      }
      if (!started) {
        started = true;
        if (done === 0xfeff && !this.#ignoreBOM) continue;
      }
      if (done >= 0x10000) {
        units[used++] = 0xd800 + ((done - 0x10000) >> 10);
        units[used++] = 0xdc00 + ((done - 0x10000) & 0x3ff);
      } else {
        units[used++] = done;
      }
      if (used >= CHUNK) {
        text += apply(fromCharCode, undefined, units);
        units.length = used = 0;
      }
    }
    if (stream) {
      this.#scalar = scalar;
      this.#needed = needed;
      this.#lower = lower;
      this.#upper = upper;
      this.#started = started;
    }
    return text + apply(fromCharCode, undefined, units);
  }

  #reset() {
    this.#scalar = 0;
    this.#needed = 0;
    this.#lower = 0x80;
    this.#upper = 0xbf;
    this.#started = false;
  }
}

defineProperty(TextEncoder.prototype, toStringTag, { __proto__: null, value: "TextEncoder", configurable: true });
defineProperty(TextDecoder.prototype, toStringTag, { __proto__: null, value: "TextDecoder", configurable: true });
