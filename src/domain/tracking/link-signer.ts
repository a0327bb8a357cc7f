/**
 * Makes and checks the addresses that stand in mails: one signer per installation, one set of links per recipient.
 * A link that leads somewhere carries where under its tag, so no redirect goes anywhere an author did not write.
 */
import type { Installation } from '../context.ts';
import { LinkTokens, type LinkKind } from './link-token.ts';
import { LINK_URL_BYTES_MAX, type TrackedClick, type TrackedConfirmation, type TrackedRecipient } from './tracking.ts';

/** The links of one recipient, as a message is filled with them. */
export interface RecipientLinks {
  /** The tracked address of link `no`. An address that cannot be tracked (not http, too long) comes back as it is. */
  click(no: number, url: string): string;
  open(): string;
  unsubscribe(): string;
  webView(): string;
  updateProfile(): string;
}

/** Kinds of link that say whose they are and nothing else. */
export type PlainLinkKind = Exclude<LinkKind, 'click' | 'confirm'>;

export interface LinkSigner {
  /** `at`: where the links lead instead of the installation's own address; no slash at its end. */
  forRecipient(recipient: TrackedRecipient, at?: string): RecipientLinks;
  /** The address that confirms a subscription until `expiresAt` (the subscriber's `pending_until`). */
  confirmation(recipient: TrackedRecipient, expiresAt: Date): string;
  /** Whose link this is; undefined when we did not sign it. Never throws. */
  read(kind: PlainLinkKind, token: string): TrackedRecipient | undefined;
  /** Where the click leads; undefined when we did not sign it or it leads to nothing that is http. Never throws. */
  readClick(token: string): TrackedClick | undefined;
  /** The confirmation asked for, expired or not; undefined when we did not sign it. Never throws. */
  readConfirmation(token: string): TrackedConfirmation | undefined;
}

/** Kinds that say whose they are have no number and no address. */
const NOTHING_MORE = { number: 0, url: '' };
const HTTP_URL = /^https?:\/\//i;
/** A UTF-16 unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3;

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
  const tokens = new LinkTokens(secret);
  return {
    forRecipient: (recipient, at = baseUrl) => recipientLinks(tokens, at, recipient),
    confirmation(recipient, expiresAt) {
      const number = Math.floor(expiresAt.getTime() / 1_000);
      return `${baseUrl}/confirm/${tokens.write('confirm', recipient, { number, url: '' })}`;
    },
    read(kind, token) {
      const content = tokens.read(kind, token);
      return content && recipientOf(content);
    },
    readClick(token) {
      const content = tokens.read('click', token);
      const url = content && httpAddress(content.url);
      if (!url) return undefined;
      const { customerId, listId, campaignId, subscriberId, number } = content;
      return { customerId, listId, campaignId, subscriberId, linkNo: number, url };
    },
    readConfirmation(token) {
      const content = tokens.read('confirm', token);
      return content && { ...recipientOf(content), expiresAt: new Date(content.number * 1_000) };
    },
  };
}

/** As it stands in a header, or empty when it is none. */
function httpAddress(text: string): string {
  const url = URL.parse(text);
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : '';
}

/** The link to unsubscribe is signed once: it stands in the header as well as in html and text. */
function recipientLinks(tokens: LinkTokens, baseUrl: string, recipient: TrackedRecipient): RecipientLinks {
  const token = (kind: LinkKind) => tokens.write(kind, recipient, NOTHING_MORE);
  let unsubscribe: string | undefined;
  return {
    click(no, url) {
      if (!HTTP_URL.test(url) || isTooLong(url)) return url;
      return `${baseUrl}/c/${tokens.write('click', recipient, { number: no, url })}`;
    },
    open: () => `${baseUrl}/o/${token('open')}.gif`,
    unsubscribe: () => (unsubscribe ??= `${baseUrl}/u/${token('unsubscribe')}`),
    webView: () => `${baseUrl}/view/${token('webView')}`,
    updateProfile: () => `${baseUrl}/profile/${token('updateProfile')}`,
  };
}

function isTooLong(url: string): boolean {
  return url.length * BYTES_PER_UNIT_MAX > LINK_URL_BYTES_MAX && Buffer.byteLength(url) > LINK_URL_BYTES_MAX;
}

function recipientOf({ customerId, listId, campaignId, subscriberId }: TrackedRecipient): TrackedRecipient {
  return { customerId, listId, campaignId, subscriberId };
}
