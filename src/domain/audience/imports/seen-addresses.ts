/**
 * Remembers in a fixed, small memory which addresses an import has written: a Bloom filter. "No" is certain, "yes" is
 * nearly always right. An import into an empty list need not look an address up while the answer is no.
 */

/** 4 MB: with a million addresses one answer in 300 is a needless yes, with ten million one in five. */
const BITS = 2 ** 25;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

export class SeenAddresses {
  readonly #bits = new Uint32Array(BITS / 32);

  add(key: string): void {
    const hash = fnv1a(key);
    this.#set(hash % BITS);
    this.#set(mixed(hash, key.length) % BITS);
  }

  mayHave(key: string): boolean {
    const hash = fnv1a(key);
    return this.#has(hash % BITS) && this.#has(mixed(hash, key.length) % BITS);
  }

  #set(bit: number): void {
    this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31));
  }

  #has(bit: number): boolean {
    return ((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }
}

function fnv1a(text: string): number {
  let hash = FNV_OFFSET;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  return hash >>> 0;
}

/** A second number from the first (the finisher of MurmurHash3). */
function mixed(hash: number, salt: number): number {
  let value = hash ^ Math.imul(salt, 0x9e3779b1);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
