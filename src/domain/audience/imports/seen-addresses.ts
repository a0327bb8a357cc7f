/**
 * Remembers in a fixed, small memory which addresses an import has written: a Bloom filter over their hashes. "No" is
 * certain, "yes" is nearly always right. An import into an empty list need not look an address up while the answer is no.
 */

/** 4 MB: with a million addresses one answer in 300 is a needless yes, with ten million one in five. */
const BITS = 2 ** 25;

export class SeenAddresses {
  readonly #bits = new Uint32Array(BITS / 32);

  add(hash: number): void {
    this.#set(hash % BITS);
    this.#set(mixed(hash) % BITS);
  }

  mayHave(hash: number): boolean {
    return this.#has(hash % BITS) && this.#has(mixed(hash) % BITS);
  }

  #set(bit: number): void {
    this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31));
  }

  #has(bit: number): boolean {
    return ((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }
}

/** A second number from the first (the finisher of MurmurHash3). */
function mixed(hash: number): number {
  let value = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
