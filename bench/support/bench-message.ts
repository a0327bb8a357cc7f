/** The message that every bench of sending sends: 11 KB as it leaves, five tracked links, three personal values. */

const PARAGRAPH = 'Our new collection is here, made of linen and wool, in six colours. '.repeat(12);

/** The tags and addresses in the words of one sender. */
interface Wording {
  readonly firstName: string;
  readonly city: string;
  /** The tracked address of offer `n`. */
  offer(n: number): string;
  readonly unsubscribe: string;
}

/** The html, worded for the product or for the reference. */
export function benchHtml({ firstName, city, offer, unsubscribe }: Wording): string {
  const paragraphs = [1, 2, 3, 4, 5].map((n) => `<p>${PARAGRAPH} <a href="${offer(n)}">Offer ${n}</a></p>`);
  return `<html><body><h1>Hello ${firstName}</h1>${paragraphs.join('\n')}<p>${city}, <a href="${unsubscribe}">unsubscribe</a></p></body></html>`;
}

/** The same as plain text: the product makes it by itself, the reference is given it. */
export function benchText({ firstName, city, offer, unsubscribe }: Wording): string {
  const paragraphs = [1, 2, 3, 4, 5].map((n) => `${PARAGRAPH} Offer ${n} [${offer(n)}]`);
  return `HELLO ${firstName}\n\n${paragraphs.join('\n\n')}\n\n${city}, unsubscribe [${unsubscribe}]\n`;
}

/** The campaign that the product sends in benches: its links lead everybody to the same place, as those of the reference do. */
export const CAMPAIGN = {
  subject: 'News for {FIRST_NAME}',
  html: benchHtml({
    firstName: '{FIRST_NAME}',
    city: '{CITY}',
    offer: (n) => `https://shop.example/offer/${n}`,
    unsubscribe: '{UNSUBSCRIBE_URL}',
  }),
};
