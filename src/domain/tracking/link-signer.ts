/**
 * Makes and checks the addresses that stand in mails: one signer per installation, one set of links per recipient.
 * A link that leads somewhere carries where under its tag, so no redirect goes anywhere an author did not write.
 */
import { httpAddress } from '../../lib/http-address.ts';
import type { Installation } from '../context.ts';
import { LinkCodes, type LinkTarget } from './link-codes.ts';
import { LinkTokens, type LinkKind } from './link-token.ts';
import { isTrackable, SharedLinks } from './shared-links.ts';
import type { TrackedClick, TrackedConfirmation, TrackedRecipient } from './tracking.ts';

/** Kinds of link that say whose they are and nothing else. */
export type PlainLinkKind = Exclude<LinkKind, 'click' | 'confirm'>;

export interface LinkSigner {
  /** `at`: where the links lead instead of the installation's own address; no slash at its end. */
  forRecipient(recipient: TrackedRecipient, at?: string): RecipientLinks;
  /** The address that confirms a subscription until `expiresAt` (the subscriber's `pending_until`); `at` as above. */
  confirmation(recipient: TrackedRecipient, expiresAt: Date, at?: string): string;
  /** Whose link this is; undefined when we did not sign it. Never throws. */
  read(kind: PlainLinkKind, token: string): TrackedRecipient | undefined;
  /** Where the click leads; undefined when we did not sign it or it leads to nothing that is http. Never throws. */
  readClick(token: string): TrackedClick | undefined;
  /** Whether it is a click that we signed and that leads to no web address: somebody's field stood in its host. Never throws. */
  leadsNowhere(token: string): boolean;
  /** The confirmation asked for, expired or not; undefined when we did not sign it. Never throws. */
  readConfirmation(token: string): TrackedConfirmation | undefined;
}

/** Kinds that say whose they are have no number and no address. */
const NOTHING_MORE = { number: 0, url: '' };

const signers = new WeakMap<Installation, LinkSigner>();

/** The signer of an installation, made once (deriving its key costs more than a thousand links). */
export function linkSignerOf(installation: Installation): LinkSigner {
  const known = signers.get(installation);
  if (known) return known;
  const signer = createLinkSigner(installation);
  signers.set(installation, signer);
  return signer;
}

function createLinkSigner({ secret, baseUrl }: Installation): LinkSigner {
  const means = { tokens: new LinkTokens(secret), codes: new LinkCodes(secret) };
  const { tokens, codes } = means;
  return {
    forRecipient: (recipient, at = baseUrl) => new RecipientLinks(means, at, recipient),
    confirmation(recipient, expiresAt, at = baseUrl) {
      const number = Math.floor(expiresAt.getTime() / 1_000);
      return `${at}/confirm/${tokens.write('confirm', recipient, { number, url: '' })}`;
    },
    read(kind, token) {
      const content = codes.read(kind, token) ?? tokens.read(kind, token);
      return content && recipientOf(content);
    },
    readClick(token) {
      const content = codes.read('click', token) ?? tokens.read('click', token);
      const url = content && httpAddress(content.url);
      if (!url) return undefined;
      const { customerId, listId, campaignId, subscriberId, number } = content;
      return { customerId, listId, campaignId, subscriberId, linkNo: number, url };
    },
    leadsNowhere(token) {
      const content = codes.read('click', token) ?? tokens.read('click', token);
      return content !== undefined && httpAddress(content.url) === '';
    },
    readConfirmation(token) {
      const content = tokens.read('confirm', token);
      return content && { ...recipientOf(content), expiresAt: new Date(content.number * 1_000) };
    },
  };
}

interface Means {
  readonly tokens: LinkTokens;
  readonly codes: LinkCodes;
}

/** The links of one recipient, as a message is filled with them. */
export class RecipientLinks {
  readonly recipient: TrackedRecipient;
  readonly baseUrl: string;
  readonly #means: Means;

  constructor(means: Means, baseUrl: string, recipient: TrackedRecipient) {
    this.#means = means;
    this.baseUrl = baseUrl;
    this.recipient = recipient;
  }

  /** The tracked address of link `no`. An address that cannot be tracked (not http, too long) comes back as it is. */
  click(no: number, url: string): string {
    if (!isTrackable(url)) return url;
    return `${this.baseUrl}/c/${this.#means.tokens.write('click', this.recipient, { number: no, url })}`;
  }

  open(): string {
    return `${this.baseUrl}/o/${this.#token('open')}.gif`;
  }

  unsubscribe(): string {
    return `${this.baseUrl}/u/${this.#token('unsubscribe')}`;
  }

  webView(): string {
    return `${this.baseUrl}/view/${this.#token('webView')}`;
  }

  updateProfile(): string {
    return `${this.baseUrl}/profile/${this.#token('updateProfile')}`;
  }

  /**
   * The links of the message, which all its recipients share but for a code, and that is this recipient's from now on.
   * `targets` are the links that lead all to the same place; `last`, what was answered for the message before, is used
   * again when it may be.
   */
  share(targets: readonly LinkTarget[], last?: unknown): SharedLinks {
    const { baseUrl, recipient } = this;
    const isSame = last instanceof SharedLinks && last.areOf(recipient, baseUrl);
    const codes = this.#means.codes;
    const shared = isSame
      ? last
      : new SharedLinks({ baseUrl, targets, ids: recipient, codes: codes.ofMessage(recipient, targets) });
    shared.begin(recipient);
    return shared;
  }

  #token(kind: LinkKind): string {
    return this.#means.tokens.write(kind, this.recipient, NOTHING_MORE);
  }
}

function recipientOf({ customerId, listId, campaignId, subscriberId }: TrackedRecipient): TrackedRecipient {
  return { customerId, listId, campaignId, subscriberId };
}
