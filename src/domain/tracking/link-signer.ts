/**
 * Makes and checks the addresses in mails: one signer per installation, one set of links per recipient. A link contains its
 * target with a signature, so no redirect leads to an address that no author wrote.
 */
import { httpAddress } from '../../lib/http-address.ts';
import type { Installation } from '../context.ts';
import { LinkKeys, type LinkTarget, type MessageTokens, type TokenKind } from './link-keys.ts';
import { BOUNCE_PREFIX, bounceMarksOf, type BounceMarks } from './return-path.ts';
import { isTrackable, SharedLinks } from './shared-links.ts';
import type { TrackedClick, TrackedConfirmation, TrackedRecipient } from './tracking.ts';

/** Kinds of links that only name a recipient. */
export type PlainLinkKind = Exclude<TokenKind, 'click'>;

export interface LinkSigner {
  /**
   * `at`: the base address of the links instead of the installation's own; no slash at its end. `bounceDomain`: where the mail to
   * its return-path is read; empty: nowhere.
   */
  forRecipient(recipient: TrackedRecipient, at?: string, bounceDomain?: string): RecipientLinks;
  /** The address that confirms a subscription until `expiresAt` (the subscriber's `pending_until`); `at` as above. */
  confirmation(recipient: TrackedRecipient, expiresAt: Date, at?: string): string;
  /** The recipient of this link; undefined when we did not sign it. Never throws. */
  read(kind: PlainLinkKind, token: string): TrackedRecipient | undefined;
  /** The target of the click; undefined when we did not sign it or it is not http. Never throws. */
  readClick(token: string): TrackedClick | undefined;
  /**
   * Whether it is a click that we signed and that has no web address as its target, because of a recipient's value in its host.
   * Never throws.
   */
  leadsNowhere(token: string): boolean;
  /** The confirmation, expired or not; undefined when we did not sign it. Never throws. */
  readConfirmation(token: string): TrackedConfirmation | undefined;
}

const signers = new WeakMap<Installation, LinkSigner>();

/** The signer of an installation, made once (deriving its keys costs more than a thousand links). */
export function linkSignerOf(installation: Installation): LinkSigner {
  const known = signers.get(installation);
  if (known) return known;
  const signer = createLinkSigner(installation);
  signers.set(installation, signer);
  return signer;
}

function createLinkSigner(installation: Installation): LinkSigner {
  const { secret, baseUrl } = installation;
  const keys = new LinkKeys(secret);
  const marksOf = (recipient: TrackedRecipient) => bounceMarksOf(installation, recipient);
  const targetOf = (token: string) => {
    const [whose = '', code, ...more] = token.split('.', 3);
    const ids = code === undefined || more.length > 0 ? undefined : keys.read('click', whose);
    const target = ids && keys.readCode(ids, code ?? '');
    return target && { ...recipientOf(ids), linkNo: target.no, url: httpAddress(target.url) };
  };
  return {
    forRecipient: (recipient, at = baseUrl, bounceDomain = '') =>
      new RecipientLinks(keys, recipient, { baseUrl: at, bounceDomain, marksOf }),
    confirmation(recipient, expiresAt, at = baseUrl) {
      return `${at}/confirm/${keys.confirmation(recipient, Math.floor(expiresAt.getTime() / 1_000))}`;
    },
    read(kind, token) {
      const ids = keys.read(kind, token);
      return ids && recipientOf(ids);
    },
    readClick(token) {
      const click = targetOf(token);
      return click?.url === '' ? undefined : click;
    },
    leadsNowhere: (token) => targetOf(token)?.url === '',
    readConfirmation(token) {
      const ids = keys.readConfirmation(token);
      return ids && { ...recipientOf(ids), expiresAt: new Date(ids.number * 1_000) };
    },
  };
}

/** For what is no copy of a compiled message: a page, a mail of a list. */
const NO_EDITION = 0;

/** Where links of a recipient lead. */
interface LinkPlaces {
  readonly baseUrl: string;
  readonly bounceDomain: string;
  marksOf(recipient: TrackedRecipient): BounceMarks;
}

/** The links of one recipient for filling a message. */
export class RecipientLinks {
  readonly recipient: TrackedRecipient;
  readonly baseUrl: string;
  readonly bounceDomain: string;
  readonly #keys: LinkKeys;
  readonly #marksOf: LinkPlaces['marksOf'];
  #marks: BounceMarks | undefined;
  #edition = NO_EDITION;
  #tokens: MessageTokens | undefined;

  constructor(keys: LinkKeys, recipient: TrackedRecipient, { baseUrl, bounceDomain, marksOf }: LinkPlaces) {
    this.#keys = keys;
    this.#marksOf = marksOf;
    this.baseUrl = baseUrl;
    this.bounceDomain = bounceDomain;
    this.recipient = recipient;
  }

  /** The tracked address of link `no`. An address that cannot be tracked (not http, too long) is returned unchanged. */
  click(no: number, url: string): string {
    if (!isTrackable(url)) return url;
    const code = this.#keys.ownCode({ ...this.recipient, number: this.#edition }, { no, url });
    return `${this.baseUrl}/c/${this.token('click')}.${code}`;
  }

  open(): string {
    return `${this.baseUrl}/o/${this.token('open')}.gif`;
  }

  unsubscribe(): string {
    return `${this.baseUrl}/u/${this.token('unsubscribe')}`;
  }

  /** The address that unsubscribes by mail; undefined: nobody reads such mail. */
  unsubscribeMail(): string | undefined {
    if (this.bounceDomain === '') return undefined;
    return `${BOUNCE_PREFIX}${this.unsubscribeMark()}@${this.bounceDomain}`;
  }

  /** The return-path; undefined as above. */
  returnPath(): string | undefined {
    if (this.bounceDomain === '') return undefined;
    this.#marks ??= this.#marksOf(this.recipient);
    return `${BOUNCE_PREFIX}${this.#marks.returnPath}@${this.bounceDomain}`;
  }

  unsubscribeMark(): string {
    this.#marks ??= this.#marksOf(this.recipient);
    return this.#marks.unsubscribe;
  }

  webView(): string {
    return `${this.baseUrl}/view/${this.token('webView')}`;
  }

  updateProfile(): string {
    return `${this.baseUrl}/profile/${this.token('updateProfile')}`;
  }

  /** The token for this kind of link. */
  token(kind: TokenKind): string {
    this.#tokens ??= this.#keys.tokens(this.recipient, this.#edition);
    return this.#tokens.of(kind);
  }

  /**
   * The links of the message, which all its recipients share except for a token, which is this recipient's from now on. `targets`
   * are the links with the same target for all; `last`, the result for the message before, is used again if possible.
   */
  share(targets: readonly LinkTarget[], last?: unknown): SharedLinks {
    const isSame = last instanceof SharedLinks && last.areOf(this);
    const shared = isSame ? last : new SharedLinks(this.#keys, targets, this);
    if (this.#edition !== shared.edition) this.#tokens = undefined;
    this.#edition = shared.edition;
    shared.begin(this);
    return shared;
  }
}

function recipientOf(ids: TrackedRecipient): TrackedRecipient {
  const { customerId, sourceKind, sourceId, recipientId, occurrence, listId } = ids;
  return { customerId, sourceKind, sourceId, recipientId, occurrence, listId };
}
