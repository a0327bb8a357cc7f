/**
 * How the copies of a message lie in memory: what is encoded already, and where something is written for each. Laid out
 * anew when a recipient's links are shared with others than those of the one before, which is once for a campaign.
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

  /** For the copy whose links these are. */
  of(links: RecipientLinks): Layout {
    const shared = links.share?.(this.#targets, this.#shared);
    if (!this.#layout || shared !== this.#shared) this.#layout = this.#layOut(shared);
    this.#shared = shared;
    return this.#layout;
  }
}
