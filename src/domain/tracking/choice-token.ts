/**
 * What the choice of lists on a page sends back: the lists that the page showed and on which of them the address was, signed for the
 * link of the page and the address. So only what the person has changed on the page is changed.
 */
import { sameBytes } from '../../lib/crypto.ts';
import type { Installation } from '../context.ts';
import { linkMac } from './link-mac.ts';
import type { TrackedRecipient } from './tracking.ts';

const PURPOSE = 'list-choice';
/** At most `CHOICES_MAX` lists, each with 1 if the address was on it; then the tag. */
const TOKEN = /^((?:\d{1,19}[01]-){0,50})([\w-]{22})$/;

export interface ShownList {
  readonly id: bigint;
  readonly isSubscribed: boolean;
}

/** Whose page it is. */
export interface ChoicePage {
  readonly link: TrackedRecipient;
  readonly emailKey: string;
}

export function choiceToken(installation: Installation, page: ChoicePage, lists: readonly ShownList[]): string {
  const shown = lists.map(({ id, isSubscribed }) => `${id}${isSubscribed ? 1 : 0}-`).join('');
  return shown + tagOf(installation, page, shown);
}

/** The lists that the page showed; undefined when the token was not made for this link and address. Never throws. */
export function readChoiceToken(
  installation: Installation,
  page: ChoicePage,
  token: string,
): readonly ShownList[] | undefined {
  const [, shown = '', tag = ''] = TOKEN.exec(token) ?? [];
  if (!sameBytes(Buffer.from(tagOf(installation, page, shown)), Buffer.from(tag))) return undefined;
  return shown
    .split('-')
    .filter((list) => list !== '')
    .map((list) => ({ id: BigInt(list.slice(0, -1)), isSubscribed: list.endsWith('1') }));
}

function tagOf(installation: Installation, { link, emailKey }: ChoicePage, shown: string): string {
  return linkMac(installation, PURPOSE, { link, content: `${emailKey}/${shown}` });
}
