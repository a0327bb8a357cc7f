/**
 * The layout of a message's copies in memory: which parts are encoded already, and where values are written. It is made again
 * only when a recipient's links are not shared with those of the one before, which is once per campaign.
 */
import type { CompiledHeaders } from './compile-headers.ts';
import type { RecipientLinks, SharedLinks, TrackedLink } from './message.ts';
import type { Chunk } from './quoted-printable.ts';

interface Layout {
  readonly headers: CompiledHeaders;
  readonly chunks: readonly Chunk[];
}

export class CopyLayout {
  readonly #targets: readonly TrackedLink[];
  readonly #layOut: (shared: SharedLinks | undefined) => Layout;
  #shared: SharedLinks | undefined;
  #layout: Layout | undefined;

  constructor(targets: readonly TrackedLink[], layOut: (shared: SharedLinks | undefined) => Layout) {
    this.#targets = targets;
    this.#layOut = layOut;
  }

  /** The layout for the copy with these links. */
  of(links: RecipientLinks): Layout {
    const shared = links.share?.(this.#targets, this.#shared);
    if (!this.#layout || shared !== this.#shared) this.#layout = this.#layOut(shared);
    this.#shared = shared;
    return this.#layout;
  }
}
